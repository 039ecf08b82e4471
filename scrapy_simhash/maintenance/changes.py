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
from scrapy_simhash.maintenance.sources import opened_source
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
    :raises StorageError: see `opened_source`.
    """
    with opened_source(where) as source:
        crawls = read_history(source.notes())
        times = sorted(
            point
            for crawl in crawls
            for point in ((crawl.start, crawl.began_s), (crawl.end, crawl.ended_s))
        )
        last_start = crawls[-1].start if crawls else 0
        last_changes: list[Change] = []
        unseen: dict[str, Entry] = {}  # by key: the entries that the last crawl has not seen
        for entry in source.entries():
            if entry.last_sequence < last_start:
                unseen[entry.key] = entry
            else:
                last_changes.append(_content_change(entry, times, since_s))
        # Key of an unseen page → first and last log line after its entry that call it a copy.
        copies: dict[str, tuple[NearDuplicate, NearDuplicate]] = {}
        for line in source.near_duplicates() if unseen else ():
            unseen_entry = unseen.get(line.key)
            known = unseen_entry is not None and line.sequence > unseen_entry.last_sequence
            if known and line.confirmed:
                first, _ = copies.get(line.key, (line, line))
                copies[line.key] = first, line
        for key, entry in unseen.items():
            change = _content_change(entry, times, since_s)
            last_changes.append(_unseen_change(entry, change, copies.get(key), crawls))
    listed = [change for change in last_changes if change.at_s >= since_s]
    return sorted(listed, key=lambda change: (change.at_s, change.key))


def _content_change(entry: Entry, times: Sequence[tuple[int, int]], since_s: int) -> Change:
    """Return the last known change of a page's text.

    Its kind is ``new`` if the page was first seen at `since_s` or later, or no change is known.
    """
    changed_at_s = _changed_at_s(entry, times)
    if changed_at_s is None or entry.first_seen_s >= since_s:
        return Change(entry.key, "new", entry.first_seen_s, entry.first_seen_s, entry.last_seen_s)
    return Change(entry.key, "changed", changed_at_s, entry.first_seen_s, entry.last_seen_s)


def _unseen_change(
    entry: Entry,
    change: Change,
    copies: tuple[NearDuplicate, NearDuplicate] | None,
    crawls: Sequence[Crawl],
) -> Change:
    """Return the last change of a page whose entry the last crawl has not seen.

    :param change: the result of `_content_change`.
    :param copies: the first and the last log line after the entry that call the page a copy, or
        None.
    """
    last_sequence = entry.last_sequence
    if copies is not None:
        first, last = copies
        last_sequence = last.sequence
        change = change._replace(
            kind="changed",
            at_s=first.seen_at_s,
            last_seen_s=last.seen_at_s,
            copy_of=last.representative,
        )
    site = site_of(entry.key)
    missed_by = next(
        (crawl for crawl in crawls if crawl.misses(entry.key, site, last_sequence)), None
    )
    if missed_by is not None:
        change = change._replace(kind="gone", at_s=missed_by.ended_s, copy_of=None)
    return change


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
