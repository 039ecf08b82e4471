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
from scrapy_simhash.index.base import Entry, Observation, PageToObserve, Within
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.pending import Pending
from scrapy_simhash.index.records import SEQUENCE_BYTES, encode_entry
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
# How often `confirm` observes a page again whose lease keeps ending.
_MAX_REPEATS = 3


@dataclass(eq=False, slots=True, kw_only=True)
class HeldPage(Pending):
    """A pending page of this process; it never has `outdated` None.

    :param digest: of its key.
    :param attempt: its name on the server, see `scrapy_simhash.index.redis.layout`.
    :param value: value of the stored entry with its page key when it was observed, or b"".
    """

    digest: bytes
    attempt: bytes
    value: bytes


@dataclass(eq=False, slots=True)
class Asked:
    """A page while it is observed, or a query.

    :param digest: of its key; b"" for a query.
    :param mark: see `Store.within`; None for a query, which finds all pages within k.
    :param attempt: see `scrapy_simhash.index.redis.layout`.
    :param candidates: digests of the pages that the replica finds, by the number of their row.
    :param searched: the end of the replica at the last search, the last of `searches`.
    :param sequence: number of the observation; 0 if it has none yet.
    :param own: the server's state of its digest.
    :param held: what it becomes if it is admitted; None if it does not ask for admission.
    :param judged: attempts of the pages that ask together with it, and that it was compared with.
    :param has_row: the journal has an equal row of its stored entry.
    :param is_admitted: it is pending.
    :param observation: the result.
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
    judged: bytes = b""
    has_row: bool = False
    is_admitted: bool = False
    observation: Observation | None = None

    @property
    def others(self) -> set[bytes]:
        """The digests of other pages among the candidates."""
        return {*self.candidates.values()} - {self.digest}


class RedisStore(RedisRows):
    """The data of an index on a Redis server or cluster. Methods wait for the network.

    Callers hold the lock, because they share the replica.

    :param name: name of the index.
    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

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
        try:
            for first in range(0, len(asked), _PAGES_AT_ONCE):
                self._observe_together(asked[first : first + _PAGES_AT_ONCE], rules)
            self.write_lines(
                one.observation.line for one in asked if one.observation and one.observation.line
            )
        except BaseException:
            with suppress(StorageError):  # then their leases end
                self.release([one.held for one in asked if one.held and one.is_admitted])
            raise
        return [
            (one.observation, one.held if one.is_admitted else None)
            for one in asked
            if one.observation is not None
        ]

    def prefetch(self, pages: object, rules: CrawlRules) -> None:
        """Do nothing: `observe_all` searches for pages together."""

    def hold(self, observed: Observation, rules: CrawlRules, supersedes: str | None) -> HeldPage:
        """See `Store.hold`."""
        page = PageToObserve(observed.key, observed.fingerprint, observed.evidence)
        one = Asked(page, digest_of(observed.key), sequence=observed.sequence)
        entry = rules.new_entry(observed, observed.sequence)
        self._ask([one], rules)
        while True:
            one.held = held = self._held_page(one, observed, entry)
            held.supersedes = supersedes
            self._ask([one], rules, is_compared=False)  # it is a known copy
            if one.is_admitted:
                self._lease(held)
                return held
            # Its own state has changed.

    def within(self, fingerprint: int, max_distance: int, certainty: bytes = b"") -> Within:
        """See `Store.within`."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)), b"")
        view = None
        while view is None:
            self._ask([], None, query.others)
            self._search([query], max_distance)
            view = None if self._unknown(query) else self._view(query, max_distance)
        return view

    def release(self, pages: Iterable[Pending]) -> None:
        """See `Store.release`. If this fails, their leases end, and they can be released again."""
        values: list[bytes] = []
        for page in pages:
            if isinstance(page, HeldPage) and not page.is_settled:
                self._held.pop(page.attempt, None)
                values += (page.digest, page.attempt, b"", b"")
        if values:
            self.server.run(scripts.SETTLE, (self.layout.entries, self.layout.pending), values)

    def confirm(self, pages: Iterable[Pending], rules: CrawlRules) -> None:
        """See `Store.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.

        :raises StorageError: the lease of a page then ends three more times.
        """
        batch: dict[bytes, HeldPage] = {}
        for page in dict.fromkeys(pages):
            assert isinstance(page, HeldPage)
            # Of two pages with the same key, the first must be stored before the second.
            if len(batch) == _PAGES_AT_ONCE or page.digest in batch:
                self._store_together([*batch.values()], rules)
                batch = {}
            batch[page.digest] = page
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
        todo, k = asked, rules.max_distance
        self._known = {}
        while todo:
            self._search(todo, k)
            for at, one in enumerate(todo):
                one.held = None
                if any(_waits_for(one, earlier, k) for earlier in todo[:at]):
                    continue
                if not one.sequence:
                    if not one.candidates:  # it asks as a new page, and has no number yet
                        key, fingerprint, evidence, _ = one.page
                        new = Observation("new", key, fingerprint, None, None, 0, evidence=evidence)
                        one.held = self._held_page(one, new, rules.new_entry(one.page, 0))
                elif not self._unknown(one):
                    self._decide(one, todo[:at], rules)
            todo = [one for one in todo if one.observation is None]
            if todo:
                self._ask(todo, rules)
            for one in todo:
                if one.held is not None and one.is_admitted:
                    if not one.held.observation.sequence:
                        number = one.sequence
                        one.held.observation = replace(one.held.observation, sequence=number)
                        one.held.entry = one.held.entry._replace(
                            number=number, last_sequence=number
                        )
                    one.observation = one.held.observation
                    self._lease(one.held)
            todo = [one for one in todo if not one.is_admitted]

    def _decide(self, one: Asked, earlier: Sequence[Asked], rules: CrawlRules) -> None:
        """Compare a page with its candidates: it asks for admission, or needs none.

        :param earlier: earlier pages of the same call, of which some ask for admission together
            with it. They are compared as if they were admitted, which nearly all of them are.
        """
        k, key = rules.max_distance, one.page.key
        view = self._view(one, k)
        if view is None:
            return  # more must be read
        mates = [mate for mate in earlier if mate.held and _is_near(mate.page, one.page, k)]
        for mate in mates:
            if mate.held is not None:
                _add(view.pending, mate.held.entry, one.page.fingerprint, k)
                one.judged += mate.attempt
        stored = self._own(one.own.stored, key)
        last = self._own(one.own.pending[-1][1], key) if one.own.pending else stored
        own = rules.last(one.page, last)
        result, observation, entry = rules.judge(one.page, stored, own, view, one.sequence)
        if entry is None:
            nearest = None if result.nearest is None else result.nearest.entry
            if nearest and any(nearest is mate.held.entry for mate in mates if mate.held):
                return  # judge it when its representative is admitted
            one.observation = observation
            return
        # An equal row leads other pages to the new entry, too, and they decide alike.
        one.has_row = (
            stored is not None
            and _row_parts(stored) == _row_parts(entry)
            and stored.evidence.sketch == entry.evidence.sketch
        )
        one.held = self._held_page(one, observation, entry, result.outdated)

    def _held_page(
        self, one: Asked, observation: Observation, entry: Entry, outdated: Sequence[Entry] = ()
    ) -> HeldPage:
        return HeldPage(
            *(observation, entry, None, outdated, one.page.in_scope),
            digest=one.digest,
            attempt=one.attempt,
            value=one.own.stored,
        )

    def _search(self, asked: Iterable[Asked], max_distance: int) -> None:
        """Search the replica, and set the candidates."""
        end = self._replica.end
        together: dict[tuple[int, bool], list[Asked]] = {}
        for one in asked:
            if one.searched != end:  # else it would find the same
                one.searched, one.searches = end, one.searches + 1
                kind = len(one.page.evidence.certainty), one.mark is None
                together.setdefault(kind, []).append(one)
        for (_, is_query), pages in together.items():
            queries = [(one.page.fingerprint, one.page.evidence.certainty) for one in pages]
            marks = None if is_query else [one.mark or 0 for one in pages]
            found = self._replica.near(queries, max_distance, marks)
            for one, rows in zip(pages, found, strict=True):
                one.candidates = rows

    def _unknown(self, one: Asked) -> set[bytes]:
        """Return the digests of candidates whose state is not known."""
        return one.others - self._known.keys()

    def _view(self, one: Asked, max_distance: int) -> Within | None:
        """Return the entries within k of a page; None if more candidates must be read first."""
        view, fingerprint = Within([], []), one.page.fingerprint
        others = one.others
        for digest in others:
            stored, pending = self._known[digest]
            if stored:
                _add(view.stored, self._decoded(stored), fingerprint, max_distance)
            for _, value in pending:
                _add(view.pending, self._decoded(value), fingerprint, max_distance)
        if one.mark is None or len(one.candidates) < OTHERS or one.searches > _MAX_SEARCHES:
            return view
        # The journal keeps the rows of pages that are gone, which may have taken places of others.
        near = {
            (digest_of(entry.key), entry.fingerprint) for _, entry in (*view.stored, *view.pending)
        }
        if self._replica.forget_others(one.candidates, near, one.digest):
            one.searched = None
            self._search([one], max_distance)
            return None if self._unknown(one) else self._view(one, max_distance)
        return view

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

        Afterwards each page has a number, and is admitted or has its present state.

        :param rules: None without pages.
        :param digests: read the states of these, too.
        :param is_compared: the server compares the pages with rows that the replica lacks.
        """
        fresh = [one for one in asked if not one.sequence]
        asked = fresh + [one for one in asked if one.sequence]
        wanted = {*digests}.union(*(one.others for one in asked if one.held is None))
        end, k, start = self._replica.end, -1, 0
        if rules is not None:
            k, start = rules.max_distance if is_compared else -1, rules.crawl_start
        arguments: list[Any] = [end.rows, end.last, k, self._lease_ms, start]
        arguments += (len(asked), len(fresh))
        for one in asked:
            row = packed = expected = b""
            if one.held is not None:
                row = self.layout.row(one.digest, one.attempt, one.held.entry)
                packed = encode_entry(one.held.entry, self.layout.width_bytes)
                packed = packed if one.sequence else packed[SEQUENCE_BYTES:]
                expected = one.own.check(one.digest)
                # It relies on these stored pages not to be seen by this crawl.
                for digest in map(digest_of, (other.key for other in one.held.outdated or ())):
                    expected += self._known[digest].check(digest)
            arguments += (one.digest, row, packed, one.judged, expected, int(one.has_row))
        keys = (self.layout.journal, self.layout.entries, self.layout.pending, self.layout.sequence)
        (start, rows), first, answers, read = self.server.run(
            scripts.OBSERVE, keys, (*arguments, *wanted)
        )
        self.server.to_number(first + len(fresh))
        self._replica.extend(start, rows)
        is_current = len(rows) < scripts.ROWS_AT_ONCE
        while len(rows) == scripts.ROWS_AT_ONCE:
            end = self._replica.end
            (start, rows), *_ = self.server.run(
                scripts.OBSERVE, keys, (end.rows, end.last, -1, 0, 0, 0, 0)
            )
            self._replica.extend(start, rows)
        for number, one in enumerate(fresh, first):
            one.sequence = number
        for one, answer in zip(asked, answers, strict=True):
            one.judged = b""
            if isinstance(answer, int):
                one.is_admitted = True
                one.sequence = answer or one.sequence
            else:
                one.own = State.of(*answer)
        states = zip(wanted, read, strict=True)
        # If more rows had to be read, these are of a later moment.
        self._known = {digest: State.of(*state) for digest, state in states} if is_current else {}

    def _lease(self, page: HeldPage) -> None:
        """Renew the lease of an admitted page from now on."""
        self._held[page.attempt] = page
        if self._renewing is None and not self._closing.is_set():
            self._renewing = Thread(target=self._renew, name="simhash-leases", daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        """Renew the leases of pending pages until `close`."""
        every_s = self._lease_ms / 3000
        while not self._closing.wait(every_s):
            pages = self._held.copy().values()
            values = [value for page in pages for value in (page.digest, page.attempt)]
            try:
                if values:
                    keys = (self.layout.pending,)
                    self.server.run(scripts.RENEW, keys, (self._lease_ms, *values))
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
        self._held.pop(page.attempt, None)
        page.is_settled = True

    def _store_together(self, pages: Sequence[HeldPage], rules: CrawlRules) -> None:
        """Store pages with different keys. Those whose leases have ended are observed again."""
        for _ in range(_MAX_REPEATS):
            ended = self._try_to_store(pages, rules)
            pages = [page for page in ended if self._is_pending_again(page, rules)]
            if not pages:
                return
        for page in self._try_to_store(pages, rules):
            self._settle(page)
            raise StorageError(
                self.location,
                f"the lease of {page.observation.key!r} ended again and again before the page was "
                f"confirmed: make it longer than {self._lease_ms / 1000:g} s "
                "(SIMHASH_REDIS_LEASE_S)",
            )

    def _try_to_store(self, pages: Iterable[HeldPage], rules: CrawlRules) -> list[HeldPage]:
        """Store pages, unless a later observation of their page key is stored, and remove what they
        replace. Return the pages that were removed because their leases had ended.
        """
        layout, ended = self.layout, []
        expected = {page: page.value for page in pages}
        while expected:
            values, entries = list[bytes](), dict[HeldPage, Entry]()
            for page, value in expected.items():
                stored = self._own(value, page.observation.key)
                if stored is not None and stored.last_sequence > page.entry.last_sequence:
                    self.release([page])
                    self._settle(page)
                    continue
                given = page.entry._replace(gave_items=page.gave_items)
                entry = entries[page] = rules.merged(given, stored)
                if stored is not None and _row_parts(entry) not in (
                    _row_parts(given),
                    _row_parts(stored),
                ):
                    # It has the fingerprint of one and the mark of the other.
                    row = layout.row(page.digest, new_attempt(), entry)
                    self.server.call("RPUSH", layout.journal, row)
                values += (page.digest, page.attempt, value)
                values.append(encode_entry(entry, layout.width_bytes))
            keys = (layout.entries, layout.pending)
            answers = self.server.run(scripts.SETTLE, keys, values) if entries else []
            expected = {}
            for (page, entry), answer in zip(entries.items(), answers, strict=True):
                if answer[0] == _STORED:
                    self._settle(page)
                    self._remove_replaced(page, entry, rules)
                elif answer[0] == _LEASE_ENDED:
                    ended.append(page)
                else:
                    expected[page] = answer[1]
        return ended

    def _is_pending_again(self, page: HeldPage, rules: CrawlRules) -> bool:
        """Observe a page again whose lease has ended. Return True if it is pending under its new
        attempt; else it is settled, because a copy has taken its place.
        """
        self.lost_leases += 1
        before, key = page.observation, page.observation.key
        again = PageToObserve(key, before.fingerprint, before.evidence, page.in_scope)
        [(observed, held)] = self.observe_all([again], rules)
        kind, representative = observed.kind, observed.representative
        if before.representative and representative is not None:
            held = self.hold(observed, rules, page.supersedes and representative)
        logger.warning(
            "simhash: the lease of %r ended before the page was confirmed. It was observed again, "
            "and is %s now. If this happens often, use a longer lease (SIMHASH_REDIS_LEASE_S)",
            key,
            "pending" if held else f"{kind} of {representative}" if representative else kind,
        )
        self._settle(page)
        if held is None:
            return False
        page.entry, page.outdated, page.supersedes = held.entry, held.outdated, held.supersedes
        page.attempt, page.value, page.is_settled = held.attempt, held.value, False
        self._lease(page)
        return True

    def _remove_replaced(self, page: HeldPage, entry: Entry, rules: CrawlRules) -> None:
        """Remove the entries that a stored page replaces."""
        if page.supersedes is not None:
            other = self.entry(page.supersedes)
            neighbour = None if other is None else rules.copy_of(entry, other)
            if neighbour is not None and self.remove([neighbour.entry]):
                sequence = int(self.server.call("INCR", self.layout.sequence))
                line = rules.log_line(neighbour.entry, sequence, entry.key, neighbour)
                self.write_lines([line])
            return
        for outdated in () if rules.incremental else page.outdated or ():
            if page.in_scope is not None and not page.in_scope(outdated.key):
                continue
            other = self.entry(outdated.key)
            if other is not None and rules.replaces(entry, other):
                self.remove([other])


def _waits_for(one: Asked, earlier: Asked, max_distance: int) -> bool:
    """Return True if a page cannot be judged before an earlier page of the same call is."""
    if earlier.observation is not None:
        return False
    is_same_key = one.digest == earlier.digest
    if not is_same_key and not _is_near(one.page, earlier.page, max_distance):
        return False
    # A page with a number is compared with others that ask for admission together with it.
    return is_same_key or earlier.held is None or not one.sequence or not earlier.sequence


def _is_near(one: PageToObserve, other: PageToObserve, max_distance: int) -> bool:
    return hamming_distance(one.fingerprint, other.fingerprint) <= max_distance


def _add(near: list[tuple[int, Entry]], entry: Entry, fingerprint: int, max_distance: int) -> None:
    """Add an entry with its distance, if it is within the distance."""
    distance = hamming_distance(entry.fingerprint, fingerprint)
    if distance <= max_distance:
        near.append((distance, entry))


def _row_parts(entry: Entry) -> tuple[int, int]:
    """Return the fingerprint and the mark in the row of an entry."""
    return entry.fingerprint, mark_of(entry.evidence)
