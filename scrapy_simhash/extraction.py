"""Page to main text, by name: readability (default), or all visible text.

Parsers get a string that Scrapy has decoded, never open the network, never load entities, and
keep libxml2's own limits on depth and size: a page nested deeper than those yields what stands
above the limit.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import ExtractionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.html import HtmlElement

# What a browser shows on lines of its own; elsewhere tags don't separate words.
_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html "
    "legend li main menu nav ol optgroup option p pre section select summary table tbody td "
    "tfoot th thead title tr ul".split()
)
_INVISIBLE = frozenset(
    "applet audio canvas embed head iframe math noframes noscript object script style svg "
    "template textarea video".split()
)
_CONTROLS = re.compile(
    "[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    "|&#0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]);?"
    "|&#x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f]);?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Extraction:
    """The main text of a page, blocks on lines of their own, and the way it was got."""

    text: str
    extractor: str


def extract(html: str, extractor: str = "readability") -> Extraction:
    """The main text of an HTML page; empty if it has none.

    :param html: a decoded page; it may be broken, empty, or not HTML at all.
    :param extractor: a name in `EXTRACTORS`.
    :raises ExtractionError: the extractor gave up on the page.
    """
    html = without_controls(html)
    if not html.strip():
        return Extraction("", extractor)
    try:
        text = EXTRACTORS[extractor](html)
    except Exception as error:
        raise ExtractionError(extractor, f"{type(error).__name__}: {error}") from error
    return Extraction(text, extractor)


def without_controls(html: str) -> str:
    """A page without the characters that lxml refuses to move about, written out or as
    references; browsers show nothing for them.
    """
    html = html.replace("\0", "")
    return _CONTROLS.sub(" ", html) if _CONTROLS.search(html) else html


def readability_text(html: str) -> str:
    """The article as readability-lxml finds it."""
    document_class, unparseable = _readability()
    try:
        summary = document_class(html).summary(html_partial=True)
    except unparseable:
        # It says so of pages without any element, too, which are only empty.
        if _parse(html) is None:
            return ""
        raise
    return visible_text(summary)


def visible_text(html: str) -> str:
    """All text that a browser would show, whatever its place on the page."""
    root = _parse(html)
    return "" if root is None else _text_of(root)


EXTRACTORS: Mapping[str, Callable[[str], str]] = {
    "readability": readability_text,
    "text": visible_text,
}


@lru_cache(maxsize=1)
def _readability() -> tuple[Any, type[Exception]]:
    from readability import Document
    from readability.readability import Unparseable

    # It logs each candidate of each page at DEBUG, and a traceback for each page it gives up;
    # we count the latter.
    log = logging.getLogger("readability.readability")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return Document, Unparseable


def _parse(html: str) -> HtmlElement | None:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        # Bytes, for lxml refuses strings with an encoding declaration of their own.
        return document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:  # no element at all: empty, or comments alone
        return None


def _text_of(root: HtmlElement) -> str:
    from lxml import etree

    pieces: list[str] = []
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if event == "start":
            if tag in _INVISIBLE:
                walker.skip_subtree()
                continue
            if tag in _BLOCKS:
                pieces.append("\n")
            pieces.append(element.text or "")
        else:
            if tag in _BLOCKS:
                pieces.append("\n")
            pieces.append(element.tail or "")
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)
