"""ObservingIndex: an `Index` over any `Store`.

Several crawlers in one process can use one store, each through its own ObservingIndex. They share
entries, pending pages and sequence numbers (`SharedStore`). Each ObservingIndex has its own rules
and crawl start, and decides by itself whether entries of earlier crawls count.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexClosed, IndexLocked
from scrapy_simhash.evidence import NO_EVIDENCE
from scrapy_simhash.index.base import Ending, Index
from scrapy_simhash.index.crawl_index import CrawlIndex, check_page, matches
from scrapy_simhash.index.pending import Pending
from scrapy_simhash.index.rules import Neighbour, Rules, outdated_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import (
        Action,
        Entry,
        Match,
        NearDuplicate,
        Observation,
        PageToObserve,
        SideKind,
    )
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.shared import SharedStore
    from scrapy_simhash.index.texts import Texts
    from scrapy_simhash.scheme import Scheme


class ObservingIndex(CrawlIndex, Index):
    """An `Index` over a shared store. For the other parameters see `CrawlIndex`.

    :param on_close: called once, with the shared store, when this index is closed.
    :param crawl_start: first sequence number of a resumed crawl; None for a new crawl. A number
        above the next sequence number is lowered to it.
    """

    def __init__(
        self,
        shared: SharedStore,
        *,
        rules: Rules,
        incremental: bool = False,
        on_close: Callable[[SharedStore], None],
        clock: Callable[[], float] = time.time,
        crawl_start: int | None = None,
    ) -> None:
        next_sequence = shared.next_sequence
        super().__init__(
            rules=rules,
            incremental=incremental,
            crawl_start=next_sequence if crawl_start is None else min(crawl_start, next_sequence),
            clock=clock,
        )
        self._shared = shared
        self._on_close = on_close
        self._closed = False
        # The last written log line, kept for `acted`, which mostly changes this line.
        self._last_line: NearDuplicate | None = None
        # Sequence numbers of the pages that this index made pending.
        self._own_pending: set[int] = set()

    @property
    def scheme(self) -> Scheme:
        """The scheme that the index was made with."""
        return self._shared.manifest.scheme

    @property
    def plan(self) -> TablePlan:
        """The tables that the index was made with."""
        return self._shared.manifest.plan

    @property
    def location(self) -> str:
        """Directory of the index, or ``memory``."""
        return self._shared.location

    @property
    def texts(self) -> Texts:
        """The stored texts of pages, shared by all indexes that use the store."""
        return self._open().texts

    def observe(
        self,
        key: str,
        fingerprint: int,
        evidence: Evidence = NO_EVIDENCE,
        *,
        in_scope: Callable[[str], bool] | None = None,
    ) -> Observation:
        with self._shared.lock:
            shared = self._open()
            check_page(shared.manifest.scheme, key, fingerprint)
            stored, last = self._last_seen(key)
            result, observation, entry = self._judge(
                key,
                fingerprint,
                evidence,
                in_scope,
                stored=stored,
                last=last,
                near=lambda: shared.store.within(
                    fingerprint, self.max_distance, evidence.certainty, mark=self._mark(evidence)
                ),
                take_sequence=shared.take_sequence,
            )
            # With other users of the store, `confirm` must search again: they may write until then.
            outdated = result.outdated if shared.users <= 1 else None
            if result.nearest is not None:
                self._log(observation, result.nearest)
            if entry is not None:
                self._hold(Pending(observation, entry, stored, outdated, in_scope))
            return observation

    def observe_all(self, pages: Sequence[PageToObserve]) -> list[Observation]:
        observed: list[Observation] = []
        with self._shared.lock:
            for page in pages:
                check_page(self.scheme, page.key, page.fingerprint)
            self.prefetch([(page.fingerprint, page.evidence) for page in pages])
            try:
                for key, fingerprint, evidence, in_scope in pages:
                    observed.append(self.observe(key, fingerprint, evidence, in_scope=in_scope))
            except BaseException:
                for observation in observed:
                    self.discard(observation)
                raise
        return observed

    def prefetch(self, pages: Sequence[tuple[int, Evidence]]) -> None:
        """See `Store.prefetch`; for the next calls of `observe`.

        :param pages: (fingerprint, evidence).
        """
        with self._shared.lock:
            queries = [
                (fingerprint, evidence.certainty, self._mark(evidence))
                for fingerprint, evidence in pages
            ]
            self._open().store.prefetch(queries, self.max_distance)

    def accept(self, observed: Observation) -> None:
        with self._shared.lock:
            self._open()
            stored, _ = self._last_seen(observed.key)
            entry = self._new_entry(observed, observed.sequence)
            self._hold(Pending(observed, entry, stored, None))

    def supersede(self, observed: Observation) -> None:
        with self._shared.lock:
            self._open()
            stored, _ = self._last_seen(observed.key)
            entry = self._new_entry(observed, observed.sequence)
            superseded = observed.representative
            self._hold(Pending(observed, entry, stored, (), supersedes=superseded))

    def confirm(self, observed: Observation | str, *, gave_items: bool = True) -> None:
        with self._shared.lock:
            self._open()
            for pending in self._select(observed):
                self._store(pending, pending.entry._replace(gave_items=gave_items))

    def confirm_all(self, observed: Iterable[Observation], *, gave_items: bool = True) -> None:
        with self._shared.lock:
            for observation in observed:
                self.confirm(observation, gave_items=gave_items)

    def discard(self, observed: Observation | str) -> None:
        with self._shared.lock:
            self._open()
            for pending in self._select(observed):
                self._release(pending)
                if pending.observation.similar_to is not None:
                    self._shared.store.unlog(pending.observation.sequence)
                    self._last_line = None

    def acted(self, observed: Observation, action: Action | None) -> None:
        if observed.representative is None and observed.similar_to is None:
            return
        with self._shared.lock:
            store, sequence = self._open().store, observed.sequence
            line = self._last_line
            if line is None or line.sequence != sequence:
                line = store.near_duplicate(sequence)
            if line is None or line.key != observed.key:
                return
            if action is None:
                store.unlog(sequence)
                self._last_line = None
            else:
                store.log(replace(line, action=action), self._shared.next_sequence)

    def query(self, fingerprint: int, evidence: Evidence = NO_EVIDENCE) -> list[Match]:
        with self._shared.lock:
            shared = self._open()
            shared.manifest.scheme.check_fingerprint(fingerprint)
            stored, pending = shared.store.within(
                fingerprint, self.max_distance, evidence.certainty
            )
            return matches(self.rules.neighbours(evidence, stored + pending))

    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a key, or None."""
        with self._shared.lock:
            return self._open().store.entry(key)

    def remove(self, keys: Iterable[str]) -> list[str]:
        """Remove the entries of pages and their texts, and return the keys that had an entry.

        All entries are removed in one write.

        :raises IndexLocked: this process has the index open elsewhere.
        """
        with self._shared.lock:
            store = self._open().store
            if self._shared.users > 1:
                raise IndexLocked(self.location, "this process has it open, so nothing was removed")
            found = {key: entry for key in keys if (entry := store.entry(key)) is not None}
            store.remove(list(found.values()), store.next_sequence)
            self.texts.forget(found)
            return list(found)

    def near_duplicates(self, *, this_crawl: bool = False) -> Iterator[NearDuplicate]:
        """Return the lines of the near-duplicate log, or only those of this crawl, oldest first."""
        with self._shared.lock:
            return self._open().store.near_duplicates(self.crawl_start if this_crawl else 0)

    @property
    def next_sequence(self) -> int:
        """The sequence number of the next observation."""
        return self._open().next_sequence

    def side_rows(self, kind: SideKind) -> list[tuple[str, bytes]]:
        with self._shared.lock:
            return [*self._open().store.side_rows(kind)]

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        with self._shared.lock:
            return self._open().store.side_row(kind, name)

    def change_side_row(
        self, kind: SideKind, name: str, change: Callable[[bytes | None], bytes | None]
    ) -> None:
        """Change a side row atomically.

        :param change: called with the stored row, returns the new one; None means no row.
            `RedisIndex` may call it more than once.
        """
        with self._shared.lock:
            store = self._open().store
            old = store.side_row(kind, name)
            new = change(old)
            if new != old:
                store.write_side_row(kind, name, new)

    def replace_side_row(
        self, kind: SideKind, name: str, before: bytes | None, after: bytes | None
    ) -> bool:
        """Replace the side row `before`; None means no row. Return False if there is another."""
        with self._shared.lock:
            if self.side_row(kind, name) != before:
                return False
            self.change_side_row(kind, name, lambda _: after)
            return True

    def ending(self) -> Ending:
        """Return what a crawl needs to know of the index when it ends."""
        return Ending(len(self), self.next_sequence)

    def sync(self) -> None:
        """See `Store.sync`. Call this from a separate thread, because it waits for the disk."""
        self._open().store.sync()

    def close(self) -> None:
        with self._shared.lock:
            if self._closed:
                return
            self._closed = True
            for sequence in self._own_pending:
                self._shared.store.release(sequence)
        self._on_close(self._shared)

    def __len__(self) -> int:
        with self._shared.lock:
            return len(self._open().store)

    def _open(self) -> SharedStore:
        if self._closed:
            raise IndexClosed(self._shared.location, "used after close()")
        return self._shared

    def _last_seen(self, key: str) -> tuple[Entry | None, Entry | None]:
        """Return (the stored entry of a key or None; its last seen entry, stored or pending, or
        None).
        """
        pending = self._shared.store.pending.of_key(key)
        if pending:
            return pending[-1].stored, pending[-1].entry
        stored = self._shared.store.entry(key)
        return stored, stored

    def _log(self, observation: Observation, nearest: Neighbour) -> None:
        line = self._log_line(observation, observation.sequence, nearest.entry.key, nearest)
        self._shared.store.log(line, self._shared.next_sequence)
        self._last_line = line

    def _hold(self, pending: Pending) -> None:
        self._shared.store.hold(pending)
        self._own_pending.add(pending.observation.sequence)

    def _release(self, pending: Pending) -> None:
        sequence = pending.observation.sequence
        self._shared.store.release(sequence)
        self._own_pending.discard(sequence)

    def _select(self, observed: Observation | str) -> list[Pending]:
        """Return the pending pages that an argument of `confirm` or `discard` means."""
        if isinstance(observed, str):
            return [
                pending
                for pending in self._shared.store.pending.of_key(observed)
                if pending.observation.sequence in self._own_pending
            ]
        pending = self._shared.store.pending.get(observed.sequence)
        # Identity is tested first, because comparing by value is slow.
        if pending and (pending.observation is observed or pending.observation == observed):
            return [pending]
        return []

    def _store(self, pending: Pending, entry: Entry) -> None:
        shared, stored = self._shared, pending.stored
        if stored is not None and stored.last_sequence > entry.last_sequence:
            self._release(pending)  # a later observation of this key is already stored
            return
        entry = self._merged(entry, stored)
        superseded = self._superseded(pending, entry)
        outdated = self._outdated(pending, entry) if superseded is None else [superseded.entry]
        entry = shared.store.write(
            entry, stored, outdated, shared.next_sequence, held=pending.entry
        )
        for other in shared.store.pending.of_key(entry.key):
            other.stored = entry
        self._release(pending)
        if superseded is not None:
            line = self._log_line(superseded.entry, shared.take_sequence(), entry.key, superseded)
            shared.store.log(line, shared.next_sequence)

    def _superseded(self, pending: Pending, entry: Entry) -> Neighbour | None:
        """Return the representative that a page replaces.

        Return None if it has none, or if that is pending, no longer stored or no longer a copy.
        """
        key = pending.supersedes
        if key is None or self._shared.store.pending.of_key(key):
            return None
        stored = self._shared.store.entry(key)
        return None if stored is None else self.rules.copy_of(entry, stored)

    def _outdated(self, pending: Pending, entry: Entry) -> list[Entry]:
        """Return the entries of earlier crawls that a page replaces.

        Return none in an incremental crawl, or if the page is to replace its representative.
        """
        if self.incremental or pending.supersedes is not None:
            return []
        shared = self._shared
        if (
            pending.outdated is None
            or shared.users > 1
            or entry.fingerprint != pending.entry.fingerprint
        ):
            near = shared.store.within(
                entry.fingerprint,
                self.max_distance,
                pending.observation.evidence.certainty,
                mark=self._mark(entry.evidence),
            )
            others = [
                (distance, other) for distance, other in near.stored if other.key != entry.key
            ]
            neighbours = self.rules.neighbours(entry.evidence, others)
        elif not pending.outdated:
            return []
        else:
            stored = [shared.store.entry(other.key) for other in pending.outdated]
            copies = [self.rules.copy_of(entry, other) for other in stored if other is not None]
            neighbours = [copy for copy in copies if copy is not None]
        return [
            other
            for other in outdated_entries(
                neighbours, lambda other: other.last_sequence >= self.crawl_start, entry.evidence
            )
            if not shared.store.pending.of_key(other.key)
            and (pending.in_scope is None or pending.in_scope(other.key))
        ]
