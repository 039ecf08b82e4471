"""Page to main text, by name: readability with a fallback (default), segments, or another.

Parsers get a string that Scrapy has decoded, never open the network, never load entities, and
keep libxml2's own limits on depth and size: a page nested deeper than those yields what stands
above the limit.

readability is made for articles. On other pages, such as documentation, it often returns a
sidebar or next to nothing, and different pages that yielded the same remainder would look like
copies. So its answer is compared with that of `scrapy_simhash.segments`: where it has less than
`MIN_SHARE_OF_SEGMENTS` of those words, the segments are the text. The rule looks at the page alone,
so that a page has the same text tomorrow; the figures behind it are in
``docs/decisions/extraction.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_simhash.errors import ExtractionError, SchemeError
from scrapy_simhash.lines import join, lines_of, own_heading, without_marks
from scrapy_simhash.readable import article_of, drop_all, element_class
from scrapy_simhash.segments import content_lines, words_of
from scrapy_simhash.selectors import Selectors, compiled_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.html import HtmlElement

    from scrapy_simhash.lines import Line

MIN_SHARE_OF_SEGMENTS = 0.8
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")

_CONTROLS = bytes(range(9)) + bytes((0x0B, 0x0C)) + bytes(range(0x0E, 0x20))
_TO_SPACES = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
# References to those, to noncharacters, and to the marks of `scrapy_simhash.lines`.
_REFERENCES = re.compile(
    rb"&#(?:"
    rb"0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|5734[4-9]|57350|6553[45])(?![0-9])"
    rb"|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[eE]00[0-6]|[fF]{3}[efEF])(?![0-9a-fA-F])"
    rb");?"
)
_NONCHARACTERS = re.compile(b"\xef\xbf[\xbe\xbf]")


@dataclass(frozen=True)
class Extraction:
    """The main text of a page, blocks on lines of their own.

    :param title: of the page; empty if it has none.
    :param heading: the page's own ``h1``; empty if it has none.
    :param way: ``readability``, ``segments`` (also its fallback), ``selected``, or the extractor's
        name.
    :param canonical: what the page names as its canonical URL (RFC 6596), as written there; empty
        if it names none.
    :param site: what the page itself says of the site it belongs to; empty if it says nothing.
        Pages of one template say the same.
    :param unmatched: selectors that found nothing on the page.
    """

    text: str
    title: str = ""
    heading: str = ""
    way: str = ""
    canonical: str = ""
    site: str = ""
    unmatched: tuple[str, ...] = ()


def extract(
    html: str, extractor: str = "readability", selectors: Selectors | None = None
) -> Extraction:
    """The main text of an HTML page; empty if it has none.

    :param html: a decoded page; it may be broken, empty, or not HTML at all.
    :param extractor: a name in `EXTRACTORS`, or the import path of a function from HTML to text.
    :raises ExtractionError: the extractor gave up on the page.
    :raises SchemeError: there is no such extractor, or a selector makes no sense.
    """
    find = find_extractor(extractor)
    content = prepared(html)
    if not content:
        return Extraction("", way=extractor)
    try:
        page = Page(content, selectors or Selectors())
        about = page.about
        if page.selected is not None:
            return replace(about, text=page.selected, way="selected")
        text, way = find(page)
        return replace(about, text=text, way=way)
    except SchemeError:
        raise
    except Exception as error:
        raise ExtractionError(extractor, f"{type(error).__name__}: {error}") from error


def prepared(html: str) -> bytes:
    """Return a page in UTF-8 without what a parser or `lines_of` could stumble over.

    Control characters, written out or as references, become spaces: lxml refuses to move them
    about, and browsers show nothing for them.
    """
    try:
        data = html.encode()
    except UnicodeEncodeError:  # lone surrogates, from a broken page
        data = html.encode("utf-8", "replace")
    data = _REFERENCES.sub(b" ", data.replace(b"\0", b"").translate(_TO_SPACES))
    if not html.isascii():
        data = without_marks(_NONCHARACTERS.sub(b" ", data))
    return data.strip()


class Page:
    """A page that is parsed when somebody asks for its tree.

    :param html: from `prepared`, not empty.
    """

    def __init__(self, html: bytes, selectors: Selectors) -> None:
        self._bytes = html
        self._remove = selectors.remove
        # For `id("…")` in XPath, and for nothing else.
        self._collect_ids = bool(selectors.select or selectors.remove)
        self._unmatched: dict[str, None] = {}
        self.root = self.parse()
        self.selected: str | None = None
        if self.root is not None and selectors.select:
            found = [
                element for text in selectors.select for element in self._select(self.root, text)
            ]
            # Of nested ones the outer, and each once.
            known = dict.fromkeys(found)
            outer = [e for e in known if not any(above in known for above in e.iterancestors())]
            if outer:
                self.selected = "\n".join(join(lines_of(element)) for element in outer)

    def parse(self) -> HtmlElement | None:
        """A fresh tree, without what is to be removed; None if the page has no element."""
        from lxml import etree
        from lxml.html import document_fromstring

        try:
            # Bytes, for lxml refuses strings with an encoding declaration of their own.
            root: HtmlElement = document_fromstring(
                self._bytes, parser=_parser(collect_ids=self._collect_ids)
            )
        except etree.ParserError:  # no element at all: empty, or comments alone
            return None
        for text in self._remove:
            drop_all(self._select(root, text))
        return root

    def _select(self, root: HtmlElement, selector: str) -> list[HtmlElement]:
        found = [e for e in compiled_selector(selector)(root) if hasattr(e, "drop_tree")]
        if not found:
            self._unmatched[selector] = None
        return found

    def parse_again(self) -> HtmlElement:
        """A fresh tree of a page that has one."""
        root = self.parse()
        if root is None:  # pragma: no cover - the same bytes gave one before
            raise ValueError("the page has no element")
        return root

    def html(self) -> str:
        """The page as text, without what is to be removed."""
        from lxml.html import tostring

        if not self._remove or self.root is None:
            return self._bytes.decode("utf-8")
        text: str = tostring(self.root, encoding="unicode")
        return text

    @cached_property
    def lines(self) -> list[Line]:
        """All visible lines of the page."""
        return [] if self.root is None else lines_of(self.root)

    @property
    def about(self) -> Extraction:
        """What the page says of itself, without its text."""
        if self.root is None:
            return Extraction("")
        heading = own_heading(self.lines)
        title = canonical = ""
        stylesheets = set()
        # In all of the page, for the parser ends the head at the first element of a body.
        for element in self.root.iter("title", "link"):
            if element.tag == "title":
                above = element.getparent()
                if not title and (above is None or above.tag != "svg"):
                    title = " ".join(element.text_content().split())
                continue
            relation = element.get("rel", "").lower().split()
            if "canonical" in relation:
                canonical = canonical or element.get("href", "").strip()
            elif "stylesheet" in relation:
                stylesheets.add(element.get("href", "").partition("?")[0])
        return Extraction(
            "",
            title=title,
            heading="" if heading is None else heading.text,
            canonical=canonical,
            site=_host(canonical) or _declared_host(self.root) or " ".join(sorted(stylesheets)),
            unmatched=tuple(self._unmatched),
        )


def _declared_host(root: HtmlElement) -> str:
    """Return the first host that a ``base`` or an ``og:url`` names, or nothing."""
    for element in root.iter("base", "meta"):
        if element.tag == "base":
            url = element.get("href", "")
        elif element.get("property") == "og:url":
            url = element.get("content", "")
        else:
            continue
        if host := _host(url):
            return host
    return ""


def _host(url: str) -> str:
    try:
        return (urlsplit(url.strip()).hostname or "").removeprefix("www.")
    except ValueError:  # brackets that are no IPv6 address
        return ""


def _parser(*, collect_ids: bool) -> Any:
    """Return a parser whose elements are all of one class: lxml.html's own asks Python for the
    class of each one, which costs as much as the parsing.
    """
    from lxml import etree

    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=collect_ids
    )
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=element_class()))
    return parser


def _readability(page: Page) -> tuple[str, str]:
    if page.root is None:
        return "", "readability"
    segments = content_lines(page.lines)
    article = lines_of(article_of(page.root, page.parse_again, drop_consent=True), clean=True)
    if words_of(article) < MIN_SHARE_OF_SEGMENTS * words_of(segments):
        return join(segments), "segments"
    heading = own_heading(page.lines)
    if heading is not None and all(line.text != heading.text for line in article):
        article.insert(0, heading)
    return join(article), "readability"


def _plain_readability(page: Page) -> tuple[str, str]:
    if page.root is None:
        return "", "readability-only"
    article = article_of(page.root, page.parse_again)
    return join(lines_of(article, clean=True)), "readability-only"


def _segments(page: Page) -> tuple[str, str]:
    return join(content_lines(page.lines)), "segments"


def _visible_text(page: Page) -> tuple[str, str]:
    return join(page.lines), "text"


def _trafilatura(page: Page) -> tuple[str, str]:
    from trafilatura import extract as trafilatura_extract

    text = trafilatura_extract(page.html(), fast=True, include_comments=False)
    return text or "", "trafilatura"


def _resiliparse(page: Page) -> tuple[str, str]:
    from resiliparse.extract.html2text import extract_plain_text

    text = extract_plain_text(page.html(), main_content=True, alt_texts=False)
    return text, "resiliparse"


EXTRACTORS: Mapping[str, Callable[[Page], tuple[str, str]]] = {
    "readability": _readability,
    "readability-only": _plain_readability,
    "segments": _segments,
    "text": _visible_text,
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
}
"""Functions from page to (text, way), by name."""


_EXTRAS = ("trafilatura", "resiliparse")


def is_extractor(name: str) -> bool:
    """Whether a name could be that of an extractor; import paths are not tried."""
    return name in EXTRACTORS or _IMPORT_PATH.fullmatch(name) is not None


@lru_cache(maxsize=64)
def find_extractor(name: str) -> Callable[[Page], tuple[str, str]]:
    """The extractor of that name or import path. :raises SchemeError: there is none."""
    if name in _EXTRAS and find_spec(name) is None:
        raise SchemeError(
            f"the extractor {name} is not installed: pip install scrapy-simhash[{name}]"
        )
    if name in EXTRACTORS:
        return EXTRACTORS[name]
    module, _, attribute = name.rpartition(".")
    try:
        function: Callable[[str], object] = getattr(import_module(module), attribute)
        if not callable(function):
            raise TypeError("not callable")
    except Exception as error:
        raise SchemeError(
            f"extractor={name!r}: one of {', '.join(EXTRACTORS)}, or the import path of a "
            f"function from HTML to text ({type(error).__name__}: {error})"
        ) from error

    def extracted(page: Page) -> tuple[str, str]:
        text = function(page.html())
        if text is not None and not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of a text")
        return text or "", name

    return extracted


def visible_text(html: str) -> str:
    """All text of a page, or a piece of one, that a browser would show."""
    return extract(html, "text").text


def plain_text(text: str) -> str:
    """Return a text; if it holds markup, what a browser would show of it."""
    return visible_text(text) if _MARKUP.search(text) else text
