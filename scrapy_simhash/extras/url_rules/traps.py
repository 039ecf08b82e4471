"""Traps: calendars and other pages without end, each of which leads to the next.

A *barren* page is a near-duplicate, or so similar to a page with an alike URL that it may be one.
In a *chain* of barren pages, each was found on the one before, and their URLs are alike. URLs that
were found elsewhere, such as on a page with content, are never in a chain. A *trap* is a shape of
URLs, or a folder, with many barren pages in a row, each of them deep in a chain.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.extras.url_rules.url_parts import parts_of, plain_url

if TYPE_CHECKING:
    from scrapy_simhash.verdict import Verdict

# A barren page counts if its chain is at least this long.
MIN_CHAIN = 3
# This many barren pages in a row make a trap of a shape of URLs, or of a folder.
MIN_BARREN = 50
MIN_BARREN_IN_FOLDER = 200
MIN_SIMILARITY = 0.85
MAX_SHAPES = 10_000
_NUMBER = re.compile(r"[-+]?\d+")


def shape_of(url: str) -> str:
    """Return the shape of a URL: ``#`` stands for each number."""
    return _NUMBER.sub("#", url)


def folders_of(url: str) -> list[str]:
    """Return the folders of a URL, down to the first name with a digit.

    A script with parameters counts as a folder. If the first name has a digit, the only folder is
    the site.
    """
    plain = plain_url(url)
    if plain is None:
        return []
    folder, segments, params = parts_of(plain)
    folders = []
    for name in segments if params else segments[:-1]:
        if not name or any(map(str.isdigit, name)):
            break
        folder += f"/{name}"
        folders.append(f"{folder}/")
    return folders or [f"{folder}/" for name in segments[:1] if any(map(str.isdigit, name))]


def is_barren(verdict: Verdict) -> bool:
    """Return True if a page brought nothing new, or hardly anything."""
    if verdict.kind == "near-duplicate":
        return True
    other, similarity = verdict.similar_to, verdict.similarity
    return (
        other is not None
        and similarity is not None
        and similarity >= MIN_SIMILARITY
        and _are_alike(other, verdict.key)
    )


def _are_alike(one: str, other: str) -> bool:
    """Return True if two URLs differ in numbers alone, or are in the same first folder."""
    folder = folders_of(one)[:1]
    return shape_of(one) == shape_of(other) or (bool(folder) and folder == folders_of(other)[:1])


def chain_after(verdict: Verdict, chain: int, url: str) -> int:
    """Return the length of the chain of barren pages that leads to a URL.

    :param verdict: the verdict on the page with the link to the URL.
    :param chain: length of the chain that led to that page.
    """
    if not is_barren(verdict):
        return 0
    return chain + 1 if _are_alike(url, verdict.key) else 0


class Traps:
    """The number of barren pages in a row, for the last 10,000 shapes of URLs and folders."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()  # noqa: S311 - a sample
        self._barren: LocalCache[str, int] = LocalCache(MAX_SHAPES)

    def judged(self, verdict: Verdict, chain: int) -> bool:
        """Count a page. Return True if it has content and was in a trap, which ends then.

        :param chain: length of the chain that led to the page.
        """
        has_content, was_trap = not is_barren(verdict), self._barren_around(verdict.key) > 0
        for name in (shape_of(verdict.key), *folders_of(verdict.key)):
            barren = self._barren.pop(name, 0)
            if not has_content:
                self._barren[name] = barren + (chain >= MIN_CHAIN)
        return has_content and was_trap

    def has(self, url: str) -> bool:
        """Return True if the shape or a folder of a URL is a trap."""
        return self._barren_around(url) > 0

    def spares(self, url: str, chain: int) -> bool:
        """Return True if a URL is in a trap, and not in a sample that is requested all the same.

        The sample shrinks with each barren page in it. A page with content ends the trap.
        """
        barren = self._barren_around(url) if chain >= MIN_CHAIN else 0
        return barren > 0 and self._random.random() * 2 * barren >= 1

    def _barren_around(self, url: str) -> int:
        """Return the number of barren pages in a row in a URL's trap; 0 if it is in none."""
        barren = self._barren.get(shape_of(url), 0)
        if barren >= MIN_BARREN:
            return barren
        barren = max((self._barren.get(folder, 0) for folder in folders_of(url)), default=0)
        return barren if barren >= MIN_BARREN_IN_FOLDER else 0
