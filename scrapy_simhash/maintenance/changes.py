"""List the pages of an index that are new, changed or gone since a given time.

Only pages with an entry are listed. The entry has the times at which a crawl first and last saw the
page. For the last change of its text, the entry has only a sequence number (`Entry.number`). The
history of crawls (`scrapy_simhash.index.history`) turns the number into a time, and says which
crawls should have seen a page.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.index.history import read_history
from scrapy_simhash.maintenance.sources import opened_store
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.history import Crawl
    from scrapy_simhash.maintenance.sources import Location

ChangeKind = Literal["new", "changed", "gone"]


class Change(NamedTuple):
    """A change of a page. All times are Unix times.

    :param at_s: time at which a crawl found the change. If the page was seen again later, the exact
        time is lost: this is the end of the crawl that found the change, or the start of the next
        one, but at most `last_seen_s`. For a page that is gone, this is the end of the first crawl
        that missed it.
    :param copy_of: for a changed page that is a copy now, the key of its representative; else None.
    """

    key: str
    kind: ChangeKind
    at_s: int
    first_seen_s: int
    last_seen_s: int
    copy_of: str | None = None


def changes(where: Location, since_s: int) -> list[Change]:
    """Return the last change of each page that changed since a time, ordered by time, then key.

    :param since_s: Unix time, inclusive. A page that was first seen since then is new, even if its
        text changed later, unless it is a copy or gone now.
    :raises StorageError: see `opened_store`.
    """
    with opened_store(where) as source:
        crawls = read_history(source.notes())
        last_start = crawls[-1].start if crawls else 0
        # Only a page that the last crawl has not seen can be a copy now, or gone.
        unseen = {
            entry.key: entry.last_sequence
            for entry in source.entries()
            if entry.last_sequence < last_start
        }
        # Key of an unseen page → first and last log line after its entry that call it a copy.
        copies: dict[str, list[NearDuplicate]] = {}
        for line in source.near_duplicates() if unseen else ():
            if line.confirmed and line.sequence > unseen.get(line.key, line.sequence):
                copies[line.key] = [*copies.get(line.key, [line])[:1], line]
        times = sorted(
            point for one in crawls for point in ((one.start, one.began_s), (one.end, one.ended_s))
        )
        found = [
            _change(entry, _changed_at_s(entry, times), copies.get(entry.key), crawls, since_s)
            for entry in source.entries()
        ]
    listed = [change for change in found if change.at_s >= since_s]
    return sorted(listed, key=lambda change: (change.at_s, change.key))


def _change(
    entry: Entry,
    changed_at_s: int | None,
    copies: Sequence[NearDuplicate] | None,
    crawls: Sequence[Crawl],
    since_s: int,
) -> Change:
    """Return the last change of a page.

    :param changed_at_s: see `_changed_at_s`.
    :param copies: the first and the last log line after the entry that call the page a copy.
    """
    last_seen_s, last_sequence = entry.last_seen_s, entry.last_sequence
    kind: ChangeKind = "changed"
    copy_of = None
    if copies:
        changed_at_s, last_seen_s = copies[0].seen_at_s, copies[-1].seen_at_s
        last_sequence, copy_of = copies[-1].sequence, copies[-1].representative
    elif changed_at_s is None or entry.first_seen_s >= since_s:
        kind, changed_at_s = "new", entry.first_seen_s
    if crawls and last_sequence < crawls[-1].start:
        site = site_of(entry.key)
        for crawl in crawls:
            if crawl.misses(entry.key, site, last_sequence):
                kind, changed_at_s, copy_of = "gone", crawl.ended_s, None
                break
    return Change(entry.key, kind, changed_at_s, entry.first_seen_s, last_seen_s, copy_of)


def _changed_at_s(entry: Entry, times: Sequence[tuple[int, int]]) -> int | None:
    """Return when a crawl found the present text of a page.

    Return None if that crawl was the first to see the page, or is not in the history.

    :param times: (sequence number, Unix time) of the start and the end of each crawl.
    """
    next_index = bisect_right(times, entry.number, key=itemgetter(0))
    if not next_index or times[next_index - 1][1] <= entry.first_seen_s:
        return None
    if entry.number == entry.last_sequence or next_index == len(times):
        return entry.last_seen_s
    # The page was seen again since, so the exact time is lost. Take the next known time.
    return min(times[next_index][1], entry.last_seen_s)
