"""The history of an index: which crawls used it, when, and which sites they reached.

Each crawl has a row. Each process of the crawl changes the row when it opens the index and when it
closes the index. So the row of a crawl whose processes were all killed has no end.
"""

from __future__ import annotations

import json
import os
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Limits for the rows of an index, and for the sites and the pages in a row.
MAX_CRAWLS = 200
MAX_SITES = 10_000
MAX_NOT_JUDGED = 1_000
_NUMBERS = ("began_s", "end", "ended_s", "running")


@dataclass
class PageCounts:
    """The numbers of judged pages and of near-duplicates among them."""

    judged: int = 0
    near_duplicates: int = 0

    def add(self, judged: int, near_duplicates: int) -> None:
        """Add to both counts."""
        self.judged += judged
        self.near_duplicates += near_duplicates


@dataclass
class CrawlRow:
    """A crawl, or the part of a crawl that one process does.

    :param start: first sequence number of the crawl.
    :param end: first sequence number after the crawl; 0 until a process has closed the index.
    :param began_s: Unix time of the beginning; `ended_s` is that of the end, 0 while `end` is 0.
    :param running: number of processes that opened the index and have not closed it. Killed ones
        count until the crawl is resumed.
    :param finished: the last process to close the index ended without a limit or a signal.
    :param sites: counts by site, for the first 10,000 sites.
    :param not_judged: keys of indexed pages that were requested, but not confirmed, because the
        download or a callback failed, or they were skipped. At most 1,001 are kept.
    """

    start: int
    began_s: int
    end: int = 0
    ended_s: int = 0
    running: int = 0
    finished: bool = False
    pages: PageCounts = field(default_factory=PageCounts)
    sites: dict[str, PageCounts] = field(default_factory=dict)
    not_judged: set[str] = field(default_factory=set)

    def count(self, site: str, judged: int, near_duplicates: int) -> None:
        """Add to the counts of a site, and to those of all pages."""
        self.pages.add(judged, near_duplicates)
        self._count_site(site, judged, near_duplicates)

    def absorb(self, other: CrawlRow) -> None:
        """Add the counts of a process, or of an overlapping crawl; take the later end."""
        self.end, self.ended_s = max(self.end, other.end), max(self.ended_s, other.ended_s)
        self.pages.add(other.pages.judged, other.pages.near_duplicates)
        for site, counts in other.sites.items():
            self._count_site(site, counts.judged, counts.near_duplicates)
        for key in other.not_judged:
            self.mark_not_judged(key)

    def mark_not_judged(self, key: str) -> None:
        """Add an indexed page to `not_judged`, unless more than 1,000 pages are in it."""
        if len(self.not_judged) <= MAX_NOT_JUDGED:
            self.not_judged.add(key)

    def misses(self, key: str, site: str, last_sequence: int) -> bool:
        """Return True if a page seems to be gone: this crawl finished and judged pages of its site,
        but not this page. Return False if `not_judged` has this page, or more than 1,000 pages.

        :param last_sequence: sequence number at which a crawl last saw the page.
        """
        return (
            self.finished
            and not self.running
            and last_sequence < self.start
            and site in self.sites
            and len(self.not_judged) <= MAX_NOT_JUDGED
            and key not in self.not_judged
        )

    def _count_site(self, site: str, judged: int, near_duplicates: int) -> None:
        if site in self.sites or len(self.sites) < MAX_SITES:
            self.sites.setdefault(site, PageCounts()).add(judged, near_duplicates)


def row_name(start: int) -> str:
    """Return the name of a crawl's row. Names sort in the order of crawls."""
    return f"{start:013d}"


def opened_by(process: CrawlRow, *, resumed: bool) -> Callable[[bytes | None], bytes]:
    """Return the change of a crawl's row when a process opens the index, for `change_side_row`.

    :param resumed: the crawl goes on after a pause, so that earlier processes no longer run.
    """

    def change(row: bytes | None) -> bytes:
        crawl = _stored_or_new(process, row)
        crawl.running = 1 if resumed else crawl.running + 1
        return encode_crawl(crawl)

    return change


def closed_by(process: CrawlRow) -> Callable[[bytes | None], bytes]:
    """Return the change of a crawl's row when a process closes the index, for `change_side_row`."""

    def change(row: bytes | None) -> bytes:
        crawl = _stored_or_new(process, row)
        crawl.absorb(process)
        crawl.finished = process.finished
        crawl.running = max(crawl.running - 1, 0)
        return encode_crawl(crawl)

    return change


def encode_crawl(crawl: CrawlRow) -> bytes:
    """Return the row of a crawl."""
    plain = {
        **{name: getattr(crawl, name) for name in _NUMBERS},
        "finished": int(crawl.finished),
        "pages": astuple(crawl.pages),
        "sites": {site: astuple(counts) for site, counts in crawl.sites.items()},
        "not_judged": sorted(crawl.not_judged),
        # Two processes that make the same change at the same time must not write equal rows:
        # `change_side_row` would take the second change for the first.
        "change": os.urandom(8).hex(),
    }
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_crawl(name: str, row: bytes) -> CrawlRow:
    """Return the crawl of a row. :raises ValueError: the row cannot be read."""
    try:
        plain = json.loads(row)
        return CrawlRow(
            _number(name),
            **{name: _number(plain[name]) for name in _NUMBERS},
            finished=bool(plain["finished"]),
            pages=_decode_counts(plain["pages"]),
            sites={str(site): _decode_counts(counts) for site, counts in plain["sites"].items()},
            not_judged=set(map(str, plain["not_judged"])),
        )
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"the row of the crawl {name!r} cannot be read ({error})") from error


def read_history(rows: Iterable[tuple[str, bytes]]) -> list[CrawlRow]:
    """Return the crawls, oldest first. Crawls that overlap share the work, so they become one. (The
    end of a crawl that was killed or still runs is unknown, so it overlaps with none.)

    :raises ValueError: a row cannot be read.
    """
    crawls: list[CrawlRow] = []
    for crawl in sorted((decode_crawl(*row) for row in rows), key=lambda crawl: crawl.start):
        if not crawls or crawl.start >= crawls[-1].end:
            crawls.append(crawl)
            continue
        combined = crawls[-1]
        combined.absorb(crawl)
        combined.running += crawl.running
        combined.finished = combined.finished and crawl.finished
    return crawls


def _stored_or_new(process: CrawlRow, row: bytes | None) -> CrawlRow:
    """Return the crawl of a row; a new crawl if the row is missing or damaged."""
    return _decoded_or_none(process.start, row) or CrawlRow(process.start, process.began_s)


def _decoded_or_none(start: int, row: bytes | None) -> CrawlRow | None:
    """Return the crawl of a row; None if the row is missing or damaged."""
    try:
        return None if row is None else decode_crawl(row_name(start), row)
    except ValueError:
        return None


def _decode_counts(numbers: list[object]) -> PageCounts:
    judged, near_duplicates = map(_number, numbers)
    return PageCounts(judged, near_duplicates)


def _number(value: object) -> int:
    number = int(str(value))
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number
