"""Merge the index of a later crawl into another index."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexMismatch, StorageError
from scrapy_simhash.index.records import MAX_SEQUENCE
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rules import Rules, classify
from scrapy_simhash.index.texts import copy_texts
from scrapy_simhash.maintenance.redis_store import changing_in_redis
from scrapy_simhash.maintenance.rewriting import RewriteResult, copy_all, rewriting
from scrapy_simhash.maintenance.sources import manifest_of, opened_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.rules import Neighbour
    from scrapy_simhash.index.tables import TableStore
    from scrapy_simhash.maintenance.redis_store import RedisStore
    from scrapy_simhash.maintenance.sources import Location


def merge(
    where: Location,
    other: Location,
    *,
    in_scope: Callable[[str], Callable[[str], bool] | None] = lambda _: None,
    on_progress: Callable[[], object] = lambda: None,
) -> RewriteResult:
    """Merge another index into this one as if its crawl came later, and return the counts.

    The result is what a crawl with this index would leave if it met each page of the other index
    once: pages of the other index replace those of this one that they are copies of, and pages of
    both are unchanged or changed. The other index knows only the last content of a page that its
    crawl met more often. Its pages are not compared with each other again, and it is not changed.

    In Redis, this index is changed in place, and no crawl may use it. An interrupted merge can be
    repeated.

    :param in_scope: returns the scope of a page (see `Index.observe`), or None for all pages.
    :raises IndexMismatch: the indexes have different schemes.
    :raises StorageError: see `expire`, for either index.
    """
    if _resolved(where) == _resolved(other):
        raise StorageError(str(other), "an index cannot be merged with itself: give another one")
    mine, theirs = manifest_of(where), manifest_of(other)
    if mine.scheme != theirs.scheme:
        raise IndexMismatch(
            str(other),
            f"its fingerprints are of the scheme {theirs.scheme.id}, those of {where} of "
            f"{mine.scheme.id}: they cannot be compared; nothing was changed",
        )
    kept = RewriteResult()
    with opened_source(other) as later, _changing(where, on_progress) as store:
        rules = Rules(mine.max_distance, mine.confirmation)
        merging = _Merging(store, str(where), rules, in_scope)
        for entry in later.entries_by_age():
            merging.meet(entry)
            on_progress()
        for line in later.near_duplicates():
            merging.log(line)
        merging.end(later.next_sequence)
        kept.entries, kept.removed_entries = len(store), merging.removed_entries
        kept.near_duplicates = sum(1 for _ in store.near_duplicates(0))
    if isinstance(where, Path) and isinstance(other, Path):
        # Not before: an interrupted merge changes nothing.
        copy_texts(other, theirs.database, where, mine.database)
    return kept


@contextmanager
def _changing(
    where: Location, on_progress: Callable[[], object]
) -> Iterator[TableStore | RedisStore]:
    """Yield a store that holds the index: a new one in a directory, itself in Redis."""
    if isinstance(where, RedisAddress):
        with changing_in_redis(where) as changed:
            yield changed
            changed.forget_history()
        return
    # The history says nothing about pages of another index.
    with rewriting(where, side_rows=("url-rules", "validators", "sitemaps")) as (source, store):
        copy_all(source, store, on_progress=on_progress)
        store.skip_to(source.next_sequence)
        yield store


def _resolved(where: Location) -> object:
    return where.resolve() if isinstance(where, Path) else where


class _Merging:
    """Writes what another index saw to a store, as a later crawl of it."""

    def __init__(
        self,
        store: TableStore | RedisStore,
        location: str,
        rules: Rules,
        in_scope: Callable[[str], Callable[[str], bool] | None],
    ) -> None:
        self._store = store
        self._location = location
        self._in_scope = in_scope
        self._rules = rules
        self._began = store.next_sequence
        self.removed_entries = 0

    def meet(self, entry: Entry) -> None:
        """Merge an entry of the other index."""
        entry = entry._replace(
            number=self._later(entry.number), met=self._later(entry.met), ordinal=-1
        )
        stored = self._store.entry(entry.key)
        own = None
        if stored is not None:
            own = self._rules.own(entry.fingerprint, entry.evidence, stored)
        # The other index has compared its own pages already.
        result = classify(
            own, lambda: (self._neighbours(entry), ()), lambda other: other.met >= self._began
        )
        if stored is not None:
            if result.kind == "unchanged":
                entry = entry._replace(number=stored.number)
            entry = entry._replace(
                first_seen_s=min(stored.first_seen_s, entry.first_seen_s),
                last_seen_s=max(stored.last_seen_s, entry.last_seen_s),
            )
        self.removed_entries += len(result.outdated)
        next_sequence = max(self._store.next_sequence, entry.met + 1)
        self._store.write(entry, stored, result.outdated, next_sequence)

    def log(self, line: NearDuplicate) -> None:
        """Append a line of the other index's near-duplicate log."""
        line = replace(line, sequence=self._later(line.sequence))
        self._store.log(line, max(self._store.next_sequence, line.sequence + 1))

    def end(self, next_sequence: int) -> None:
        """Skip all sequence numbers of the other index."""
        self._store.skip_to(self._later(next_sequence))

    def _later(self, sequence: int) -> int:
        """Return the number that a sequence number of the other index gets in this one."""
        later = self._began - 1 + sequence
        if later > MAX_SEQUENCE:
            raise StorageError(
                self._location,
                f"sequence {later} is too large, after very many merges: export the index, and "
                "import it as a new one, whose numbers begin at 1; nothing was changed",
            )
        return later

    def _neighbours(self, entry: Entry) -> list[Neighbour]:
        """Return the entries of this index within k of an entry of the other one, in its scope."""
        in_scope = self._in_scope(entry.key)
        found = [
            (distance, other)
            for distance, other in self._store.within(entry.fingerprint, self._rules.max_distance)
            if other.key != entry.key
            and other.met < self._began
            and (in_scope is None or in_scope(other.key))
        ]
        return self._rules.neighbours(entry.evidence, found)
