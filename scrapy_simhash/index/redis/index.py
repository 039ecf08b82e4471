"""RedisIndex: an `Index` that many processes share.

It decides by the same rules as `ObservingIndex`. `scrapy_simhash.index.redis.layout` defines terms.
A protocol ensures that exactly one of several copies becomes the representative, whenever they
arrive:

1. `_begin` gives the page its sequence number, and the number of an admission up to which all
   admitted pages can be found. It also reads the new rows of the journal.
2. The replica of the journal is searched (`scrapy_simhash.index.redis.replica`), and the page is
   compared with the pages that are found.
3. A page that is to become pending asks for *admission*. The search may have missed pages that
   were admitted after the number of step 1, so the server looks for those within k, or with the
   same key. If there are none, the page is admitted, and gets a row in the journal. Otherwise the
   server returns them. The process reads them, decides again, and may ask again; it names them as
   *judged*, and the server skips them.

So the later of two admitted copies was compared with the earlier one: in step 2 if the replica had
the earlier one, else in step 3. docs/decisions/redis.md has the proof.

A pending page has a lease, which its process renews. If the process dies, the lease ends. The next
reader of the page removes it, so that its process, should it still run, cannot confirm the page.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.confirmation import NO_EVIDENCE
from scrapy_simhash.errors import StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Ending, Entry, Match, NearDuplicate, Observation
from scrapy_simhash.index.crawl_index import CrawlIndex, check_page, matches
from scrapy_simhash.index.history import row_name
from scrapy_simhash.index.records import SEQUENCE_BYTES, encode_entry, encode_key
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.content import RedisContent
from scrapy_simhash.index.redis.layout import Group, digest_of, field_of
from scrapy_simhash.index.redis.leases import HeldPage, Leases
from scrapy_simhash.index.redis.replica import End, Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.confirmation import Evidence
    from scrapy_simhash.index.base import Action, PageToObserve
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Neighbour, Rules

_ADMITTED, _SEARCH_AGAIN = 1, 2
_STORED, _LEASE_ENDED = 1, 2
# How often `confirm` tries to store a page whose lease ends again and again.
_MAX_TRIES = 3
# An admitted page may be unmarked for this many admissions. Then other processes mark it.
_MAX_LAG = 200

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


class _Begun(NamedTuple):
    """The result of step 1.

    :param since: number of the last admission up to which the replica has all pages.
    :param end: the end of this replica.
    :param own_group: the page's group, with no entry but its own; None if it was not read.
    :param groups: groups that were read, by number.
    :param is_admitted: the page was admitted at once.
    """

    sequence: int
    since: int
    end: End
    own_group: Group | None
    groups: dict[int, Group]
    is_admitted: bool = False


class RedisIndex(CrawlIndex, RedisContent):
    """An `Index` on a Redis server or cluster. Methods wait for the network.

    :param crawl_start: the first sequence number of the crawl.
    :param lease_s: how long a page stays pending after its lease was last renewed.
    :param size_at_opening: number of stored pages when the index was opened.
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
        CrawlIndex.__init__(self, rules=rules, incremental=incremental, crawl_start=crawl_start)
        RedisContent.__init__(self, server, manifest, name)
        self._replica = Replica(self.layout, self.location)
        self.size_at_opening = size_at_opening
        self._lease_ms = max(int(1000 * lease_s), 1)
        self._leases = Leases(server, self.layout, self._lease_ms)
        self._lock = Lock()
        self._following = Lock()
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
        self._require_open()
        check_page(self.scheme, key, fingerprint)
        digest = digest_of(key)
        certainty = evidence.certainty
        end, candidates = self._replica.near(fingerprint, certainty, self.max_distance)
        new = None
        if not candidates and not self.server.cluster:
            # The page is probably new. Then the server admits it at once.
            observation = Observation(
                "new", key, fingerprint, None, None, 0, provisional=False, evidence=evidence
            )
            new = HeldPage(
                observation, digest, self._new_entry(observation), b"", in_scope=in_scope
            )
        begun: _Begun | None
        begun = self._begin(digest, end, candidates, new)
        sequence, since = begun.sequence, begun.since
        if new is not None and begun.is_admitted:
            new.observation = replace(new.observation, sequence=sequence)
            new.entry = new.entry._replace(number=sequence, last_sequence=sequence)
            self._leases.hold(new)
            return new.observation
        candidates |= self._near(fingerprint, certainty, begun.end, after=end)
        judged: set[int] = set()
        while True:
            view = self._read_view(digest, fingerprint, candidates, judged, begun)
            begun = None  # what was read is out of date
            decision = self._decide(
                *(view, key, fingerprint, evidence),
                digest=digest,
                sequence=sequence,
                in_scope=in_scope,
            )
            if isinstance(decision, Observation):
                return decision
            answer = self._admit(decision, since, judged)
            if answer[0] == _ADMITTED:
                if decision.similar is not None:
                    self._log(decision.observation, decision.similar)
                return decision.observation
            if answer[0] == _SEARCH_AGAIN:
                again = self._begin(digest, self._replica.end)
                since = again.since
                candidates |= self._near(fingerprint, certainty, again.end)
                continue
            for member in answer[1:]:
                judged.add(int.from_bytes(member[:8], "big"))
                candidates.add(member[8:])

    def observe_all(self, pages: Sequence[PageToObserve]) -> list[Observation]:
        """See `Index.observe_all`."""
        return [
            self.observe(key, fingerprint, evidence, in_scope=in_scope)
            for key, fingerprint, evidence, in_scope in pages
        ]

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        self._require_open()
        digest = digest_of(observed.key)
        page = HeldPage(
            observed,
            digest,
            self._new_entry(observed),
            self._group(digest).entries.get(digest, b""),
            supersedes=observed.representative,
        )
        answer: list[Any] = [_SEARCH_AGAIN]
        while answer[0] != _ADMITTED:
            since = self._begin(digest, self._replica.end).since
            # -1 compares with no page, as the copies of this one have its representative.
            answer = self._admit(page, since, (), max_distance=-1)

    def confirm(self, observed: Observation | str) -> None:
        """See `Index.confirm`.

        A page whose lease has ended is observed again, and stored if no other page has replaced it.
        StorageError is raised if its lease ends three times.
        """
        self._require_open()
        for page in self._leases.select(observed):
            self._store(page)

    def confirm_all(self, observed: Iterable[Observation]) -> None:
        """See `Index.confirm_all`."""
        for observation in observed:
            self.confirm(observation)

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        self._require_open()
        for page in self._leases.select(observed):
            self._leases.release(page)
            if page.observation.similar_to is not None:
                sequence = page.observation.sequence
                self.server.call("HDEL", self.layout.log_key(sequence), sequence)

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

    def ending(self) -> Ending:
        """See `ObservingIndex.ending`. This takes one round trip."""
        self._require_open()
        layout = self.layout
        row, *numbers = self.server.call_all(
            [
                ("HGET", layout.state("history"), encode_key(row_name(self.crawl_start))),
                *(("GET", key) for key in (layout.order.sequence, *layout.count_keys)),
            ]
        )
        last_sequence, *counts = self.server.parsed(numbers)
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

    def _decide(
        self,
        view: _View,
        key: str,
        fingerprint: int,
        evidence: Evidence,
        *,
        digest: bytes,
        sequence: int,
        in_scope: Callable[[str], bool] | None,
    ) -> Observation | HeldPage:
        """Return the observation of a page that does not become pending, else the pending page."""
        stored = self._own(view.own, key)
        last = stored if view.last is view.own else self._own(view.last, key)
        result, observation, entry = self._judge(
            key,
            fingerprint,
            evidence,
            in_scope,
            stored=stored,
            last=last,
            near=lambda: (view.stored, view.pending),
            take_sequence=lambda: sequence,
        )
        nearest = result.nearest
        if entry is None:
            if nearest is not None:
                self._log(observation, nearest)
            return observation
        return HeldPage(observation, digest, entry, view.own, nearest, result.outdated, in_scope)

    def _begin(
        self,
        digest: bytes,
        end: End,
        candidates: Iterable[bytes] = (),
        new: HeldPage | None = None,
    ) -> _Begun:
        """Give a page its sequence number, and bring the replica up to date.

        :param end: the end of the replica that was searched.
        :param candidates: digests whose groups are read, too, on a single server.
        :param new: the page, if nothing is near in the replica. If nothing is near on a single
            server either, the page is admitted.
        """
        layout = self.layout
        sequence, admitted, journal, unmarked, recent = layout.order
        if self.server.cluster:
            number, since, last, rows = self.server.run(
                scripts.BEGIN, (sequence, admitted, unmarked, journal), (end.rows, end.last)
            )
            if last - since > _MAX_LAG:
                self._mark_others(since + _MAX_LAG // 2)
            return _Begun(number, since, self._follow(end, *rows), None, {})
        numbers = {layout.group_of(candidate) for candidate in candidates}
        keys = [sequence, admitted, unmarked, journal, recent]
        for group in (layout.group_of(digest), *numbers):
            keys += layout.group_keys(group)[:2]
        arguments: tuple[bytes | int, ...] = (end.rows, end.last, digest)
        if new is not None:
            row = layout.journal_row(digest, new.entry.fingerprint)
            entry = encode_entry(new.entry, layout.width_bytes)
            arguments += (self.max_distance, row, self._lease_ms, entry[SEQUENCE_BYTES:])
        number, since, _, rows, (own, *pending), groups, *is_admitted = self.server.run(
            scripts.OBSERVE, keys, arguments
        )
        return _Begun(
            number,
            since,
            self._follow(end, *rows),
            self._parsed(b"", *pending)._replace(entries={digest: own} if own else {}),
            {n: self._parsed(*group) for n, group in zip(numbers, groups, strict=True)},
            bool(is_admitted),
        )

    def _follow(self, end: End, start: int, rows: list[bytes]) -> End:
        """Extend the replica by some rows, and by the rows after them, if any. Return its end.

        :param start: see `Replica.extend`.
        """
        followed = self._replica.extend(end, start, rows)
        if followed is not None and len(rows) < scripts.ROWS_AT_ONCE:
            return followed
        with self._following:  # so that several threads do not read a long journal at the same time
            while True:
                self._require_open()
                end = self._replica.end
                start, rows = self._new_rows(end)
                followed = self._replica.extend(end, start, rows)
                if followed is not None and len(rows) < scripts.ROWS_AT_ONCE:
                    return followed

    def _new_rows(self, end: End) -> tuple[int, list[bytes]]:
        """Return the parameters `start` and `rows` of `Replica.extend`."""
        start, rows = self.server.run(
            scripts.FOLLOW, (self.layout.order.journal,), (end.rows, end.last)
        )
        return start, rows

    def _near(
        self, fingerprint: int, certainty: bytes, followed: End, *, after: End | None = None
    ) -> set[bytes]:
        """Return the digests of the rows within k that the replica finds.

        :param followed: an end that the replica had: all rows up to it are searched.
        :param after: see `Replica.near`.
        """
        while True:
            end, digests = self._replica.near(fingerprint, certainty, self.max_distance, after)
            if end.load == followed.load:
                return digests
            # Another thread has emptied the replica, and may not have read all rows again.
            followed = self._follow(end, *self._new_rows(end))

    def _query_view(self, fingerprint: int, certainty: bytes) -> _View:
        """Return the entries within k of a fingerprint, for a query."""
        end = self._replica.end
        followed = self._follow(end, *self._new_rows(end))
        candidates = self._near(fingerprint, certainty, followed)
        return self._read_view(b"", fingerprint, candidates, ())

    def _read_view(
        self,
        digest: bytes,
        fingerprint: int,
        candidates: set[bytes],
        judged: Iterable[int],
        begun: _Begun | None = None,
    ) -> _View:
        """Read the groups of a page and of candidates, and return the entries within k.

        :param digest: b"" for a query.
        :param candidates: digests.
        :param judged: sequence numbers of admitted pages that may not be marked yet.
        :param begun: groups that need not be read again.
        """
        group_of = self.layout.group_of
        own_group = None if begun is None else begun.own_group
        numbers = set(map(group_of, candidates - {digest}))
        if digest and own_group is None:
            numbers.add(group_of(digest))
        groups = {} if begun is None else begun.groups
        groups |= self._groups(sorted(numbers - groups.keys()))
        if own_group is not None:
            groups.setdefault(group_of(digest), own_group)
        view = _View(b"", b"", [], [])
        for group in groups.values():
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

    def _admit(
        self,
        page: HeldPage,
        since: int,
        judged: Iterable[int],
        *,
        max_distance: int | None = None,
    ) -> list[Any]:
        """Ask for admission. Return the answer of `admit`; see the module of the scripts."""
        layout, observation = self.layout, page.observation
        sequence, digest, fingerprint = observation.sequence, page.digest, page.entry.fingerprint
        _, admitted, journal, unmarked, recent = layout.order
        entries, pending, _ = layout.group_keys(layout.group_of(digest))
        field = field_of(sequence, digest)
        # A page with the fingerprint of its stored entry relies on the row of that entry.
        stored = self._own(page.stored, observation.key)
        relies = stored is not None and stored.fingerprint == fingerprint
        value = encode_entry(page.entry, layout.width_bytes)
        held = (field, self._lease_ms, value, page.stored if relies else b"")
        asked = (
            layout.member(sequence, digest, fingerprint),
            since,
            self.max_distance if max_distance is None else max_distance,
            b"".join(number.to_bytes(8, "big") for number in judged),
        )
        row = layout.journal_row(digest, fingerprint)
        answer: list[Any]
        if not self.server.cluster:
            answer = self.server.run(
                scripts.TAKE, (admitted, recent, journal, pending, entries), (*asked, row, *held)
            )
        else:
            has_row = self.server.run(scripts.HOLD, (pending, entries), held)
            answer = self.server.run(
                scripts.ADMIT,
                (admitted, recent, journal, unmarked),
                (*asked, b"" if has_row else row),
            )
            if answer[0] == _ADMITTED:
                self._mark(asked[0])
            else:
                self.server.call("HDEL", pending, field)
        if answer[0] == _ADMITTED:
            self._leases.hold(page)
        return answer

    def _mark(self, member: bytes) -> None:
        """Mark the pending page of an admission as admitted."""
        digest = member[8:16]
        field = field_of(int.from_bytes(member[:8], "big"), digest)
        self.server.run(scripts.MARK, (self.layout.pending_key(digest),), (field,))
        self.server.call("ZREM", self.layout.order.unmarked, member)

    def _mark_others(self, up_to: int) -> None:
        """Mark all pages that were admitted up to a number."""
        for member in self.server.call("ZRANGEBYSCORE", self.layout.order.unmarked, "-inf", up_to):
            self._mark(member)

    def _store(self, page: HeldPage) -> None:
        """Store a page and remove the entries that it replaces. See `confirm`."""
        for _ in range(_MAX_TRIES):
            if self._try_to_store(page):
                return
            self.lost_leases += 1
            self._leases.forget(page)
            again = self._observe_again(page)
            if again is None:
                return
            page = again
        raise StorageError(
            self.location,
            f"the lease of {page.observation.key!r} ended {_MAX_TRIES} times before the page was "
            f"confirmed: make the lease longer than {self._lease_ms / 1000:g} s",
        )

    def _try_to_store(self, page: HeldPage) -> bool:
        """Store a page, unless a later observation of its page key is stored, and remove what it
        replaces. Return False if the page was removed because its lease had ended.
        """
        layout, digest, key = self.layout, page.digest, page.observation.key
        keys = layout.group_keys(layout.group_of(digest))
        field = field_of(page.observation.sequence, digest)
        expected = page.stored
        while True:
            stored = self._own(expected, key)
            if stored is not None and stored.last_sequence > page.entry.last_sequence:
                self._leases.release(page)
                return True
            entry = self._merged(page.entry, stored)
            value = encode_entry(entry, layout.width_bytes)
            answer = self.server.run(scripts.SETTLE, keys, (field, digest, expected, value))
            if answer[0] == _STORED:
                self._leases.forget(page)
                self._remove_replaced(page, entry)
                return True
            if answer[0] == _LEASE_ENDED:
                return False
            expected = answer[1]

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
            "simhash: the lease of %r had ended when it was confirmed: it is %s now",
            before.key,
            "stored" if again else f"{kind} of {representative}" if representative else kind,
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

    def _log(self, observation: Observation, nearest: Neighbour) -> None:
        self.write_line(
            self._log_line(observation, observation.sequence, nearest.entry.key, nearest)
        )
