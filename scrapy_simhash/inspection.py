"""What stands on a page beside the text that was extracted of it: to tune selectors, and to judge
extraction by something else than itself.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.extraction import Page, prepared
from scrapy_simhash.lines import join
from scrapy_simhash.segments import content_lines
from scrapy_simhash.selectors import Selectors, compiled_selector


class SelectorCount(NamedTuple):
    """How many elements of a page a selector finds."""

    use: str
    selector: str
    elements: int


def selector_counts(html: str, selectors: Selectors) -> list[SelectorCount]:
    """What each selector finds: those of `remove` on the whole page, those of `select` on what is
    left of it.
    """
    page = prepared(html)
    counts = []
    for use, texts, without in (
        ("remove", selectors.remove, Selectors()),
        ("select", selectors.select, Selectors(remove=selectors.remove)),
    ):
        root = Page(page, without).root if page and texts else None
        for text in texts:
            found = () if root is None else compiled_selector(text)(root)
            counts.append(
                SelectorCount(use, text, sum(hasattr(element, "iter") for element in found))
            )
    return counts


def content_text(html: str, remove: tuple[str, ...] = ()) -> str:
    """Return the content of a page as `segments` finds it, to compare another extractor with.

    It is empty for a page that makes the parser fail.
    """
    prepared_html = prepared(html)
    if not prepared_html:
        return ""
    try:
        return join(content_lines(Page(prepared_html, Selectors(remove=remove)).lines))
    except Exception:  # noqa: BLE001 - as with extraction, any page may come
        return ""
