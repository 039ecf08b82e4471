"""SharedStore: a store with what all who look at it share."""

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

_Found = list[tuple[int, Entry]]


class SharedStore:
    """A store with what all who look at it share: the lock, the clock, the pending pages, and the
    texts that are kept.
    """

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
        """The next number in the order of observations."""
        sequence = self.next_sequence
        self.next_sequence += 1
        return sequence

    def within(
        self, fingerprint: int, max_distance: int, certainty: bytes = b""
    ) -> tuple[_Found, _Found]:
        """Stored and pending entries within the distance, in no order.

        A pending page stands beside the stored entry of its key, until it takes its place.
        """
        return (
            self.store.within(fingerprint, max_distance, certainty),
            self.pending.within(fingerprint, max_distance),
        )
