"""RedisIndex: an `Index` that many processes share.

It decides by the same rules as `ObservingIndex`. `scrapy_simhash.index.redis.layout` defines terms.
A protocol ensures that exactly one of several copies becomes the representative, whenever they
arrive:

1. The server gives the page its sequence number, and the number of an admission up to which all
   admitted pages can be found. The process also reads the new rows of the journal.
2. The replica of the journal is searched (`scrapy_simhash.index.redis.replica`), and the page is
   compared with the pages that are found.
3. A page that is to become pending asks for *admission*. The search may have missed pages that
   were admitted after the number of step 1, so the server looks for those within k, or with the
   same key. If there are none, the page is admitted, and gets a row in the journal. Otherwise the
   server returns them. The process reads them, decides again, and may ask again; it names them as
   *judged*, and the server skips them.

So the later of two admitted copies was compared with the earlier one: in step 2 if the replica had
the earlier one, else in step 3. docs/decisions/redis.md has the proof, and says how a single server
begins and admits many new pages in one round trip.

A pending page has a lease, which its process renews. If the process dies, the lease ends. The next
reader of the page removes it, so that its process, should it still run, cannot confirm the page.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import SEQUENCE_BYTES, encode_entry
from scrapy_simhash.index.redis.admissions import ADMITTED, SEARCH_AGAIN, Admissions, Asked
from scrapy_simhash.index.redis.layout import Group, digest_of
from scrapy_simhash.index.redis.leases import HeldPage
from scrapy_simhash.index.redis.settling import SettlingIndex
from scrapy_simhash.index.tables.crowds import more_to_choose

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Rules


@dataclass
class _View:
    """The entries that a page is compared with, as they were last read.

    :param own: value of the stored entry with the same page key, or b"".
    :param last: value of the last admitted page with the same page key; `own` if none is pending.
    :param stored: (distance, entry) of the stored entries of other pages within k.
    :param pending: (distance, entry) of the admitted other pages within k.
    """

    own: bytes
    last: bytes
    stored: list[tuple[int, Entry]]
    pending: list[tuple[int, Entry]]


class RedisIndex(SettlingIndex):
    """An `Index` on a Redis server or cluster. Methods wait for the network.

    :param crawl_start: the first sequence number of the crawl.
    :param lease_s: how long a page stays pending after its lease was last renewed.
    :param counts_at_opening: the values of `Layout.count_keys` when the index was opened.
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
        counts_at_opening: Sequence[bytes | None],
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
        self._counts_at_opening = counts_at_opening
        self._admissions = Admissions(
            server,
            self.layout,
            max_distance=rules.max_distance,
            lease_ms=self._leases.lease_ms,
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
        observed: list[Observation] = []
        held: list[HeldPage] = []
        lines: list[NearDuplicate] = []
        try:
            for batch in self._batches(pages):
                observed += self._observe_together(batch, held, lines)
            self.write_lines(lines)
        except BaseException:
            with suppress(StorageError):  # then their leases end
                self._leases.release(held)
            for page in held:  # nobody can release them later
                self._leases.forget(page)
            raise
        return observed

    @property
    def size_at_opening(self) -> int:
        """The number of stored pages when the index was opened. :raises IndexCorrupt: unknown."""
        return sum(self.server.to_numbers(self._counts_at_opening))

    def accept(self, observed: Observation) -> None:
        """See `Index.accept`."""
        self._admit_copy(observed, None)

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        self._admit_copy(observed, observed.representative)

    def _admit_copy(self, observed: Observation, supersedes: str | None) -> None:
        self._require_open()
        digest = digest_of(observed.key)
        entry = self._new_entry(observed, observed.sequence)
        page = HeldPage(
            observed,
            digest,
            entry,
            encode_entry(entry, self.layout.width_bytes),
            stored=self._group(digest).entries.get(digest, b""),
            supersedes=supersedes,
            is_copy=True,
        )
        is_admitted = False
        while not is_admitted:
            _, since, _ = self._admissions.begin()
            # Not compared: it is a known copy.
            is_admitted = self._admit(page, since, is_compared=False)[0] == ADMITTED

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
        keys = (self.layout.order.sequence, *self.layout.count_keys)
        last_sequence, *counts = self.server.numbers(keys)
        return Ending(sum(counts), last_sequence + 1)

    def _batches(self, pages: Sequence[PageToObserve]) -> Iterator[list[PageToObserve]]:
        """Yield the pages in batches that `_observe_together` takes."""
        batch: list[PageToObserve] = []
        for page in pages:
            if batch and (len(batch) == self._at_once or not self._may_join(page, batch)):
                yield batch
                batch = []
            batch.append(page)
        if batch:
            yield batch

    def _may_join(self, page: PageToObserve, batch: Sequence[PageToObserve]) -> bool:
        # `Replica.near` takes certainties for all pages or for none.
        if len(page.evidence.certainty) != len(batch[0].evidence.certainty):
            return False
        key, fingerprint, k = page.key, page.fingerprint, self.max_distance
        return not any(
            (other.fingerprint ^ fingerprint).bit_count() <= k or other.key == key
            for other in batch
        )

    def _observe_together(
        self, pages: Sequence[PageToObserve], held: list[HeldPage], lines: list[NearDuplicate]
    ) -> list[Observation]:
        """Observe pages of which no two are within k or have the same key.

        :param held: gets the pages that become pending.
        :param lines: gets the lines to write to the near-duplicate log.
        """
        entries = [self._new_entry(page, 0) for page in pages]
        asked = [
            Asked(
                page,
                digest_of(page.key),
                self._mark(page.evidence),
                packed=encode_entry(entry, self.layout.width_bytes)[SEQUENCE_BYTES:],
            )
            for page, entry in zip(pages, entries, strict=True)
        ]
        looked = self._admissions.begin_together(asked)
        # Hold all admitted pages first: if a later step fails, they are released.
        observed = [
            self._hold_new(one, entry, held) if one.is_admitted else None
            for one, entry in zip(asked, entries, strict=True)
        ]
        groups = {number: self._parsed(*group) for number, group in looked.items()}
        return [
            observation or self._decide(one, groups, held, lines)
            for one, observation in zip(asked, observed, strict=True)
        ]

    def _hold_new(self, one: Asked, entry: Entry, held: list[HeldPage]) -> Observation:
        """Hold a page that was admitted at once."""
        sequence = one.sequence
        observation = Observation(
            "new",
            one.page.key,
            one.page.fingerprint,
            representative=None,
            distance=None,
            sequence=sequence,
            evidence=one.page.evidence,
        )
        entry = entry._replace(number=sequence, last_sequence=sequence)
        value = sequence.to_bytes(SEQUENCE_BYTES, "big") + one.packed
        page = HeldPage(
            observation, one.digest, entry, value, stored=b"", in_scope=one.page.in_scope
        )
        self._leases.hold(page)
        held.append(page)
        return observation

    def _decide(
        self,
        one: Asked,
        groups: dict[int, Group],
        held: list[HeldPage],
        lines: list[NearDuplicate],
    ) -> Observation:
        """Compare a page with its candidates until it is admitted, or needs no admission.

        :param groups: groups that were read, by number. For `held` and `lines`, see
            `_observe_together`.
        """
        judged: set[int] = set()
        while True:
            view = self._read_view(one, judged, groups)
            one.own, groups = (), {}  # what was read is out of date
            stored = self._own(view.own, one.page.key)
            last = stored if view.last is view.own else self._own(view.last, one.page.key)
            result, observation, entry = self._judge(
                *one.page,
                stored=stored,
                last=last,
                near=lambda: (view.stored, view.pending),  # noqa: B023 - called at once
                take_sequence=lambda: one.sequence,
            )
            if entry is None:
                break
            page = HeldPage(
                observation,
                one.digest,
                entry,
                encode_entry(entry, self.layout.width_bytes),
                stored=view.own,
                outdated=result.outdated,
                in_scope=one.page.in_scope,
            )
            answer = self._admit(page, one.since, judged)
            if answer[0] == ADMITTED:
                held.append(page)
                break
            if answer[0] == SEARCH_AGAIN:
                _, one.since, end = self._admissions.begin()
                self._admissions.search([one], end)
                continue
            for member in answer[1:]:
                judged.add(int.from_bytes(member[:8], "big"))
                one.candidates.add(member[8:])
        nearest = result.nearest
        if nearest is not None:
            key = nearest.entry.key
            lines.append(self._log_line(observation, observation.sequence, key, nearest))
        return observation

    def _admit(
        self,
        page: HeldPage,
        since: int,
        judged: Iterable[int] = (),
        *,
        is_compared: bool = True,
    ) -> list[Any]:
        """Ask for admission, and hold the page if it is admitted. See `Admissions.admit`."""
        # A page with the fingerprint and mark of its stored entry relies on the row of that entry.
        stored = self._own(page.stored, page.observation.key)
        relies = (
            stored is not None
            and stored.fingerprint == page.entry.fingerprint
            and mark_of(stored.evidence) == mark_of(page.entry.evidence)
        )
        answer = self._admissions.admit(
            page,
            since,
            judged,
            relies_on=page.stored if relies else b"",
            is_compared=is_compared,
        )
        if answer[0] == ADMITTED:
            self._leases.hold(page)
        return answer

    def _query_view(self, fingerprint: int, certainty: bytes) -> _View:
        """Return the entries within k of a fingerprint, for a query."""
        query = Asked(PageToObserve("", fingerprint, Evidence(certainty=certainty)), b"")
        self._admissions.search([query], self._admissions.follow())
        return self._read_view(query)

    def _read_view(
        self, one: Asked, judged: Container[int] = (), groups: Mapping[int, Group] | None = None
    ) -> _View:
        """Read the groups of a page and of its candidates, and return the entries within k.

        :param one: if it has `own`, the page's group is not read again.
        :param judged: sequence numbers of admitted pages that may not be marked yet.
        :param groups: groups that are not read again, by number.
        """
        group_of = self.layout.group_of
        digest, candidates, fingerprint = one.digest, one.candidates, one.page.fingerprint
        numbers = set(map(group_of, candidates - {digest}))
        if digest and not one.own:
            numbers.add(group_of(digest))
        known = {number: groups[number] for number in numbers if groups and number in groups}
        known |= self._groups(sorted(numbers - known.keys()))
        if one.own:
            value, *pending = one.own
            own_group = self._parsed(b"", *pending)
            if value:
                own_group.entries[digest] = value
            known.setdefault(group_of(digest), own_group)
        view = _View(b"", b"", [], [])
        for group in known.values():
            for other, value in group.entries.items():
                if other == digest:
                    view.own = value
                elif other in candidates:
                    self._add_if_near(view.stored, value, fingerprint)
            for page in group.pending:
                if not page.admitted and page.sequence not in judged:
                    continue
                if page.digest == digest:
                    view.last = page.entry
                elif page.digest in candidates:
                    self._add_if_near(view.pending, page.entry, fingerprint)
        there = {entry.key for _, entry in (*view.stored, *view.pending)}
        extra = more_to_choose(len(one.rows), len(there) + (digest in candidates), one.extra)
        if one.mark is not None and extra:
            # The journal keeps the rows of pages that are gone.
            one.extra = extra
            self._admissions.search([one], self._admissions.follow())
            return self._read_view(one, judged, known)
        view.last = view.last or view.own
        return view

    def _add_if_near(self, near: list[tuple[int, Entry]], value: bytes, fingerprint: int) -> None:
        entry = self._decoded(value)
        distance = hamming_distance(entry.fingerprint, fingerprint)
        if distance <= self.max_distance:
            near.append((distance, entry))
