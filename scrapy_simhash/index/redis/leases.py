"""The pending pages of one process in an index in Redis, and the renewal of their leases."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.redis import scripts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry, Observation
    from scrapy_simhash.index.redis.layout import Layout
    from scrapy_simhash.index.redis.server import Server

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class HeldPage:
    """A pending page of this process.

    :param attempt: its name on the server, see `scrapy_simhash.index.redis.layout`.
    :param entry: the entry that `confirm` stores.
    :param stored: value of the stored entry with its page key when it was observed, or b"".
    :param outdated: entries of earlier crawls that it replaces.
    :param supersedes: key of the representative that it replaces.
    :param gave_items: it gave items; set by `confirm`.
    :param is_copy: it is pending although it is a copy, see `Index.accept`.
    :param is_released: its lease is not renewed any more.
    """

    observation: Observation
    digest: bytes
    attempt: bytes
    entry: Entry
    stored: bytes
    outdated: Sequence[Entry] = ()
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None
    is_copy: bool = False
    gave_items: bool = False
    is_released: bool = False

    def number(self, sequence: int) -> None:
        """Set the number of a new page, which the server gave it."""
        if self.observation.sequence:
            return
        self.observation = replace(self.observation, sequence=sequence)
        self.entry = self.entry._replace(number=sequence, last_sequence=sequence)


class Leases:
    """The pending pages of this process, whose leases a thread renews. Any thread may use it."""

    def __init__(self, server: Server, layout: Layout, lease_ms: int) -> None:
        self._server = server
        self._layout = layout
        self.lease_ms = lease_ms
        self._lock = Lock()
        self._closing = Event()
        self._pages: dict[tuple[int, str], HeldPage] = {}
        self._renewing: Thread | None = None

    def hold(self, page: HeldPage) -> None:
        """Renew the lease of an admitted page from now on."""
        with self._lock:
            self._pages[_number_and_key(page.observation)] = page
            if self._renewing is None and not self._closing.is_set():
                self._renewing = Thread(target=self._renew, name="simhash-leases", daemon=True)
                self._renewing.start()

    def forget(self, page: HeldPage) -> None:
        """Renew the lease of a page no longer."""
        with self._lock:
            self._pages.pop(_number_and_key(page.observation), None)

    def release(self, pages: Sequence[HeldPage]) -> None:
        """Remove pending pages from the server. If that fails, their leases end, and they can be
        released again.
        """
        for page in pages:
            page.is_released = True
        if pages:
            values = [value for page in pages for value in (page.digest, page.attempt, b"", b"")]
            self._server.run(scripts.SETTLE, (self._layout.entries, self._layout.pending), values)
        for page in pages:
            self.forget(page)

    def select(self, observed: Observation | str) -> list[HeldPage]:
        """Return the page of an observation, or all pages of a page key, oldest first."""
        with self._lock:
            if isinstance(observed, str):
                of_key = [page for page in self._pages.values() if page.observation.key == observed]
                return sorted(of_key, key=lambda page: page.observation.sequence)
            page = self._pages.get(_number_and_key(observed))
        return [] if page is None or page.observation != observed else [page]

    def close(self) -> None:
        """Stop the thread, and release all pages. :raises StorageError: the server fails."""
        with self._lock:
            self._closing.set()
            pages = list(self._pages.values())
        if self._renewing is not None:
            # A thread that waits for a server that is away ends with the process.
            self._renewing.join(0 if self._server.stop_waiting() else None)
        self.release(pages)

    def _renew(self) -> None:
        """Renew the leases of pending pages until `close`."""
        every_s = self.lease_ms / 3000
        while not self._closing.wait(every_s):
            with self._lock:
                pages = [page for page in self._pages.values() if not page.is_released]
            values = [value for page in pages for value in (page.digest, page.attempt)]
            try:
                if pages:
                    keys = (self._layout.pending,)
                    self._server.run(scripts.RENEW, keys, (self.lease_ms, *values))
            except StorageError as error:
                logger.warning(
                    "simhash: some leases were not renewed: %s. The next attempt is in %g s",
                    error,
                    every_s,
                )


def _number_and_key(observation: Observation) -> tuple[int, str]:
    # After a failover, the server may give a sequence number twice.
    return observation.sequence, observation.key
