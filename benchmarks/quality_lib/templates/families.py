"""Families of distinct pages that share one template, with some real copies among them.

Pages of a family share long parts (chrome, introductions, terms, consent dialogs); a page's own
part is short (a name, times, prices, a sentence). No page should be dropped but the copies: the
same page with a session in its URL and its links, its print version, its version for telephones,
or the same page under another path.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quality_lib.templates import consents, naming, notices, reference, shops, sites, timings
from quality_lib.templates.sites import Site, slug
from quality_lib.templates.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from quality_lib.templates.sites import Content

_COPY_EVERY = 8
SESSION, PRINT, PHONE, PATH = "session", "print", "phone", "path"
COPY_KINDS = (SESSION, PRINT, PHONE, PATH)


class Family(NamedTuple):
    """A site and its pages.

    :param own: where the name of a page is found: title and h1, one of them, or neither.
    """

    name: str
    site: Site
    contents: Callable[[random.Random], list[Content]]
    own: str = "title, h1"


class Page(NamedTuple):
    """A page of a family.

    :param original: URL of the page that it is a copy of; its own if it is distinct.
    :param kind: one of `COPY_KINDS`, or empty.
    """

    url: str
    html: str
    content: Content
    original: str
    kind: str = ""


def pages(family: Family, seed: int) -> list[Page]:
    """Return the pages of a family in the order of a crawl; a copy comes after its original."""
    dice = random.Random(f"{seed}/{family.name}")
    contents = family.contents(dice)
    names = [content.name for content in contents]
    dice.shuffle(contents)
    placed: list[tuple[float, Page]] = []
    for number, content in enumerate(contents):
        page = _page(family.site, content, names, dice)
        placed.append((number, page))
        if number % _COPY_EVERY == 0:
            kind = COPY_KINDS[number // _COPY_EVERY % len(COPY_KINDS)]
            copy = _copy(page, kind, family.site, names, dice)
            placed.append((dice.uniform(number, len(contents)), copy))
    return [page for _, page in sorted(placed, key=lambda pair: pair[0])]


def _page(site: Site, content: Content, names: list[str], dice: random.Random) -> Page:
    site = _site_of(site, content)
    url = f"https://{site.host}/{site.folder}/{content.path or slug(content.name)}"
    html = site.layout(sites.frame(site, content, names, dice))
    return Page(url, html, content, url)


def _copy(page: Page, kind: str, site: Site, names: list[str], dice: random.Random) -> Page:
    site = _site_of(site, page.content)
    frame = sites.frame(site, page.content, names, dice)
    path = f"/{site.folder}/{page.content.path or slug(page.content.name)}"
    layout, host = site.layout, site.host
    if kind == SESSION:
        frame = replace(frame, query=f"?sid={dice.getrandbits(96):024x}")
        path += frame.query
    elif kind == PRINT:
        layout, path = sites.print_version, f"{path}/print"
        frame = replace(frame, printed_from=f"Printed from {page.url} on 24 November 2026")
    elif kind == PHONE:
        layout, host = sites.phone_version, "m." + host.removeprefix("www.")
    else:
        path = f"/archive/{dice.randint(2019, 2026)}{path}"
    return Page(f"https://{host}{path}", layout(frame), page.content, page.url, kind)


def _site_of(site: Site, content: Content) -> Site:
    if not content.brand:
        return site
    return replace(site, name=content.brand, host=f"www.{slug(content.brand)}.example")


def _family(name: str, contents: str, site: dict[str, Any], own: str = "title, h1") -> Family:
    """Return a family from its line in words.json, which names its layout, banner and contents."""
    module, function = contents.split(".")
    layout = getattr(sites, site["layout"])
    banner = getattr(consents, site.get("banner", ""), "")
    made = Site(**site | {"layout": layout, "banner": banner, "footer": tuple(site["footer"])})
    return Family(name, made, getattr(_MODULES[module], function), own)


_MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (consents, naming, notices, reference, shops, timings)
}
FAMILIES = tuple(_family(**line) for line in words_of("families"))
