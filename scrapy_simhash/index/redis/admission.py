"""Admission: how pages of an index in Redis are observed.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

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

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import CrawlRules

# Upper limit for the pages of a script.
PAGES_AT_ONCE = 32
# How often a search is repeated that finds pages that are gone.
_MAX_SEARCHES = 64


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
    :param observation: the result. If the page is pending, `held` is not None.
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

    def admitted(self, number: int) -> Observation:
        """Return the observation, which may get its number only now."""
        if not self.observation.sequence:
            self.observation = replace(self.observation, sequence=number)
            self.entry = self.entry._replace(number=number, last_sequence=number)
        return self.observation


class Admission(RedisRows):
    """The part of a `RedisStore` that observes pages, but does not keep their leases.

    Callers hold a lock, because they share the replica.

    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    def __init__(self, server: Server, manifest: Manifest, name: str, lease_s: float) -> None:
        super().__init__(server, manifest, name)
        self._replica = Replica(self.layout, server.location)
        # The server's states of digests, of the moment up to which the replica has all rows.
        self._known: dict[bytes, State] = {}
        self._lease_ms = max(int(1000 * lease_s), 1)

    def within(self, fingerprint: int, max_distance: int, certainty: bytes = b"") -> list[Found]:
        """See `Store.within`."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)), b"")
        found = None
        while found is None:
            self._ask([], None, query.others)
            self._search([query], max_distance)
            found = self._found(query, max_distance)
        return found

    def _observe_together(self, asked: Sequence[Asked], rules: CrawlRules) -> None:
        """Observe pages that one script can take, as if one came after the other."""
        self._known = {}
        while todo := [one for one in asked if one.observation is None]:
            self._search(todo, rules.max_distance)
            for at, one in enumerate(todo):
                one.held = None
                if any(_waits_for(one, earlier, rules.max_distance) for earlier in todo[:at]):
                    continue
                if one.sequence or not one.candidates:  # else it gets a number first
                    self._decide(one, todo[:at], rules)
            if undecided := [one for one in todo if one.observation is None]:
                self._ask(undecided, rules)

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
                and row_parts(stored) == row_parts(entry)
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
                one.observation = one.held.admitted(number)


def _waits_for(one: Asked, earlier: Asked, max_distance: int) -> bool:
    """Return True if a page cannot be judged before an earlier page of the same call is."""
    if earlier.observation is not None:
        return False
    if one.digest == earlier.digest:
        return True
    # A page with a number is compared with others that ask for admission together with it.
    is_compared = earlier.held is not None and one.sequence and earlier.sequence
    return not is_compared and one.is_near(earlier, max_distance)


def row_parts(entry: Entry) -> tuple[int, int]:
    """Return the fingerprint and the mark in the row of an entry."""
    return entry.fingerprint, mark_of(entry.evidence)
