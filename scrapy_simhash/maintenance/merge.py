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

    The result is what a crawl with this index would leave if it saw each page of the other index
    once, with its last content. Pages of the other index replace the entries of this one that they
    are copies of; pages of both are unchanged or changed. Pages of the other index are not compared
    with each other again. The history of this index is deleted, and the other index stays as it is.

    In Redis, this index is changed in place, and no crawl may use it. An interrupted merge can be
    repeated; the near-duplicate log may then have lines of the other index twice.

    :param in_scope: returns, for the key of a page, `in_scope` of `Index.observe`.
    :raises IndexMismatch: the indexes have different schemes.
    :raises StorageError: both are the same index, or one is missing, in use, damaged or unreadable.
    """
    if _resolved(where) == _resolved(other):
        raise StorageError(str(other), "an index cannot be merged with itself: give another one")
    manifest, other_manifest = manifest_of(where), manifest_of(other)
    if manifest.scheme != other_manifest.scheme:
        raise IndexMismatch(
            str(other),
            f"its scheme is {other_manifest.scheme.id}, but {where} has {manifest.scheme.id}: "
            "their fingerprints cannot be compared; nothing was changed",
        )
    result = RewriteResult()
    with opened_source(other) as source, _changing(where, on_progress) as store:
        rules = Rules(manifest.max_distance, manifest.confirmation)
        merging = _Merging(store, str(where), rules, in_scope)
        # First, because an index in Redis is changed from then on.
        merging.reserve(source.next_sequence)
        for entry in source.entries_by_age():
            merging.meet(entry)
            on_progress()
        for line in source.near_duplicates():
            merging.log(line)
        result.entries, result.removed_entries = len(store), merging.removed_entries
        result.near_duplicates = sum(1 for _ in store.near_duplicates(0))
    if isinstance(where, Path) and isinstance(other, Path):
        # Last, because an interrupted merge must change nothing.
        copy_texts(other, other_manifest.database, where, manifest.database)
    return result


@contextmanager
def _changing(
    where: Location, on_progress: Callable[[], object]
) -> Iterator[TableStore | RedisStore]:
    """Yield a store with all entries of an index: a copy of a directory, the original in Redis."""
    if isinstance(where, RedisAddress):
        with changing_in_redis(where) as original:
            yield original
            original.forget_history()
        return
    # Without the history, because its crawls saw no page of the other index.
    with rewriting(where, side_rows=("url-rules", "validators", "sitemaps")) as (source, store):
        copy_all(source, store, on_progress=on_progress)
        store.skip_to(source.next_sequence)
        yield store


def _resolved(where: Location) -> object:
    return where.resolve() if isinstance(where, Path) else where


class _Merging:
    """A merge: it replays the entries and the log of another index as a later crawl of a store."""

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
        self._first_sequence = store.next_sequence
        self.removed_entries = 0

    def reserve(self, next_sequence: int) -> None:
        """Reserve numbers for all sequence numbers of the other index, which are below this one."""
        self._store.skip_to(self._renumbered(next_sequence))

    def meet(self, entry: Entry) -> None:
        """Merge an entry of the other index."""
        entry = entry._replace(
            number=self._renumbered(entry.number), met=self._renumbered(entry.met), ordinal=-1
        )
        stored = self._store.entry(entry.key)
        own = None
        if stored is not None:
            own = self._rules.own(entry.fingerprint, entry.evidence, stored)
        # Entries of earlier crawls cannot be representatives (see `Index`).
        result = classify(own, lambda: (self._neighbours(entry), ()), lambda _: False)
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
        line = replace(line, sequence=self._renumbered(line.sequence))
        self._store.log(line, max(self._store.next_sequence, line.sequence + 1))

    def _renumbered(self, sequence: int) -> int:
        """Return the sequence number in this index for one of the other index."""
        renumbered = self._first_sequence - 1 + sequence
        if renumbered > MAX_SEQUENCE:
            raise StorageError(
                self._location,
                f"sequence {renumbered} is too large, after very many merges: export the index, "
                "and import it as a new one, whose numbers begin at 1; nothing was changed",
            )
        return renumbered

    def _neighbours(self, entry: Entry) -> list[Neighbour]:
        """Return the entries of this index within k of an entry of the other one, in its scope."""
        # Without merged entries, which the other index has compared already.
        in_scope = self._in_scope(entry.key)
        within_k = [
            (distance, other)
            for distance, other in self._store.within(entry.fingerprint, self._rules.max_distance)
            if other.key != entry.key
            and other.met < self._first_sequence
            and (in_scope is None or in_scope(other.key))
        ]
        return self._rules.neighbours(entry.evidence, within_k)
