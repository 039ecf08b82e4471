"""Sync indexes to disk in a background thread, because an fsync would block the event loop."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from scrapy_simhash.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence


_INTERVAL_S = 0.5


class Syncable(Protocol):
    """An object whose writes are synced to disk periodically."""

    def sync(self) -> None:
        """Sync to disk; may run at the same time as other calls.

        :raises StorageError: the disk fails.
        """


class Syncer:
    """A thread that syncs indexes twice a second, while a crawl uses them."""

    def __init__(self) -> None:
        self._indexes: Sequence[Syncable] = ()
        self._ended = threading.Event()
        # A daemon thread, so that a forced exit of the interpreter does not wait for it.
        self._thread = threading.Thread(target=self._run, name="simhash sync", daemon=True)

    def start(self, *indexes: Syncable | None) -> None:
        """Start to sync these indexes."""
        self._indexes = [index for index in indexes if index is not None]
        self._thread.start()

    def close(self) -> None:
        """Stop the thread. Call this before the indexes are closed."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            for index in self._indexes:
                # The next write syncs too, and reports the error.
                with suppress(StorageError):
                    index.sync()
