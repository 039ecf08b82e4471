"""A page before its main text is chosen: cleaned, parsed, and what it says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_simhash.extraction.lines import join, lines_of, own_heading, without_marks
from scrapy_simhash.extraction.readability import drop_all, element_class
from scrapy_simhash.extraction.selectors import Selectors, compiled_selector

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.lines import Line

_CONTROLS = bytes(range(9)) + bytes((0x0B, 0x0C)) + bytes(range(0x0E, 0x20))
_TO_SPACES = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
# References to those, to noncharacters, and to the marks of `scrapy_simhash.extraction.lines`.
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
    # A search for one byte is several times faster, and hardly a page in Latin script has it.
    if b"\xef" in data:
        data = _NONCHARACTERS.sub(b" ", data)
    data = without_marks(data)
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
        """Return a new tree without what is to be removed; None if the page has no element."""
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
        """Return a new tree of a page that has one."""
        root = self.parse()
        if root is None:  # pragma: no cover - the same bytes gave one before
            raise ValueError("the page has no element")
        return root

    def html(self) -> str:
        """Return the page as text, without what is to be removed."""
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
