"""What an operator does to an index that no crawl uses: expire, rebuild, merge, remove, compact.

All can be interrupted at any moment, and done again: see `rewriting`; `remove` is one write, and
the database itself compacts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexMismatch, PlanError, StorageError
from scrapy_simhash.index import preset_confirmation
from scrapy_simhash.index.cost import check_bits
from scrapy_simhash.index.manifest import FORMAT_VERSION
from scrapy_simhash.index.offline import opened_database, read_manifest, require_whole
from scrapy_simhash.index.plan import MIN_RECALL
from scrapy_simhash.index.records import MAX_SEQUENCE
from scrapy_simhash.index.rewriting import opened_source, rewriting
from scrapy_simhash.index.rules import Rules, decide
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.index.texts import copy_texts, opened_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.rewriting import Rewriting, Source
    from scrapy_simhash.index.rules import Neighbour

    Moved = Callable[[], object]
    Among = Callable[[str], Callable[[str], bool] | None]


@dataclass
class Kept:
    """What an index holds afterwards, and what it does not hold any more.

    :param entries: representatives; `near_duplicates` are lines of the log.
    """

    entries: int = 0
    near_duplicates: int = 0
    removed_entries: int = 0
    removed_near_duplicates: int = 0


def expire(
    directory: Path, before_s: int, *, log: bool = False, moved: Moved = lambda: None
) -> Kept:
    """Remove the entries that no crawl has met since.

    :param before_s: Unix time; who was last seen at that second stays.
    :param log: remove older lines of the near-duplicate log, too.
    :param moved: called for each entry.
    :raises StorageError: there is no index, it is open elsewhere, damaged, or the disk fails.
    """
    kept = Kept()
    with rewriting(directory) as (source, store):
        for entry in source.entries():
            if entry.last_seen_s < before_s:
                kept.removed_entries += 1
            else:
                _copy(store, entry)
            moved()
        for line in source.near_duplicates():
            if log and line.seen_at_s < before_s:
                kept.removed_near_duplicates += 1
            else:
                store.log(line, max(store.next_sequence, line.sequence + 1))
                kept.near_duplicates += 1
        kept.entries = len(store)
        keys = {entry.key for entry in store.entries()}
        keys.update(line.key for line in store.near_duplicates(0))
        # Before anybody else can open the index.
        with opened_texts(directory, source.manifest.database) as texts:
            if texts is not None:
                texts.forget_all_but(keys)
    return kept


def rebuild(
    directory: Path,
    plan: TablePlan | None = None,
    *,
    max_distance: int | None = None,
    database: str | None = None,
    moved: Moved = lambda: None,
) -> Kept:
    """Make an index anew, with other tables, k or kind of database: what is not given stays.

    An index of format version 2 becomes one of this version. It keeps its fingerprints; its
    entries have no sketches, which speaks neither for nor against a copy.

    :raises PlanError: the tables find less than 95 % of the pairs at `max_distance`, or don't fit
        the fingerprints.
    :raises StorageError: see `expire`.
    """
    made = read_manifest(directory, older=True)
    plan = made.plan if plan is None else plan
    max_distance = made.max_distance if max_distance is None else max_distance
    if plan.bits != made.plan.bits:
        raise PlanError(f"tables for {plan.bits} bits don't fit fingerprints of {made.plan.bits}")
    if not 0 <= max_distance < plan.bits:
        raise PlanError(f"distance {max_distance} of {plan.bits} bits: 0 to {plan.bits - 1}")
    if (recall := plan.recall(max_distance)) < MIN_RECALL:
        raise PlanError(
            f"{plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
            f"{MIN_RECALL:.0%}: lower the distance, or take more tables"
        )
    changes = {
        "plan": plan,
        "max_distance": max_distance,
        "check_bits": check_bits(plan.bits, max_distance),
        "database": made.database if database is None else database,
    }
    if made.version != FORMAT_VERSION:
        changes["confirmation"] = preset_confirmation(made.scheme)
    kept = Kept()
    with rewriting(directory, older=True, **changes) as (source, store):
        _copy_all(source, store, kept, moved)
        if changes["database"] != made.database:
            copy_texts(directory, made.database, directory, str(changes["database"]))
        kept.entries = len(store)
    return kept


def merge(
    directory: Path,
    other: Path,
    *,
    among: Among = lambda _: None,
    moved: Moved = lambda: None,
) -> Kept:
    """Take another index into this one, as if its crawl had come after this one's.

    What the other holds is met later than anything here: its pages take the place of those here
    that they are copies of, and pages of both are unchanged, or changed. So it is what a crawl
    with this index would have left, if it met each page once (of pages that it met more often,
    the other index knows the last content alone). Pages of the other are not compared with each
    other again. The other index stays as it is.

    :param among: the scope of a page, see `Index.observe`; None for all.
    :raises IndexMismatch: they have different schemes.
    :raises StorageError: see `expire`; of either.
    """
    if directory.resolve() == other.resolve():
        raise StorageError(str(other), "an index is not merged with itself: give another one")
    mine, theirs = read_manifest(directory), read_manifest(other)
    if mine.scheme != theirs.scheme:
        raise IndexMismatch(
            str(other),
            f"its fingerprints are of the scheme {theirs.scheme.id}, those of {directory} of "
            f"{mine.scheme.id}: they cannot be compared; nothing was changed",
        )
    kept = Kept()
    with opened_source(other) as later, rewriting(directory) as rewritten:
        _copy_all(rewritten.source, rewritten.store, kept, moved)
        rules = Rules(mine.max_distance, mine.confirmation)
        merging = _Merging(rewritten, rules, among)
        for entry in later.entries_by_age():
            merging.meet(entry)
            moved()
        for line in later.near_duplicates():
            merging.log(line)
            kept.near_duplicates += 1
        merging.end(later.next_sequence)
        kept.entries, kept.removed_entries = len(rewritten.store), merging.yielded
    # Not before: an interrupted merge changes nothing.
    copy_texts(other, theirs.database, directory, mine.database)
    return kept


def remove(directory: Path, keys: Iterable[str]) -> list[str]:
    """Remove the entries of pages, all or none; returns the keys that there were.

    The near-duplicate log stays: it says what happened.
    """
    require_whole(directory)
    with opened_database(directory) as (manifest, database):
        path = manifest.database_path(directory)
        store = TableStore(database, manifest.plan, manifest.check_bits, str(directory), path=path)
        found = {key: entry for key in keys if (entry := store.entry(key)) is not None}
        store.remove(list(found.values()), store.next_sequence)
        with opened_texts(directory, manifest.database) as texts:
            if texts is not None:
                for key in found:
                    texts.forget(key)
        store.close()
    return list(found)


def compact(directory: Path) -> tuple[int, int]:
    """Let the database drop what was overwritten and deleted: (bytes before, bytes after)."""
    path = read_manifest(directory).database_path(directory)
    before_bytes = file_bytes(path)
    with opened_database(directory) as (_, database):
        database.compact()
    return before_bytes, file_bytes(path)


def file_bytes(path: Path) -> int:
    """Size of the files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _copy(store: TableStore, entry: Entry) -> None:
    store.write(entry._replace(ordinal=-1), None, (), max(store.next_sequence, entry.met + 1))


def _copy_all(source: Source, store: TableStore, kept: Kept, moved: Moved) -> None:
    for entry in source.entries():
        _copy(store, entry)
        moved()
    for line in source.near_duplicates():
        store.log(line, max(store.next_sequence, line.sequence + 1))
        kept.near_duplicates += 1


class _Merging:
    """What a later crawl met is met again here."""

    def __init__(self, rewritten: Rewriting, rules: Rules, among: Among) -> None:
        self._store = rewritten.store
        self._location = rewritten.source.location
        self._among = among
        self._rules = rules
        self._began = max(rewritten.source.next_sequence, rewritten.store.next_sequence)
        self.yielded = 0

    def meet(self, entry: Entry) -> None:
        """The other index has this entry."""
        entry = entry._replace(
            number=self._later(entry.number), met=self._later(entry.met), ordinal=-1
        )
        stored = self._store.entry(entry.key)
        own = None
        if stored is not None:
            own = self._rules.own(entry.fingerprint, entry.evidence, stored)
        # The other index has compared its pages with each other: only those of here are asked.
        decision = decide(
            own, lambda: (self._neighbours(entry), ()), lambda other: other.met >= self._began
        )
        if stored is not None:
            if decision.kind == "unchanged":
                entry = entry._replace(number=stored.number)
            entry = entry._replace(
                first_seen_s=min(stored.first_seen_s, entry.first_seen_s),
                last_seen_s=max(stored.last_seen_s, entry.last_seen_s),
            )
        self.yielded += len(decision.yielding)
        next_sequence = max(self._store.next_sequence, entry.met + 1)
        self._store.write(entry, stored, decision.yielding, next_sequence)

    def log(self, line: NearDuplicate) -> None:
        """The other index has this line in its near-duplicate log."""
        line = replace(line, sequence=self._later(line.sequence))
        self._store.log(line, max(self._store.next_sequence, line.sequence + 1))

    def end(self, next_sequence: int) -> None:
        """No number of the other index is given again, either."""
        self._store.remove((), max(self._store.next_sequence, self._later(next_sequence)))

    def _later(self, sequence: int) -> int:
        later = self._began - 1 + sequence
        if later > MAX_SEQUENCE:
            raise StorageError(
                self._location,
                "it has been merged so often that its numbers have no room: export it, and import "
                "that, which begins anew; nothing was changed",
            )
        return later

    def _neighbours(self, entry: Entry) -> list[Neighbour]:
        among = self._among(entry.key)
        found = [
            (distance, other)
            for distance, other in self._store.within(entry.fingerprint, self._rules.max_distance)
            if other.key != entry.key
            and other.met < self._began
            and (among is None or among(other.key))
        ]
        return self._rules.neighbours(entry.evidence, found)
