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

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from scrapy_simhash.confirmation import NO_EVIDENCE, Evidence
from scrapy_simhash.errors import StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import (
    Ending,
    Entry,
    Match,
    NearDuplicate,
    Observation,
    PageToObserve,
)
from scrapy_simhash.index.crawl_index import CrawlIndex, check_page, matches
from scrapy_simhash.index.history import row_name
from scrapy_simhash.index.records import SEQUENCE_BYTES, encode_entry, encode_key
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.admissions import ADMITTED, SEARCH_AGAIN, Admissions, Asked
from scrapy_simhash.index.redis.content import RedisContent
from scrapy_simhash.index.redis.layout import Group, digest_of
from scrapy_simhash.index.redis.leases import HeldPage, Leases

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.index.base import Action
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Rules

_STORED, _LEASE_ENDED = 1, 2
# Upper limit for the pages of a script.
_PAGES_AT_ONCE = 32
# How often `confirm` observes a page again whose lease keeps ending.
_MAX_REPEATS = 3

logger = logging.getLogger(__name__)


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


class RedisIndex(CrawlIndex, RedisContent):
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
        CrawlIndex.__init__(self, rules=rules, incremental=incremental, crawl_start=crawl_start)
        RedisContent.__init__(self, server, manifest, name)
        self._counts_at_opening = counts_at_opening
        lease_ms = max(int(1000 * lease_s), 1)
        self._leases = Leases(server, self.layout, lease_ms)
        self._admissions = Admissions(
            *(server, self.layout),
            max_distance=rules.max_distance,
            lease_ms=lease_ms,
            require_open=self._require_open,
        )
        # In a cluster, pages are in several slots, which a script cannot use together.
        self._at_once = 1 if server.cluster else _PAGES_AT_ONCE
        self._lock = Lock()
        self.lost_leases = 0
        """How often `confirm` found that its page had been removed, because the lease had ended."""

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

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        self._require_open()
        digest = digest_of(observed.key)
        entry = self._new_entry(observed, observed.sequence)
        page = HeldPage(
            *(observed, digest, entry, encode_entry(entry, self.layout.width_bytes)),
            self._group(digest).entries.get(digest, b""),
            supersedes=observed.representative,
        )
        is_admitted = False
        while not is_admitted:
            _, since, _ = self._admissions.begin()
            # Not compared: it is a known copy, and replaces its representative.
            is_admitted = self._admit(page, since, is_compared=False)[0] == ADMITTED

    def confirm(self, observed: Observation | str) -> None:
        """See `Index.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.
        StorageError is raised if its lease then ends three more times.
        """
        self._require_open()
        self._store_all(self._leases.select(observed))

    def confirm_all(self, observed: Iterable[Observation]) -> None:
        """See `Index.confirm_all`, and `confirm`."""
        self._require_open()
        self._store_all([page for one in observed for page in self._leases.select(one)])

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        self._require_open()
        self._discard(self._leases.select(observed))

    def discard_all(self, observed: Iterable[Observation]) -> None:
        """Discard observations; see `Index.discard`."""
        self._require_open()
        self._discard([page for one in observed for page in self._leases.select(one)])

    def _discard(self, pages: Sequence[HeldPage]) -> None:
        self._leases.release(pages)
        similar = [page.observation for page in pages if page.observation.similar_to is not None]
        self.server.call_all(
            ("HDEL", self.layout.log_key(observation.sequence), observation.sequence)
            for observation in similar
        )

    def acted(self, observed: Observation, action: Action) -> None:
        """See `Index.acted`."""
        if observed.representative is None and observed.similar_to is None:
            return
        self._require_open()
        sequence = observed.sequence
        value = self.server.call("HGET", self.layout.log_key(sequence), sequence)
        if value is not None:
            line = self._decoded_line(sequence, value)
            if line.key == observed.key:
                self.write_line(replace(line, action=action))

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

    def ending(self, *, with_row: bool = True) -> Ending:
        """See `ObservingIndex.ending`. This takes one round trip."""
        self._require_open()
        layout = self.layout
        commands: list[tuple[Any, ...]] = [
            ("GET", key) for key in (layout.order.sequence, *layout.count_keys)
        ]
        if with_row:
            name = encode_key(row_name(self.crawl_start))
            commands.append(("HGET", layout.state("history"), name))
        answers = self.server.call_all(commands)
        row = answers.pop() if with_row else None
        last_sequence, *counts = self.server.to_numbers(answers)
        return Ending(sum(counts), last_sequence + 1, row)

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
        sequence, evidence = one.sequence, one.page.evidence
        observation = Observation(
            *("new", one.page.key, one.page.fingerprint, None, None, sequence), evidence=evidence
        )
        entry = entry._replace(number=sequence, last_sequence=sequence)
        value = sequence.to_bytes(SEQUENCE_BYTES, "big") + one.packed
        page = HeldPage(observation, one.digest, entry, value, b"", in_scope=one.page.in_scope)
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
                *(observation, one.digest, entry),
                *(encode_entry(entry, self.layout.width_bytes), view.own),
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
        # A page with the fingerprint of its stored entry relies on the row of that entry.
        stored = self._own(page.stored, page.observation.key)
        relies = stored is not None and stored.fingerprint == page.entry.fingerprint
        answer = self._admissions.admit(
            *(page, since, judged),
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
        view.last = view.last or view.own
        return view

    def _add_if_near(self, near: list[tuple[int, Entry]], value: bytes, fingerprint: int) -> None:
        entry = self._decoded(value)
        distance = hamming_distance(entry.fingerprint, fingerprint)
        if distance <= self.max_distance:
            near.append((distance, entry))

    def _store_all(self, pages: Iterable[HeldPage]) -> None:
        """Store pages and remove the entries that they replace. See `confirm`."""
        batch: dict[bytes, HeldPage] = {}
        for page in dict.fromkeys(pages):
            # Of two pages with the same key, the first must be stored before the second.
            if len(batch) == self._at_once or page.digest in batch:
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
            keys, arguments, entries = list[bytes](), list[bytes](), dict[HeldPage, Entry]()
            for page, value in expected.items():
                stored = self._own(value, page.observation.key)
                if stored is not None and stored.last_sequence > page.entry.last_sequence:
                    self._leases.release([page])
                    continue
                entry = entries[page] = self._merged(page.entry, stored)
                keys += layout.group_keys(layout.group_of(page.digest))
                is_same = entry is page.entry
                arguments += (
                    *(page.field, page.digest, value),
                    page.value if is_same else encode_entry(entry, layout.width_bytes),
                )
            expected = {}
            answers = self.server.run(scripts.SETTLE, keys, arguments) if entries else []
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
        observed = self.observe(
            before.key, before.fingerprint, before.evidence, in_scope=page.in_scope
        )
        if page.supersedes is not None and observed.representative is not None:
            self.supersede(observed)
        again = next(iter(self._leases.select(observed)), None)
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
                sequence = int(self.server.call("INCR", self.layout.order.sequence))
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
            ):
                self._remove(other, value)
