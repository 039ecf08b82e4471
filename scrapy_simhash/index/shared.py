"""SharedStore: one open store with its pending pages, for all indexes of a process that use it."""

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
    """A page that is neither confirmed nor discarded.

    :param entry: the entry that queries find, and that `confirm` stores.
    :param stored: the entry that the store now holds under the same key, or None.
    :param outdated: entries of earlier crawls that `confirm` replaces, as found by `observe`; None
        if `confirm` must search for them, because other users may write in the meantime.
    :param in_scope: returns True for the key of an entry that may be replaced; None allows all.
    :param supersedes: key of the representative that the page replaces, or None.
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    outdated: Sequence[Entry] | None
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None


class PendingPages:
    """The pending pages of all users of a store."""

    def __init__(self) -> None:
        self._by_sequence: dict[int, Pending] = {}
        # The fingerprint of each page, by its sequence number.
        self._fingerprints: dict[int, int] = {}
        self._by_key: dict[str, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add a page."""
        sequence = pending.observation.sequence
        self._by_sequence[sequence] = pending
        self._fingerprints[sequence] = pending.entry.fingerprint
        self._by_key.setdefault(pending.observation.key, []).append(pending)

    def remove(self, sequence: int) -> None:
        """Remove the page with the observation of that sequence number, if there is one."""
        pending = self._by_sequence.pop(sequence, None)
        if pending is None:
            return
        del self._fingerprints[sequence]
        key = pending.observation.key
        pages = self._by_key[key]
        pages.remove(pending)
        if not pages:
            del self._by_key[key]

    def get(self, sequence: int) -> Pending | None:
        """Return the page with the observation of that sequence number, or None."""
        return self._by_sequence.get(sequence)

    def of_key(self, key: str) -> Sequence[Pending]:
        """Return the pages under a key, in the order in which they were added."""
        return self._by_key.get(key, ())

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return (distance, entry) of the pages within the distance.

        A linear scan is fast enough, because few pages are pending at once.
        """
        return [
            (distance, self._by_sequence[sequence].entry)
            for sequence, other in self._fingerprints.items()
            if (distance := (fingerprint ^ other).bit_count()) <= max_distance
        ]


class SharedStore:
    """A store with the lock, next sequence number, pending pages and texts that its users share."""

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
        """Number of open `ObservingIndex` objects."""

    def take_sequence(self) -> int:
        """Return the next sequence number, and advance to the following one."""
        sequence = self.next_sequence
        self.next_sequence += 1
        return sequence

    def within(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",
        *,
        mark: int | None = None,
    ) -> tuple[list[tuple[int, Entry]], list[tuple[int, Entry]]]:
        """Return two lists of (distance, entry): the stored and the pending entries within the
        distance. A key is in both if its page is pending again. For `mark` see `Store.within`.
        """
        return (
            self.store.within(fingerprint, max_distance, certainty, mark=mark),
            self.pending.within(fingerprint, max_distance),
        )
