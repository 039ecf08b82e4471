"""Inspect a page beyond its extracted text, to tune selectors and to evaluate extraction."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.extraction import Page, prepared
from scrapy_simhash.extraction.lines import join
from scrapy_simhash.extraction.segments import content_lines
from scrapy_simhash.extraction.selectors import Selectors, compiled_selector


class SelectorCount(NamedTuple):
    """The number of elements of a page that a selector matches."""

    use: str
    selector: str
    elements: int


def selector_counts(html: str, selectors: Selectors) -> list[SelectorCount]:
    """Return the counts of each selector.

    `remove` is applied to the whole page, `select` to what remains of it.
    """
    page = prepared(html)
    counts = []
    for use, texts, without in (
        ("remove", selectors.remove, Selectors()),
        ("select", selectors.select, Selectors(remove=selectors.remove)),
    ):
        root = Page(page, without).root if page and texts else None
        for text in texts:
            matched = () if root is None else compiled_selector(text)(root)
            counts.append(
                SelectorCount(use, text, sum(hasattr(element, "iter") for element in matched))
            )
    return counts


def content_text(html: str, remove: tuple[str, ...] = ()) -> str:
    """Return the content of a page as the extractor `segments` finds it, for comparison.

    It is empty if the parser fails.
    """
    prepared_html = prepared(html)
    if not prepared_html:
        return ""
    try:
        return join(content_lines(Page(prepared_html, Selectors(remove=remove)).lines))
    except Exception:  # noqa: BLE001 - pages are untrusted, as in extraction
        return ""
