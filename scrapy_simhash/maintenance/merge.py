"""Merge the index of a later crawl into another index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexMismatch, StorageError
from scrapy_simhash.index.offline import read_manifest
from scrapy_simhash.index.records import MAX_SEQUENCE
from scrapy_simhash.index.rules import Rules, decide
from scrapy_simhash.index.texts import copy_texts
from scrapy_simhash.maintenance.rewriting import (
    RewriteResult,
    copy_all,
    opened_source,
    rewriting,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.rules import Neighbour
    from scrapy_simhash.maintenance.rewriting import Rewriting


def merge(
    directory: Path,
    other: Path,
    *,
    in_scope: Callable[[str], Callable[[str], bool] | None] = lambda _: None,
    on_progress: Callable[[], object] = lambda: None,
) -> RewriteResult:
    """Take another index into this one, as if its crawl had come after this one's.

    What the other holds is met later than anything here: its pages take the place of those here
    that they are copies of, and pages of both are unchanged, or changed. So it is what a crawl
    with this index would have left, if it met each page once (of pages that it met more often,
    the other index knows the last content alone). Pages of the other are not compared with each
    other again. The other index stays as it is.

    :param in_scope: the scope of a page, see `Index.observe`; None for all.
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
    kept = RewriteResult()
    with opened_source(other) as later, rewriting(directory) as rewritten:
        copy_all(rewritten.source, rewritten.store, kept, on_progress)
        rules = Rules(mine.max_distance, mine.confirmation)
        merging = _Merging(rewritten, rules, in_scope)
        for entry in later.entries_by_age():
            merging.meet(entry)
            on_progress()
        for line in later.near_duplicates():
            merging.log(line)
            kept.near_duplicates += 1
        merging.end(later.next_sequence)
        kept.entries, kept.removed_entries = len(rewritten.store), merging.yielded
    # Not before: an interrupted merge changes nothing.
    copy_texts(other, theirs.database, directory, mine.database)
    return kept


class _Merging:
    """What a later crawl met is met again here."""

    def __init__(
        self,
        rewritten: Rewriting,
        rules: Rules,
        in_scope: Callable[[str], Callable[[str], bool] | None],
    ) -> None:
        self._store = rewritten.store
        self._location = rewritten.source.location
        self._in_scope = in_scope
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
        in_scope = self._in_scope(entry.key)
        found = [
            (distance, other)
            for distance, other in self._store.within(entry.fingerprint, self._rules.max_distance)
            if other.key != entry.key
            and other.met < self._began
            and (in_scope is None or in_scope(other.key))
        ]
        return self._rules.neighbours(entry.evidence, found)
