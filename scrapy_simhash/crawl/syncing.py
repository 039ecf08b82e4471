"""Sync indexes to disk in a background thread, because an fsync would block the event loop."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_simhash.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Syncable(Protocol):
        """An index that can be synced to disk."""

        def sync(self) -> None:
            """Sync it. :raises StorageError: the disk fails."""


_INTERVAL_S = 0.5


class Syncer:
    """A thread that syncs the indexes of a crawl twice a second."""

    def __init__(self) -> None:
        self._indexes: Sequence[Syncable] = ()
        self._ended = threading.Event()
        # A daemon thread, so that a forced exit of the interpreter does not wait for it.
        self._thread = threading.Thread(target=self._run, name="simhash sync", daemon=True)

    def start(self, *indexes: Syncable) -> None:
        """Start the thread for some indexes. Call this once."""
        self._indexes = indexes
        self._thread.start()

    def close(self) -> None:
        """Stop the thread. Call this before the indexes are closed."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            for index in self._indexes:
                # If the error persists, the next write reports it.
                with suppress(StorageError):
                    index.sync()
