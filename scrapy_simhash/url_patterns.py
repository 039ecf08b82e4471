"""Count pages and copies by URL pattern, to show which parts of a site a crawl has dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

# Patterns with fewer pages, or a smaller share of copies, are not shown.
MIN_PAGES = 20
MIN_SHARE = 1 / 3
_MAX_PATTERNS = 5_000
_DIGIT = re.compile(r"\d")
_ENDING = re.compile(r"[A-Za-z]\w{0,4}")


def url_pattern(key: str) -> str:
    """Return a URL with ``*`` in place of variable parts; a key that is not a URL unchanged.

    The variable parts are path segments with digits, the last segment except for a file name
    extension, and values of the query. The scheme, user info and fragment are left out, and each
    name in the query appears once, in alphabetical order.
    """
    try:
        parts = urlsplit(key)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return key
    if not host:
        return key
    *folders, last = parts.path.split("/")
    folders = ["*" if _DIGIT.search(folder) else folder for folder in folders]
    if last:
        _, dot, ending = last.rpartition(".")
        last = f"*.{ending}" if dot and _ENDING.fullmatch(ending) else "*"
    pattern = f"{host}{'/'.join([*folders, last])}"
    if not parts.query:
        return pattern
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    query = "&".join(f"{name}=*" for name in names)
    return f"{pattern}?{query}" if query else pattern


@dataclass
class PatternCount:
    """Counts of the pages with one URL pattern.

    :param example: key of the last copy, or of the first page if there is none.
    :param copies: number of pages that are near-duplicates of another page.
    :param dropped: number of copies that were dropped.
    :param original: pattern of most of the pages that they are copies of, if any has most.
    :param surplus: how many more of them had this pattern than others, see `PatternCounts.add`.
    """

    pattern: str
    example: str
    pages: int = 0
    copies: int = 0
    dropped: int = 0
    original: str = ""
    surplus: int = 0


class PatternCounts:
    """A bounded counter of pages by URL pattern.

    Beyond twice `_MAX_PATTERNS`, it keeps so many patterns: those with the most pages.
    """

    def __init__(self) -> None:
        self._counts: dict[str, PatternCount] = {}

    def add(self, key: str, original: str | None = None, *, dropped: bool = False) -> None:
        """Count a page; ignore a key that is not a URL.

        :param original: key of the page that this page is a copy of, or None.
        """
        pattern = url_pattern(key)
        if pattern == key:  # not a URL
            return
        count = self._counts.setdefault(pattern, PatternCount(pattern, key))
        count.pages += 1
        if original is not None and original != key:
            # The majority vote of Boyer and Moore (1981), in constant space.
            of = url_pattern(original)
            if not count.surplus:
                count.original = of
            count.surplus += 1 if of == count.original else -1
            count.copies += 1
            count.dropped += dropped
            count.example = key
        if len(self._counts) > 2 * _MAX_PATTERNS:
            largest = sorted(self._counts.values(), key=lambda count: -count.pages)
            self._counts = {count.pattern: count for count in largest[:_MAX_PATTERNS]}

    def take_back(self, key: str) -> None:
        """Take back that a page was counted as a dropped copy."""
        count = self._counts.get(url_pattern(key))
        if count is not None and count.dropped:
            count.pages -= 1
            count.copies -= 1
            count.dropped -= 1

    def with_copies(self) -> Sequence[PatternCount]:
        """Return the patterns of at least 20 pages of which a third are copies, those with the most
        dropped copies first.
        """
        found = [
            count
            for count in self._counts.values()
            if count.pages >= MIN_PAGES and count.copies >= MIN_SHARE * count.pages
        ]
        return sorted(found, key=lambda count: (-count.dropped, -count.copies, count.pattern))
