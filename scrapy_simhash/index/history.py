"""The history of an index: which crawls used it, when, and which sites they reached.

Each crawl has a row, which is written when it opens the index, and again when it closes it. So a
crawl that was killed has a beginning, but no end. The processes of one crawl share a row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_CRAWLS = 200
MAX_SITES = 10_000
MAX_NOT_JUDGED = 1_000


@dataclass
class PageCounts:
    """How many pages were judged, and how many of them were near-duplicates."""

    judged: int = 0
    near_duplicates: int = 0

    def add(self, judged: int, near_duplicates: int) -> None:
        """Add counts."""
        self.judged += judged
        self.near_duplicates += near_duplicates


@dataclass
class CrawlRow:
    """A crawl, or what one process adds to it.

    :param start: its first sequence number.
    :param began_s: Unix time, as is `ended_s`.
    :param end: the first sequence number after it; 0 before a process has closed the index.
    :param running: number of processes that have opened the index, and not closed it.
    :param finished: the last process ended by itself, without a limit or a signal.
    :param pages: counts of all pages.
    :param sites: counts by site, for the first 10,000 sites.
    :param not_judged: pages of the index that it asked for and cannot judge: their download failed,
        or they have no text. With more than 1,000, a crawl says nothing about missing pages.
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
        """Count pages of a site."""
        self.pages.add(judged, near_duplicates)
        self._count_site(site, judged, near_duplicates)

    def absorb(self, other: CrawlRow) -> None:
        """Add what another process has done."""
        self.end, self.ended_s = max(self.end, other.end), max(self.ended_s, other.ended_s)
        self.pages.add(other.pages.judged, other.pages.near_duplicates)
        for site, counts in other.sites.items():
            self._count_site(site, counts.judged, counts.near_duplicates)
        for key in other.not_judged:
            self.leave_open(key)

    def leave_open(self, key: str) -> None:
        """Record that a page of the index cannot be judged."""
        if len(self.not_judged) <= MAX_NOT_JUDGED:
            self.not_judged.add(key)

    def misses(self, key: str, site: str, last_met: int) -> bool:
        """Return True if a page of a site should have been seen by this crawl, and was not.

        :param last_met: sequence number at which the page was last seen.
        """
        return (
            self.finished
            and not self.running
            and last_met < self.start
            and site in self.sites
            and len(self.not_judged) <= MAX_NOT_JUDGED
            and key not in self.not_judged
        )

    def _count_site(self, site: str, judged: int, near_duplicates: int) -> None:
        if site in self.sites or len(self.sites) < MAX_SITES:
            self.sites.setdefault(site, PageCounts()).add(judged, near_duplicates)


def row_name(start: int) -> str:
    """Return the name of a crawl's row; names have the order of crawls."""
    return f"{start:013d}"


def opened_by(process: CrawlRow, *, resumed: bool) -> Callable[[bytes | None], bytes]:
    """Return the change of a crawl's row when a process opens the index.

    :param resumed: the crawl goes on after a pause; the process before may have been killed.
    """

    def change(row: bytes | None) -> bytes:
        crawl = _crawl_of(process, row)
        crawl.running = 1 if resumed else crawl.running + 1
        return encode_crawl(crawl)

    return change


def closed_by(process: CrawlRow) -> Callable[[bytes | None], bytes]:
    """Return the change of a crawl's row when a process closes the index."""

    def change(row: bytes | None) -> bytes:
        crawl = _crawl_of(process, row)
        crawl.absorb(process)
        crawl.finished = process.finished
        crawl.running = max(crawl.running - 1, 0)
        return encode_crawl(crawl)

    return change


def encode_crawl(crawl: CrawlRow) -> bytes:
    """Return the row of a crawl."""
    plain = {
        "began_s": crawl.began_s,
        "end": crawl.end,
        "ended_s": crawl.ended_s,
        "running": crawl.running,
        "finished": int(crawl.finished),
        "pages": _numbers(crawl.pages),
        "sites": {site: _numbers(counts) for site, counts in crawl.sites.items()},
        "not_judged": sorted(crawl.not_judged),
    }
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_crawl(name: str, row: bytes) -> CrawlRow:
    """Return the crawl of a row. :raises ValueError: it cannot be read."""
    try:
        plain = json.loads(row)
        return CrawlRow(
            _number(name),
            began_s=_number(plain["began_s"]),
            end=_number(plain["end"]),
            ended_s=_number(plain["ended_s"]),
            running=_number(plain["running"]),
            finished=bool(plain["finished"]),
            pages=_counts(plain["pages"]),
            sites={str(site): _counts(counts) for site, counts in plain["sites"].items()},
            not_judged=set(map(str, plain["not_judged"])),
        )
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"the row of the crawl {name!r} cannot be read ({error})") from error


def read_history(rows: Iterable[tuple[str, bytes]]) -> list[CrawlRow]:
    """Return the crawls, oldest first. Those that overlap share their work: they count as one.

    :raises ValueError: a row cannot be read.
    """
    crawls: list[CrawlRow] = []
    for crawl in sorted((decode_crawl(*one) for one in rows), key=lambda one: one.start):
        if not crawls or crawl.start >= crawls[-1].end:
            crawls.append(crawl)
            continue
        whole = crawls[-1]
        whole.absorb(crawl)
        whole.running += crawl.running
        whole.finished = whole.finished and crawl.finished
    return crawls


def last_finished(rows: Iterable[tuple[str, bytes]], *, before: int) -> CrawlRow | None:
    """Return the last crawl that began before a sequence number, and ended by itself.

    :param rows: in the order of their names. Damaged ones are ignored.
    """
    crawls = (_readable(int(name), row) for name, row in rows if name.isdecimal())
    found = [crawl for crawl in crawls if crawl and crawl.start < before and crawl.finished]
    return found[-1] if found else None


def _crawl_of(process: CrawlRow, row: bytes | None) -> CrawlRow:
    """Return the crawl that a process belongs to: that of the row, or a new one."""
    return _readable(process.start, row) or CrawlRow(process.start, process.began_s)


def _readable(start: int, row: bytes | None) -> CrawlRow | None:
    """Return the crawl of a row, or None: a damaged row is replaced."""
    try:
        return None if row is None else decode_crawl(row_name(start), row)
    except ValueError:
        return None


def _numbers(counts: PageCounts) -> list[int]:
    return [counts.judged, counts.near_duplicates]


def _counts(numbers: list[object]) -> PageCounts:
    judged, near_duplicates = map(_number, numbers)
    return PageCounts(judged, near_duplicates)


def _number(value: object) -> int:
    number = int(str(value))
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number
