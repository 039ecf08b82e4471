"""RedisStore: the store of an `Index` that many processes share.

It is used through the same methods as `scrapy_simhash.index.store.Store`.
`scrapy_simhash.index.redis.layout` defines terms. A protocol ensures that exactly one of several
copies becomes the representative, whenever they arrive:

1. The process searches its *replica* of the journal, and reads the entries of the pages that are
   near. The answer also has the rows that the replica lacks, so the replica and the entries are of
   the same moment, and the replica is searched again if there are such rows.
2. The process compares the page with these entries. If it is to become pending, it asks for
   *admission*: one script appends its row to the journal, unless the journal has a later row within
   k, or the server has another state of the page's own key. Then the process goes on with step 1.

If the replica has no page near, step 1 is left out.
So the later of two admitted copies was compared with the earlier one. docs/decisions/redis.md has
the proof.

A pending page has a lease, which its process renews. If the process dies, the lease ends. The next
reader of the page removes it, so that its process, should it still run, cannot store the page: it
observes the page again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import StorageError
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Entry, Found, Observation, PageToObserve, Pending
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import NOTHING, State, digest_of, new_attempt
from scrapy_simhash.index.redis.replica import End, Replica
from scrapy_simhash.index.redis.rows import RedisRows
from scrapy_simhash.index.tables.crowds import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import CrawlRules

    Observed: TypeAlias = tuple[Observation, "HeldPage | None"]

logger = logging.getLogger(__name__)

# Upper limit for the pages of a script.
_PAGES_AT_ONCE = 32
_STORED, _LEASE_ENDED = 1, 2
# How often a search is repeated that finds pages that are gone.
_MAX_SEARCHES = 64
# How often `confirm` observes pages again whose leases have ended.
_MAX_LEASES = 3


@dataclass(eq=False, slots=True)
class Asked:
    """A page while it is observed and pending, or a query.

    :param digest: of its key; b"" for a query.
    :param mark: see `Store.within`; None for a query, which finds all pages within k.
    :param attempt: its name on the server, see `scrapy_simhash.index.redis.layout`.
    :param candidates: digests of the pages that the replica finds, by the number of their row.
    :param searched: the end of the replica at the last search, the last of `searches`.
    :param sequence: number of the observation; 0 if it has none yet.
    :param own: the server's state of its digest, as far as it is known.
    :param held: what it becomes if it is admitted; None if it does not ask for admission.
    :param has_row: the journal has an equal row of its stored entry.
    :param observation: the result. If the page is pending, its `attempt` is among the held pages.
    """

    page: PageToObserve
    digest: bytes
    mark: int | None = None
    attempt: bytes = field(default_factory=new_attempt)
    candidates: dict[int, bytes] = field(default_factory=dict)
    searched: End | None = None
    searches: int = 0
    sequence: int = 0
    own: State = NOTHING
    held: HeldPage | None = None
    has_row: bool = False
    observation: Observation | None = None

    @property
    def others(self) -> set[bytes]:
        """The digests of other pages among the candidates."""
        return {*self.candidates.values()} - {self.digest}

    def is_near(self, other: Asked, max_distance: int) -> bool:
        """Return True if the fingerprints of two pages are within the distance."""
        return hamming_distance(self.page.fingerprint, other.page.fingerprint) <= max_distance

    def hold(
        self, observation: Observation, entry: Entry, outdated: Sequence[Entry] = ()
    ) -> HeldPage:
        """Ask for admission: as an observation with an entry."""
        in_scope = self.page.in_scope
        self.held = HeldPage(observation, entry, None, outdated, in_scope, asked=self)
        return self.held


@dataclass(eq=False, slots=True, kw_only=True)
class HeldPage(Pending):
    """A pending page of this process."""

    asked: Asked


class RedisStore(RedisRows):
    """The data of an index on a Redis server or cluster. Methods wait for the network.

    Callers hold the lock, because they share the replica.

    :param name: name of the index.
    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    users = 0

    def __init__(self, server: Server, manifest: Manifest, name: str, lease_s: float) -> None:
        super().__init__(server, manifest, name)
        self.lock = RLock()
        self.lost_leases = 0
        """How often `confirm` found that its page had been removed, because the lease had ended."""
        self._replica = Replica(self.layout, server.location)
        # The server's states of digests, of the moment up to which the replica has all rows.
        self._known: dict[bytes, State] = {}
        self._lease_ms = max(int(1000 * lease_s), 1)
        self._held: dict[bytes, HeldPage] = {}  # by attempt: the pages whose leases are renewed
        self._renewing: Thread | None = None
        self._closing = Event()

    @property
    def texts(self) -> Any:
        """Raise StorageError: texts are stored in an index on disk."""
        raise StorageError(self.location, "an index in Redis stores no texts")

    def observe_all(self, pages: Sequence[PageToObserve], rules: CrawlRules) -> list[Observed]:
        """See `Store.observe_all`. After an error, leases may have to end first."""
        asked = [Asked(page, digest_of(page.key), rules.mark(page.evidence)) for page in pages]
        observed: list[Observed] = []
        try:
            for first in range(0, len(asked), _PAGES_AT_ONCE):
                self._observe_together(asked[first : first + _PAGES_AT_ONCE], rules)
            observed += [
                (one.observation, self._held.get(one.attempt)) for one in asked if one.observation
            ]
            self.write_lines(one.line for one, _ in observed if one.line)
        except BaseException:
            with suppress(StorageError):  # then their leases end
                self.release(
                    [self._held[one.attempt] for one in asked if one.attempt in self._held]
                )
            raise
        return observed

    def prefetch(self, pages: object, rules: CrawlRules) -> None:
        """Do nothing: `observe_all` searches for pages together."""

    def hold(self, observed: Observation, rules: CrawlRules, supersedes: str | None) -> HeldPage:
        """See `Store.hold`."""
        page = PageToObserve(observed.key, observed.fingerprint, observed.evidence)
        one = Asked(page, digest_of(observed.key), sequence=observed.sequence)
        entry = rules.new_entry(observed, observed.sequence)
        while True:  # until its own state has not changed
            held = one.hold(observed, entry)
            held.supersedes = supersedes
            self._ask([one], rules, is_compared=False)  # it is a known copy
            if one.observation is not None:
                held.outdated = observed.outdated
                return held

    def within(self, fingerprint: int, max_distance: int, certainty: bytes = b"") -> list[Found]:
        """See `Store.within`."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)), b"")
        found = None
        while found is None:
            self._ask([], None, query.others)
            self._search([query], max_distance)
            found = self._found(query, max_distance)
        return found

    def release(self, pages: Iterable[Pending]) -> None:
        """See `Store.release`. If this fails, their leases end, and they can be released again."""
        held = [page for page in pages if isinstance(page, HeldPage) and not page.is_settled]
        values: list[bytes] = []
        for page in held:
            self._held.pop(page.asked.attempt, None)
            values += (page.asked.digest, page.asked.attempt, b"", b"")
        if values:
            self._run(scripts.SETTLE, *values)
        for page in held:
            page.is_settled = True

    def confirm(self, pages: Iterable[Pending], rules: CrawlRules) -> None:
        """See `Store.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.

        :raises StorageError: the lease of a page then ends three more times.
        """
        batch: dict[bytes, HeldPage] = {}
        for page in dict.fromkeys(pages):
            assert isinstance(page, HeldPage)
            # Of two pages with the same key, the first must be stored before the second.
            if len(batch) == _PAGES_AT_ONCE or page.asked.digest in batch:
                self._store_together([*batch.values()], rules)
                batch = {}
            batch[page.asked.digest] = page
        self._store_together([*batch.values()], rules)

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
        todo = asked
        self._known = {}
        while todo:
            self._search(todo, rules.max_distance)
            for at, one in enumerate(todo):
                one.held = None
                if any(_waits_for(one, earlier, rules.max_distance) for earlier in todo[:at]):
                    continue
                if one.sequence or not one.candidates:  # else it gets a number first
                    self._decide(one, todo[:at], rules)
            todo = [one for one in todo if one.observation is None]
            if todo:
                self._ask(todo, rules)
            todo = [one for one in todo if one.observation is None]

    def _decide(self, one: Asked, earlier: Sequence[Asked], rules: CrawlRules) -> None:
        """Compare a page with its candidates: it asks for admission, or needs none. No effect if
        more candidates must be read first.

        :param earlier: earlier pages of the same call, of which some ask for admission together
            with it. They are compared as if they were admitted, which nearly all of them are.
        """
        k, key = rules.max_distance, one.page.key
        found = self._found(one, k)
        if found is None:
            return
        mates = [mate.held.entry for mate in earlier if mate.held and mate.is_near(one, k)]
        found += [(mate, True) for mate in mates]
        stored = self._own(one.own.stored, key)
        last = self._own(one.own.pending[-1][1], key) if one.own.pending else stored
        own = rules.last(one.page, last)
        observation, entry = rules.judge(one.page, stored, own, found, one.sequence)
        if entry is not None:
            one.hold(observation, entry, observation.outdated)
            # An equal row leads other pages to the new entry, too, and they decide alike.
            one.has_row = (
                stored is not None
                and _row_parts(stored) == _row_parts(entry)
                and stored.evidence.sketch == entry.evidence.sketch
            )
        elif observation.representative not in {mate.key for mate in mates}:
            one.observation = observation
        # Else it is judged when its representative is admitted.

    def _search(self, asked: Sequence[Asked], max_distance: int) -> None:
        """Search the replica, and set the candidates: of pages, or of a query."""
        # At the same end, a search would find the same.
        stale = [one for one in asked if one.searched != self._replica.end]
        marks = [one.mark for one in stale if one.mark is not None]
        found = self._replica.near(
            [(one.page.fingerprint, one.page.evidence.certainty) for one in stale],
            max_distance,
            marks if len(marks) == len(stale) else None,
        )
        for one, rows in zip(stale, found, strict=True):
            one.candidates, one.searched = rows, self._replica.end
            one.searches += 1

    def _found(self, one: Asked, max_distance: int) -> list[Found] | None:
        """Return the entries of the candidates of a page; None if more must be read first."""
        others = one.others
        if others - self._known.keys():
            return None
        states = [self._known[digest] for digest in others]
        found = [(self._decoded(state.stored), False) for state in states if state.stored]
        found += [(self._decoded(value), True) for state in states for _, value in state.pending]
        if one.mark is not None and len(one.candidates) >= OTHERS and one.searches <= _MAX_SEARCHES:
            # The journal keeps the rows of pages that are gone, which may have taken places.
            pages = {(digest_of(entry.key), entry.fingerprint) for entry, _ in found}
            if self._replica.forget_others(one.candidates, pages, one.digest):
                one.searched = None
                self._search([one], max_distance)
                return self._found(one, max_distance)
        return found

    def _ask(
        self,
        asked: Sequence[Asked],
        rules: CrawlRules | None,
        digests: Iterable[bytes] = (),
        *,
        is_compared: bool = True,
    ) -> None:
        """Ask for admission of pages, and read the states of those that don't ask for it, and of
        their candidates. Bring the replica up to date.

        Afterwards each page has a number, and is pending, with its observation, or has its present
        state.

        :param rules: None without pages.
        :param digests: read the states of these, too.
        :param is_compared: the server compares the pages with rows that the replica lacks.
        """
        wanted = {*digests}.union(*(one.others for one in asked if one.held is None))
        k, crawl_start, width = -1, 0, self.layout.width_bytes
        if rules is not None:
            k, crawl_start = rules.max_distance if is_compared else -1, rules.crawl_start
        arguments: list[Any] = [*self._replica.end, k, self._lease_ms, crawl_start, len(asked)]
        for one in asked:
            row = packed = expected = b""
            if one.held is not None:
                row = self.layout.row(one.digest, one.attempt, one.held.entry)
                packed = encode_entry(one.held.entry, width)
                expected = one.own.check(one.digest)
                # It relies on these stored pages not to be seen by this crawl.
                for digest in map(digest_of, (other.key for other in one.held.outdated)):
                    expected += self._known[digest].check(digest)
            arguments += (one.digest, row, one.sequence, packed, expected, int(one.has_row))
        (start, rows), answers, read = self._run(scripts.OBSERVE, *arguments, *wanted)
        self._replica.extend(start, rows)
        states = zip(wanted, map(State.of, read), strict=True)
        # If more rows had to be read, these are of a later moment.
        self._known = {} if len(rows) == scripts.ROWS_AT_ONCE else dict(states)
        while len(rows) == scripts.ROWS_AT_ONCE:
            start, rows = self._rows_after(*self._replica.end)
            self._replica.extend(start, rows)
        for one, (number, *state) in zip(asked, answers, strict=True):
            one.sequence = number
            if state:
                one.own = State.of(state)
            elif one.held is not None:
                one.observation = self._admitted(one.held)

    def _admitted(self, page: HeldPage) -> Observation:
        """Return the observation of an admitted page, and renew its lease from now on."""
        number = page.asked.sequence
        if not page.observation.sequence:
            page.observation = replace(page.observation, sequence=number)
            page.entry = page.entry._replace(number=number, last_sequence=number)
        self._lease(page)
        return page.observation

    def _lease(self, page: HeldPage) -> None:
        """Renew the lease of an admitted page from now on."""
        self._held[page.asked.attempt] = page
        if self._renewing is None and not self._closing.is_set():
            self._renewing = Thread(target=self._renew, name="simhash-leases", daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        """Renew the leases of pending pages until `close`."""
        every_s = self._lease_ms / 3000
        while not self._closing.wait(every_s):
            pages = [page.asked for page in self._held.copy().values()]
            values = [value for page in pages for value in (page.digest, page.attempt)]
            try:
                if values:
                    self._run(scripts.RENEW, self._lease_ms, *values)
            except (StorageError, OSError, ValueError) as error:
                if self._closing.is_set():  # `close` has closed the connection under it
                    return
                logger.warning(
                    "simhash: some leases were not renewed: %s. The next attempt is in %g s",
                    error,
                    every_s,
                )

    def _settle(self, page: HeldPage) -> None:
        """Renew the lease of a page no longer: nobody can settle it any more."""
        self._held.pop(page.asked.attempt, None)
        page.is_settled = True

    def _store_together(self, pages: Sequence[HeldPage], rules: CrawlRules) -> None:
        """Store pages with different keys, unless a later observation of their key is stored, and
        remove what they replace. Those whose leases have ended are observed again.
        """
        leases = 0
        while pages:
            values, entries = list[bytes](), list[tuple[HeldPage, Entry]]()
            for page in pages:
                asked = page.asked
                stored = self._own(asked.own.stored, asked.page.key)
                if stored is not None and stored.last_sequence > page.entry.last_sequence:
                    self.release([page])
                    continue
                entry = self._merged(page, stored, rules)
                entries.append((page, entry))
                values += (asked.digest, asked.attempt, asked.own.stored)
                values.append(encode_entry(entry, self.layout.width_bytes))
            answers = self._run(scripts.SETTLE, *values) if entries else []
            pages, ended = [], []
            for (page, entry), (outcome, *current) in zip(entries, answers, strict=True):
                if outcome == _STORED:
                    self._settle(page)
                    self._remove_replaced(page, entry, rules)
                elif outcome == _LEASE_ENDED:
                    ended.append(page)
                else:
                    page.asked.own = State(current[0], [])
                    pages.append(page)
            if ended and leases == _MAX_LEASES:
                raise StorageError(
                    self.location,
                    f"the lease of {ended[0].observation.key!r} ended again and again before the "
                    f"page was confirmed: make it longer than {self._lease_ms / 1000:g} s "
                    "(SIMHASH_REDIS_LEASE_S)",
                )
            leases += bool(ended)
            pages += [page for page in ended if self._is_pending_again(page, rules)]

    def _merged(self, page: HeldPage, stored: Entry | None, rules: CrawlRules) -> Entry:
        """Return the entry to store for a page."""
        given = page.entry._replace(gave_items=page.gave_items)
        entry = rules.merged(given, stored)
        if stored is not None and _row_parts(entry) not in map(_row_parts, (given, stored)):
            # It has the fingerprint of one and the mark of the other.
            row = self.layout.row(page.asked.digest, new_attempt(), entry)
            self.server.call("RPUSH", self.layout.journal, row)
        return entry

    def _is_pending_again(self, page: HeldPage, rules: CrawlRules) -> bool:
        """Observe a page again whose lease has ended. Return True if it is pending under its new
        attempt; else it is settled, because a copy has taken its place.
        """
        self.lost_leases += 1
        before, again = page.observation, page.asked.page
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
        page.entry, page.outdated, page.supersedes = held.entry, held.outdated, held.supersedes
        page.asked, page.is_settled = held.asked, False
        self._lease(page)
        return True

    def _remove_replaced(self, page: HeldPage, entry: Entry, rules: CrawlRules) -> None:
        """Remove the entries that a stored page replaces."""
        for other in page.replaced(entry, rules, self.entry):
            if self.remove([other]) and page.supersedes is not None:
                sequence = int(self.server.call("INCR", self.layout.sequence))
                [pair] = rules.neighbours(entry, [(other, False)])
                self.write_lines([rules.log_line(other, sequence, entry.key, pair)])


def _waits_for(one: Asked, earlier: Asked, max_distance: int) -> bool:
    """Return True if a page cannot be judged before an earlier page of the same call is."""
    if earlier.observation is not None:
        return False
    if one.digest == earlier.digest:
        return True
    # A page with a number is compared with others that ask for admission together with it.
    is_compared = earlier.held is not None and one.sequence and earlier.sequence
    return not is_compared and one.is_near(earlier, max_distance)


def _row_parts(entry: Entry) -> tuple[int, int]:
    """Return the fingerprint and the mark in the row of an entry."""
    return entry.fingerprint, mark_of(entry.evidence)
