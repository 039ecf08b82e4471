"""ObservingIndex: decides what an observation is, whatever the store.

Several crawlers of one process may look at one store, each through an ObservingIndex of its own:
they share entries, pending pages and the order of observations (`SharedStore`), and differ in
when they began, and in whether earlier crawls count.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexClosed, SchemeError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Entry, Match, NearDuplicate, Observation, nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_simhash.index.base import ObservationKind, Store
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.scheme import Scheme


@dataclass(frozen=True)
class _Pending:
    observation: Observation
    # What queries see, and what is stored at confirm.
    entry: Entry


class SharedStore:
    """A store with what all who look at it share: the lock, the clock and the pending pages."""

    def __init__(self, store: Store, manifest: Manifest, location: str) -> None:
        self.store = store
        self.manifest = manifest
        self.location = location
        self.lock = RLock()
        self.pending: dict[int, _Pending] = {}
        self.next_sequence = store.next_sequence
        self.users = 0

    def take_sequence(self) -> int:
        """The next number in the order of observations."""
        sequence = self.next_sequence
        self.next_sequence += 1
        return sequence

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Stored and pending entries within the distance, in no order.

        A pending page stands beside the stored entry of its key, until it takes its place.
        """
        found = self.store.within(fingerprint, max_distance)
        for pending in self.pending.values():
            distance = hamming_distance(fingerprint, pending.entry.fingerprint)
            if distance <= max_distance:
                found.append((distance, pending.entry))
        return found

    def pending_of(self, key: str) -> list[_Pending]:
        """Pending observations of a key, oldest first."""
        return [p for p in self.pending.values() if p.observation.key == key]


class ObservingIndex:
    """An `Index` over a shared store; see that protocol for the contract.

    :param max_distance: k, inclusive.
    :param incremental: entries of earlier crawls count as seen.
    :param on_close: called once, when this index is closed.
    """

    def __init__(
        self,
        shared: SharedStore,
        *,
        max_distance: int,
        incremental: bool = False,
        on_close: Callable[[SharedStore], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._shared = shared
        self._on_close = on_close
        self._clock = clock
        self._closed = False
        self._mine: set[int] = set()
        self.max_distance = max_distance
        self.incremental = incremental
        self.began = shared.next_sequence

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

    def observe(self, key: str, fingerprint: int) -> Observation:
        """See `Index.observe`."""
        with self._open() as shared:
            if not isinstance(key, str) or not key:
                raise SchemeError(f"the key of a page is a text that is not empty, not {key!r}")
            shared.manifest.scheme.check_fingerprint(fingerprint)
            own = self._own_entry(key)
            own_distance = None if own is None else hamming_distance(own.fingerprint, fingerprint)
            same = own_distance is not None and own_distance <= self.max_distance
            if own is not None and same and self._counts(own):
                return self._unchanged(key, fingerprint, own)
            representative = self._representative(key, fingerprint)
            if representative is not None:
                return self._near_duplicate(key, fingerprint, *representative)
            if own is not None and same:
                return self._unchanged(key, fingerprint, own)
            now = int(self._clock())
            sequence = shared.take_sequence()
            kind: ObservationKind = "new" if own is None else "changed"
            observation = Observation(kind, key, fingerprint, None, own_distance, sequence)
            self._hold(observation, Entry(sequence, key, fingerprint, sequence, now, now))
            return observation

    def confirm(self, observed: Observation | str) -> None:
        """See `Index.confirm`."""
        with self._open():
            for pending in self._select(observed):
                self._store(pending)

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        with self._open():
            for pending in self._select(observed):
                self._release(pending)

    def query(self, fingerprint: int) -> list[Match]:
        """See `Index.query`."""
        with self._open() as shared:
            shared.manifest.scheme.check_fingerprint(fingerprint)
            matches: dict[str, Match] = {}
            for distance, entry in nearest_first(shared.within(fingerprint, self.max_distance)):
                matches.setdefault(entry.key, Match(entry.key, entry.fingerprint, distance))
            return list(matches.values())

    def near_duplicates(self, *, this_crawl: bool = False) -> Iterator[NearDuplicate]:
        """The near-duplicate log, oldest first; of this crawl alone, or of all."""
        with self._open() as shared:
            return shared.store.near_duplicates(self.began if this_crawl else 0)

    def close(self) -> None:
        """See `Index.close`."""
        with self._shared.lock:
            if self._closed:
                return
            self._closed = True
            for sequence in self._mine:
                self._shared.pending.pop(sequence, None)
        self._on_close(self._shared)

    def __len__(self) -> int:
        with self._open() as shared:
            return len(shared.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _open(self) -> Iterator[SharedStore]:
        with self._shared.lock:
            if self._closed:
                raise IndexClosed(self._shared.location, "used after close()")
            yield self._shared

    def _counts(self, entry: Entry) -> bool:
        return self.incremental or entry.met >= self.began

    def _own_entry(self, key: str) -> Entry | None:
        """What was last seen under this key: pending pages are newer than stored ones."""
        pending = self._shared.pending_of(key)
        return pending[-1].entry if pending else self._shared.store.entry(key)

    def _representative(self, key: str, fingerprint: int) -> tuple[int, Entry] | None:
        found = self._shared.within(fingerprint, self.max_distance)
        others = [pair for pair in found if pair[1].key != key and self._counts(pair[1])]
        return nearest_first(others)[0] if others else None

    def _near_duplicate(
        self, key: str, fingerprint: int, distance: int, representative: Entry
    ) -> Observation:
        shared = self._shared
        sequence = shared.take_sequence()
        line = NearDuplicate(
            key, representative.key, distance, fingerprint, sequence, int(self._clock())
        )
        shared.store.log(line, shared.next_sequence)
        return Observation(
            "near-duplicate", key, fingerprint, representative.key, distance, sequence
        )

    def _unchanged(self, key: str, fingerprint: int, own: Entry) -> Observation:
        shared = self._shared
        distance = hamming_distance(own.fingerprint, fingerprint)
        sequence = shared.take_sequence()
        observation = Observation("unchanged", key, fingerprint, None, distance, sequence)
        stored = shared.store.entry(key)
        if stored is None or hamming_distance(stored.fingerprint, fingerprint) > self.max_distance:
            # The same as a pending page, which may still fail: this one then stands for itself.
            now = int(self._clock())
            self._hold(observation, Entry(sequence, key, fingerprint, sequence, now, now))
        elif stored.met < self.began:
            now = int(self._clock())
            met = replace(stored, met=sequence, last_seen_s=now)
            if not self.incremental:
                # An empty index would know this crawl's content, not that of an earlier one.
                met = replace(met, fingerprint=fingerprint)
            self._hold(observation, met)
        return observation

    def _hold(self, observation: Observation, entry: Entry) -> None:
        self._shared.pending[observation.sequence] = _Pending(observation, entry)
        self._mine.add(observation.sequence)

    def _release(self, pending: _Pending) -> None:
        self._shared.pending.pop(pending.observation.sequence, None)
        self._mine.discard(pending.observation.sequence)

    def _select(self, observed: Observation | str) -> list[_Pending]:
        if isinstance(observed, str):
            return [
                p for p in self._shared.pending_of(observed) if p.observation.sequence in self._mine
            ]
        found = self._shared.pending.get(observed.sequence)
        return [] if found is None or found.observation != observed else [found]

    def _store(self, pending: _Pending) -> None:
        shared = self._shared
        entry = pending.entry
        stored = shared.store.entry(entry.key)
        if stored is not None and stored.met > entry.met:
            self._release(pending)  # a later observation of this key was confirmed before
            return
        if stored is not None:
            if hamming_distance(stored.fingerprint, entry.fingerprint) <= self.max_distance:
                # The same content again keeps its number, and its fingerprint while that counts.
                kept = stored if self._counts(stored) else entry
                entry = replace(
                    stored,
                    fingerprint=kept.fingerprint,
                    met=entry.met,
                    last_seen_s=entry.last_seen_s,
                )
            else:
                entry = replace(entry, first_seen_s=stored.first_seen_s)
        shared.store.write(entry, self._yielding(entry), shared.next_sequence)
        self._release(pending)

    def _yielding(self, entry: Entry) -> list[Entry]:
        """Entries of earlier crawls that this page takes the place of."""
        if self.incremental:
            return []
        busy = {pending.observation.key for pending in self._shared.pending.values()}
        return [
            other
            for _, other in self._shared.store.within(entry.fingerprint, self.max_distance)
            if other.key != entry.key and other.met < self.began and other.key not in busy
        ]
