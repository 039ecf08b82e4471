"""RedisStore: the store of an `Index` that many processes share.

It is used through the same methods as `scrapy_simhash.index.store.Store`.

**Admission.** A process searches its *replica* of the journal, reads the pages that are near, and
judges by these. If the page is to become pending, one script admits it, unless the journal has a
later row near it, or what it was judged by has changed. docs/decisions/redis.md says why exactly
one of several copies becomes the representative, and `scrapy_simhash.index.redis.layout` defines
terms.

**Leases.** A pending page has a lease, which its process renews. If the process dies, the lease
ends. The next reader of the page removes it, so that its process, should it still run, cannot store
the page: it observes the page again.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Entry, Found, Observation, PageToObserve, Pending, Query
from scrapy_simhash.index.records import encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import ATTEMPT_BYTES, State, digest_of
from scrapy_simhash.index.redis.replica import Replica
from scrapy_simhash.index.redis.rows import RedisRows
from scrapy_simhash.index.tables.crowds import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import CrawlRules

logger = logging.getLogger(__name__)

# Answers of `scripts.SETTLE`.
_STORED, _LEASE_ENDED = 1, 2
# Upper limit for the pages of a script.
PAGES_AT_ONCE = 32
# How often a search is repeated that finds pages that are gone.
_MAX_SEARCHES = 64


@dataclass(eq=False, slots=True)
class Asked:
    """A page while it is observed, or a search.
    :param attempt: its name on the server, see `scrapy_simhash.index.redis.layout`.
    :param candidates: the pages that the replica finds, by row: digest and fingerprint.
    :param searched: the end of the replica at the last search, the last of `searches`.
    :param sequence: number of the observation; 0 if it has none yet.
    :param own: the server's state of its digest, as far as it is known.
    :param wanted: (observation, entry, stored entry of its key) with which it asks for admission.
    :param has_row: the journal has an equal row of its stored entry.
    :param observation: the result.
    :param held: the page, if it is pending.
    """

    page: PageToObserve
    query: Query
    attempt: bytes = field(default_factory=partial(os.urandom, ATTEMPT_BYTES))
    candidates: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    searched: tuple[int, bytes] | None = None
    searches: int = 0
    sequence: int = 0
    own: State = field(default_factory=State)
    wanted: tuple[Observation, Entry, Entry | None] | None = None
    has_row: bool = False
    observation: Observation | None = None
    held: Pending | None = None

    @property
    def digest(self) -> bytes:
        """The digest of its key."""
        return digest_of(self.page.key)

    @property
    def others(self) -> set[bytes]:
        """The digests of other pages among the candidates."""
        return {digest for digest, _ in self.candidates.values()} - {self.digest}

    def is_tied(self, earlier: Asked, max_distance: int) -> bool:
        """Return True if the page is judged by what becomes of an earlier one of the same call."""
        one, other = self.page, earlier.page
        return one.key == other.key or (
            hamming_distance(one.fingerprint, other.fingerprint) <= max_distance
        )


class RedisStore(RedisRows):
    """The data of an index on a Redis server or cluster. Methods wait for the network.

    Callers hold the lock, because they share the replica.

    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    users = 0

    def __init__(self, server: Server, manifest: Manifest, lease_s: float) -> None:
        super().__init__(server, manifest)
        self.lock = RLock()
        self.beside: dict[str, Any] = {}
        """See `Store`; an index in Redis has one user."""
        self.lost_leases = 0
        """How often `confirm` found that its page had been removed, because the lease had ended."""
        self._replica = Replica(manifest.plan)
        self._held: dict[bytes, bytes] = {}  # attempt: digest of the pages whose leases are renewed
        # The server's states of digests, of the moment up to which the replica has all rows.
        self._known: dict[bytes, State] = {}
        self._lease_ms = max(int(1000 * lease_s), 1)
        self._renewing: Thread | None = None
        self._closing = Event()

    @property
    def texts(self) -> Any:
        """Raise StorageError: texts are stored in an index on disk."""
        raise StorageError(self.location, "an index in Redis stores no texts")

    def last_seen(self, key: str) -> tuple[Entry | None, Entry | None]:
        """See `Store.last_seen`."""
        [(_, state)] = self.states([digest_of(key)])
        return self._stored_and_last(state, key)

    def within(self, query: Query, max_distance: int) -> list[Found]:
        """See `Store.within`."""
        asked, found = Asked(PageToObserve("", query.fingerprint), query), None
        while found is None:
            self._ask([], digests=asked.others)
            self._search([asked], max_distance)
            found = self._found(asked, max_distance)
        return found

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

    def _observe_together(self, asked: Sequence[Asked], rules: CrawlRules) -> None:
        """Observe pages that one script can take, as if one came after the other."""
        self._known, k = {}, rules.max_distance
        while todo := [one for one in asked if one.observation is None]:
            self._search(todo, k)
            for at, one in enumerate(todo):
                one.wanted = None
                if one.candidates and not one.sequence:
                    continue  # it gets a number first
                mates = [
                    mate for mate in todo[:at] if not mate.observation and one.is_tied(mate, k)
                ]
                # With a number, it is compared with others that ask for admission together with
                # it, as if they were admitted, which nearly all of them are.
                if all(
                    mate.wanted and mate.sequence and one.sequence and mate.page.key != one.page.key
                    for mate in mates
                ):
                    self._decide(one, mates, rules)
            if undecided := [one for one in todo if one.observation is None]:
                self._ask(undecided, k, rules.crawl_start)

    def _decide(self, one: Asked, mates: Sequence[Asked], rules: CrawlRules) -> None:
        """Compare a page with its candidates and mates: it asks for admission, or needs none. No
        effect if more candidates must be read first.
        """
        found, key = self._found(one, rules.max_distance), one.page.key
        if found is None:
            return
        found += [(mate.wanted[1], True) for mate in mates if mate.wanted]
        stored, last = self._stored_and_last(one.own, key)
        own = rules.last(one.page, last)
        observation, entry = rules.judge(one.page, stored, own, found, one.sequence)
        if entry is not None:
            one.wanted = observation, entry, stored
            # An equal row leads other pages to the new entry, too, and they decide alike.
            one.has_row = (
                stored is not None
                and self.row_id(stored) == self.row_id(entry)
                and stored.evidence.sketch == entry.evidence.sketch
            )
        elif observation.representative not in {mate.page.key for mate in mates}:
            one.observation = observation
        # Else it is judged when its representative is admitted.

    def _search(self, asked: Sequence[Asked], max_distance: int) -> None:
        """Search the replica, and set the candidates."""
        # At the same end, a search would find the same.
        stale = [one for one in asked if one.searched != self._replica.end]
        found = self._replica.near([one.query for one in stale], max_distance)
        for one, rows in zip(stale, found, strict=True):
            one.candidates = dict(zip(rows, self._replica.pages(rows), strict=True))
            one.searched = self._replica.end
            one.searches += 1

    def _found(self, one: Asked, max_distance: int) -> list[Found] | None:
        """Return the entries of the candidates of a page; None if more must be read first."""
        while not (others := one.others) - self._known.keys():
            found = [one for digest in others for one in self.found_in(self._known[digest])]
            is_cut = one.query.mark is not None and len(one.candidates) >= OTHERS
            if not is_cut or one.searches > _MAX_SEARCHES:
                return found
            # The journal keeps the rows of pages that are gone, which may have taken places.
            pages = {(digest_of(entry.key), entry.fingerprint) for entry, _ in found}
            gone = [
                row
                for row, page in one.candidates.items()
                if page not in pages and page[0] in others
            ]
            if not gone:
                return found
            for row in gone:
                self._replica.forget(row)
            one.searched = None
            self._search([one], max_distance)
        return None

    def _ask(
        self,
        asked: Sequence[Asked],
        max_distance: int = -1,
        crawl_start: int = 0,
        digests: Iterable[bytes] = (),
    ) -> None:
        """Ask for admission of pages, and read the states of those that don't ask for it, and of
        their candidates. Bring the replica up to date.

        Afterwards each page has a number, and is pending, with its observation, or has its present
        state.

        :param max_distance: the server compares the pages with rows that the replica lacks; -1: it
            compares nothing.
        :param digests: read the states of these, too.
        """
        read = {*digests}.union(*(one.others for one in asked if one.wanted is None))
        arguments: list[Any] = [max_distance, crawl_start, self._lease_ms, len(asked)]
        for one in asked:
            row = packed = expected = b""
            if one.wanted is not None:
                observation, entry, _ = one.wanted
                row = self.row(entry, one.attempt)
                packed = encode_entry(entry, self.width_bytes)
                expected = one.digest + one.own.sum
                # It relies on these stored pages not to be seen by this crawl.
                for digest in (digest_of(other.key) for other in observation.outdated):
                    if digest in self._known:
                        expected += digest + self._known[digest].sum
            arguments += (one.digest, row, one.sequence, packed, expected, int(one.has_row))
        is_at_end, answers, states = self._read_journal(*arguments, *read)
        # If more rows had to be read, these are of a later moment.
        self._known = dict(zip(read, starmap(State, states), strict=True)) if is_at_end else {}
        while not is_at_end:
            is_at_end, *_ = self._read_journal(-1, 0, self._lease_ms, 0)
        for one, (number, *state) in zip(asked, answers, strict=True):
            if state:
                one.own = State(*state[0])
            elif one.wanted is not None:
                self._hold(one, number, *one.wanted)
            one.sequence = number

    def _stored_and_last(self, state: State, key: str) -> tuple[Entry | None, Entry | None]:
        stored = self._own(state.stored, key)
        return stored, self._own(state.pending[-1][1], key) if state.pending else stored

    def _hold(
        self, one: Asked, number: int, observed: Observation, entry: Entry, stored: Entry | None
    ) -> None:
        """Let an admitted page be pending."""
        if not one.sequence:
            observed = replace(observed, sequence=number)
            entry = entry._replace(number=number, last_sequence=number)
        one.observation = observed
        one.held = Pending(observed, entry, stored, observed.outdated, one.page.in_scope)
        one.held.attempt = one.attempt
        self._held[one.attempt] = one.digest

    def _read_journal(self, *arguments: Any) -> tuple[bool, list[Any], list[Any]]:
        """Append new rows of the journal to the replica. Return True if they are all, and answers
        and states; see `scripts.OBSERVE`.
        """
        start, rows, answers, read = self.server.run(
            scripts.OBSERVE, *self._replica.end, *arguments
        )
        if start != len(self._replica):  # it was compacted, or lost rows
            self._replica = Replica(self.manifest.plan)
        self._replica.append(rows, self.row_bytes, self.location)
        return len(rows) < scripts.ROWS_AT_ONCE, answers, read

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
