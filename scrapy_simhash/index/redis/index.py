"""RedisIndex: an `Index` that many processes share.

It decides by the same rules as `ObservingIndex`. What lies in between is the protocol by which, of
pages that are copies of each other and arrive at the same time, exactly one becomes the original:

1. `begin` gives the page its sequence, and the number of the last admission whose records are in
   all tables.
2. The tables are searched, and the pages that are found are compared.
3. A page that is to become pending asks for *admission*. The server compares it with all pages that
   were admitted since 1. Those within k, which the search may have missed, are returned; the page
   is decided again, and asks again, naming them as known.
4. An admitted page's records are appended to the tables.

Of two copies that are both admitted, take the later one. The earlier was admitted after the later
one's beginning, and was compared in 3; or before, and then its records were in the tables before
the search. docs/several-machines.md tells more.

A pending page has a lease, which its crawler renews. A crawler that dies leaves pages whose lease
ends; who finds such a page removes it, so that its crawler, should it live, can't confirm it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.confirmation import NO_EVIDENCE
from scrapy_simhash.errors import StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Entry, Match, NearDuplicate, Observation
from scrapy_simhash.index.crawl_index import CrawlIndex, check_page, make_observation, matches
from scrapy_simhash.index.probing import Prober, Probes
from scrapy_simhash.index.records import (
    encode_entry,
)
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.content import RedisContent
from scrapy_simhash.index.redis.layout import (
    RECORD_DIGEST_BYTES,
    Group,
    digest_of,
    field_of,
    parsed_pages,
)
from scrapy_simhash.index.rules import Neighbour, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.confirmation import Evidence
    from scrapy_simhash.index.base import Action
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server
    from scrapy_simhash.index.rules import Rules

DEFAULT_LEASE_S = 60.0
_ADMITTED, _SEARCH_AGAIN = 1, 2
_STORED, _LEASE_ENDED = 1, 2
# A page that its lease's end robbed of its place is observed again; so often at most.
_MAX_TRIES = 3
# Records of pages whose crawler has not written them are written by others after so many more.
_MAX_LAG = 200

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Pending:
    """A pending page of this process.

    :param entry: as `confirm` stores it.
    :param stored: the entry under its key when it was observed, as the server holds it.
    :param similar: a page within k that it is no copy of.
    :param outdated: entries of earlier crawls that it takes the place of.
    :param supersedes: key of the representative whose place it takes.
    """

    observation: Observation
    digest: bytes
    entry: Entry
    stored: bytes
    similar: Neighbour | None = None
    outdated: Sequence[Entry] = ()
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None
    renewed_s: float = 0.0


class _Page(NamedTuple):
    """A page that is observed."""

    key: str
    digest: bytes
    fingerprint: int
    evidence: Evidence
    sequence: int
    in_scope: Callable[[str], bool] | None = None


@dataclass
class _Seen:
    """What an observation of a page knows of others, as of the last look.

    :param own: entry under the same key, as the server holds it; empty if there is none.
    :param own_pending: admitted pages under the same key, oldest first.
    """

    own: bytes
    own_pending: list[bytes]
    stored: list[tuple[int, Entry]]
    pending: list[tuple[int, Entry]]


class RedisIndex(CrawlIndex, RedisContent):
    """An `Index` on a Redis server; see that protocol for the contract.

    Methods may be called from several threads, and wait for the network.

    :param crawl_start: the first sequence number of the crawl.
    :param lease_s: how long a page stays pending after its crawler was last heard of.
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
        lease_s: float = DEFAULT_LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        CrawlIndex.__init__(
            self, rules=rules, incremental=incremental, crawl_start=crawl_start, clock=clock
        )
        RedisContent.__init__(self, server, manifest, name)
        self._prober = Prober(manifest.plan)
        self._max_check_distance = self.layout.max_check_distance(rules.max_distance)
        self._lease_ms = max(int(1000 * lease_s), 1)
        self._lock = Lock()
        self._mine: dict[int, _Pending] = {}
        self._renewing: Thread | None = None
        self.lost_leases = 0
        """Pages whose lease had ended when they were confirmed."""

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
        buckets = self._buckets_to_ask(fingerprint, evidence)
        sequence, since, own_group, records = self._begin(digest, buckets)
        page = _Page(key, digest, fingerprint, evidence, sequence, in_scope)
        candidates = self._candidates(records, fingerprint, digest)
        known: set[int] = set()
        while True:
            seen = self._look(digest, fingerprint, candidates, known, own_group)
            own_group = None
            found = self._decided(page, seen)
            if isinstance(found, Observation):
                return found
            # What is stored under its key has records already.
            rows = not (
                seen.own and self._own(seen.own, key).fingerprint == found.entry.fingerprint
            )
            answer = self._take(found, since, known, rows=rows)
            if answer[0] == _ADMITTED:
                if found.similar is not None:
                    self._log(found.observation, found.similar)
                return found.observation
            if answer[0] == _SEARCH_AGAIN:
                _, since, _, records = self._begin(digest, buckets)
                candidates |= self._candidates(records, fingerprint, digest)
            for member in answer[1:] if answer[0] != _SEARCH_AGAIN else ():
                known.add(int.from_bytes(member[:8], "big"))
                candidates.add(member[8:])

    def supersede(self, observed: Observation) -> None:
        """See `Index.supersede`."""
        self._require_open()
        digest = digest_of(observed.key)
        raw = self._group(digest).entries.get(digest, b"")
        page = _Pending(
            observed,
            digest,
            self._new_entry(observed),
            raw,
            supersedes=observed.representative,
        )
        # Its representative is there, so that copies of the page have one: nothing to compare.
        since, distance = self._since(), -1
        while self._take(page, since, (), rows=True, max_distance=distance)[0] != _ADMITTED:
            since = self._since()

    def confirm(self, observed: Observation | str) -> None:
        """See `Index.confirm`.

        A page whose lease has ended is observed again, and stored if nothing took its place.
        """
        self._require_open()
        for page in self._select(observed):
            self._store(page)

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        self._require_open()
        for page in self._select(observed):
            self._release(page)
            if page.observation.similar_to is not None:
                sequence = page.observation.sequence
                self.server.call("HDEL", self.layout.log(sequence), sequence)

    def acted(self, observed: Observation, action: Action) -> None:
        """See `Index.acted`."""
        if observed.representative is None and observed.similar_to is None:
            return
        self._require_open()
        sequence = observed.sequence
        value = self.server.call("HGET", self.layout.log(sequence), sequence)
        if value is not None:
            line = self._decoded_line(sequence, value)
            if line.key == observed.key:
                self.write_line(replace(line, action=action))

    def query(self, fingerprint: int, evidence: Evidence = NO_EVIDENCE) -> list[Match]:
        """See `Index.query`."""
        self._require_open()
        self.scheme.check_fingerprint(fingerprint)
        records = self._search(self._buckets_to_ask(fingerprint, evidence))
        candidates = self._candidates(records, fingerprint, b"")
        seen = self._look(b"", fingerprint, candidates, (), None)
        return matches(self.rules.neighbours(evidence, seen.stored + seen.pending))

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return (distance, entry) of the stored entries that the tables find within a distance of
        at most k.
        """
        self._require_open()
        records = self._search(self._buckets_to_ask(fingerprint, NO_EVIDENCE))
        candidates = self._candidates(records, fingerprint, b"")
        stored = self._look(b"", fingerprint, candidates, (), None).stored
        return [found for found in stored if found[0] <= max_distance]

    def near_duplicates(self, *, this_crawl: bool = False) -> Iterator[NearDuplicate]:
        """Return the near-duplicate log, oldest first; of this crawl alone, or of all."""
        self._require_open()
        return self.lines(self.crawl_start if this_crawl else 0)

    def close(self) -> None:
        """See `Index.close`."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            pages = list(self._mine.values())
        if self._renewing is not None:
            self._renewing.join()
        try:
            for page in pages:
                self._release(page)
        finally:
            self.server.close()

    # Deciding.

    def _decided(self, page: _Page, seen: _Seen) -> Observation | _Pending:
        """Return what a page is, or the pending page that it is to become."""
        fingerprint, evidence, in_scope = page.fingerprint, page.evidence, page.in_scope
        stored = self._own(seen.own, page.key) if seen.own else None
        last = self._own(seen.own_pending[-1], page.key) if seen.own_pending else stored
        own = None if last is None else self.rules.own(fingerprint, evidence, last)

        def neighbours() -> tuple[Sequence[Neighbour], Sequence[Neighbour]]:
            stored_others, pending_others = (
                [one for one in some if in_scope is None or in_scope(one[1].key)]
                for some in (seen.stored, seen.pending)
            )
            return (
                self.rules.neighbours(evidence, stored_others),
                self.rules.neighbours(evidence, pending_others),
            )

        result = classify(own, neighbours, self._is_eligible)
        observation, entry = self._outcome(
            make_observation(page.key, fingerprint, evidence, result, own, sequence=page.sequence),
            result,
            own,
            stored,
        )
        nearest = result.nearest
        if entry is None:
            if nearest is not None:
                self._log(observation, nearest)
            return observation
        return _Pending(
            observation, page.digest, entry, seen.own, nearest, result.outdated, in_scope
        )

    # Searching.

    def _buckets_to_ask(self, fingerprint: int, evidence: Evidence) -> Probes:
        return self._prober.probes(fingerprint, evidence.certainty)

    def _begin(self, digest: bytes, buckets: Probes) -> tuple[int, int, Group | None, bytes]:
        """Return (sequence, number of the last admission before that is surely in the tables, own
        group if it was read, of whose entries only the own one is there, records of the buckets).
        """
        layout = self.layout
        sequence, admitted, _, unwritten = layout.order
        if not self.server.cluster:
            group = layout.group_keys(layout.group_of(digest))[:2]
            (number, since, _, (value, *pending)), values = self.server.run_and_get(
                scripts.OBSERVE,
                (sequence, admitted, unwritten, *group),
                (digest,),
                layout.get(buckets),
            )
            own = Group({digest: value} if value else {}, parsed_pages(pending))
            return number, since, own, b"".join(filter(None, values))
        number, since, last = self.server.run(scripts.BEGIN, (sequence, admitted, unwritten))
        if last - since > _MAX_LAG:
            self._write_records_of_others(since + _MAX_LAG // 2)
        return number, since, None, self._search(buckets)

    def _since(self) -> int:
        """Return the number that `_begin` returns, where nothing is searched."""
        sequence, admitted, _, unwritten = self.layout.order
        _, since, _ = self.server.run(scripts.BEGIN, (sequence, admitted, unwritten))
        return int(since)

    def _search(self, buckets: Probes) -> bytes:
        """Return the records of buckets."""
        if not self.server.cluster:
            return b"".join(filter(None, self.server.get(self.layout.get(buckets))))
        # The buckets of a table are in one slot.
        return b"".join(
            record
            for names in self.layout.names(buckets).values()
            for record in filter(None, self.server.call("MGET", *names))
        )

    def _candidates(self, records: bytes, fingerprint: int, own: bytes) -> set[bytes]:
        """Return the first bytes of the digests of other pages that may be within k."""
        near = self.layout.near(records, fingerprint, self._max_check_distance)
        near.discard(own[:RECORD_DIGEST_BYTES])
        return near

    def _look(
        self,
        digest: bytes,
        fingerprint: int,
        candidates: Iterable[bytes],
        known: Iterable[int],
        own_group: Group | None,
    ) -> _Seen:
        """Read a page's own group and those of candidates."""
        layout = self.layout
        by_group: dict[int, list[bytes]] = {}
        for candidate in candidates:
            by_group.setdefault(layout.group_of(candidate), []).append(candidate)
        own_number = layout.group_of(digest) if digest else -1
        wanted = set(by_group)
        if digest and own_group is None:
            wanted.add(own_number)
        groups = self._groups(sorted(wanted))
        if own_group is not None:
            groups.setdefault(own_number, own_group)
        seen = _Seen(b"", [], [], [])
        if digest:
            group = groups[own_number]
            seen.own = group.entries.get(digest, b"")
            seen.own_pending = [
                page.entry
                for page in group.pending
                if page.digest == digest and (page.admitted or page.sequence in known)
            ]
        for number, prefixes in by_group.items():
            starts = tuple(prefixes)
            group = groups[number]
            for other, value in group.entries.items():
                if other != digest and other.startswith(starts):
                    self._add_near(seen.stored, value, fingerprint)
            for page in group.pending:
                if page.digest == digest or not page.digest.startswith(starts):
                    continue
                if page.admitted or page.sequence in known:
                    self._add_near(seen.pending, page.entry, fingerprint)
        return seen

    def _add_near(self, to: list[tuple[int, Entry]], value: bytes, fingerprint: int) -> None:
        entry = self._decoded(value)
        distance = hamming_distance(entry.fingerprint, fingerprint)
        if distance <= self.max_distance:
            to.append((distance, entry))

    # Taking and giving back a place.

    def _take(
        self,
        page: _Pending,
        since: int,
        known: Iterable[int],
        *,
        rows: bool,
        max_distance: int | None = None,
    ) -> list[Any]:
        """Ask for admission; once admitted, the page is pending and in the tables."""
        layout, observation = self.layout, page.observation
        sequence, digest, fingerprint = observation.sequence, page.digest, page.entry.fingerprint
        _, admitted, recent, unwritten = layout.order
        pending = layout.group_keys(layout.group_of(digest))[1]
        field = field_of(sequence, digest)
        entry = encode_entry(page.entry, layout.width_bytes)
        member = layout.member(sequence, digest, fingerprint)
        distance = self.max_distance if max_distance is None else max_distance
        judged = b"".join(one.to_bytes(8, "big") for one in known)
        buckets = layout.buckets(self.plan.prefixes(fingerprint)) if rows else b""
        if not self.server.cluster:
            record = layout.record(digest, fingerprint)
            answer: list[Any] = self.server.run(
                scripts.TAKE,
                (admitted, recent, pending),
                (
                    *(member, since, distance, judged, field, self._lease_ms, entry),
                    *(layout.head, buckets, layout.prefix_bytes, record),
                ),
            )
        else:
            self.server.run(scripts.HOLD, (pending,), (field, self._lease_ms, entry))
            answer = self.server.run(
                scripts.ADMIT,
                (admitted, recent, unwritten),
                (member, since, distance, judged),
            )
            if answer[0] == _ADMITTED:
                self._write_records(member, buckets)
            else:
                self.server.call("HDEL", pending, field)
        if answer[0] == _ADMITTED:
            page.renewed_s = time.monotonic()
            with self._lock:
                self._mine[sequence] = page
                if self._renewing is None and not self._closing.is_set():
                    self._renewing = Thread(target=self._renew, name="simhash-leases", daemon=True)
                    self._renewing.start()
        return answer

    def _write_records(self, member: bytes, buckets: bytes) -> None:
        """Append the records of an admitted page, let it count, and say that all is written."""
        layout = self.layout
        sequence, digest, fingerprint = layout.parsed_member(member)
        self._append(buckets, layout.record(digest, fingerprint))
        pending = layout.group_keys(layout.group_of(digest))[1]
        self.server.run(scripts.MARK, (pending,), (field_of(sequence, digest),))
        self.server.call("ZREM", layout.order[3], member)

    def _write_records_of_others(self, up_to: int) -> None:
        """Write the records of pages whose crawlers have not."""
        members = self.server.call("ZRANGEBYSCORE", self.layout.order[3], "-inf", up_to)
        for member in members:
            fingerprint = self.layout.parsed_member(member)[2]
            self._write_records(member, self.layout.buckets(self.plan.prefixes(fingerprint)))

    def _release(self, page: _Pending) -> None:
        """Remove a pending page."""
        pending = self.layout.group_keys(self.layout.group_of(page.digest))[1]
        sequence = page.observation.sequence
        self.server.call("HDEL", pending, field_of(sequence, page.digest))
        with self._lock:
            self._mine.pop(sequence, None)

    def _select(self, observed: Observation | str) -> list[_Pending]:
        with self._lock:
            if isinstance(observed, str):
                found = [one for one in self._mine.values() if one.observation.key == observed]
                return sorted(found, key=lambda one: one.observation.sequence)
            page = self._mine.get(observed.sequence)
        return [] if page is None or page.observation != observed else [page]

    def _renew(self) -> None:
        """Renew the leases of pending pages until the index is closed."""
        every_s = self._lease_ms / 3000
        while not self._closing.wait(every_s):
            before_s = time.monotonic() - every_s / 2
            with self._lock:
                pages = [page for page in self._mine.values() if page.renewed_s < before_s]
            by_key: dict[bytes, list[_Pending]] = {}
            for page in pages:
                name = self.layout.group_keys(self.layout.group_of(page.digest))[1]
                by_key.setdefault(name, []).append(page)
            try:
                for name, some in by_key.items():
                    fields = [field_of(one.observation.sequence, one.digest) for one in some]
                    self.server.run(scripts.RENEW, (name,), (self._lease_ms, *fields))
                    for page in some:
                        page.renewed_s = time.monotonic()
            except StorageError as error:
                logger.warning("simhash: leases are not renewed: %s", error)

    # Storing.

    def _store(self, page: _Pending) -> None:
        for _ in range(_MAX_TRIES):
            stored = self._stored(page)
            if stored is None:
                return
            if isinstance(stored, Entry):
                self._settle_others(page, stored)
                return
            self.lost_leases += 1
            with self._lock:
                self._mine.pop(page.observation.sequence, None)
            again = self._observed_again(page)
            if again is None:
                return
            page = again
        raise StorageError(
            self.location,
            f"page {page.observation.key!r} lost its lease of {self._lease_ms / 1000:g} s "
            f"{_MAX_TRIES} times while it was confirmed: make the lease longer",
        )

    def _stored(self, page: _Pending) -> Entry | bool | None:
        """Store an entry. Return it; None if a later observation of its page is stored; False if
        the lease has ended.
        """
        layout, digest, key = self.layout, page.digest, page.observation.key
        keys = layout.group_keys(layout.group_of(digest))
        field = field_of(page.observation.sequence, digest)
        expected = page.stored
        while True:
            stored = self._own(expected, key) if expected else None
            if stored is not None and stored.met > page.entry.met:
                self._release(page)
                return None
            entry = self._merged(page.entry, stored)
            value = encode_entry(entry, layout.width_bytes)
            answer = self.server.run(scripts.SETTLE, keys, (field, digest, expected, value))
            if answer[0] == _STORED:
                with self._lock:
                    self._mine.pop(page.observation.sequence, None)
                return entry
            if answer[0] == _LEASE_ENDED:
                return False
            expected = answer[1]
            # The page may have relied on the records of the entry that was here.
            fingerprint = page.entry.fingerprint
            buckets = layout.buckets(self.plan.prefixes(fingerprint))
            self._append(buckets, layout.record(digest, fingerprint))

    def _observed_again(self, page: _Pending) -> _Pending | None:
        """Observe a page again whose lease has ended; None if it needs no place any more."""
        before = page.observation
        observed = self.observe(
            before.key, before.fingerprint, before.evidence, in_scope=page.in_scope
        )
        if page.supersedes is not None and observed.representative is not None:
            self.supersede(observed)
        with self._lock:
            again = self._mine.get(observed.sequence)
        logger.warning(
            "simhash: the lease of %r had ended when it was confirmed: it is %s now",
            before.key,
            "stored" if again else f"a {observed.kind} of {observed.representative}",
        )
        return again

    def _settle_others(self, page: _Pending, entry: Entry) -> None:
        """Remove the entries whose place a stored page takes."""
        if page.supersedes is not None:
            other, value = self._read(page.supersedes)
            neighbour = None if other is None else self.rules.copy_of(entry, other)
            if neighbour is not None and self._removed(neighbour.entry, value):
                sequence = int(self.server.call("INCR", self.layout.order[0]))
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
                self._removed(other, value)

    # The near-duplicate log, and decoding.

    def _log(self, observation: Observation, nearest: Neighbour) -> None:
        self.write_line(
            self._log_line(observation, observation.sequence, nearest.entry.key, nearest)
        )
