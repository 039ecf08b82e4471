"""Count what selectors match, and extract the content of a page for comparison."""

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

    `remove` is matched on the whole page, `select` on what remains.
    """
    prepared_html = prepared(html)
    counts = []
    for use, chosen, removed_before in (
        ("remove", selectors.remove, Selectors()),
        ("select", selectors.select, Selectors(remove=selectors.remove)),
    ):
        root = Page(prepared_html, removed_before).root if prepared_html and chosen else None
        for selector in chosen:
            matched = () if root is None else compiled_selector(selector)(root)
            # XPath may also return strings.
            counts.append(
                SelectorCount(use, selector, sum(hasattr(element, "iter") for element in matched))
            )
    return counts


def content_text(html: str, remove: tuple[str, ...] = ()) -> str:
    """Return what the extractor `segments` takes for the content of a page.

    It is empty for a page that cannot be parsed.
    """
    prepared_html = prepared(html)
    if not prepared_html:
        return ""
    try:
        return join(content_lines(Page(prepared_html, Selectors(remove=remove)).lines))
    except Exception:  # noqa: BLE001 - pages are untrusted, as in extraction
        return ""
