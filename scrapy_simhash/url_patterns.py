"""Count pages by URL pattern: the pages of one part of a site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

# A pattern with fewer pages, or a smaller share of alike pages, is no template.
MIN_PAGES = 20
MIN_SHARE = 1 / 3
_MAX_PATTERNS = 5_000


def url_pattern(key: str) -> str:
    """Return a URL with ``*`` in place of variable parts.

    The variable parts are path segments with digits, the name in the last segment, and values of
    the query. A key that is not a URL is its own pattern.
    """
    try:
        parts = urlsplit(key)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return key
    if not host:
        return key
    *folders, last = parts.path.split("/")
    folders = ["*" if re.search(r"\d", folder) else folder for folder in folders]
    if last:
        _, dot, ending = last.rpartition(".")
        last = f"*.{ending}" if dot and re.fullmatch(r"[A-Za-z]\w{0,4}", ending) else "*"
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    query = "&".join(f"{name}=*" for name in names)
    return f"{host}{'/'.join([*folders, last])}" + (f"?{query}" if query else "")


class PatternCount(NamedTuple):
    """Counts of the pages with one URL pattern.

    :param alike: pages that are near-duplicates of, or similar to, another page of the pattern.
    :param dropped: number of alike pages that were dropped.
    :param example: key of the last alike page; of the first page if none is alike.
    """

    pattern: str
    pages: int
    alike: int
    dropped: int
    example: str


class PatternCounts:
    """A bounded counter of pages by URL pattern.

    Beyond 10,000 patterns, it forgets the half with the fewest pages.
    """

    def __init__(self, max_patterns: int = _MAX_PATTERNS) -> None:
        self._max_patterns = max_patterns
        self._counts: dict[str, PatternCount] = {}

    def add(self, key: str, like: str | None = None, *, dropped: bool = False) -> None:
        """Count a page.

        :param like: key of the page that it is a near-duplicate of, or similar to.
        """
        pattern = url_pattern(key)
        if pattern == key:  # not a URL
            return
        count = self._counts.get(pattern) or PatternCount(pattern, 0, 0, 0, key)
        count = count._replace(pages=count.pages + 1)
        if like is not None and like != key and url_pattern(like) == pattern:
            count = count._replace(
                alike=count.alike + 1, dropped=count.dropped + dropped, example=key
            )
        self._counts[pattern] = count
        if len(self._counts) > 2 * self._max_patterns:
            largest = sorted(self._counts.values(), key=lambda count: -count.pages)
            self._counts = {count.pattern: count for count in largest[: self._max_patterns]}

    def templates(
        self, min_pages: int = MIN_PAGES, min_share: float = MIN_SHARE
    ) -> Sequence[PatternCount]:
        """Return the patterns whose pages may share a template, the most alike pages first."""
        templates = [
            count
            for count in self._counts.values()
            if count.pages >= min_pages and count.alike >= min_share * count.pages
        ]
        return sorted(templates, key=lambda count: (-count.alike, count.pattern))
