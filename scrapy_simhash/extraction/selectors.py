"""Compile the selectors by which a user says what is content, and what is not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.lazy import etree

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement


@dataclass(frozen=True)
class Selectors:
    """The content selectors of a scheme: CSS, or XPath if they begin with ``/`` or ``(``.

    :param select: selectors of the content; an extractor runs only if none matches.
    :param remove: selectors of elements to remove first.
    :param distinct: selectors of values that tell pages apart, see `compiled_values`.
    """

    select: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    distinct: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def compiled_selector(text: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """Return a function that finds the elements that a CSS selector or an XPath matches.

    The function leaves out texts, attributes and numbers that an XPath returns.

    :raises SchemeError: the text is neither CSS nor XPath, or uses an unknown function or prefix.
    """
    search = _search(text, pseudo_elements=False)

    def find(root: HtmlElement) -> list[HtmlElement]:
        result = search(root)
        return list(filter(etree.iselement, result)) if isinstance(result, list) else []

    return find


def compiled_values(text: str) -> Callable[[HtmlElement], list[str]]:
    """Return a function that finds the values that a selector stands for: texts, attributes, and
    for elements the attribute ``content``, ``value`` or ``datetime``, or else their text, or what
    they link to.

    CSS selectors may end in ``::text`` or ``::attr(name)``. :raises SchemeError: as
    `compiled_selector` does.
    """
    search = _search(text, pseudo_elements=True)

    def find(root: HtmlElement) -> list[str]:
        result = search(root)
        return [_value(one) for one in (result if isinstance(result, list) else [result])]

    return find


def _value(found: Any) -> str:
    if isinstance(found, (str, float, bool)):
        return str(found)
    named = (found.get(name, "") for name in ("content", "value", "datetime"))
    linked = (found.get(name, "") for name in ("src", "href", "alt"))
    return next(filter(None, (*named, "".join(found.itertext()).strip(), *linked)), "")


@lru_cache(maxsize=256)
def _search(text: str, *, pseudo_elements: bool) -> Any:
    """Return an XPath, compiled. :raises SchemeError: see `compiled_selector`.

    :param pseudo_elements: CSS may end in ``::text`` or ``::attr(name)``, which find no elements.
    """
    import cssselect
    from parsel.csstranslator import HTMLTranslator

    translator = HTMLTranslator() if pseudo_elements else cssselect.HTMLTranslator()
    try:
        path = text if text.startswith(("/", "(")) else translator.css_to_xpath(text)
        compiled = etree.XPath(path, namespaces={"re": "http://exslt.org/regular-expressions"})
        # Unknown functions and prefixes raise only during evaluation.
        compiled(etree.Element("html"))
    except (cssselect.SelectorError, etree.XPathError, ValueError) as error:
        raise SchemeError(f"selector {text!r} is neither CSS nor XPath: {error}") from error
    return compiled
