"""Compile the selectors by which a user says what is content, and what is not."""

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
    """The content selectors of a scheme: CSS, or XPath if they begin with ``/`` or ``(``.

    :param select: selectors of the content; an extractor runs only if none matches.
    :param remove: selectors of elements to remove first.
    """

    select: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def compiled_selector(text: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Return a function that finds the elements that a CSS selector or an XPath matches.

    The function leaves out texts, attributes and numbers that an XPath returns.

    :raises SchemeError: the text is neither CSS nor XPath, or uses an unknown function or prefix.
    """
    from cssselect import HTMLTranslator, SelectorError
    from lxml import etree

    try:
        path = text if text.startswith(("/", "(")) else HTMLTranslator().css_to_xpath(text)
        compiled = etree.XPath(path, namespaces={"re": "http://exslt.org/regular-expressions"})
        # Unknown functions and prefixes raise only during evaluation.
        compiled(etree.Element("html"))
    except (SelectorError, etree.XPathError, ValueError) as error:
        raise SchemeError(f"selector {text!r} is neither CSS nor XPath: {error}") from error

    def find(root: HtmlElement) -> list[HtmlElement]:
        result = compiled(root)
        return list(filter(etree.iselement, result)) if isinstance(result, list) else []

    return find
