"""RedisStore: the store of an `Index` that many processes share.

It is used through the same methods as `scrapy_simhash.index.store.Store`. For how it observes pages
see `scrapy_simhash.index.redis.admission`.

A pending page has a lease, which its process renews. If the process dies, the lease ends. The next
reader of the page removes it, so that its process, should it still run, cannot store the page: it
observes the page again.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.base import Entry, Observation, PageToObserve, Pending
from scrapy_simhash.index.records import encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.admission import (
    PAGES_AT_ONCE,
    Admission,
    Asked,
)
from scrapy_simhash.index.redis.layout import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import CrawlRules

logger = logging.getLogger(__name__)

# Answers of `scripts.SETTLE`.
_STORED, _LEASE_ENDED = 1, 2


class RedisStore(Admission):
    """The data of an index on a Redis server or cluster. Methods wait for the network.

    Callers hold the lock, because they share the replica.

    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    users = 0

    def __init__(self, server: Server, manifest: Manifest, lease_s: float) -> None:
        super().__init__(server, manifest, lease_s)
        self.lock = RLock()
        self.lost_leases = 0
        """How often `confirm` found that its page had been removed, because the lease had ended."""
        self._renewing: Thread | None = None
        self._closing = Event()

    @property
    def texts(self) -> Any:
        """Raise StorageError: texts are stored in an index on disk."""
        raise StorageError(self.location, "an index in Redis stores no texts")

    def observe_all(
        self, pages: Sequence[PageToObserve], rules: CrawlRules
    ) -> list[tuple[Observation, Pending | None]]:
        """See `Store.observe_all`. After an error, leases may have to end first."""
        asked = [Asked(page, rules.query(page)) for page in pages]
        self._renew_leases()
        try:
            for first in range(0, len(asked), PAGES_AT_ONCE):
                self._observe_together(asked[first : first + PAGES_AT_ONCE], rules)
            observed = [(one.observation, one.held) for one in asked if one.observation]
            self.write_lines(one.line for one, _ in observed if one.line)
        except BaseException:
            with suppress(StorageError):  # then their leases end
                self.release(one.held for one in asked if one.held)
            raise
        return observed

    def prefetch(self, queries: object, max_distance: int) -> None:
        """Do nothing: `observe_all` searches for pages together."""

    def hold(self, observed: Observation, rules: CrawlRules, supersedes: str | None) -> Pending:
        """See `Store.hold`."""
        page = PageToObserve(observed.key, observed.fingerprint, observed.evidence)
        one = Asked(page, rules.query(page), sequence=observed.sequence)
        entry = rules.new_entry(observed, observed.sequence)
        self._renew_leases()
        self._known = {}
        while one.held is None:  # until its own state has not changed
            one.wanted = observed, entry, self._own(one.own.stored, page.key)
            self._ask([one], crawl_start=rules.crawl_start)  # not compared: it is a known copy
        one.held.supersedes = supersedes
        return one.held

    def release(self, pages: Iterable[Pending]) -> None:
        """See `Store.release`. If this fails, their leases end, and they can be released again."""
        held, values = [page for page in pages if not page.is_settled], list[bytes]()
        for page in held:
            self._held.pop(page.attempt, None)
            values += digest_of(page.entry.key), page.attempt, b"", b""
        if values:
            self.server.run(scripts.SETTLE, *values)
        for page in held:
            page.is_settled = True

    def confirm(self, pages: Iterable[Pending], rules: CrawlRules) -> None:
        """See `Store.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.
        """
        waiting, width = deque(dict.fromkeys(pages)), self.width_bytes
        while waiting:
            values, batch = list[bytes](), dict[str, tuple[Pending, Entry]]()
            touched = set[str | None]()
            # A page must be stored, and remove what it replaces, before another page of these keys.
            while waiting and len(batch) < PAGES_AT_ONCE and waiting[0].entry.key not in touched:
                page = waiting.popleft()
                stored = page.stored
                if stored is not None and stored.last_sequence > page.entry.last_sequence:
                    self.release([page])  # a later observation of this key is already stored
                    continue
                entry = self._merged(page, rules)
                batch[entry.key] = page, entry
                touched.update((entry.key, page.supersedes, *(one.key for one in page.outdated)))
                current = b"" if stored is None else encode_entry(stored, width)
                values += digest_of(entry.key), page.attempt, current, encode_entry(entry, width)
            answers = self.server.run(scripts.SETTLE, *values) if batch else []
            for (page, entry), answer in zip(batch.values(), answers, strict=True):
                if answer == _STORED:
                    self._settle(page)
                    self._remove_replaced(page, entry, rules)
                    continue
                if answer != _LEASE_ENDED:
                    page.stored = self._own(answer, page.entry.key)
                elif not self._is_pending_again(page, rules):
                    continue
                waiting.appendleft(page)

    def sync(self) -> None:
        """Do nothing: the server writes to its disk as it is configured."""

    def stop_waiting(self) -> None:
        """If the server cannot be reached, let all further calls fail at once."""
        self.server.stop_waiting()

    def close(self, pages: Iterable[Pending] = ()) -> None:
        """Release pending pages, and close the connections. :raises StorageError: that fails."""
        self._closing.set()
        try:
            if self._renewing is not None:
                # A thread that waits for a server that is away ends with the process.
                self._renewing.join(0 if self.server.stop_waiting() else None)
            self.release(pages)
        finally:
            self.server.close()

    def _renew_leases(self) -> None:
        """Renew the leases of pending pages from now on."""
        if self._renewing is None:
            self._renewing = Thread(target=self._renew, name="simhash-leases", daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        """Renew the leases of pending pages until `close`."""
        every_s = self._lease_ms / 3000
        while not self._closing.wait(every_s):
            pages = self._held.copy().items()
            values = [value for attempt, digest in pages for value in (digest, attempt)]
            try:
                if values:
                    self.server.run(scripts.RENEW, self._lease_ms, *values)
            except (StorageError, OSError, ValueError) as error:
                if self._closing.is_set():  # `close` has closed the connection under it
                    return
                logger.warning(
                    "simhash: some leases were not renewed: %s. The next attempt is in %g s",
                    error,
                    every_s,
                )

    def _settle(self, page: Pending) -> None:
        """Renew the lease of a page no longer: nobody can settle it any more."""
        self._held.pop(page.attempt, None)
        page.is_settled = True

    def _merged(self, page: Pending, rules: CrawlRules) -> Entry:
        """Return the entry to store for a page."""
        given, stored = page.entry._replace(gave_items=page.gave_items), page.stored
        entry = rules.merged(given, stored)
        if stored is not None and self.row_id(entry) not in map(self.row_id, (given, stored)):
            # It has the fingerprint of one and the mark of the other.
            self.server.call("RPUSH", "journal", self.row(entry))
        return entry

    def _is_pending_again(self, page: Pending, rules: CrawlRules) -> bool:
        """Observe a page again whose lease has ended. Return True if it is pending under its new
        attempt; else it is settled, because a copy has taken its place.
        """
        self.lost_leases += 1
        before = page.observation
        again = PageToObserve(before.key, before.fingerprint, before.evidence, page.in_scope)
        [(observed, held)] = self.observe_all([again], rules)
        kind, representative = observed.kind, observed.representative
        if before.representative and representative is not None:
            held = self.hold(observed, rules, page.supersedes and representative)
        logger.warning(
            "simhash: the lease of %r ended before the page was confirmed. It was observed again, "
            "and is %s now. If this happens often, use a longer lease (SIMHASH_REDIS_LEASE_S)",
            before.key,
            "pending" if held else f"{kind} of {representative}" if representative else kind,
        )
        self._settle(page)
        if held is None:
            return False
        page.entry, page.stored, page.attempt = held.entry, held.stored, held.attempt
        page.outdated, page.supersedes = held.outdated, held.supersedes
        page.is_settled = False
        return True

    def _remove_replaced(self, page: Pending, entry: Entry, rules: CrawlRules) -> None:
        """Remove the entries that a stored page replaces."""
        for other in page.replaced(entry, rules, self.entry):
            if self.remove([other]) and page.supersedes is not None:
                sequence = int(self.server.call("INCR", "sequence"))
                [pair] = rules.neighbours(entry, [(other, False)])
                self.write_lines([rules.log_line(other, sequence, entry.key, pair)])
