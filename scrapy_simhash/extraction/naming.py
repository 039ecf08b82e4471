"""Find the names of a page and its identity, in what it shows and in what it declares.

Title and first heading may be the same on all pages of a site, and say nothing. Then the name is
elsewhere: in the next heading, in a picture, in the breadcrumb, or in a line that looks like a
heading. Such a *further name* is an identity (`scrapy_simhash.names.identities`): it tells apart
two pages of one site that both have one of its kind. A page without it, such as a print version,
agrees with any page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_simhash.extraction.chrome import is_logo, leads_home
from scrapy_simhash.extraction.elements import line_of, names_of
from scrapy_simhash.extraction.lines import own_heading
from scrapy_simhash.extraction.states import amounts_in
from scrapy_simhash.names.name_tokens import is_view, name_tokens, parts_of
from scrapy_simhash.names.names import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.declared import Declared, Thing
    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line

_MIN_HOST_LABEL_CHARACTERS = 3
_MAX_HOME_LINKS = 5
_MAX_LINKS = 100  # a link to the front page is among the first
_MAX_SITE_WORDS = 6
# Without any name, the lines before the first one with more words are the name.
_MAX_NAME_WORDS = 8
_MAX_NAME_LINES = 3
# A line with as many words is running text.
_MIN_TEXT_WORDS = 8
_SENTENCE_ENDS = (".", "!", ":", "…", "。")  # a question may be what a page is about
# Shorter headings may be the same on all pages of a site, with the name in the line below.
_MIN_HEADLINE_WORDS = 5
# "12 comments" is no name.
_COUNT = re.compile(r"\d[\d.,]*\s\w+")
# When something takes place, unlike the date of a version: a day and a time.
_WHEN = re.compile(r"\d\D+\d{1,2}:\d\d")
_CODE = re.compile(r"[A-Z]+[-/]?\d[\w/-]*")
# Further elements of one kind are not looked at, so that nested ones take little time.
_MAX_HEADINGS = 30
_MAX_ELEMENTS = 300
_MAX_LINES_AT_TOP = 10
_DATE_CHARACTERS = len("2026-01-31")
# What stands for a heading: a whole line in one of these elements, or in one that is named so.
_STRESSED = frozenset("b big dt figcaption font legend strong summary th".split())
_MAY_BE_NAMED = ("a", "div", "li", "p", "span", "td")
_NAMED_AS_NAME = re.compile(r"(?:name|title|head(?:ing|line)|(?:^|\s)fn)(?:\s|$)")
_LOWER_HEADINGS = ("h2", "h3", "h4", "h5", "h6", "caption")
_LABELS = ("aria-label", "alt", "title")
# More pieces of text are not read: elements in one another would take quadratic time.
_MAX_PIECES = 1000


def page_names(
    elements: Elements, lines: Sequence[Line], facts: Declared, title: str, host: str
) -> Names:
    """Return the names of a page.

    :param title: the text of its ``title`` element, or empty.
    :param host: the host that it declares, or empty.
    """
    labels = [part for part in host.split(".")[:-1] if len(part) >= _MIN_HOST_LABEL_CHARACTERS]
    headings = _first_headings(elements, lines)
    # A link to the front page may have the name of the page as its text.
    title_parts = parts_of(title)
    own = headings or [max(title_parts, key=len, default="")]
    linked = [text for text in _home_links(elements, host) if text not in own]
    sites = (*facts.sites, *([host, *labels] if host else ()), *linked)
    declared_names = facts.main(_sameness([title, facts.title, *headings])).names
    brand = next(iter(facts.sites), "")
    if facts.title not in (title, *title_parts):
        told = _without_sites(facts.title, sites)
        if told and not _sameness([title])(told):
            # The same title on all pages of a site says nothing.
            declared_names = [*declared_names, told]
    title = title or facts.title or next(iter(declared_names), "")
    if headings:
        return Names(title, headings, sites=sites, brand=brand)
    weak = declared_names[:1] or _lower_headings(elements, lines, 1 if title else _MAX_NAME_LINES)
    if not title and not declared_names:
        # A fragment may have a general heading before its name, or its name in an image.
        pictures = filter(None, _pictures(elements, is_without_headings=True))
        weak = [*weak, *_first_lines(lines), *islice(pictures, 1)]
    return Names(title, weak, is_weak=True, sites=sites, brand=brand)


def main_thing(facts: Declared, names: Names) -> Thing:
    """Return the thing that a page with these names is about."""
    return facts.main(_sameness((names.title, *names.headings)))


def is_document(facts: Declared, lines: Sequence[Line]) -> bool:
    """Return True if a page declares that the thing in its heading is a text of its own."""
    heading = own_heading(lines)
    is_name = _sameness([heading.text] if heading else [])
    return any(thing.is_document and any(map(is_name, thing.names)) for thing in facts.things)


def identities_of(
    main: Thing, lines: Sequence[Line], names: Names, canonical: str
) -> tuple[tuple[str, str], ...]:
    """Return the identities of the main thing of a page, each as (kind, value).

    An ``identifier`` may be one of the visit. So it counts only if the page shows it, or has it in
    its canonical URL. The name of the main thing is an identity if the other names do not have it.
    """
    shown = (names.title, *names.headings)
    found = [
        (kind, value)
        for kind, value in main.identities
        if kind != "identifier"
        or value in canonical.casefold()
        or any(value in line.text.casefold() for line in lines)
    ]
    known = {token for name in shown for token in name_tokens(name)}
    own = name_tokens(main.names[0]) if main.names else []
    if not known.issuperset(own):
        found.append(("name", " ".join(own)))
    return tuple(found)


def _sameness(names: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that returns True for a name whose tokens one of the names contains."""
    known = lru_cache(maxsize=1)(lambda: [set(name_tokens(name)) for name in names if name])
    return lambda name: any(tokens.issuperset(name_tokens(name)) for tokens in known())


def _first_headings(elements: Elements, lines: Sequence[Line]) -> list[str]:
    """Return the texts of all ``h1``, without logos; of those in chrome if there are no others."""
    own = [line.text for line in lines if line.heading and not line.chrome]
    own = own or [line.text for line in lines if line.heading]
    if not own:
        headings = [heading for heading in elements.tagged("h1") if not is_logo(heading)]
        own = list(filter(None, map(_text_of, headings)))
    return own or list(_in_content(_with_role(elements, "1"), lines))


def _lower_headings(elements: Elements, lines: Sequence[Line], count: int) -> list[str]:
    """Return the first headings of the highest levels below 1 that are in the content."""
    lower = (
        element
        for tag in _LOWER_HEADINGS
        for element in (*elements.tagged(tag), *_with_role(elements, tag[1:]))
    )
    return list(islice(_in_content(lower, lines), count))


def _in_content(headings: Iterable[HtmlElement], lines: Sequence[Line]) -> Iterator[str]:
    """Return the texts of headings that are in the content, and the labels of pictures."""
    own = [line for line in lines if not line.chrome]
    content = " ".join(line.text for line in [line for line in own if not line.aside] or own)
    return (
        text
        for heading in headings
        if (text := _text_of(heading))
        and (not content or text in content or not heading.text_content().strip())
    )


def _home_links(elements: Elements, host: str) -> list[str]:
    """Return the texts of links to the front page, which name the site, or say "Home".

    :param host: the host that the page declares; if empty, that of the first such link with one.
    """
    found: dict[str, None] = {}
    for link in elements.tagged("a")[:_MAX_LINKS]:
        href = link.get("href", "")
        # Addresses without a scheme are mostly made by scripts, for all links alike.
        if href.startswith("//") or not leads_home(href):
            continue
        linked = host_of(href)
        if linked and linked != (host := host or linked):
            continue
        text = _text_of(link)
        if text and text.count(" ") < _MAX_SITE_WORDS:
            found[text] = None
            if len(found) == _MAX_HOME_LINKS:
                break
    return list(found)


def _first_lines(lines: Sequence[Line]) -> list[str]:
    """Return the short lines at the beginning of the content as one name."""
    own = (line for line in lines if not line.chrome)
    short = takewhile(lambda line: line.words <= _MAX_NAME_WORDS, own)
    found = [line.text for line in islice(short, _MAX_NAME_LINES)]
    return [" ".join(found)] if found else []


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """Return the host of a URL, without ``www.``; empty if there is none."""
    try:
        return (urlsplit(url.strip()).hostname or "").removeprefix("www.")
    except ValueError:  # brackets that are no IPv6 address
        return ""


def further_names(
    elements: Elements, lines: Sequence[Line], facts: Declared, names: Names
) -> Iterator[tuple[str, str]]:
    """Yield the further names of a page as (kind, tokens), at most one of each kind.

    :param names: its title and headings. What only repeats their words is no further name.
    """
    known = {token for name in (names.title, *names.headings) for token in name_tokens(name)}
    in_order = islice(elements.root.iter(*_LOWER_HEADINGS), _MAX_HEADINGS)
    lower = list(map(line_of, chain(in_order, _with_role(elements)[:_MAX_HEADINGS])))
    is_general = _are_general(names.headings, facts)
    top = _lines_at_top(lines, lower if is_general else ())
    found: dict[str, Iterable[str]] = {
        "title": [_without_sites(facts.title, names.sites)],
        "subheading": filter(top.__contains__, lower),
        "picture": _pictures(elements, is_without_headings=not names.headings),
        "crumb": chain([facts.crumb], _current_crumbs(elements)),
    }
    if is_general and any(top.values()):
        found["fact"] = _facts(elements.root, top)
    found["price"] = chain.from_iterable(map(amounts_in, top))
    if names.headings:  # below it may be a date, a rating or a price
        no_numbers = list(filter(_has_no_digit, top))
        if is_general and len(no_numbers) < len(top):
            found["time"] = chain(_times(elements, top), filter(_WHEN.search, top))
        # Above a weak heading there may be anything.
        below = islice(top, 1 if names.is_weak else None) if is_general else ()
        found["lead"] = chain(
            _leads(elements.root, no_numbers),
            filter(_is_no_sentence, filter(_has_no_digit, below)),
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
            if not known.issuperset(tokens := name_tokens(text)) and not is_view(text):
                yield kind, " ".join(tokens)
                break


def _lines_at_top(lines: Sequence[Line], lower: Collection[str]) -> dict[str, bool]:
    """Return the lines of the content after the first heading, if any, up to the first text; each
    with whether it is a row of a table or the like.

    :param lower: texts of headings, which may be long.
    """
    first = next((at + 1 for at, line in enumerate(lines) if line.heading), 0)
    found: dict[str, bool] = {}
    for line in lines[first:]:
        if line.chrome or line.aside or line.is_links:  # a link has the name of another page
            continue
        is_text = line.words >= _MIN_TEXT_WORDS and line.text not in lower
        if is_text or len(found) == _MAX_LINES_AT_TOP:
            break
        if not _COUNT.fullmatch(line.text) or amounts_in(line.text):
            found[line.text] = line.row
    return found


def _are_general(headings: Iterable[str], facts: Declared) -> bool:
    """Return True if headings are short, and none is declared as the name of a thing."""
    names = [name_tokens(name) for thing in facts.things for name in thing.names]
    found = list(map(name_tokens, headings))
    return all(len(one) < _MIN_HEADLINE_WORDS and one not in names for one in found)


def _leads(root: HtmlElement, lines: Collection[str]) -> Iterator[str]:
    """Yield the lines that are the text of an element that looks like a heading."""
    elements = root.iter(*_STRESSED, *_MAY_BE_NAMED) if lines else ()
    for element in islice(elements, _MAX_ELEMENTS):
        if element.tag in _STRESSED or _is_of_name(names_of(element)):
            text = line_of(element)
            if text in lines:
                yield text


def _facts(root: HtmlElement, lines: Mapping[str, bool]) -> Iterator[str]:
    """Yield what the lines say in cells of tables and descriptions of terms, as one text.

    :param lines: text of a line → whether it is a row.
    """
    shown: list[str] = []
    rows = {text: None for text, is_row in lines.items() if is_row}
    for row in islice(root.iter("dd", "tr"), _MAX_HEADINGS):
        cells = [row, *islice(row.iterchildren("th", "td"), _MAX_HEADINGS)][row.tag == "tr" :]
        texts = list(map(line_of, cells))
        whole = " ".join(filter(None, texts))
        shown += (
            text
            for cell, text in zip(cells, texts, strict=True)
            if cell.tag != "th" and (whole in rows or text in lines)
        )
        rows.pop(whole, None)
    shown += rows  # items of lists, and terms
    yield " ".join(one for one in shown if _has_no_digit(one) or _CODE.fullmatch(one))


def _times(elements: Elements, lines: Iterable[str]) -> Iterator[str]:
    """Yield the dates of times in the lines."""
    for time in elements.having("datetime")[:_MAX_HEADINGS]:
        text = line_of(time)
        if text and any(text in line for line in lines):
            yield time.get("datetime")[:_DATE_CHARACTERS]


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
        lower = elements.tagged(*_LOWER_HEADINGS)[:_MAX_HEADINGS]
        headings = filter(len, (*elements.tagged("h1")[:_MAX_HEADINGS], *lower))
        around = (heading for heading in headings if heading.tag != "h1" or not is_logo(heading))
    for element in around:
        for image in element.iter("img"):
            if element.tag in _LOWER_HEADINGS and line_of(element):
                break
            yield " ".join(image.get("alt", "").split())


def _current_crumbs(elements: Elements) -> Iterator[str]:
    """Yield the texts of elements in breadcrumbs that stand for the page itself."""
    breadcrumbs = elements.with_words(("breadcrumb",))[:_MAX_HEADINGS]
    for breadcrumb in breadcrumbs:
        current = breadcrumb.xpath("descendant-or-self::*[@aria-current = 'page']")
        yield from map(line_of, current[:_MAX_HEADINGS])
    yield from map(_end_of, breadcrumbs)


def _end_of(breadcrumb: HtmlElement) -> str:
    """Return the last text of a breadcrumb, or ``""`` if it is in a link."""
    for piece in breadcrumb.xpath(
        "descendant::text()[normalize-space() and not(parent::script or parent::style)][last()]"
    ):
        element = piece.getparent().getparent() if piece.is_tail else piece.getparent()
        if all(one.tag != "a" for one in (element, *element.iterancestors())):
            return " ".join(piece.split())
    return ""


def _without_sites(title: str, sites: Iterable[str]) -> str:
    """Return a declared title without the parts that name the site or a view."""
    known = list(map(name_tokens, sites))
    parts = [part for part in parts_of(title) if name_tokens(part) not in known]
    return " - ".join(part for part in parts if not is_view(part))


def _with_role(elements: Elements, level: str = "") -> list[HtmlElement]:
    """Return the elements with the role of a heading, of any level or one; the default is 2."""
    return [
        one
        for one in elements.having("role")
        if one.get("role").strip().lower() == "heading"
        and level in ("", one.get("aria-level", "2").strip())
    ]


def _text_of(heading: HtmlElement) -> str:
    """Return the text of a heading, or else the first label of it or of a picture in it."""
    if text := line_of(heading):
        return text
    inner = islice(heading.iter(), _MAX_PIECES)
    labels = (element.get(name, "") for element in inner for name in _LABELS)
    return next((" ".join(label.split()) for label in labels if label.strip()), "")
