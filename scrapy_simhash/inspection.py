"""Count what selectors match, and extract the content of a page for comparison."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import Page, Selectors, extract, prepared
from scrapy_simhash.extraction.selectors import compiled_selector


class SelectorCount(NamedTuple):
    """The number of elements of a page that a selector matches."""

    use: str
    selector: str
    elements: int


def selector_counts(html: str, selectors: Selectors) -> list[SelectorCount]:
    """Return the counts of each selector.

    The selectors of `remove` see the whole page, and those of `select` see the rest.
    """
    page = prepared(html)
    counts = []
    for use, chosen, removed in (
        ("remove", selectors.remove, ()),
        ("select", selectors.select, selectors.remove),
    ):
        root = Page(page, Selectors(remove=removed)).root if page and chosen else None
        for selector in chosen:
            found = [] if root is None else compiled_selector(selector)(root)
            counts.append(SelectorCount(use, selector, len(found)))
    return counts


def content_text(html: str, remove: tuple[str, ...] = ()) -> str:
    """Return what the extractor `segments` takes for the content; empty if it fails on the page."""
    try:
        return extract(html, "segments", Selectors(remove=remove)).text
    except ExtractionError:
        return ""
