"""Near-duplicate detection for Scrapy crawls, by SimHash.

Names are imported on first use, so that a program without crawls does not import Scrapy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_simhash.clustering import cluster as cluster
    from scrapy_simhash.crawl.addon import Addon as Addon
    from scrapy_simhash.crawl.exceptions import NearDuplicateItem as NearDuplicateItem
    from scrapy_simhash.crawl.exceptions import NearDuplicatePage as NearDuplicatePage
    from scrapy_simhash.detector import Detector as Detector
    from scrapy_simhash.errors import EmptyText as EmptyText
    from scrapy_simhash.errors import SimhashError as SimhashError
    from scrapy_simhash.fingerprint import hamming_distance as hamming_distance
    from scrapy_simhash.index import open_index as open_index
    from scrapy_simhash.scheme import Scheme as Scheme
    from scrapy_simhash.verdict import Verdict as Verdict

__version__ = "0.2.0"

_MODULES = {
    "Addon": "scrapy_simhash.crawl.addon",
    "Detector": "scrapy_simhash.detector",
    "EmptyText": "scrapy_simhash.errors",
    "NearDuplicateItem": "scrapy_simhash.crawl.exceptions",
    "NearDuplicatePage": "scrapy_simhash.crawl.exceptions",
    "Scheme": "scrapy_simhash.scheme",
    "SimhashError": "scrapy_simhash.errors",
    "Verdict": "scrapy_simhash.verdict",
    "cluster": "scrapy_simhash.clustering",
    "hamming_distance": "scrapy_simhash.fingerprint",
    "open_index": "scrapy_simhash.index",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
