"""What people know of their sites: selectors of what is the content, and of what is not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement


@dataclass(frozen=True)
class Selectors:
    """CSS selectors, or XPath where they begin with ``/`` or ``(``. What `select` finds is the
    content, without asking an extractor; what `remove` finds is taken out first.
    """

    select: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def compiled_selector(text: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Return a function that finds what a CSS selector, or an XPath, selects.

    :raises SchemeError: it is neither.
    """
    from cssselect import HTMLTranslator, SelectorError
    from lxml import etree

    try:
        path = text if text.startswith(("/", "(")) else HTMLTranslator().css_to_xpath(text)
        compiled = etree.XPath(path, namespaces={"re": "http://exslt.org/regular-expressions"})
        # Functions and prefixes that don't exist come out when it is asked.
        compiled(etree.Element("html"))
    except (SelectorError, etree.XPathError, ValueError) as error:
        raise SchemeError(f"selector {text!r} is neither CSS nor XPath: {error}") from error

    def find(root: HtmlElement) -> list[HtmlElement]:
        found = compiled(root)
        return found if isinstance(found, list) else []

    return find
