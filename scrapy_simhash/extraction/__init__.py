"""Extract the main text of a page. `EXTRACTORS` has the extractors by name.

The parser gets a page that is decoded already, opens no network connection and loads no entities.
It keeps libxml2's limits on depth and size, and reads a page only up to these limits.
"""

from scrapy_simhash.extraction.extractors import (
    EXTRACTORS,
    extract,
    find_extractor,
    is_extractor,
    plain_text,
)
from scrapy_simhash.extraction.page import Extraction, Page, prepared
from scrapy_simhash.extraction.selectors import Selectors

__all__ = [
    "EXTRACTORS",
    "Extraction",
    "Page",
    "Selectors",
    "extract",
    "find_extractor",
    "is_extractor",
    "plain_text",
    "prepared",
]
