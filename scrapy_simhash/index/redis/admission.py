"""Admission: how pages of an index in Redis are observed.

A process searches its *replica* of the journal, reads the pages that are near, and judges by these.
If the page is to become pending, one script admits it, unless the journal has a later row near it,
or what it was judged by has changed. docs/decisions/redis.md says why exactly one of several copies
becomes the representative, and `scrapy_simhash.index.redis.layout` defines terms.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

from scrapy_simhash.evidence import Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Entry, Found, Observation, PageToObserve, Pending
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import ATTEMPT_BYTES, State, digest_of
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
    """A page while it is observed, or a query.

    :param digest: of its key; b"" for a query.
    :param mark: see `Store.within`; None for a query, which finds all pages within k.
    :param attempt: its name on the server, see `scrapy_simhash.index.redis.layout`.
    :param candidates: the pages that the replica finds, by row: digest and fingerprint.
    :param searched: the end of the replica at the last search, the last of `searches`.
    :param sequence: number of the observation; 0 if it has none yet.
    :param own: the server's state of its digest, as far as it is known.
    :param held: what it becomes if it is admitted; None if it does not ask for admission.
    :param has_row: the journal has an equal row of its stored entry.
    :param observation: the result. If the page is pending, `held` is not None.
    """

    page: PageToObserve
    digest: bytes = b""
    mark: int | None = None
    attempt: bytes = field(default_factory=partial(os.urandom, ATTEMPT_BYTES))
    candidates: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    searched: End | None = None
    searches: int = 0
    sequence: int = 0
    own: State = field(default_factory=State)
    held: HeldPage | None = None
    has_row: bool = False
    observation: Observation | None = None

    @property
    def others(self) -> set[bytes]:
        """The digests of other pages among the candidates."""
        return {digest for digest, _ in self.candidates.values()} - {self.digest}

    def hold(self, observation: Observation, entry: Entry, stored: Entry | None) -> HeldPage:
        """Ask for admission: as an observation with an entry."""
        self.held = HeldPage(
            *(observation, entry, stored, observation.outdated, self.page.in_scope),
            digest=self.digest,
            attempt=self.attempt,
        )
        return self.held


@dataclass(eq=False, slots=True, kw_only=True)
class HeldPage(Pending):
    """A pending page of this process; for `digest` and `attempt` see `Asked`."""

    digest: bytes
    attempt: bytes

    def admitted(self, number: int) -> Observation:
        """Return the observation, which may get its number only now."""
        if not self.observation.sequence:
            self.observation = replace(self.observation, sequence=number)
            self.entry = self.entry._replace(number=number, last_sequence=number)
        return self.observation


class Admission(RedisRows):
    """The part of a `RedisStore` that observes pages, but does not renew their leases.

    Callers hold a lock, because they share the replica.

    :param lease_s: how long a page stays pending after its lease was last renewed.
    """

    def __init__(self, server: Server, manifest: Manifest, name: str, lease_s: float) -> None:
        super().__init__(server, manifest, name)
        self._replica = Replica(manifest.plan)
        self._held = set[HeldPage]()  # the pages whose leases are renewed
        # The server's states of digests, of the moment up to which the replica has all rows.
        self._known: dict[bytes, State] = {}
        self._lease_ms = max(int(1000 * lease_s), 1)

    def within(self, fingerprint: int, max_distance: int, certainty: bytes = b"") -> list[Found]:
        """See `Store.within`."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)))
        found = None
        while found is None:
            self._ask([], digests=query.others)
            self._search([query], max_distance)
            found = self._found(query, max_distance)
        return found

    def _observe_together(self, asked: Sequence[Asked], rules: CrawlRules) -> None:
        """Observe pages that one script can take, as if one came after the other."""
        self._known, k = {}, rules.max_distance
        while todo := [one for one in asked if one.observation is None]:
            self._search(todo, k)
            for at, one in enumerate(todo):
                one.held = None
                if one.candidates and not one.sequence:
                    continue  # it gets a number first
                mates = [mate for mate in todo[:at] if _may_decide(mate, one, k)]
                # If it has a number, it is compared with others that ask for admission together
                # with it, as if they were admitted, which nearly all of them are.
                if all(mate.held and mate.sequence and one.sequence for mate in mates) and all(
                    mate.digest != one.digest for mate in mates
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
        found += [(mate.held.entry, True) for mate in mates if mate.held]
        stored = self._own(one.own.stored, key)
        last = self._own(one.own.pending[-1][1], key) if one.own.pending else stored
        own = rules.last(one.page, last)
        observation, entry = rules.judge(one.page, stored, own, found, one.sequence)
        if entry is not None:
            one.hold(observation, entry, stored)
            # An equal row leads other pages to the new entry, too, and they decide alike.
            one.has_row = (
                stored is not None
                and row_parts(stored) == row_parts(entry)
                and stored.evidence.sketch == entry.evidence.sketch
            )
        elif observation.representative not in {mate.page.key for mate in mates}:
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
            one.candidates = dict(zip(rows, self._replica.pages(rows), strict=True))
            one.searched = self._replica.end
            one.searches += 1

    def _found(self, one: Asked, max_distance: int) -> list[Found] | None:
        """Return the entries of the candidates of a page; None if more must be read first."""
        while not (others := one.others) - self._known.keys():
            found = [one for digest in others for one in self.found_in(self._known[digest])]
            if one.mark is None or len(one.candidates) < OTHERS or one.searches > _MAX_SEARCHES:
                return found
            # The journal keeps the rows of pages that are gone, which may have taken places.
            pages = {(digest_of(entry.key), entry.fingerprint) for entry, _ in found}
            rows = one.candidates.items()
            gone = [row for row, page in rows if page[0] != one.digest and page not in pages]
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
        wanted = {*digests}.union(*(one.others for one in asked if one.held is None))
        arguments: list[Any] = [max_distance, crawl_start, self._lease_ms, len(asked)]
        for one in asked:
            row = packed = expected = b""
            if one.held is not None:
                row = self.row(one.held.entry, one.attempt)
                packed = encode_entry(one.held.entry, self.width_bytes)
                expected = one.own.check(one.digest)
                # It relies on these stored pages not to be seen by this crawl.
                for digest in map(digest_of, (other.key for other in one.held.outdated)):
                    if digest in self._known:
                        expected += self._known[digest].check(digest)
            arguments += (one.digest, row, one.sequence, packed, expected, int(one.has_row))
        is_at_end, answers, read = self._read_journal(*arguments, *wanted)
        # If more rows had to be read, these are of a later moment.
        self._known = dict(zip(wanted, starmap(State, read), strict=True)) if is_at_end else {}
        while not is_at_end:
            is_at_end, *_ = self._read_journal(-1, 0, self._lease_ms, 0)
        for one, (number, *state) in zip(asked, answers, strict=True):
            one.sequence = number
            if state:
                one.own = State(*state[0])
            elif one.held is not None:
                one.observation = one.held.admitted(number)
                self._held.add(one.held)

    def _read_journal(self, *arguments: Any) -> tuple[bool, list[Any], list[Any]]:
        """Append new rows of the journal to the replica. Return True if they are all, and answers
        and states; see `scripts.OBSERVE`.
        """
        start, rows, answers, read = self._run(scripts.OBSERVE, *self._replica.end, *arguments)
        if start != self._replica.end.rows:  # it was compacted, or lost rows
            self._replica = Replica(self.manifest.plan)
        self._replica.append(rows, self.row_bytes, self.location)
        return len(rows) < scripts.ROWS_AT_ONCE, answers, read


def _may_decide(earlier: Asked, one: Asked, max_distance: int) -> bool:
    """Return True if a page is judged by what becomes of an earlier one of the same call."""
    if earlier.observation is not None:
        return False
    pages = earlier.page, one.page
    is_near = hamming_distance(*(page.fingerprint for page in pages)) <= max_distance
    return is_near or earlier.digest == one.digest


def row_parts(entry: Entry) -> tuple[int, int]:
    """Return the fingerprint and the mark in the row of an entry."""
    return entry.fingerprint, mark_of(entry.evidence)
