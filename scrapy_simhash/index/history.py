"""The history of an index: a note for each crawl that used it, which the crawl writes when it ends.

A crawl that was killed has none. `scrapy_simhash.maintenance.changes` reads them, and
`scrapy_simhash.maintenance.remove.expire` deletes old ones.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Names of these notes begin with it; others are named after sites.
PREFIX = "crawl "
MAX_SITES = 10_000
MAX_NOT_JUDGED = 1_000


@dataclass
class Crawl:
    """A crawl, or the part of a crawl that one process does.

    :param start: first sequence number of the crawl; `end` is the first one after its last page.
    :param began_s: Unix time of the beginning; `ended_s` is that of the end.
    :param finished: the crawl ended without a limit or a signal.
    :param sites: the first 10,000 sites of which the crawl judged a page.
    :param not_judged: keys of known pages that were requested, but not confirmed, because the
        download or a callback failed, or they were skipped. At most 1,001 are kept.
    """

    start: int
    began_s: int
    end: int = 0
    ended_s: int = 0
    finished: bool = False
    sites: set[str] = field(default_factory=set)
    not_judged: set[str] = field(default_factory=set)

    def judged(self, site: str, sequence: int = -1) -> None:
        """Record that a page of a site was judged, and the number of its observation."""
        self.end = max(self.end, sequence + 1)
        if len(self.sites) < MAX_SITES:
            self.sites.add(site)

    def failed(self, key: str) -> None:
        """Record that a page that the index knows could not be judged."""
        if len(self.not_judged) <= MAX_NOT_JUDGED:
            self.not_judged.add(key)

    def absorb(self, other: Crawl) -> None:
        """Add an earlier part of this crawl, or a crawl at the same time."""
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

    def note(self) -> tuple[str, bytes]:
        """Return the name and the content of the note. Each part of a crawl has one."""
        self.end = max(self.end, self.start)
        name = f"{PREFIX}{self.start:013d} {self.end:013d}"
        return name, json.dumps([*vars(self).values()], default=sorted).encode()


def crawl_of(name: str, note: bytes) -> Crawl | None:
    """Return the crawl of a note; None for a note of something else, or a damaged one."""
    with suppress(ValueError, TypeError, RecursionError):
        if name.startswith(PREFIX):
            *numbers, finished, sites, not_judged = json.loads(note)
            start, began_s, end, ended_s = map(int, numbers)
            return Crawl(start, began_s, end, ended_s, bool(finished), {*sites}, {*not_judged})
    return None


def read_history(notes: Iterable[tuple[str, bytes]]) -> list[Crawl]:
    """Return the crawls among the notes of an index, oldest first; a damaged note counts as a crawl
    that was killed.

    Parts of a crawl become one, which finished if the last one did. Crawls at the same time share
    the work: they become one, which finished if all did.
    """
    crawls: list[Crawl] = []
    for crawl in (crawl_of(*note) for note in sorted(notes)):
        last = crawls[-1] if crawls else None
        if crawl is None:
            continue
        if last is None or crawl.start >= max(last.end, last.start + 1):
            crawls.append(crawl)
            continue
        if crawl.start > last.start:
            last.finished &= crawl.finished
        elif crawl.ended_s >= last.ended_s:
            last.finished = crawl.finished
        last.absorb(crawl)
    return crawls
