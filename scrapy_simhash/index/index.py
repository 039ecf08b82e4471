"""Index: a set of representatives over a store, which is embedded or in Redis.

Several crawlers in one process can use one embedded store, each through its own Index. They share
entries, pending pages and sequence numbers. Each Index has the rules of its own crawl.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from scrapy_simhash.errors import IndexClosed, SchemeError
from scrapy_simhash.evidence import NO_EVIDENCE
from scrapy_simhash.index.base import Match, PageToObserve, Query
from scrapy_simhash.index.rules import CrawlRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from typing_extensions import Self

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import (
        Action,
        Entry,
        NearDuplicate,
        Observation,
        Pending,
    )
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.rules import Neighbour
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.index.texts import Texts

    AnyStore: TypeAlias = Store | RedisStore


P = ParamSpec("P")
Result = TypeVar("Result")


def _atomic(
    method: Callable[Concatenate[Index, P], Result],
) -> Callable[Concatenate[Index, P], Result]:
    """Let a method hold the lock of the store, and raise IndexClosed after `close`."""

    @wraps(method)
    def locked(self: Index, /, *arguments: P.args, **options: P.kwargs) -> Result:
        with self.store.lock:
            self._open()
            return method(self, *arguments, **options)

    return locked


class Index:
    """A set of representatives, searched by key and by Hamming distance.

    A near-duplicate is within k of a representative, and is confirmed to be a copy of it
    (`scrapy_simhash.confirmation`). A page within k that is not confirmed is *similar*: it has
    content of its own, and is stored. Methods are atomic, but in Redis, `observe_all` and
    `confirm` only for each page. Methods may be called from any thread. All raise StorageError
    if the storage fails, and all but `close` raise IndexClosed after `close`.

    **This crawl and earlier ones.** An index records when a crawl last saw each entry. By default,
    an entry that this crawl has not seen yet cannot make a page a near-duplicate, because its page
    may be gone. So a crawl finds the same near-duplicates as with an empty index. Entries of
    earlier crawls only distinguish unchanged and changed pages from new ones. A page that is stored
    replaces the entries of earlier crawls that it is a copy of. In an *incremental* crawl, all
    entries count as seen by this crawl, and none is replaced.

    :param rules: the rules of this crawl.

    Attributes: `scheme`, `plan` (the tables) and `database` (``leveldb``, ``rocksdb``, ``redis`` or
    ``memory``) that the index was made with; `location`, its directory, its server and name, or
    ``memory``; and of the rules `max_distance` (k, inclusive), `confirmation` and `crawl_start`,
    the first sequence number of this crawl. `store` has all rows, for callers that keep no rules of
    crawls.
    """

    def __init__(self, store: AnyStore, rules: CrawlRules) -> None:
        self.store = store
        store.users += 1
        self.location, manifest = store.location, store.manifest
        self.scheme, self.plan = manifest.scheme, manifest.plan
        self.database = manifest.database
        self.rules = rules
        self.max_distance, self.confirmation = rules.max_distance, rules.confirmation
        self.crawl_start = rules.crawl_start
        self._closed = False
        # The pages that this index made pending. After a failover, a server may give a sequence
        # number twice.
        self._pending: dict[tuple[int, str], Pending] = {}
        # The similar pages whose log lines were removed, because they were discarded.
        self._unlogged: set[tuple[int, str]] = set()

    @property
    def texts(self) -> Texts:
        """The stored texts of pages; an index in Redis has none."""
        return self._open().texts

    def observe(
        self,
        key: str,
        fingerprint: int,
        evidence: Evidence = NO_EVIDENCE,
        *,
        in_scope: Callable[[str], bool] | None = None,
    ) -> Observation:
        """Return what a page is, and make it pending if its content is to be stored.

        A ``new`` or ``changed`` page becomes *pending*, and so does an ``unchanged`` page that is
        provisional or that this crawl sees for the first time. Queries find a pending page, but
        only `confirm` stores it. A near-duplicate is logged with its representative: the nearest,
        and the oldest of equally near ones. A similar page is pending and logged.

        :param key: identity of the page, such as its URL.
        :param evidence: properties of the page that confirm a copy; its certainty directs probing.
        :param in_scope: returns True for keys of pages that may be found or replaced; None allows
            all.
        :raises SchemeError: the key is empty or no string, or the fingerprint does not fit.
        """
        return self.observe_all([PageToObserve(key, fingerprint, evidence, in_scope)])[0]

    @_atomic
    def observe_all(self, pages: Sequence[PageToObserve]) -> list[Observation]:
        """Observe pages in turn, and return their observations.

        This takes less time than `observe` for each: an embedded index searches for all together,
        and a single Redis server answers for many in one round trip. If it raises an error, no page
        stays pending; in Redis, until leases end at the latest.
        """
        for page in pages:
            if not isinstance(page.key, str) or not page.key:
                raise SchemeError(
                    f"the key of a page is {page.key!r}: it must be a string that is not empty"
                )
            self.scheme.check_fingerprint(page.fingerprint)
        observed = self.store.observe_all(pages, self.rules)
        for observation, pending in observed:
            if pending is not None:
                self._pending[observation.sequence, observation.key] = pending
        return [observation for observation, _ in observed]

    @_atomic
    def prefetch(self, pages: Sequence[tuple[int, Evidence]]) -> None:
        """Search for several pages at once, so that the next calls of `observe` are faster.

        :param pages: (fingerprint, evidence).
        """
        queries = [self.rules.query(PageToObserve("", *page)) for page in pages]
        self.store.prefetch(queries, self.max_distance)

    def accept(self, observed: Observation) -> None:
        """Make a near-duplicate pending, so that `confirm` stores it beside its representative."""
        self._hold(observed, None)

    def supersede(self, observed: Observation) -> None:
        """Make a near-duplicate pending as the successor of its representative.

        `confirm` stores the page, removes the representative, and logs the representative as a
        near-duplicate of the page. If the representative is no longer stored, or no longer a copy
        of the page, `confirm` only stores the page.
        """
        self._hold(observed, observed.representative)

    @_atomic
    def confirm(self, *observed: Observation | str, gave_items: bool = True) -> None:
        """Store pending pages that were handled without an error, in turn: all rows of a page, or
        none. Pages that were not stored when it raises an error stay pending. On a single Redis
        server, one call for several pages takes less time.

        :param observed: observations, or keys for all pending observations that were made under
            them through this object. One that is not pending has no effect.
        :param gave_items: the pages gave items that the pipelines kept. See `Earlier`.
        """
        pages = [page for one in observed for page in self._select(one)]
        for page in pages:
            page.gave_items = gave_items
        try:
            self.store.confirm(pages, self.rules)
        finally:
            self._forget(pages)

    @_atomic
    def discard(self, *observed: Observation | str) -> None:
        """Forget pending pages that failed, so that copies can take their places. In Redis, one
        call for several takes less time.

        The log line of a similar page is removed. The stored entry of the key remains.

        :param observed: see `confirm`.
        """
        pages = [page for one in observed for page in self._select(one)]
        self.store.release(pages)
        self._forget(pages)
        pairs = [
            (page.observation.sequence, page.observation.key)
            for page in pages
            if page.observation.similar_to is not None
        ]
        self._unlogged.update(pairs)
        self.store.unlog([sequence for sequence, _ in pairs])

    def acted(self, observed: Observation, action: Action) -> None:
        """Record what was done with a page in its line of the near-duplicate log, if it has one."""
        self.acted_all((observed, action))

    @_atomic
    def acted_all(self, *observed: tuple[Observation, Action]) -> None:
        """Record what was done with several pages; see `acted`."""
        self.store.write_lines(
            [
                replace(one.line, action=action)
                for one, action in observed
                if one.line is not None and (one.sequence, one.key) not in self._unlogged
            ]
        )

    @_atomic
    def query(self, fingerprint: int, evidence: Evidence = NO_EVIDENCE) -> list[Match]:
        """Return a match for each key of a stored or pending page within k, sorted: confirmed
        matches first, then by distance, then by age.

        No page within the plan's guaranteed distance is missed. For larger distances see
        `TablePlan.expected_recall`. :raises SchemeError: the fingerprint does not fit the scheme.
        """
        self.scheme.check_fingerprint(fingerprint)
        found = self.store.within(Query(fingerprint, evidence.certainty), self.max_distance)
        page = PageToObserve("", fingerprint, evidence)
        return _matches(self.rules.neighbours(page, found))

    @_atomic
    def foresee(self, page: PageToObserve, *, in_this_crawl: bool = False) -> Observation:
        """Return what `observe` would return; nothing is written.

        :param page: with an empty key, it counts as one without an entry.
        :param in_this_crawl: else in a crawl that has already seen all entries.
        :raises SchemeError: the fingerprint does not fit the scheme.
        """
        rules = self.rules if in_this_crawl else replace(self.rules, incremental=True)
        self.scheme.check_fingerprint(page.fingerprint)
        stored, last = self.store.last_seen(page.key) if page.key else (None, None)
        found = self.store.within(rules.query(page), self.max_distance)
        return rules.judge(page, stored, rules.last(page, last), found, 0)[0]

    @_atomic
    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a key, or None."""
        return self.store.entry(key)

    @_atomic
    def remove(self, keys: Iterable[str]) -> list[str]:
        """Remove the entries of pages and their texts, and return the keys that had an entry.

        On disk, all entries are removed in one write. In Redis, the entries of pages that a crawl
        is handling stay.

        :raises IndexLocked: this process has an index on disk open elsewhere.
        """
        return self.store.remove_pages(keys)

    @_atomic
    def near_duplicates(self) -> Iterator[NearDuplicate]:
        """Return the lines of the near-duplicate log, oldest first."""
        return self.store.near_duplicates()

    @_atomic
    def notes(self) -> list[tuple[str, bytes]]:
        """Return (name, note) of all notes: what slices keep beside the pages
        (`scrapy_simhash.slices`), and the history (`scrapy_simhash.index.history`).
        """
        return list(self.store.notes())

    def end_crawl(self, name: str, note: bytes) -> int:
        """Write the note of this crawl (`scrapy_simhash.index.history`), and return the number of
        stored entries.
        """
        self.change_note(name, lambda _: note)
        return len(self)

    def change_note(self, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Change a note atomically.

        :param change: called with the stored note, returns the new one; None means none. It may be
            called more than once.
        """
        store = self._open()
        while True:
            with store.lock:
                before = self._open().note(name)
            after = change(before)
            with store.lock:
                if self._open().replace_note(name, before, after):
                    return

    def sync(self) -> None:
        """Sync earlier writes, if the policy is ``everysec``; no effect in Redis. Call this from a
        separate thread, because it waits for the disk.
        """
        self._open().sync()

    def stop_waiting(self) -> None:
        """If the index is on a server that cannot be reached, let further calls fail at once."""
        self.store.stop_waiting()

    def close(self) -> None:
        """Close the index and discard pending observations. A second call has no effect."""
        with self.store.lock:
            if self._closed:
                return
            self._closed = True
        self.store.close(list(self._pending.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @_atomic
    def __len__(self) -> int:
        """Return the number of stored entries; pending ones don't count."""
        return len(self.store)

    def _open(self) -> AnyStore:
        if self._closed:
            raise IndexClosed(self.store.location, "used after close()")
        return self.store

    @_atomic
    def _hold(self, observed: Observation, supersedes: str | None) -> None:
        pending = self.store.hold(observed, self.rules, supersedes)
        self._pending[observed.sequence, observed.key] = pending

    def _select(self, observed: Observation | str) -> list[Pending]:
        """Return the pending pages that an argument of `confirm` or `discard` means."""
        if isinstance(observed, str):
            pages = [page for page in self._pending.values() if page.observation.key == observed]
            return sorted(pages, key=lambda page: page.observation.sequence)
        page = self._pending.get((observed.sequence, observed.key))
        # Identity is tested first, because comparing by value is slow.
        if page and (page.observation is observed or page.observation == observed):
            return [page]
        return []

    def _forget(self, pages: Iterable[Pending]) -> None:
        """Forget the pages that are settled."""
        for page in pages:
            if page.is_settled:
                self._pending.pop((page.observation.sequence, page.observation.key), None)


def rules_of(
    store: AnyStore,
    max_distance: int | None = None,
    confirmation: Confirmation | None = None,
    incremental: bool = False,
    crawl_start: int | None = None,
) -> CrawlRules:
    """Return the rules of a crawl that uses a store. See `scrapy_simhash.open_index`."""
    manifest, next_sequence = store.manifest, store.next_sequence
    return CrawlRules(
        manifest.max_distance if max_distance is None else max_distance,
        manifest.confirmation if confirmation is None else confirmation,
        incremental,
        next_sequence if crawl_start is None else min(crawl_start, next_sequence),
    )


def _matches(neighbours: Iterable[Neighbour]) -> list[Match]:
    """Return one match for each key, confirmed ones first. A key may have two neighbours, because
    its page may be stored and pending.
    """
    by_key: dict[str, Match] = {}
    for neighbour in sorted(neighbours, key=lambda neighbour: not neighbour.confirmed):
        distance, entry, similarity, against, _ = neighbour
        label = entry.evidence.label.decode("utf-8", "replace")
        match = Match(entry.key, entry.fingerprint, distance, similarity, against, label)
        by_key.setdefault(entry.key, match)
    return list(by_key.values())
