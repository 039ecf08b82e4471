"""Find near-duplicates with Spark: the verdicts of `dedupe` on the rows of a DataFrame.

`duplicates` collects only counts to the driver, and a repeated key for an error. Driver and workers
need ``pip install "scrapy-simhash[spark]"``. See docs/spark.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.slices import Slice

if TYPE_CHECKING:
    from scrapy_simhash.extras.spark.frames import duplicates

SLICE = Slice()
__all__ = ["duplicates"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from scrapy_simhash.extras.spark.frames import duplicates
    except ModuleNotFoundError as error:
        raise SimhashError(
            f'{error.name} is missing: pip install "scrapy-simhash[spark]"'
        ) from error
    return duplicates
