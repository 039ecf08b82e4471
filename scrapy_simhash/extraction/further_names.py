"""Find what a page is called besides its title and its first heading.

These may be the same on all pages of a site, and say nothing. Then the name is elsewhere: in the
next heading, in a picture, in the breadcrumb, or in a line that looks like a heading. Such a name
is an identity (`scrapy_simhash.identities`): it tells apart two pages of one site that both have
one of its kind. A page without it, such as a print version, agrees with any page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.elements import names_of
from scrapy_simhash.extraction.headings import LOWER_HEADINGS, shown_text, text_of, with_role
from scrapy_simhash.name_tokens import is_view, name_tokens, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.declared import Declared
    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line
    from scrapy_simhash.names import Names

# A line with as many words is running text.
_MIN_TEXT_WORDS = 8
_SENTENCE_ENDS = (".", "!", "?", ":", "…", "。")
# Shorter headings may be the same on all pages of a site, with the name in the line below.
_MIN_HEADLINE_WORDS = 5
# "12 comments" is no name.
_COUNT = re.compile(r"\d[\d.,]*\s\w+")
# Further elements of one kind are not looked at, so that nested ones take little time.
_MAX_HEADINGS = 30
_MAX_ELEMENTS = 300
# The limit of `shown_text`.
_MAX_PIECES = 1000
_MAX_LINES_AT_TOP = 10
# What stands for a heading: a whole line in one of these elements, or in one that is named so.
_STRESSED = frozenset("b big dt figcaption font legend strong summary th".split())
_MAY_BE_NAMED = ("a", "div", "li", "p", "span", "td")
_NAMED_AS_NAME = re.compile(r"(?:name|title|head(?:ing|line)|(?:^|\s)fn)(?:\s|$)")


def further_names(
    elements: Elements, lines: Sequence[Line], facts: Declared, names: Names
) -> Iterator[tuple[str, str]]:
    """Yield the further names of a page as (kind, tokens), at most one of each kind.

    :param names: its title and headings. What only repeats their words is no further name.
    """
    known = {token for name in (names.title, *names.headings) for token in name_tokens(name)}
    top = _lines_at_top(lines)
    found: dict[str, Iterable[str]] = {
        "title": [without_sites(facts.title, names.sites)],
        "subheading": _headings(elements) if top else (),
        "picture": _pictures(elements, is_without_headings=not names.headings),
        "crumb": chain([facts.crumb], _current_crumbs(elements)),
    }
    if names.headings:  # below it may be a date, a rating or a price
        first = filter(_is_no_sentence, islice(top, _are_general(names.headings, facts)))
        found["lead"] = chain(
            _leads(elements.root, list(filter(_has_no_digit, top))), filter(_has_no_digit, first)
        )
    else:
        found["lead"] = chain(
            _leads(elements.root, top), filter(_has_no_digit, takewhile(_is_no_sentence, top))
        )
        found["label"] = (
            one.get("aria-label", "") for one in elements.root.iter("main", "article", "section")
        )
    for kind, texts in found.items():
        for text in texts:
            is_seen = kind != "subheading" or text in top
            if is_seen and not is_view(text) and not known.issuperset(tokens := name_tokens(text)):
                yield kind, " ".join(tokens)
                break


def _lines_at_top(lines: Sequence[Line]) -> dict[str, None]:
    """Return the lines of the content after the first heading, if any, up to the first text."""
    first = next((at + 1 for at, line in enumerate(lines) if line.heading), 0)
    found: dict[str, None] = {}
    for line in lines[first:]:
        if line.chrome or line.aside or line.is_links:  # a link has the name of another page
            continue
        if line.words >= _MIN_TEXT_WORDS or len(found) == _MAX_LINES_AT_TOP:
            break
        if not _COUNT.fullmatch(line.text):
            found[line.text] = None
    return found


def _are_general(headings: Iterable[str], facts: Declared) -> bool:
    """Return True if headings are short, and none is declared as the name of a thing."""
    names = [name_tokens(name) for thing in facts.things for name in thing.names]
    found = list(map(name_tokens, headings))
    return all(len(one) < _MIN_HEADLINE_WORDS and one not in names for one in found)


def _headings(elements: Elements) -> Iterator[str]:
    """Yield the texts of the headings below the first level."""
    yield from map(text_of, islice(elements.root.iter(*LOWER_HEADINGS), _MAX_HEADINGS))
    yield from map(text_of, islice(with_role(elements), _MAX_HEADINGS))


def _leads(root: HtmlElement, lines: Collection[str]) -> Iterator[str]:
    """Yield the lines that are the text of an element that looks like a heading."""
    elements = root.iter(*_STRESSED, *_MAY_BE_NAMED) if lines else ()
    for element in islice(elements, _MAX_ELEMENTS):
        if element.tag in _STRESSED or _is_of_name(names_of(element)):
            # To read all texts would take long: elements that contain much may be named so.
            pieces = islice(element.itertext(), _MAX_PIECES)
            beginning = " ".join(next(filter(str.strip, pieces), "").split())
            if any(line.startswith(beginning) for line in lines):
                text = shown_text(element)
                if text in lines:
                    yield text


def _has_no_digit(text: str) -> bool:
    return not any(map(str.isdigit, text))


def _is_no_sentence(text: str) -> bool:
    return not text.endswith(_SENTENCE_ENDS)


@lru_cache(maxsize=8192)  # pages of a site share their classes
def _is_of_name(names: str) -> bool:
    return _NAMED_AS_NAME.search(names.lower()) is not None


def _pictures(elements: Elements, *, is_without_headings: bool) -> Iterator[str]:
    """Yield the alternative texts of images in an ``h1``, or in another heading without a text; of
    all images if there are no headings.
    """
    around: Iterable[HtmlElement] = (elements.root,)
    if not is_without_headings:
        lower = elements.tagged(*LOWER_HEADINGS)[:_MAX_HEADINGS]
        around = (*elements.tagged("h1")[:_MAX_HEADINGS], *filter(len, lower))
    for element in around:
        for image in element.iter("img"):
            if element.tag in LOWER_HEADINGS and shown_text(element):
                break
            yield " ".join(image.get("alt", "").split())


def _current_crumbs(elements: Elements) -> Iterator[str]:
    """Yield the texts of elements in breadcrumbs that stand for the page itself."""
    for value in elements.values("aria-current")[:_MAX_HEADINGS]:
        element = value.getparent()
        around = (element, *element.iterancestors())
        if value == "page" and any(map(_is_breadcrumb, around)):
            yield shown_text(element)
    for element in elements.with_words(("breadcrumb",))[:_MAX_HEADINGS]:
        yield _end_of(element)


def _end_of(breadcrumb: HtmlElement) -> str:
    """Return the last text of a breadcrumb, or ``""`` if it is in a link."""
    for piece in breadcrumb.xpath("descendant::text()[normalize-space()][last()]"):
        element = piece.getparent().getparent() if piece.is_tail else piece.getparent()
        if all(one.tag != "a" for one in (element, *element.iterancestors())):
            return " ".join(piece.split())
    return ""


def _is_breadcrumb(element: HtmlElement) -> bool:
    return "breadcrumb" in f"{names_of(element)} {element.get('aria-label', '')}".lower()


def without_sites(title: str, sites: Iterable[str]) -> str:
    """Return a declared title without the parts that name the site or a view."""
    known = list(map(name_tokens, sites))
    parts = [part for part in parts_of(title) if name_tokens(part) not in known]
    return " - ".join(part for part in parts if not is_view(part))
