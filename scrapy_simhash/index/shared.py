"""SharedStore: one open store, for all indexes of a process that use it."""

from __future__ import annotations

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.index.texts import Texts, texts_path

if TYPE_CHECKING:
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.store import Store


class SharedStore:
    """A store with the lock, next sequence number and texts that its users share."""

    def __init__(self, store: Store, manifest: Manifest, location: str) -> None:
        self.store = store
        self.manifest = manifest
        self.location = location
        self.lock = RLock()
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
