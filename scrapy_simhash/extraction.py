"""Page to main text, by name: readability with a fallback (default), or another extractor.

Parsers get a string that Scrapy has decoded, never open the network, never load entities, and
keep libxml2's own limits on depth and size: a page nested deeper than those yields what stands
above the limit.

readability is made for articles. On other pages, such as documentation, it often returns a
sidebar or next to nothing, and different pages that yielded the same remainder would look like
copies. So its answer is held against the running text of the page: where it is less than
`MIN_PROSE_SHARE` of that, the page's content lines are taken instead, and the extraction is
*weak*. The rule looks at the page alone, so that a page has the same text tomorrow; the figures
behind it are in ``docs/decisions/extraction.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.blocks import content_blocks, iterate_blocks, join, prose_characters
from scrapy_simhash.errors import ExtractionError, SchemeError
from scrapy_simhash.readable import article_of, drop_all, element_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.html import HtmlElement

MIN_PROSE_SHARE = 0.45
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CONTROL_REFERENCES = re.compile(
    "&#0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]);?"
    "|&#[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[fF]{3}[efEF])(?![0-9a-fA-F]);?"
)


class Measured(NamedTuple):
    """What decided whether readability's answer is too little: characters of the article, of what
    the page shows at most, and of its running text; None where the second was enough to know.
    """

    article_characters: int
    visible_characters: int
    prose_characters: int | None = None


@dataclass(frozen=True)
class Extraction:
    """The main text of a page, blocks on lines of their own.

    :param title: of the page; empty if it has none.
    :param way: ``readability``, ``content`` (its fallback), ``selected``, or the extractor's name.
    :param weak: the text may be more or less than the content: verdicts that rest on it are weak.
    :param canonical: what the page names as its canonical URL (RFC 6596), as it stands there;
        empty if it names none.
    :param measured: by what readability's answer was taken or not.
    """

    text: str
    title: str = ""
    way: str = ""
    weak: bool = False
    canonical: str = ""
    measured: Measured | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Selectors:
    """What people know of their sites: CSS selectors, or XPath where they begin with ``/`` or
    ``(``. What `select` finds is the content, without asking an extractor; what `remove` finds is
    taken out first.
    """

    select: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


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
    html = prepared(html)
    if not html:
        return Extraction("", way=extractor)
    try:
        page = Page(html, selectors or Selectors())
        canonical = page.canonical
        if page.selected is not None:
            return Extraction(page.selected, page.title, "selected", canonical=canonical)
        return replace(find(page), canonical=canonical)
    except SchemeError:
        raise
    except Exception as error:
        raise ExtractionError(extractor, f"{type(error).__name__}: {error}") from error


def prepared(html: str) -> str:
    """A page as `Page` takes it. White space at the ends of lines only costs time."""
    lines = (line.strip() for line in without_controls(html).split("\n"))
    return "\n".join([line for line in lines if line])


def without_controls(html: str) -> str:
    """A page without the characters that lxml refuses to move about, written out or as
    references; browsers show nothing for them.
    """
    html = html.replace("\0", "")
    if _CONTROLS.search(html):
        html = _CONTROLS.sub(" ", html)
    return _CONTROL_REFERENCES.sub(" ", html) if "&#" in html else html


class Page:
    """A page that is parsed when somebody asks for its tree.

    :param html: decoded, not empty.
    """

    def __init__(self, html: str, selectors: Selectors) -> None:
        self._bytes = html.encode("utf-8", "replace")
        self._remove = [compiled_selector(text) for text in selectors.remove]
        self.root = self.parse()
        self.selected: str | None = None
        if self.root is not None and selectors.select:
            found = [
                element
                for text in selectors.select
                for element in compiled_selector(text)(self.root)
                if hasattr(element, "iter")
            ]
            # Of nested ones the outer, and each once.
            known = dict.fromkeys(found)
            outer = [e for e in known if not any(above in known for above in e.iterancestors())]
            if outer:
                self.selected = "\n".join(join(iterate_blocks(element)) for element in outer)

    def parse(self) -> HtmlElement | None:
        """A fresh tree, without what is to be removed; None if the page has no element."""
        from lxml import etree
        from lxml.html import document_fromstring

        try:
            # Bytes, for lxml refuses strings with an encoding declaration of their own.
            root: HtmlElement = document_fromstring(self._bytes, parser=_parser())
        except etree.ParserError:  # no element at all: empty, or comments alone
            return None
        for find in self._remove:
            drop_all(element for element in find(root) if hasattr(element, "drop_tree"))
        return root

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

    @property
    def title(self) -> str:
        """Text of the first ``title`` element."""
        found = None if self.root is None else self.root.find(".//title")
        return "" if found is None else " ".join(found.text_content().split())

    @property
    def canonical(self) -> str:
        """Target of the first ``<link rel="canonical">``."""
        for link in () if self.root is None else self.root.iter("link"):
            if "canonical" in link.get("rel", "").lower().split():
                href: str = link.get("href", "")
                return href.strip()
        return ""


def _parser() -> Any:
    """A parser whose elements are all of one class: lxml.html's own asks Python for the class of
    each one, which costs as much as the parsing.
    """
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=element_class()))
    return parser


def _readability(page: Page) -> Extraction:
    if page.root is None:
        return Extraction("", way="readability")
    title = page.title
    article, visible_characters = article_of(page.root, page.parse_again)
    text = join(iterate_blocks(article))
    measured = Measured(len(text), visible_characters)
    # Where the article is most of what the page shows, it is most of its running text, too.
    if len(text) < MIN_PROSE_SHARE * visible_characters:
        content = content_blocks(iterate_blocks(page.parse_again()))
        prose = prose_characters(content)
        measured = measured._replace(prose_characters=prose)
        if len(text) < MIN_PROSE_SHARE * prose:
            return Extraction(join(content), title, "content", weak=True, measured=measured)
    return Extraction(text, title, "readability", measured=measured)


def _plain_readability(page: Page) -> Extraction:
    if page.root is None:
        return Extraction("", way="readability-only")
    title = page.title
    article, _ = article_of(page.root, page.parse_again)
    return Extraction(join(iterate_blocks(article)), title, "readability-only")


def _visible_text(page: Page) -> Extraction:
    if page.root is None:
        return Extraction("", way="text")
    return Extraction(join(iterate_blocks(page.root)), page.title, "text")


def _trafilatura(page: Page) -> Extraction:
    from trafilatura import extract as trafilatura_extract

    text = trafilatura_extract(page.html(), fast=True, include_comments=False)
    return Extraction(text or "", page.title, "trafilatura")


def _resiliparse(page: Page) -> Extraction:
    from resiliparse.extract.html2text import extract_plain_text

    text = extract_plain_text(page.html(), main_content=True, alt_texts=False)
    return Extraction(text, page.title, "resiliparse")


EXTRACTORS: Mapping[str, Callable[[Page], Extraction]] = {
    "readability": _readability,
    "readability-only": _plain_readability,
    "text": _visible_text,
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
}


_EXTRAS = ("trafilatura", "resiliparse")


def is_extractor(name: str) -> bool:
    """Whether a name could be that of an extractor; import paths are not tried."""
    return name in EXTRACTORS or _IMPORT_PATH.fullmatch(name) is not None


@lru_cache(maxsize=64)
def find_extractor(name: str) -> Callable[[Page], Extraction]:
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

    def extracted(page: Page) -> Extraction:
        text = function(page.html())
        if text is not None and not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of a text")
        return Extraction(text or "", page.title, name)

    return extracted


@lru_cache(maxsize=256)
def compiled_selector(text: str) -> Callable[[HtmlElement], list[HtmlElement]]:
    """A CSS selector, or an XPath if it begins with ``/`` or ``(``, ready to be used.

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


def visible_text(html: str) -> str:
    """All text of a page, or a piece of one, that a browser would show."""
    return extract(html, "text").text
