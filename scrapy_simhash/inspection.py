"""Count the elements that selectors match."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.extraction import Page, Selectors, prepared
from scrapy_simhash.extraction.selectors import compiled_selector


class SelectorCount(NamedTuple):
    """The number of elements of a page that a selector matches. `use` is remove or select."""

    use: str
    selector: str
    elements: int


def selector_counts(html: str, selectors: Selectors) -> list[SelectorCount]:
    """Return the counts of all selectors: of `remove` on the page, then of `select` without them.

    :raises SchemeError: a selector is not valid.
    """
    page = prepared(html)
    counts = []
    for use, texts, removed in (
        ("remove", selectors.remove, ()),
        ("select", selectors.select, selectors.remove),
    ):
        elements = Page(page, Selectors(remove=removed)).elements if page and texts else None
        for selector in texts:
            found = [] if elements is None else compiled_selector(selector)(elements.root)
            counts.append(SelectorCount(use, selector, len(found)))
    return counts
