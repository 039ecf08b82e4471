"""Find near-duplicates with Spark: the fingerprints, pairs and verdicts of `dedupe`, on a cluster.

The functions take and return DataFrames. They collect only counts to the driver, and a repeated key
for an error. Driver and workers need ``pip install "scrapy-simhash[spark]"``. See docs/spark.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.slices import Slice

if TYPE_CHECKING:
    from scrapy_simhash.extras.spark.frames import against, duplicates, fingerprints, near_pairs

SLICE = Slice(dedupe_engine="scrapy_simhash.extras.spark.command.ENGINE")
__all__ = ["against", "duplicates", "fingerprints", "near_pairs"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("scrapy_simhash.extras.spark.frames"), name)
    except ModuleNotFoundError as error:
        raise SimhashError(
            f'{error.name} is missing: pip install "scrapy-simhash[spark]"'
        ) from error
