"""Clean and parse a page, and read its title, heading, canonical URL and site."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.choices import choices
from scrapy_simhash.extraction.declared import declared
from scrapy_simhash.extraction.elements import Elements, drop_all, unfold
from scrapy_simhash.extraction.lines import join, lines_of
from scrapy_simhash.extraction.naming import (
    further_names,
    host_of,
    identities_of,
    is_document,
    main_thing,
    page_names,
)
from scrapy_simhash.extraction.readability import element_class
from scrapy_simhash.extraction.segments import MAX_SHORT_WORDS, content_lines, words_of
from scrapy_simhash.extraction.selectors import Selectors, compiled_selector, compiled_values
from scrapy_simhash.extraction.states import notices, prices
from scrapy_simhash.extraction.targets import embedded_documents, final_targets, own_targets
from scrapy_simhash.lazy import etree, np
from scrapy_simhash.sites import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.declared import Declared
    from scrapy_simhash.extraction.lines import Line
    from scrapy_simhash.names.names import Names

_CONTROL_CHARACTERS = bytes(range(9)) + bytes((0x0B, 0x0C)) + bytes(range(0x0E, 0x20))
_TO_SPACES = bytes.maketrans(_CONTROL_CHARACTERS, b" " * len(_CONTROL_CHARACTERS))
# Character references to control characters, noncharacters and the marks that `lines_of` writes
# where blocks, links and chrome begin. The marks are in U+E000 to U+E00F.
_REFERENCES = re.compile(
    rb"&#(?:"
    rb"0*(?:[0-8]|1[124-9]|2[0-9]|3[01]|5734[4-9]|5735[0-9]|6553[45])(?![0-9])"
    rb"|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[eE]00[0-9a-fA-F]|[fF]{3}[efEF])(?![0-9a-fA-F])"
    rb");?"
)
# An element takes up to a kilobyte of memory, and each attribute of it 100 bytes. No page that
# people read has as many tags.
MAX_TAGS = 300_000
_SHORTEST_TAG = len("<p>")
# To add an attribute, the parser walks along those of its tag: 20,000 of them take it seconds.
MAX_ATTRIBUTES = 200
# Tags of less than three blocks keep all attributes, if they have more.
_BLOCK_BYTES = 8192
_TAG_OR_COMMENT = re.compile(rb"<(!--|[a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(rb"""[\s/]*[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>]*))?""")
# Elements without tags inside.
_RAW_TAGS = frozenset((b"script", b"style", b"title", b"textarea", b"iframe", b"xmp", b"noframes"))
# Marks and noncharacters in UTF-8. `prepared` first looks for their first byte alone: this is
# several times faster, and few pages in Latin script contain that byte.
_MARKS = re.compile(b"\xee\x80[\x80-\x8f]")
_NONCHARACTERS = re.compile(b"\xef\xbf[\xbe\xbf]")


@dataclass(frozen=True)
class Extraction:
    """The main text of a page, and what the page says of itself.

    :param title: the page's ``title``, or else the one that its markup declares, or empty.
    :param heading: the first of `headings`, or empty.
    :param way: name or import path of the extractor; ``segments`` if they replaced ``readability``;
        ``selected`` if selectors chose the text; ``declared`` if it is that of JSON-LD.
    :param canonical: the page's canonical URL (RFC 6596), as the page writes it, or empty.
    :param site: registered domain of the canonical URL, ``base`` or ``og:url``; else that of the
        absolute URLs of stylesheets, if all have the same; or empty.
    :param unmatched: selectors, of `select` and `remove`, that matched nothing on the page.
    :param targets: where the page's own links lead, see `own_targets`.
    :param is_notice: the text is a notice beside data in scripts, see `is_notice`.
    :param names: all of the page's names; None for a text whose only name is the title.
    :param identities: (kind, value) of the identities that the page declares for its main thing.
    :param states: what the page declares of its main thing that may change, such as its price; else
        the first prices that it shows. Also notices below its heading, and its `final_targets`.
    :param distinct: selector → the values that it finds, for the selectors of `Selectors.distinct`.
    """

    text: str
    title: str = ""
    heading: str = ""
    way: str = ""
    canonical: str = ""
    site: str = ""
    unmatched: tuple[str, ...] = ()
    targets: Mapping[str, int] = field(default_factory=dict)
    is_notice: bool = False
    names: Names | None = None
    identities: tuple[tuple[str, str], ...] = ()
    states: tuple[str, ...] = ()
    distinct: Mapping[str, Sequence[str]] = field(default_factory=dict)


def prepared(html: str) -> bytes:
    """Return a page in UTF-8, without characters that the parser cannot handle.

    Spaces replace control characters, noncharacters, the marks of `lines_of`, and references to
    these. NUL is removed. Browsers do not show control characters, and lxml raises an error if text
    with them is moved in the tree. Attributes of a tag beyond `MAX_ATTRIBUTES` are removed.

    :raises ValueError: the page has more than `MAX_TAGS` tags.
    """
    data = html.encode("utf-8", "replace")  # a broken page may have lone surrogates
    # Hardly a page needs the slower steps.
    codes = np.frombuffer(data, np.uint8)
    if codes[codes < ord(" ")].tobytes().translate(None, b"\t\n\r"):
        data = data.replace(b"\0", b"").translate(_TO_SPACES)
    data = _REFERENCES.sub(b" ", data)
    if b"\xef" in data:
        data = _NONCHARACTERS.sub(b" ", data)
    if b"\xee" in data:
        data = _MARKS.sub(b" ", data)
    if len(data) > _SHORTEST_TAG * MAX_TAGS and data.count(b"<") > MAX_TAGS:
        raise ValueError(f"the page has more than {MAX_TAGS} tags")
    return _with_few_attributes(data).strip()


def _with_few_attributes(data: bytes) -> bytes:
    """Return a page without further attributes of long tags with very many."""
    # Cutting all tags takes as long as parsing. So most pages are only searched for two blocks, one
    # after the other, that may be inside of a tag.
    start = outside = 0
    was_inside = False
    while start < len(data):
        start += _BLOCK_BYTES
        end = data.find(b">", start - _BLOCK_BYTES, start)
        is_inside = end < 0 or _may_be_quoted(data, outside, end)
        if not is_inside:
            outside = end
        elif was_inside:
            cuts, start = _cuts(data, outside, start)
            if cuts:  # `outside` may be in a script
                cuts, _ = _cuts(data, 0, len(data))
                begins = [0, *(end for _, end in cuts)]
                ends = [*(begin for begin, _ in cuts), len(data)]
                return b"".join(data[begin:end] for begin, end in zip(begins, ends, strict=True))
            outside, is_inside = start, False
        was_inside = is_inside
    return data


def _cuts(data: bytes, start: int, end: int) -> tuple[list[tuple[int, int]], int]:
    """Return where further attributes begin and end, and the end of the last tag or comment."""
    cuts: list[tuple[int, int]] = []
    while start < end:
        tag = _TAG_OR_COMMENT.search(data, start)
        if tag is None:
            return cuts, len(data)
        name = tag[1].lower()
        start = tag.end()
        last = count = 0
        while name != b"!--" and (attribute := _ATTRIBUTE.match(data, start)):
            start = attribute.end()
            count += 1
            if count == MAX_ATTRIBUTES:
                last = start
        if last and start - tag.end() > 2 * _BLOCK_BYTES:
            cuts.append((last, start))
        if name == b"!--":
            start = data.find(b"-->", start - 2)
        elif name in _RAW_TAGS:
            close = re.compile(b"</" + name, re.IGNORECASE).search(data, start)
            start = close.start() if close else -1
        if start < 0:
            return cuts, len(data)
    return cuts, start


def _may_be_quoted(data: bytes, outside: int, at: int) -> bool:
    """Return True if a place may be in the quoted value of an attribute.

    :param outside: an earlier place, which is not inside of a tag.
    """
    for quote in b'"', b"'":
        last = data.rfind(quote, outside, at)
        if last >= 0:  # before the quote that opens a value is an equals sign
            before = data[max(last - 9, 0) : last].rstrip()
            if not before or before.endswith(b"="):
                return True
    return False


class Page:
    """A parsed page, without the elements that the selectors remove.

    `elements` are those of its tree, or None if the page has none. `selected` is the text of those
    that ``select`` selectors match, or None if there are none. `way` is empty unless an extractor
    sets it to the name of another extractor whose text it returns.

    :param html: from `prepared`, not empty.
    :raises SchemeError: see `compiled_selector`.
    """

    def __init__(self, html: bytes, selectors: Selectors) -> None:
        self._bytes = html
        self._remove = selectors.remove
        # Only `id("…")` in XPath needs the IDs.
        self._collect_ids = selectors != Selectors()
        self._unmatched: dict[str, None] = {}
        self._distinct: dict[str, list[str]] = {}
        self.elements = self.parse(selectors.distinct)
        self.selected: str | None = None
        self.way = ""
        if self.elements is not None:
            root = self.elements.root
            selected = dict.fromkeys(
                element for selector in selectors.select for element in self._select(root, selector)
            )
            # The text of a selected element contains the text of selected elements inside it.
            outer = [
                e for e in selected if not any(above in selected for above in e.iterancestors())
            ]
            if outer:
                # The content, and all that counts of the page.
                self.content = [line for one in outer for line in lines_of(Elements(one))]
                self.selected = join(self.content)

    def parse(self, distinct: Sequence[str] = ()) -> Elements | None:
        """Return a new tree without the removed elements; None if the page has no element.

        :param distinct: selectors whose values are read before.
        """
        from lxml.html import document_fromstring

        def parse(html: bytes) -> HtmlElement | None:
            try:
                # Bytes, because lxml refuses strings with an encoding declaration.
                root: HtmlElement = document_fromstring(html, parser=parser)
            except etree.ParserError:  # no element: empty, or only comments
                return None
            return root

        parser = etree.HTMLParser(
            encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=self._collect_ids
        )
        # The parser of lxml.html chooses each class in Python, which takes as long as parsing.
        parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=element_class()))
        root = parse(self._bytes)
        if root is None:
            return None
        elements = Elements(root)
        if unfold(elements, parse):
            elements = Elements(root)
        for selector in distinct:
            self._distinct[selector] = compiled_values(selector)(root)
            if not self._distinct[selector]:
                self._unmatched[selector] = None
        for selector in self._remove:
            drop_all(self._select(root, selector))
        return Elements(root) if self._remove else elements

    def _select(self, root: HtmlElement, selector: str) -> list[HtmlElement]:
        elements = compiled_selector(selector)(root)
        if not elements:
            self._unmatched[selector] = None
        return elements

    def html(self) -> str:
        """Return the page as HTML, without the removed elements."""
        from lxml.html import tostring

        if not self._remove or self.elements is None:
            return self._bytes.decode("utf-8")
        text: str = tostring(self.elements.root, encoding="unicode")
        return text

    @cached_property
    def lines(self) -> list[Line]:
        """Return the visible lines of the page, see `lines_of`."""
        return [] if self.elements is None else lines_of(self.elements)

    @cached_property
    def content(self) -> list[Line]:
        """Return the lines that the selectors select, else those of the content of the page."""
        return content_lines(self.lines, is_document=self._is_document)

    @cached_property
    def _facts(self) -> Declared | None:
        return None if self.elements is None else declared(self.elements)

    @cached_property
    def _is_document(self) -> bool:
        return self._facts is not None and is_document(self._facts, self.lines)

    def _targets(self) -> Mapping[str, int]:
        # The links of an article lead to other articles, however many there are.
        if self._is_document and words_of(self.content) >= MAX_SHORT_WORDS:
            return {}
        return own_targets(self.lines if self.selected is None else self.content, self.content)

    @property
    def about(self) -> Extraction:
        """Return what the page says of itself, with an empty text."""
        elements, facts = self.elements, self._facts
        if elements is None or facts is None:
            return Extraction("")
        titles = (
            " ".join(one.text_content().split())
            for one in elements.tagged("title")
            if (above := one.getparent()) is None or above.tag != "svg"
        )
        title = next(filter(None, titles), "")
        links = elements.tagged("link")
        canonical = next(_linked(links, "canonical"), "")
        host = host_of(canonical) or next(_declared_hosts(elements), "")
        if not host:
            stylesheets = filter(None, map(host_of, _linked(links, "stylesheet")))
            domains = set(map(registered_domain, stylesheets))
            host = domains.pop() if len(domains) == 1 else ""
        names = page_names(elements, self.lines, facts, title, host)
        main = main_thing(facts, names)
        return Extraction(
            "",
            title=names.title,
            heading=names.headings[0] if names.headings else "",
            canonical=canonical,
            site=registered_domain(host) if host else "",
            unmatched=tuple(self._unmatched),
            targets=self._targets(),
            names=names,
            identities=(
                *identities_of(main, self.lines, names, canonical),
                *further_names(elements, self.lines, facts, names),
                *embedded_documents(elements),
                *(choices(elements) if words_of(self.content) < MAX_SHORT_WORDS else ()),
            ),
            states=(
                *(main.states or prices(self.lines)),
                *notices(self.lines, elements),
                *final_targets(self.lines),
            ),
            distinct=self._distinct,
        )


def _linked(links: Iterable[HtmlElement], relation: str) -> Iterator[str]:
    """Yield what the ``link`` elements with a relation lead to."""
    of_relation = (link for link in links if relation in link.get("rel", "").lower().split())
    return filter(None, (link.get("href", "").strip() for link in of_relation))


def _declared_hosts(elements: Elements) -> Iterator[str]:
    """Yield the hosts in each ``base`` and ``og:url``."""
    urls = (
        element.get("href" if element.tag == "base" else "content", "")
        for element in elements.tagged("base", "meta")
        if element.tag == "base" or element.get("property") == "og:url"
    )
    return filter(None, map(host_of, urls))
