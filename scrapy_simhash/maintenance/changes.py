"""List the pages of an index that are new, changed or gone since a given time.

What is known of a page is its entry: when it was first and last seen, and the sequence number of
the observation that found its present content. The history of the index, the crawls that used it,
tells when that was, and which crawls a page should have been seen by.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.history import read_history
from scrapy_simhash.maintenance.sources import opened_source
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.history import CrawlRow
    from scrapy_simhash.maintenance.sources import Location

ChangeKind = Literal["new", "changed", "gone"]


class Change(NamedTuple):
    """A change of a page.

    :param at_s: Unix time at which a crawl noticed it.
    :param last_seen_s: when a crawl last saw the page.
    :param copy_of: of a changed page: the page that it is a copy of now.
    """

    key: str
    kind: ChangeKind
    at_s: int
    first_seen_s: int
    last_seen_s: int
    copy_of: str | None = None


def changes(
    where: Location, since_s: int, *, on_progress: Callable[[], object] = lambda: None
) -> list[Change]:
    """Return the last change of each page that changed, in the order of time.

    :param since_s: Unix time.
    :param on_progress: called for each entry.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the disk fails.
    """
    with opened_source(where) as source:
        try:
            crawls = read_history(source.side_rows("history"))
        except ValueError as error:
            raise corrupt(source.location, error) from error
        times = _Times(crawls)
        last_start = crawls[-1].start if crawls else 0
        found, missing = [], {}
        for entry in source.entries():
            if entry.met < last_start:
                missing[entry.key] = entry
            else:
                found.append(_of_content(entry, times, since_s))
            on_progress()
        # The first and the last line that says that a page became a copy after its entry was seen.
        copies: dict[str, tuple[NearDuplicate, NearDuplicate]] = {}
        for line in source.near_duplicates() if missing else ():
            known = missing.get(line.key)
            if known is not None and line.confirmed and line.sequence > known.met:
                copies[line.key] = copies.get(line.key, (line,))[0], line
        for key, entry in missing.items():
            change = _of_content(entry, times, since_s)
            found.append(_of_missing(entry, change, copies.get(key), crawls))
    listed = [change for change in found if change.at_s >= since_s]
    return sorted(listed, key=lambda change: (change.at_s, change.key))


def _of_content(entry: Entry, times: _Times, since_s: int) -> Change:
    """Return the last change of the content of a page."""
    changed_at_s = times.changed_at_s(entry)
    if changed_at_s is None or entry.first_seen_s >= since_s:
        return Change(entry.key, "new", entry.first_seen_s, entry.first_seen_s, entry.last_seen_s)
    return Change(entry.key, "changed", changed_at_s, entry.first_seen_s, entry.last_seen_s)


def _of_missing(
    entry: Entry,
    change: Change,
    copies: tuple[NearDuplicate, NearDuplicate] | None,
    crawls: Sequence[CrawlRow],
) -> Change:
    """Return the last change of a page whose entry the last crawl has not seen.

    :param change: the last change of its content.
    :param copies: the first and the last log line since then; None if it has none.
    """
    met = entry.met
    if copies is not None:
        first, last = copies
        met = last.sequence
        change = change._replace(
            kind="changed",
            at_s=first.seen_at_s,
            last_seen_s=last.seen_at_s,
            copy_of=last.representative,
        )
    site = site_of(entry.key)
    missed_by = next((crawl for crawl in crawls if crawl.misses(entry.key, site, met)), None)
    if missed_by is not None:
        change = change._replace(kind="gone", at_s=missed_by.ended_s, copy_of=None)
    return change


class _Times:
    """The times of sequence numbers, as far as the beginnings and ends of crawls tell."""

    def __init__(self, crawls: Sequence[CrawlRow]) -> None:
        points = [(crawl.start, crawl.began_s) for crawl in crawls]
        points += [(crawl.end, crawl.ended_s) for crawl in crawls if crawl.end]
        points.sort()
        self._sequences = [sequence for sequence, _ in points]
        self._times_s = [time_s for _, time_s in points]

    def changed_at_s(self, entry: Entry) -> int | None:
        """Return when a crawl found that the content of a page changed, or None if none did."""
        at = bisect_right(self._sequences, entry.number)
        if not at or self._times_s[at - 1] <= entry.first_seen_s:
            return None
        if entry.number == entry.met or at == len(self._times_s):
            return entry.last_seen_s
        # It was seen again since: the time of the change lies between two points.
        return min(self._times_s[at], entry.last_seen_s)
