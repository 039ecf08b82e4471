"""What generated sites have in common: the type, the HTML of a page, and URLs taken apart.

A content has a title and a text of its own, made from its name. A site is a function from a URL to
(content, links); its links are the same at each request, but for session ids.
"""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    Path = list[str]
    Params = dict[str, str]
    Shown = tuple[str, list[str]]

_SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
_SENTENCES, _WORDS = 9, 14
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


class Site(NamedTuple):
    """A site: its first URL, and what it shows.

    :param show: returns (name of the content, links) of a URL.
    """

    start: str
    show: Callable[[str], Shown]


SITES: dict[str, Site] = {}


def site(start: str) -> Callable[[Callable[[str, Path, Params], Shown]], object]:
    """Register a site: a function of the parts of a URL, which `split` returns."""

    def register(show: Callable[[str, Path, Params], Shown]) -> object:
        SITES[show.__name__] = Site(start, lambda url: show(*split(url)))
        return show

    return register


def numbers_of(text: str) -> random.Random:
    """Return random numbers that follow from a text."""
    return random.Random(zlib.crc32(text.encode()))


def html(name: str, links: list[str]) -> str:
    """Return a page with a content. Months of a calendar differ in their names and numbers."""
    kind, _, month = name.partition(" of ")
    chosen = numbers_of(kind)

    def words(count: int) -> str:
        return " ".join(
            "".join(chosen.choices(_SYLLABLES, k=chosen.randint(2, 4))) for _ in range(count)
        )

    title = words(4).capitalize()
    if month:
        year, number = divmod(int(month), 12)
        title = f"Calendar of {_MONTHS[number]} {2024 + year}"
    text = "".join(f"<p>{words(_WORDS).capitalize()}.</p>" for _ in range(_SENTENCES))
    listed = "".join(
        f'<li><a href="{link.replace("&", "&amp;")}">{number}</a></li>'
        for number, link in enumerate(links)
    )
    return (
        f"<html><head><title>{title}</title></head><body><nav><ul>{listed}</ul></nav>"
        f"<main><h1>{title}</h1>{text}</main></body></html>"
    )


def url_with(base: str, **params: object) -> str:
    """Return a URL with parameters."""
    return f"{base}?{urlencode(params)}" if params else base


def split(url: str) -> tuple[str, Path, Params]:
    """Return (scheme and host, path segments, parameters) of a URL."""
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    return f"{parts.scheme}://{parts.netloc}", path, dict(parse_qsl(parts.query))
