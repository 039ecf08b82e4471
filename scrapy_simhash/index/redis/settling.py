"""SettlingIndex: store or discard the pending pages of an index in Redis.

A process confirms a page after the page's callback has run. If the page's lease has ended by then,
other processes may have removed the page and stored a copy. So the page is observed again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from scrapy_simhash.errors import StorageError
from scrapy_simhash.evidence import same_request
from scrapy_simhash.index.base import Entry, PageToObserve
from scrapy_simhash.index.crawl_index import CrawlIndex
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.content import RedisContent
from scrapy_simhash.index.redis.leases import HeldPage, Leases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simhash.index.base import Action, NearDuplicate, Observation
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Rules

_STORED, _LEASE_ENDED = 1, 2
# Upper limit for the pages of a script.
_PAGES_AT_ONCE = 32
# How often `confirm` observes a page again whose lease keeps ending.
_MAX_REPEATS = 3

logger = logging.getLogger(__name__)


def row_parts(entry: Entry) -> tuple[int, int]:
    """Return the fingerprint and the mark in the row of an entry."""
    return entry.fingerprint, mark_of(entry.evidence)


class SettlingIndex(CrawlIndex, RedisContent):
    """The part of `RedisIndex` that stores or discards its pending pages.

    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    def __init__(
        self,
        server: Server,
        manifest: RedisManifest,
        name: str,
        *,
        rules: Rules,
        incremental: bool,
        crawl_start: int,
        lease_s: float,
    ) -> None:
        CrawlIndex.__init__(self, rules=rules, incremental=incremental, crawl_start=crawl_start)
        RedisContent.__init__(self, server, manifest, name)
        self._leases = Leases(server, self.layout, max(int(1000 * lease_s), 1))
        self._lock = Lock()
        self.lost_leases = 0
        """How often `confirm` found that its page had been removed, because the lease had ended."""

    def observe_all(self, pages: Sequence[PageToObserve]) -> list[Observation]:
        """See `Index.observe_all`."""
        raise NotImplementedError

    def accept(self, observed: Observation) -> None:
        """See `Index.accept`."""
        raise NotImplementedError

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        raise NotImplementedError

    def confirm(self, observed: Observation | str, *, gave_items: bool = True) -> None:
        """See `Index.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.
        StorageError is raised if its lease then ends three more times.
        """
        self._require_open()
        self._store_all(self._leases.select(observed), gave_items)

    def confirm_all(self, observed: Iterable[Observation], *, gave_items: bool = True) -> None:
        """See `Index.confirm_all`, and `confirm`."""
        self._require_open()
        pages = [page for one in observed for page in self._leases.select(one)]
        self._store_all(pages, gave_items)

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        self._require_open()
        self._discard(self._leases.select(observed))

    def discard_all(self, observed: Iterable[Observation]) -> None:
        """See `CrawlIndex.discard_all`. This takes one or two round trips."""
        self._require_open()
        self._discard([page for one in observed for page in self._leases.select(one)])

    def _discard(self, pages: Sequence[HeldPage]) -> None:
        self._leases.release(pages)
        self._unlog(page.observation for page in pages if page.observation.similar_to is not None)

    def acted(self, observed: Observation, action: Action | None) -> None:
        """See `Index.acted`."""
        if observed.representative is None and observed.similar_to is None:
            return
        self._require_open()
        if action is None:
            self._unlog([observed])
        else:
            self.acted_all([(observed, action)])

    def acted_all(self, observed: Iterable[tuple[Observation, Action]]) -> None:
        """See `CrawlIndex.acted_all`. This takes two round trips."""
        self._require_open()
        pairs = list(observed)
        lines = self._lines_of([one for one, _ in pairs])
        changed = zip(lines, pairs, strict=True)
        self.write_lines(replace(line, action=act) for line, (_, act) in changed if line)

    def _lines_of(self, observed: Sequence[Observation]) -> list[NearDuplicate | None]:
        """Return the lines of observations in the near-duplicate log, None for those without."""
        values = self.server.call_all(
            ("HGET", self.layout.log_key(one.sequence), one.sequence) for one in observed
        )
        lines = [
            None if value is None else self._decoded_line(one.sequence, value)
            for one, value in zip(observed, values, strict=True)
        ]
        # After a failover, the server may give a sequence number twice.
        pairs = zip(observed, lines, strict=True)
        return [line if line is not None and line.key == one.key else None for one, line in pairs]

    def _unlog(self, observed: Iterable[Observation]) -> None:
        """Remove the lines of observations from the near-duplicate log."""
        there = [line for line in self._lines_of(list(observed)) if line is not None]
        self.server.call_all(
            ("HDEL", self.layout.log_key(line.sequence), line.sequence) for line in there
        )

    def stop_waiting(self) -> None:
        """If the server cannot be reached, let all further calls fail at once."""
        self.server.stop_waiting()

    def close(self) -> None:
        """See `Index.close`."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
        try:
            self._leases.close()
        finally:
            self.server.close()

    def _store_all(self, pages: Iterable[HeldPage], gave_items: bool) -> None:
        """Store pages and remove the entries that they replace. See `confirm`."""
        batch: dict[bytes, HeldPage] = {}
        for page in dict.fromkeys(pages):
            page.gave_items = gave_items
            # Of two pages with the same key, the first must be stored before the second.
            if len(batch) == _PAGES_AT_ONCE or page.digest in batch:
                self._store_together(batch.values())
                batch = {}
            batch[page.digest] = page
        self._store_together(batch.values())

    def _store_together(self, pages: Iterable[HeldPage]) -> None:
        for page in self._try_to_store(pages):
            self._store_again(page)

    def _store_again(self, page: HeldPage) -> None:
        """Observe again a page whose lease has ended, and store it."""
        for _ in range(_MAX_REPEATS):
            self.lost_leases += 1
            again = self._observe_again(page)
            try:
                has_ended = again is not None and bool(self._try_to_store([again]))
            except BaseException:
                with suppress(StorageError):  # then its lease ends
                    self._leases.release([again] if again else [])
                raise  # `page` is still held: it can be confirmed again
            if again is not None:
                self._leases.forget(again)
            if not has_ended:
                self._leases.forget(page)
                return
        self._leases.forget(page)
        raise StorageError(
            self.location,
            f"the lease of {page.observation.key!r} ended again and again before the page was "
            f"confirmed: make it longer than {self._leases.lease_ms / 1000:g} s "
            "(SIMHASH_REDIS_LEASE_S)",
        )

    def _try_to_store(self, pages: Iterable[HeldPage]) -> list[HeldPage]:
        """Store pages, unless a later observation of their page key is stored, and remove what they
        replace. Return the pages that were removed because their leases had ended.
        """
        layout, ended = self.layout, []
        expected = {page: page.stored for page in pages}
        while expected:
            values, entries = list[bytes](), dict[HeldPage, Entry]()
            for page, value in expected.items():
                stored = self._own(value, page.observation.key)
                if stored is not None and stored.last_sequence > page.entry.last_sequence:
                    self._leases.release([page])
                    continue
                given = page.entry._replace(gave_items=page.gave_items)
                entry = entries[page] = self._merged(given, stored)
                if stored is not None and row_parts(entry) not in (
                    row_parts(given),
                    row_parts(stored),
                ):
                    # It has the fingerprint of one and the mark of the other.
                    self._append_rows([entry])
                values += (page.digest, page.attempt, value)
                values.append(encode_entry(entry, layout.width_bytes))
            keys = (layout.entries, layout.pending)
            answers = self.server.run(scripts.SETTLE, keys, values) if entries else []
            expected = {}
            for (page, entry), answer in zip(entries.items(), answers, strict=True):
                if answer[0] == _STORED:
                    self._leases.forget(page)
                    self._remove_replaced(page, entry)
                elif answer[0] == _LEASE_ENDED:
                    ended.append(page)
                else:
                    expected[page] = answer[1]
        return ended

    def _observe_again(self, page: HeldPage) -> HeldPage | None:
        """Observe a page whose lease has ended. Return it if it is pending again, else None."""
        before = page.observation
        [observed] = self.observe_all(
            [PageToObserve(before.key, before.fingerprint, before.evidence, page.in_scope)]
        )
        if page.is_copy and observed.representative is not None:
            (self.accept if page.supersedes is None else self.supersede)(observed)
        again = next(iter(self._leases.select(observed)), None)
        if again is not None:
            again.gave_items = page.gave_items
        kind, representative = observed.kind, observed.representative
        logger.warning(
            "simhash: the lease of %r ended before the page was confirmed. It was observed again, "
            "and is %s now. If this happens often, use a longer lease (SIMHASH_REDIS_LEASE_S)",
            before.key,
            "pending" if again else f"{kind} of {representative}" if representative else kind,
        )
        return again

    def _remove_replaced(self, page: HeldPage, entry: Entry) -> None:
        """Remove the entries that a stored page replaces."""
        if page.supersedes is not None:
            other, value = self._read(page.supersedes)
            neighbour = None if other is None else self.rules.copy_of(entry, other)
            if neighbour is not None and self._remove(neighbour.entry, value):
                sequence = int(self.server.call("INCR", self.layout.sequence))
                self.write_line(self._log_line(neighbour.entry, sequence, entry.key, neighbour))
            return
        if self.incremental:
            return
        for outdated in page.outdated:
            if page.in_scope is not None and not page.in_scope(outdated.key):
                continue
            other, value = self._read(outdated.key)
            if (
                other is not None
                and not self._is_eligible(other)
                and self.rules.copy_of(entry, other)
                and same_request(entry.evidence, other.evidence)
            ):
                self._remove(other, value)
