"""The elements of a page by tag, by attribute and by name, for all who search them.

`unfold` puts what a browser shows, and a parser does not, into the tree: declarative shadow roots
(``template shadowrootmode``), documents in attributes (``iframe srcdoc``) and the fallback of
objects that a browser cannot show.

A search of a tree takes a tenth of the time of parsing it. So the tree is walked once, for all tags
and attributes.

Most elements have no name that anybody asks for. So all attributes are searched together, word by
word, and names are read only where a word is found. This is several times as fast as reading all
names.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_simhash.file_types import type_of
from scrapy_simhash.lazy import etree
from scrapy_simhash.tokens.tokenization import places_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.html import HtmlElement

# Elements that may be asides, banners or breadcrumbs by their names.
_NAMED_TAGS = (
    *("article", "div", "form", "ol", "section", "table", "ul"),
    *("aside", "dialog", "nav"),
)
_ATTRIBUTES = frozenset("hidden popover style role itemprop typeof property datetime".split())
_END = "\0"  # of the attributes of an element; no page has it
_DROPPED = "dropped-element"  # a tag that no page has
# To read more would take long: each of many elements in one another may contain the whole page.
_MAX_LINE_CHARACTERS = 100_000
_SHADOW_MODES = ("open", "closed")
# Media types that browsers show, by their beginnings; they then do not show the fallback.
_SHOWN_TYPES = ("image/", "text/", "video/", "audio/", "application/pdf")


class Elements:
    """The elements of a tree. Elements that are removed or renamed later stay what they were.

    :ivar root: the root of the tree.
    """

    def __init__(self, root: HtmlElement) -> None:
        self.root = root
        self._by_tag: dict[str, list[HtmlElement]] = defaultdict(list)
        self._by_attribute: dict[str, list[HtmlElement]] = {name: [] for name in _ATTRIBUTES}
        self._by_words: dict[tuple[str, ...], list[HtmlElement]] = {}
        for element in root.iter("*"):
            self._by_tag[element.tag].append(element)
            if not _ATTRIBUTES.isdisjoint(names := element.keys()):
                for name in _ATTRIBUTES.intersection(names):
                    self._by_attribute[name].append(element)

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return sum(map(len, self._by_tag.values()))

    def tagged(self, *tags: str) -> list[HtmlElement]:
        """Return the elements with these tags, tag by tag, each in document order."""
        return [element for tag in tags for element in self._by_tag[tag]]

    def having(self, name: str) -> list[HtmlElement]:
        """Return the elements with an attribute, one of `_ATTRIBUTES`, in document order."""
        return self._by_attribute[name]

    def with_words(self, words: tuple[str, ...]) -> list[HtmlElement]:
        """Return the elements of `_NAMED_TAGS` with an attribute that contains one of the words."""
        if words not in self._by_words:
            elements, text = self._named
            found: dict[HtmlElement, None] = {}
            number = start = 0
            for at in sorted(chain.from_iterable(places_of(word, text) for word in words)):
                number += text.count(_END, start, at)
                found[elements[number]] = None
                start = at
            self._by_words[words] = list(found)
        return self._by_words[words]

    @cached_property
    def _named(self) -> tuple[list[HtmlElement], str]:
        """Return the elements of `_NAMED_TAGS`, and their attributes in lower case."""
        elements = self.tagged(*_NAMED_TAGS)
        return elements, _END.join([" ".join(one.values()) for one in elements]).lower()


def names_of(element: HtmlElement) -> str:
    """Return the classes and the id of an element."""
    return f"{element.get('class', '')} {element.get('id', '')}"


def text_of(element: HtmlElement) -> str:
    """Return the text of an element and of those inside it, faster than `text_content` does."""
    text: str = etree.tostring(element, encoding="unicode", method="text", with_tail=False)
    return text


def line_of(element: HtmlElement) -> str:
    """Return the `text_of` an element, or its beginning, with white space collapsed."""
    return " ".join(text_of(element)[:_MAX_LINE_CHARACTERS].split())


def holding(inner: Iterable[HtmlElement]) -> set[HtmlElement | None]:
    """Return the elements that contain one of the inner elements. Each is visited once."""
    holding: set[HtmlElement | None] = {None}
    for element in inner:
        above = element.getparent()
        while above not in holding:
            holding.add(above)
            above = above.getparent()
    return holding


def drop_all(elements: Iterable[HtmlElement]) -> None:
    """Remove elements from their tree, except the root, but keep the text after them.

    Calling `drop_tree` for each would copy the text between neighbours repeatedly.
    """
    dropped = [element for element in elements if element.getparent() is not None]
    for element in dropped:
        element.tag = _DROPPED
    if dropped:
        etree.strip_elements(dropped[0].getroottree(), _DROPPED, with_tail=False)


def unfold(elements: Elements, parse: Callable[[bytes], HtmlElement | None]) -> bool:
    """Change a tree so that its elements are those that a browser shows; return False if they are.

    :param parse: returns the tree of a document, or None if it has no element.
    """
    is_changed = False
    for element in elements.tagged("template", "iframe", "object"):
        if element.tag == "template":
            if element.get("shadowrootmode", "").lower() in _SHADOW_MODES:
                _attach(element)
                is_changed = True
        elif element.tag == "iframe":
            source = element.get("srcdoc", "")
            document = parse(source.encode()) if source.strip() else None
            if document is not None:
                element.tag = "div"
                element.text = None
                element.append(document)
                is_changed = True
        else:
            data = element.get("data", "")
            if (element.get("type") or type_of(data)).lower().startswith(_SHOWN_TYPES):
                element.tag = "script"  # invisible, as for `lines_of`
    return is_changed


def _attach(template: HtmlElement) -> None:
    """Make a template the shadow root of its parent, which shows other children only in slots."""
    template.tag = "div"
    host = template.getparent()
    slots = {slot.get("name", "") for slot in template.iter("slot")}
    if "" not in slots:
        host.text = None
        for child in host:
            child.tail = None
    drop_all(
        [child for child in host if child is not template and child.get("slot", "") not in slots]
    )
