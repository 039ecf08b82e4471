"""The history of an index: which crawls used it, when, and which sites they reached.

Each crawl writes a row when it ends. A crawl that was killed has none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Limits for the rows of an index, and for the sites and the keys in a row.
MAX_CRAWLS = 200
MAX_SITES = 10_000
MAX_NOT_JUDGED = 1_000
_NUMBERS = ("began_s", "end", "ended_s")


@dataclass
class CrawlRow:
    """A crawl, or the part of a crawl that one process does.

    :param start: first sequence number of the crawl; `end` is the first one after it.
    :param began_s: Unix time of the beginning; `ended_s` is that of the end.
    :param finished: the crawl ended without a limit or a signal.
    :param sites: the first 10,000 sites of which the crawl judged a page.
    :param not_judged: keys of pages that were requested, but not confirmed, because the download
        or a callback failed, or they were skipped. At most 1,001 are kept.
    """

    start: int
    began_s: int
    end: int = 0
    ended_s: int = 0
    finished: bool = False
    sites: set[str] = field(default_factory=set)
    not_judged: set[str] = field(default_factory=set)

    def judged(self, site: str) -> None:
        """Record that a page of a site was judged."""
        if len(self.sites) < MAX_SITES:
            self.sites.add(site)

    def failed(self, key: str) -> None:
        """Record that a page could not be judged."""
        if len(self.not_judged) <= MAX_NOT_JUDGED:
            self.not_judged.add(key)

    def absorb(self, other: CrawlRow) -> None:
        """Add what an earlier part of this crawl, or one at the same time, has seen."""
        self.start, self.began_s = min(self.start, other.start), min(self.began_s, other.began_s)
        self.end, self.ended_s = max(self.end, other.end), max(self.ended_s, other.ended_s)
        self.sites |= other.sites
        self.not_judged |= other.not_judged

    def misses(self, key: str, site: str, last_sequence: int) -> bool:
        """Return True if a page seems to be gone: this crawl finished and judged pages of its site,
        but not this page. Return False if `not_judged` has this page, or more than 1,000 pages.

        :param last_sequence: sequence number at which a crawl last saw the page.
        """
        return (
            self.finished
            and last_sequence < self.start
            and site in self.sites
            and len(self.not_judged) <= MAX_NOT_JUDGED
            and key not in self.not_judged
        )


def row_name(start: int) -> str:
    """Return the name of a crawl's row. Names sort in the order of crawls."""
    return f"{start:013d}"


def encode_crawl(crawl: CrawlRow) -> bytes:
    """Return the row of a crawl."""
    numbers = {name: getattr(crawl, name) for name in _NUMBERS}
    keys = {"sites": sorted(crawl.sites), "not_judged": sorted(crawl.not_judged)}
    plain = numbers | {"finished": crawl.finished} | keys
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_crawl(name: str, row: bytes) -> CrawlRow:
    """Return the crawl of a row. :raises ValueError: the row cannot be read."""
    try:
        plain = json.loads(row)
        start, began_s, end, ended_s = map(int, (name, *(plain[each] for each in _NUMBERS)))
        if min(start, began_s, end, ended_s) < 0:
            raise ValueError("a number is negative")
        sites, not_judged = (set(map(str, plain[keys])) for keys in ("sites", "not_judged"))
        finished = bool(plain["finished"])
        return CrawlRow(start, began_s, end, ended_s, finished, sites, not_judged)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"the row of the crawl {name!r} cannot be read ({error})") from error


def read_history(rows: Iterable[tuple[str, bytes]]) -> list[CrawlRow]:
    """Return the crawls, oldest first. Crawls at the same time share the work: they become one,
    which finished if all did.

    :raises ValueError: a row cannot be read.
    """
    crawls: list[CrawlRow] = []
    for crawl in sorted((decode_crawl(*row) for row in rows), key=lambda crawl: crawl.start):
        if crawls and crawl.start < crawls[-1].end:
            crawls[-1].absorb(crawl)
            crawls[-1].finished &= crawl.finished
        else:
            crawls.append(crawl)
    return crawls
