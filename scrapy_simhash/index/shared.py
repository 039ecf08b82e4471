"""Share one open store between all its users in a process, with the pages that are pending."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.index.texts import Texts, texts_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, Observation, Store
    from scrapy_simhash.index.manifest import Manifest


@dataclass(eq=False, slots=True)
class Pending:
    """An observation that is neither confirmed nor discarded.

    :param entry: the entry that queries see, and that `confirm` stores.
    :param stored: the present entry of the store under the same key.
    :param outdated: stored copies from earlier crawls that it replaces, as of its observation; None
        if they may have changed since.
    :param in_scope: predicate on the keys of these copies; None allows all.
    :param supersedes: key of the representative that it replaces.
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    outdated: Sequence[Entry] | None
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None


class PendingPages:
    """The pending observations of all users of a store."""

    def __init__(self) -> None:
        self._by_sequence: dict[int, Pending] = {}
        self._by_key: dict[str, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add an observation."""
        self._by_sequence[pending.observation.sequence] = pending
        self._by_key.setdefault(pending.observation.key, []).append(pending)

    def remove(self, sequence: int) -> None:
        """Remove the observation with that sequence number, if present."""
        pending = self._by_sequence.pop(sequence, None)
        if pending is None:
            return
        key = pending.observation.key
        others = self._by_key[key]
        others.remove(pending)
        if not others:
            del self._by_key[key]

    def get(self, sequence: int) -> Pending | None:
        """Return the observation with that sequence number, or None."""
        return self._by_sequence.get(sequence)

    def of_key(self, key: str) -> Sequence[Pending]:
        """Return the observations of a key, oldest first."""
        return self._by_key.get(key, ())

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return (distance, entry) of observations within the distance.

        A linear scan is fast enough, because few pages are in progress.
        """
        return [
            (distance, pending.entry)
            for pending in self._by_sequence.values()
            if (distance := (fingerprint ^ pending.entry.fingerprint).bit_count()) <= max_distance
        ]


class SharedStore:
    """A store with the state that its users share: lock, sequence, pending pages and texts."""

    def __init__(self, store: Store, manifest: Manifest, location: str) -> None:
        self.store = store
        self.manifest = manifest
        self.location = location
        self.lock = RLock()
        self.pending = PendingPages()
        kind = manifest.database
        path = None if kind == "memory" else texts_path(Path(location), kind)
        self.texts = Texts(location, path, kind)
        self.next_sequence = store.next_sequence
        self.users = 0

    def take_sequence(self) -> int:
        """Return the next sequence number of observations."""
        sequence = self.next_sequence
        self.next_sequence += 1
        return sequence

    def within(
        self, fingerprint: int, max_distance: int, certainty: bytes = b""
    ) -> tuple[list[tuple[int, Entry]], list[tuple[int, Entry]]]:
        """Return (stored entries, pending entries) within the distance, unordered.

        A pending page may have a stored entry too, which it replaces when it is confirmed.
        """
        return (
            self.store.within(fingerprint, max_distance, certainty),
            self.pending.within(fingerprint, max_distance),
        )
