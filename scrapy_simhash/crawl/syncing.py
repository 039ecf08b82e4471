"""Syncer: brings what was confirmed to the disk, off the event loop.

A disk may take its time to say that bytes are on it; an index that writes in the event loop must
not wait for that.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from scrapy_simhash.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence


_INTERVAL_S = 0.5


class Syncable(Protocol):
    """What is brought to the disk now and then."""

    def sync(self) -> None:
        """To be called beside other calls. :raises StorageError: the disk fails."""


class Syncer:
    """A thread that syncs indexes twice a second, while a crawl uses them."""

    def __init__(self) -> None:
        self._indexes: Sequence[Syncable] = ()
        self._ended = threading.Event()
        # A daemon: an interpreter that is told to end at once does not wait for it.
        self._thread = threading.Thread(target=self._run, name="simhash sync", daemon=True)

    def start(self, *indexes: Syncable | None) -> None:
        """Begin with these."""
        self._indexes = [index for index in indexes if index is not None]
        self._thread.start()

    def close(self) -> None:
        """End, before the indexes are closed."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            for index in self._indexes:
                # A write syncs where this did not, and says so if it cannot.
                with suppress(StorageError):
                    index.sync()
