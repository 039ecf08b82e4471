"""Page to main text, by name: readability with a fallback (default), segments, or another.

Parsers get a string that Scrapy has decoded, never open the network, never load entities, and
keep libxml2's own limits on depth and size: a page nested deeper than those yields the text above
the limit.
"""

from scrapy_simhash.extraction.extractors import (
    EXTRACTORS,
    MIN_SHARE_OF_SEGMENTS,
    extract,
    find_extractor,
    is_extractor,
    plain_text,
    visible_text,
)
from scrapy_simhash.extraction.page import Extraction, Page, prepared
from scrapy_simhash.extraction.selectors import Selectors

__all__ = [
    "EXTRACTORS",
    "MIN_SHARE_OF_SEGMENTS",
    "Extraction",
    "Page",
    "Selectors",
    "extract",
    "find_extractor",
    "is_extractor",
    "plain_text",
    "prepared",
    "visible_text",
]
