"""Run readability-lxml without the work that does not change the extracted text.

`readability.Document.summary` spends most of its time on rewriting links, cleaning attributes,
serializing each ``div``, measuring texts and describing elements for its log. `LeanDocument`
replaces these steps by cheaper ones. Their results are the same, but the HTML of a long text is
measured with its attributes. This changes the text of few pages
(`tests/extraction/test_readability.py`).

Some steps, such as the search for text around a picture, take quadratic time, or longer on deeply
nested pages. A budget of work limits them. Work is counted, not timed, so a page always has the
same result. Ordinary pages need about a hundredth of the budget.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
from functools import cache, lru_cache
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.extraction.chrome import hidden_elements
from scrapy_simhash.extraction.elements import drop_all, holding, names_of, text_of
from scrapy_simhash.lazy import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

# A ``div`` that contains a tag with one of these prefixes does not become a paragraph. These are
# prefixes because readability searches markup for "<p", and so also finds "<picture".
_KEEPS_DIV = ("blockquote", "dl", "div", "img", "ol", "p", "pre", "table", "ul")
# Elements without a text of the page: a browser does not show it, or it is a choice in a form.
_NO_TEXT = ("script", "style", "noscript", "link", "template", "datalist", "select")
# Elements that stay whatever their names, and those in which everything does.
_UNLIKELY_NEVER = ("main", "article", "math", "html", "body")
_VERBATIM = ("pre", "code")
_INLINE = frozenset("a b cite code em font i small span strong sub sup u".split())

# The budget of a page: a base, plus units for its elements and characters. Each `text_content`,
# which takes 5 to 40 µs, costs one unit, plus one for each thousand characters of its text.
_BASE_BUDGET = 100_000
_BUDGET_PER_ELEMENT = 5
_BUDGET_PER_CHARACTER = 0.02
_CHARACTERS_PER_UNIT = 1000
# The length of the article is measured as HTML without attributes. Their removal is slow, so the
# attributes of longer HTML are left in.
_MAX_CLEANED_CHARACTERS = 5000
_MAX_CACHED = 200
_PATTERNS_OF_NAMES = ("positiveRe", "negativeRe", "editorialLeadRe")


class _Budget(threading.local):
    """The rest of the budget for the page that a thread extracts."""

    remaining = math.inf


_budget = _Budget()


class _TooMuchWork(Exception):
    """Raised when the budget is spent."""


def _spend(work: float) -> None:
    _budget.remaining -= work
    if _budget.remaining < 0:
        raise _TooMuchWork


def article_of(
    elements: Elements,
    parse_again: Callable[[], Any],
    drop: Sequence[Callable[[Elements], list[HtmlElement]]] = (),
) -> HtmlElement:
    """Return the article that readability finds, cleaned; an empty element beyond the budget.

    :param elements: of the class `element_class`, without comments; their tree is changed.
    :param parse_again: returns new elements, for a second attempt that removes less.
    :param drop: functions that find further elements to remove first, besides those without a text.
    :raises readability.readability.Unparseable: readability fails for another reason.
    """
    root = elements.root
    work = _BUDGET_PER_ELEMENT * elements.count + _BUDGET_PER_CHARACTER * len(text_of(root))

    def prepare(elements: Elements) -> HtmlElement:
        for find in (*drop, hidden_elements):
            drop_all(find(elements))
        etree.strip_elements(elements.root, *_NO_TEXT, with_tail=False)
        return elements.root

    document = _lean_document()(prepare(elements))
    document.parse_again = lambda: prepare(parse_again())
    _budget.remaining = _BASE_BUDGET + work
    try:
        document.summary(html_partial=True)
    except ValueError:  # Unparseable: summary() raises it for any error, `_TooMuchWork` included
        if _budget.remaining >= 0:
            raise
        empty: HtmlElement = root.makeelement("div")
        return empty
    finally:
        _budget.remaining = math.inf
    article: HtmlElement = document.html
    return article


@lru_cache(maxsize=1)
def element_class() -> type[HtmlElement]:
    """Return the element class for parsing pages; its elements count work."""
    from lxml.html import HtmlElement

    class CountingElement(HtmlElement):  # type: ignore[misc]
        """An element whose text and removal cost work."""

        def findall(self, path: str, namespaces: Any = None) -> list[HtmlElement]:
            # readability searches by tag, hundreds of times. This is faster.
            tag = path.removeprefix(".//")
            if tag.isalnum():
                return list(self.iterdescendants(tag))
            return list(super().findall(path, namespaces))

        def text_content(self) -> str:
            text = text_of(self)
            _spend(1 + len(text) / _CHARACTERS_PER_UNIT)
            return text

        def drop_tree(self) -> None:
            # The removal joins the text after the element to the text before it.
            before = self.getprevious()
            text = self.getparent().text if before is None else before.tail
            _spend((len(text or "") + len(self.tail or "")) / _CHARACTERS_PER_UNIT)
            super().drop_tree()

    return CountingElement


@lru_cache(maxsize=1)
def _lean_document() -> type[Any]:
    """Return the class `LeanDocument`. It is created on first use, to keep imports cheap."""
    from readability import readability
    from readability.cleaners import clean_attributes

    # Pages of a site share their classes. Long ones would fill the memory.
    def cached(search: Callable[[str], object]) -> Callable[[str], object]:
        found = lru_cache(maxsize=16384)(search)
        return lambda names: (found if len(names) <= _MAX_CACHED else search)(names)

    patterns = {
        name: SimpleNamespace(search=cached(pattern.search))
        if name in _PATTERNS_OF_NAMES
        else pattern
        for name, pattern in readability.REGEXES.items()
    }
    unlikely = readability.REGEXES["unlikelyCandidatesRe"].search
    maybe_likely = readability.REGEXES["okMaybeItsACandidateRe"].search
    is_unlikely = cached(lambda names: unlikely(names) and not maybe_likely(names))
    # The methods of readability, with cheaper functions of its module. The work of all elements
    # counts, also of those that readability makes itself.
    counting = etree.HTMLParser()
    counting.set_element_class_lookup(etree.ElementDefaultClassLookup(element=element_class()))
    functions = {
        **vars(readability),
        "log": logging.Logger("silent", sys.maxsize),  # noqa: LOG001 - nobody else has it
        "describe": lambda _: "",
        "text_content": lambda _: "",
        "REGEXES": patterns,
        "clean": _clean,
        "fragment_fromstring": lambda html: counting.makeelement(html.strip("</>")),
        "text_length": _length,
    }
    methods = {
        name: FunctionType(method.__code__, functions, name, method.__defaults__)
        for name, method in vars(readability.Document).items()
        if isinstance(method, FunctionType)
    }

    class LeanDocument(type("QuietDocument", (readability.Document,), methods)):  # type: ignore[misc]
        """A readability document with the cheaper steps that the module's docstring describes."""

        parse_again: Callable[[], Any]
        # While `get_editorial_leads` runs: the number of leads that it has looked at.
        _leads_seen: int | None = None
        _length: Callable[[HtmlElement], int] = staticmethod(_length)

        def _parse(self, root: HtmlElement | None) -> HtmlElement:
            # summary() parses `input` again if its first attempt finds too little.
            self.input = None
            if root is None:
                root = self.parse_again()
            for element in root.iter("image"):
                element.tag = "img"
            return root

        def get_link_density(self, elem: HtmlElement) -> float:
            if self._leads_seen is not None:
                self._leads_seen += 1
                _spend(self._leads_seen)
            linked = sum(map(self._length, elem.iterdescendants("a")))
            return linked / max(_length(elem), 1) if linked else 0.0

        def score_paragraphs(self) -> dict[HtmlElement, dict[str, Any]]:
            # Most links are in several candidates, whose texts do not change meanwhile.
            self._length = cache(_length)
            candidates: dict[HtmlElement, dict[str, Any]] = super().score_paragraphs()
            self._length = _length
            return candidates

        def get_editorial_leads(self, best_elem: HtmlElement) -> list[HtmlElement]:
            # Leads are introductions before the article. The original calls get_link_density for
            # each, and compares it with all earlier ones, so each costs more work than the last.
            self._leads_seen = 0
            leads: list[HtmlElement] = super().get_editorial_leads(best_elem)
            self._leads_seen = None
            return leads

        def remove_unlikely_candidates(self) -> None:
            content = set(self.html.iter(*_UNLIKELY_NEVER))
            content |= holding(content)
            drop_all(
                element
                for element in self.html.iterdescendants("*")
                if is_unlikely(names_of(element))
                and element not in content
                and next(element.iterancestors(*_VERBATIM), element).tag not in _VERBATIM
            )

        def transform_misused_divs_into_paragraphs(self) -> None:
            divs = self.html.findall(".//div")
            around_blocks = holding(
                one for one in self.html.iter("*") if one.tag.startswith(_KEEPS_DIV)
            )
            for div in divs:
                if div not in around_blocks:
                    div.tag = "p"
            for div in divs:
                if div.tag == "div":
                    _wrap_loose_text(div, around_blocks)

        def get_preserved_elements(self, node: HtmlElement) -> dict[HtmlElement, bool]:
            # The original searches the neighbours of each element and its ancestors for quotes.
            # Here, what leads to a quote is found once.
            befores = (
                one.getprevious() for one in holding(node.iter("blockquote")) if one is not None
            )
            leads = {
                inner
                for lead in befores
                if lead is not None
                and (text := _clean(lead.text_content())).endswith(":")
                and len(text) >= self.min_text_length
                for inner in lead.iter("div", "section")
            }
            self.is_quote_lead = leads.__contains__
            preserved: dict[HtmlElement, bool] = super().get_preserved_elements(node)
            return preserved

        def get_clean_html(self) -> str:
            # Called last, on the article. summary() needs only the length of the result, to decide
            # on a second attempt. If the text alone is long enough, no HTML is needed.
            text: str = self.html.text_content()
            if len(text) >= self.retry_length:
                return text
            html: str = etree.tostring(self.html, encoding="unicode", method="html")
            # For each attribute of a tag, clean_attributes() searches the whole HTML again.
            return html if len(html) > _MAX_CLEANED_CHARACTERS else clean_attributes(html)

    return LeanDocument


def _clean(text: str) -> str:
    """Return a text with white space collapsed, as the function of readability does."""
    text = "\n".join(filter(None, map(str.strip, text.split("\n")))).replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _length(element: HtmlElement) -> int:
    """Return the length of the text of an element, with white space collapsed."""
    return len(_clean(element.text_content()))


def _wrap_loose_text(div: HtmlElement, around_blocks: Container[HtmlElement]) -> None:
    """Wrap text and inline elements between the blocks of a ``div`` in paragraphs.

    The original inserts each by its number, in a time that grows with the square of their number.
    """
    children = list(div)
    run = None
    if div.text and div.text.strip():
        run = div.makeelement("p")
        run.text, div.text = div.text, None
        div.insert(0, run)
    for child in children:
        if child.tag not in _INLINE or child in around_blocks:
            run = None
            continue
        if run is None:
            run = div.makeelement("p")
            child.addprevious(run)
        run.append(child)
    for child in reversed(list(div)):
        if child.tail and child.tail.strip():
            paragraph = div.makeelement("p")
            paragraph.text, child.tail = child.tail, None
            child.addnext(paragraph)
        if child.tag == "br":
            child.drop_tree()
