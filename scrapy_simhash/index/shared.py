"""Share one open store between all its users in a process."""

from __future__ import annotations

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.pending import PendingPages
from scrapy_simhash.index.texts import Texts, texts_path

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Store
    from scrapy_simhash.index.manifest import Manifest

_Entries = list[tuple[int, Entry]]


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
    ) -> tuple[_Entries, _Entries]:
        """Return (stored entries, pending entries) within the distance, unordered.

        A pending page may have a stored entry too, which it replaces when it is confirmed.
        """
        return (
            self.store.within(fingerprint, max_distance, certainty),
            self.pending.within(fingerprint, max_distance),
        )
