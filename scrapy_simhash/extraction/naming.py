"""Find the names of a page and its identity, in what it shows and in what it declares."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_simhash.extraction.chrome import HOME_PATHS, is_logo, leads_home
from scrapy_simhash.extraction.further_names import without_sites
from scrapy_simhash.extraction.headings import LOWER_HEADINGS, of_level, text_of, with_role
from scrapy_simhash.extraction.lines import own_heading
from scrapy_simhash.name_tokens import name_tokens, parts_of
from scrapy_simhash.names import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.declared import Declared, Thing
    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line

_MIN_HOST_LABEL_CHARACTERS = 3
_MAX_HOME_SLASHES = 3  # https://host/
_MAX_HOME_LINKS = 5
_MAX_LINKS = 100  # a link to the front page is among the first
_MAX_SITE_WORDS = 6
# Without any name, the lines before the first one with more words are the name.
_MAX_NAME_WORDS = 8
_MAX_NAME_LINES = 3


def names_of(
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
    own = {*headings, max(title_parts, key=len, default="")}
    linked = [text for text in _home_links(elements.root, host) if text not in own]
    sites = (*facts.sites, *([host, *labels] if host else ()), *linked)
    declared_names = facts.main(_sameness([title, facts.title, *headings])).names
    brand = next(iter(facts.sites), "")
    if facts.title not in (title, *title_parts):
        told = without_sites(facts.title, sites)
        if told and not _sameness([title])(told):
            # The same title on all pages of a site says nothing.
            declared_names = [*declared_names, told]
    title = title or facts.title or next(iter(declared_names), "")
    if headings:
        return Names(title, headings, sites=sites, brand=brand)
    weak = declared_names[:1] or _lower_headings(elements, lines, 1 if title else _MAX_NAME_LINES)
    if not title and not declared_names:
        # A fragment may have a general heading before its name, or its name in an image.
        weak = [*weak, *_first_lines(lines), *_first_image(elements.root)]
    return Names(title, weak, is_weak=True, sites=sites, brand=brand)


def main_thing(facts: Declared, names: Names) -> Thing:
    """Return the thing that a page with these names is about."""
    return facts.main(_sameness((names.title, *names.headings)))


def is_document(facts: Declared, lines: Sequence[Line]) -> bool:
    """Return True if a page declares that the thing in its heading is a text of its own."""
    heading = own_heading(lines)
    if heading is None:
        return False
    is_name = _sameness([heading.text])
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
        own = list(filter(None, map(text_of, headings or of_level(with_role(elements), "1"))))
    return own


def _lower_headings(elements: Elements, lines: Sequence[Line], count: int) -> list[str]:
    """Return the first headings of the highest levels below 1 that are in the content."""
    content = " ".join(line.text for line in lines if not line.chrome)
    others = with_role(elements)
    found: list[str] = []
    for tag in LOWER_HEADINGS:
        for element in (*elements.tagged(tag), *of_level(others, tag[1:])):
            text = text_of(element)
            if text and (not content or text in content or not element.text_content().strip()):
                found.append(text)
                if len(found) == count:
                    return found
    return found


def _home_links(root: HtmlElement, host: str) -> list[str]:
    """Return the texts of links to the front page, which name the site, or say "Home".

    :param host: the host that the page declares; if empty, that of the first such link with one.
    """
    found: dict[str, None] = {}
    for link in islice(root.iter("a"), _MAX_LINKS):
        href = link.get("href", "")
        if not _may_lead_home(href):
            continue
        linked = host_of(href)
        if linked and linked != (host := host or linked):
            continue
        text = text_of(link)
        if text and text.count(" ") < _MAX_SITE_WORDS:
            found[text] = None
            if len(found) == _MAX_HOME_LINKS:
                break
    return list(found)


@lru_cache(maxsize=8192)  # pages of a site share their navigation
def _may_lead_home(href: str) -> bool:
    # Most links lead elsewhere. Parsing all of them would take as long as parsing the page.
    if href.count("/") > _MAX_HOME_SLASHES:
        return False
    rest = href.strip().partition("://")[2]
    path = rest.partition("/")[2] if rest else href.strip()
    return path.strip("/") in HOME_PATHS and leads_home(href)


def _first_image(root: HtmlElement) -> list[str]:
    """Return the alternative text of the first image that has one."""
    texts = (" ".join(image.get("alt", "").split()) for image in root.iter("img"))
    return list(filter(None, texts))[:1]


def _first_lines(lines: Sequence[Line]) -> list[str]:
    """Return the short lines at the beginning of the content as one name."""
    found: list[str] = []
    for line in lines:
        if line.chrome:
            continue
        if line.words > _MAX_NAME_WORDS or len(found) == _MAX_NAME_LINES:
            break
        found.append(line.text)
    return [" ".join(found)] if found else []


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """Return the host of a URL, without ``www.``; empty if there is none."""
    try:
        return (urlsplit(url.strip()).hostname or "").removeprefix("www.")
    except ValueError:  # brackets that are no IPv6 address
        return ""
