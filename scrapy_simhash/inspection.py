"""What stands on a page beside the text that was extracted of it: to tune selectors, and to judge
extraction by something else than itself.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_simhash.blocks import content_blocks, iterate_blocks, join
from scrapy_simhash.extraction import Page, Selectors, compiled_selector, prepared


class SelectorCount(NamedTuple):
    """How many elements of a page a selector finds."""

    use: str
    selector: str
    elements: int


def selector_counts(html: str, selectors: Selectors) -> list[SelectorCount]:
    """What each selector finds: those of `remove` on the whole page, those of `select` on what is
    left of it.
    """
    html = prepared(html)
    counts = []
    for use, texts, without in (
        ("remove", selectors.remove, Selectors()),
        ("select", selectors.select, Selectors(remove=selectors.remove)),
    ):
        root = Page(html, without).root if html and texts else None
        for text in texts:
            found = () if root is None else compiled_selector(text)(root)
            counts.append(
                SelectorCount(use, text, sum(hasattr(element, "iter") for element in found))
            )
    return counts


def content_text(html: str, remove: tuple[str, ...] = ()) -> str:
    """The lines of a page that are no navigation: what readability's answer is held against.

    Of a page that makes the parser fail, nothing.
    """
    html = prepared(html)
    if not html:
        return ""
    try:
        root = Page(html, Selectors(remove=remove)).root
        return "" if root is None else join(content_blocks(iterate_blocks(root)))
    except Exception:  # noqa: BLE001 - as with extraction, any page may come
        return ""
