"""RedisIndex: an `Index` that many processes share.

It decides by the same rules as `ObservingIndex`. `scrapy_simhash.index.redis.layout` defines terms.
A protocol ensures that exactly one of several copies becomes the representative, whenever they
arrive:

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
reader of the page removes it, so that its process, should it still run, cannot confirm the page.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.errors import StorageError
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import (
    Ending,
    Entry,
    Match,
    NearDuplicate,
    Observation,
    PageToObserve,
)
from scrapy_simhash.index.crawl_index import check_page, matches
from scrapy_simhash.index.redis.admissions import Admissions, Asked
from scrapy_simhash.index.redis.layout import digest_of
from scrapy_simhash.index.redis.leases import HeldPage
from scrapy_simhash.index.redis.settling import SettlingIndex, row_parts
from scrapy_simhash.index.tables.crowds import more_to_choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Rules

# Upper limit for the pages that are observed together.
_PAGES_AT_ONCE = 32


@dataclass
class _View:
    """The entries within k of a page.

    :param fingerprint: of the page.
    :param max_distance: k.
    :param stored: (distance, entry) of the stored entries of other pages.
    :param pending: (distance, entry) of the pending other pages.
    """

    fingerprint: int
    max_distance: int
    stored: list[tuple[int, Entry]] = field(default_factory=list)
    pending: list[tuple[int, Entry]] = field(default_factory=list)

    def add(self, near: list[tuple[int, Entry]], entry: Entry) -> None:
        """Add an entry to one of the lists, if it is within k."""
        distance = hamming_distance(entry.fingerprint, self.fingerprint)
        if distance <= self.max_distance:
            near.append((distance, entry))


class RedisIndex(SettlingIndex):
    """An `Index` on a Redis server or cluster. Methods wait for the network.

    :param crawl_start: the first sequence number of the crawl.
    :param lease_s: how long a page stays pending after its lease was last renewed.
    :param size_at_opening: the number of stored pages when the index was opened.
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
        size_at_opening: int,
    ) -> None:
        super().__init__(
            server,
            manifest,
            name,
            rules=rules,
            incremental=incremental,
            crawl_start=crawl_start,
            lease_s=lease_s,
        )
        self.size_at_opening = size_at_opening
        # Calls of several threads take turns, because they share the replica.
        self._calls = RLock()
        self._admissions = Admissions(
            server,
            self.layout,
            max_distance=rules.max_distance,
            lease_ms=self._leases.lease_ms,
            crawl_start=crawl_start,
            require_open=self._require_open,
        )

    def observe(
        self,
        key: str,
        fingerprint: int,
        evidence: Evidence = NO_EVIDENCE,
        *,
        in_scope: Callable[[str], bool] | None = None,
    ) -> Observation:
        """See `Index.observe`."""
        return self.observe_all([PageToObserve(key, fingerprint, evidence, in_scope)])[0]

    def observe_all(self, pages: Sequence[PageToObserve]) -> list[Observation]:
        """See `Index.observe_all`."""
        self._require_open()
        for one in pages:
            check_page(self.scheme, one.key, one.fingerprint)
        asked = [Asked(page, digest_of(page.key), self._mark(page.evidence)) for page in pages]
        with self._calls:
            try:
                for first in range(0, len(asked), _PAGES_AT_ONCE):
                    self._observe_together(asked[first : first + _PAGES_AT_ONCE])
                self.write_lines(one.line for one in asked if one.line is not None)
            except BaseException:
                held = [one.held for one in asked if one.held is not None and one.is_admitted]
                with suppress(StorageError):  # then their leases end
                    self._leases.release(held)
                for page in held:  # nobody can release them later
                    self._leases.forget(page)
                raise
        return [one.observation for one in asked if one.observation is not None]

    def accept(self, observed: Observation) -> None:
        """See `Index.accept`."""
        self._admit_copy(observed, None)

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        self._admit_copy(observed, observed.representative)

    def _admit_copy(self, observed: Observation, supersedes: str | None) -> None:
        self._require_open()
        page = PageToObserve(observed.key, observed.fingerprint, observed.evidence)
        one = Asked(page, digest_of(observed.key), sequence=observed.sequence)
        entry = self._new_entry(observed, observed.sequence)
        with self._calls:
            self._admissions.ask([one])
            while not one.is_admitted:  # again if its own state has changed
                one.held = HeldPage(
                    *(observed, one.digest, one.attempt, entry, one.own.stored),
                    supersedes=supersedes,
                    is_copy=True,
                )
                self._admissions.ask([one], is_compared=False)  # it is a known copy
            if one.held is not None:
                self._leases.hold(one.held)

    def query(self, fingerprint: int, evidence: Evidence = NO_EVIDENCE) -> list[Match]:
        """See `Index.query`."""
        self._require_open()
        self.scheme.check_fingerprint(fingerprint)
        view = self._query_view(fingerprint, evidence.certainty)
        return matches(self.rules.neighbours(evidence, view.stored + view.pending))

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return (distance, entry) of the stored entries that the tables find within a distance,
        and within k.
        """
        self._require_open()
        stored = self._query_view(fingerprint, b"").stored
        return [(distance, entry) for distance, entry in stored if distance <= max_distance]

    def near_duplicates(self, *, this_crawl: bool = False) -> Iterator[NearDuplicate]:
        """Return the near-duplicate log, oldest first: of this crawl, or of all crawls."""
        self._require_open()
        return self.lines(self.crawl_start if this_crawl else 0)

    def ending(self) -> Ending:
        """See `ObservingIndex.ending`. This takes one round trip."""
        self._require_open()
        layout = self.layout
        last, size = self.server.call_all([("GET", layout.sequence), ("HLEN", layout.entries)])
        return Ending(size, self.server.to_number(last) + 1)

    def _observe_together(self, asked: Sequence[Asked]) -> None:
        """Observe pages that one script can take, as if one came after the other."""
        admissions, todo = self._admissions, asked
        admissions.known = {}
        while todo:
            admissions.search(todo)
            for at, one in enumerate(todo):
                one.held = one.line = None
                if any(self._waits_for(one, earlier) for earlier in todo[:at]):
                    continue
                if not one.sequence:
                    if not one.candidates:
                        self._try_as_new(one)
                elif not admissions.unknown(one):
                    self._decide(one, todo[:at])
            todo = [one for one in todo if one.observation is None]
            if todo:
                admissions.ask(todo)
            for one in todo:
                if one.held is not None and one.is_admitted:
                    one.held.number(one.sequence)
                    one.observation = one.held.observation
                    self._leases.hold(one.held)
            todo = [one for one in todo if not one.is_admitted]

    def _waits_for(self, one: Asked, earlier: Asked) -> bool:
        """Return True if a page cannot be judged before an earlier page of the same call is."""
        if earlier.observation is not None:
            return False
        is_same_key = one.digest == earlier.digest
        if not is_same_key and not self._is_near(one.page, earlier.page):
            return False
        # A page with a number is compared with others that ask for admission together with it.
        return is_same_key or earlier.held is None or not one.sequence or not earlier.sequence

    def _try_as_new(self, one: Asked) -> None:
        """Let a page that nothing is near ask for admission. It has no number yet."""
        key, fingerprint, evidence, in_scope = one.page
        observation = Observation("new", key, fingerprint, None, None, 0, evidence=evidence)
        entry = self._new_entry(one.page, 0)
        one.held = HeldPage(observation, one.digest, one.attempt, entry, b"", in_scope=in_scope)

    def _decide(self, one: Asked, earlier: Sequence[Asked]) -> None:
        """Compare a page with its candidates: it asks for admission, or needs none.

        :param earlier: earlier pages of the same call, of which some ask for admission together
            with it. They are compared as if they were admitted, which nearly all of them are.
        """
        view = self._view(one)
        if view is None:
            return  # more must be read
        for mate in earlier:
            if mate.held is not None and self._is_near(mate.page, one.page):
                view.add(view.pending, mate.held.entry)
                one.judged += mate.attempt
        own = one.own
        stored = self._own(own.stored, one.page.key)
        last = self._own(own.pending[-1][1], one.page.key) if own.pending else stored
        result, observation, entry = self._judge(
            *one.page,
            stored=stored,
            last=last,
            near=lambda: (view.stored, view.pending),
            take_sequence=lambda: one.sequence,
        )
        nearest = result.nearest
        if nearest is not None:
            if entry is None and any(
                nearest.entry is mate.held.entry for mate in earlier if mate.held
            ):
                return  # judge it when its representative is admitted
            one.line = self._log_line(observation, observation.sequence, nearest.entry.key, nearest)
        if entry is None:
            one.observation = observation
        else:
            one.outdated = [digest_of(other.key) for other in result.outdated]
            # An equal row leads other pages to the new entry, too, and they decide alike.
            one.has_row = (
                stored is not None
                and row_parts(stored) == row_parts(entry)
                and stored.evidence.sketch == entry.evidence.sketch
            )
            one.held = HeldPage(
                *(observation, one.digest, one.attempt, entry, one.own.stored),
                outdated=result.outdated,
                in_scope=one.page.in_scope,
            )

    def _query_view(self, fingerprint: int, certainty: bytes) -> _View:
        """Return the entries within k of a fingerprint, for a query."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)), b"")
        admissions = self._admissions
        view = None
        with self._calls:
            while view is None:
                admissions.ask([], query.others)
                admissions.search([query])
                view = None if admissions.unknown(query) else self._view(query)
        return view

    def _view(self, one: Asked) -> _View | None:
        """Return the entries within k of a page; None if more candidates must be read first."""
        known = self._admissions.known
        view = _View(one.page.fingerprint, self.max_distance)
        for digest in one.others:
            state = known[digest]
            if state.stored:
                view.add(view.stored, self._decoded(state.stored))
            for _, value in state.pending:
                view.add(view.pending, self._decoded(value))
        there = {entry.key for _, entry in (*view.stored, *view.pending)}
        is_own = len(one.others) < len({*one.candidates.values()})
        extra = more_to_choose(len(one.candidates), len(there) + is_own, one.extra)
        if one.mark is not None and extra:
            # The journal keeps the rows of pages that are gone.
            one.extra = extra
            self._admissions.search([one])
            return None if self._admissions.unknown(one) else self._view(one)
        return view

    def _is_near(self, one: PageToObserve, other: PageToObserve) -> bool:
        return hamming_distance(one.fingerprint, other.fingerprint) <= self.max_distance
