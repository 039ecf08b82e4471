"""Which entries count: those in scope (`in_scope`), and those met since a crawl that goes on began."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from scrapy_simhash.index import Index, open_index

from .backends import FAR, K, MemoryBackend, flip, found, seen
from .redis_servers import RedisBackend
from .test_state_machine import KEYS, Oracle, Row, SideBySide

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import Observation

A, B, C, D = FAR


def within(site: str) -> dict[str, Callable[[str], bool]]:
    """Keys begin with their site."""
    return {"in_scope": lambda key: key.startswith(f"{site}/")}


def observe(index, key, fingerprint):
    """A page whose representative must be of its own site."""
    return index.observe(key, fingerprint, **within(key.partition("/")[0]))


def crawl(index, *pages):
    """Observe and confirm pages, each within its site; their kinds."""
    kinds = []
    for key, fingerprint in pages:
        observation = observe(index, key, fingerprint)
        index.confirm(observation)
        kinds.append(observation.kind)
    return kinds


@pytest.mark.parametrize("confirmed", [True, False])
def test_pages_out_of_scope_are_no_representatives(index, confirmed):
    first = index.observe("x/1", A)
    if confirmed:
        index.confirm(first)
    assert seen(observe(index, "y/1", A)) == ("new", None, None)
    assert seen(observe(index, "x/2", A)) == ("near-duplicate", "x/1", 0)
    assert seen(observe(index, "y/2", A)) == ("near-duplicate", "y/1", 0)
    assert seen(index.observe("z/1", A)) == ("near-duplicate", "x/1", 0)
    # Queries know no scope.
    assert found(index.query(A)) == [("x/1", A, 0), ("y/1", A, 0)]


def test_the_nearest_in_scope_is_the_representative_then_the_oldest(index):
    pages = {"x/0": A, "y/3": flip(A, 0, 1, 2), "y/2": flip(A, 3, 4), "y/2b": flip(A, 8, 9)}
    for key, fingerprint in pages.items():
        # Each alone: some are within k of each other.
        index.confirm(index.observe(key, fingerprint, in_scope=lambda _: False))
    assert len(index) == len(pages)
    assert seen(observe(index, "y/1", A)) == ("near-duplicate", "y/2", 2)
    assert seen(observe(index, "x/1", flip(A, 0, 1, 2))) == ("near-duplicate", "x/0", 3)
    assert observe(index, "x/2", flip(A, 0, 1, 2, 3)).kind == "new"


def test_exactly_the_pages_within_k_count_in_scope(index):
    crawl(index, ("x/1", B))
    for distance in range(K + 2):
        kind = observe(index, "x/2", flip(B, *range(distance))).kind
        assert kind == ("near-duplicate" if distance <= K else "new")


def test_what_was_seen_under_the_same_key_counts_whatever_the_scope(index):
    nowhere = {"in_scope": lambda _: False}
    index.confirm(index.observe("x/1", A, **nowhere))
    assert seen(index.observe("x/1", flip(A, 0), **nowhere)) == ("unchanged", None, 1)
    assert seen(index.observe("x/1", B, **nowhere)) == ("changed", None, 8)


def test_a_page_that_became_like_one_out_of_scope_is_changed(index):
    crawl(index, ("x/1", A), ("y/1", B))
    assert seen(index.observe("x/1", flip(B, 0))) == ("near-duplicate", "y/1", 1)
    assert crawl(index, ("x/1", flip(B, 0))) == ["changed"]
    assert found(index.query(B)) == [("y/1", B, 0), ("x/1", flip(B, 0), 1)]


@pytest.mark.parametrize("handles", [1, 2])
def test_a_new_page_takes_the_place_of_unmet_entries_in_scope_alone(backend, handles):
    with backend.open(max_distance=0) as index:
        crawl(index, ("x/old", A), ("y/old", flip(A, 1)), ("x/older", flip(A, 2)))
    with ExitStack() as stack:
        index, *_ = [stack.enter_context(backend.open()) for _ in range(handles)]
        assert crawl(index, ("x/new", A)) == ["new"]
        assert found(index.query(A)) == [("x/new", A, 0), ("y/old", flip(A, 1), 1)]
        assert crawl(index, ("y/old", flip(A, 1)), ("x/old", A)) == ["unchanged", "near-duplicate"]


@pytest.mark.parametrize("handles", [1, 2])
@pytest.mark.parametrize("now", [A, B])
def test_so_does_a_page_that_is_met_again(backend, now, handles):
    with backend.open(max_distance=0) as index:
        crawl(index, ("x/page", A), *((f"{site}/old", now ^ 2) for site in "xy"))
    with ExitStack() as stack:
        index, *_ = [stack.enter_context(backend.open()) for _ in range(handles)]
        assert crawl(index, ("x/page", now)) == ["unchanged" if now == A else "changed"]
        assert found(index.query(now)) == [("x/page", now, 0), ("y/old", now ^ 2, 1)]


def test_incremental_crawls_have_a_scope_too(backend):
    with backend.open() as index:
        crawl(index, ("x/1", A))
    with backend.open(incremental=True) as index:
        assert crawl(index, ("y/1", A), ("x/2", A)) == ["new", "near-duplicate"]
        assert len(index) == 2


def go_on(backend, began, *, incremental=False):
    """Open an index for a crawl that began before."""
    if isinstance(backend, RedisBackend):
        return backend.open(crawl_start=began, incremental=incremental)
    if not isinstance(backend, MemoryBackend):
        return open_index(backend.url, crawl_start=began, incremental=incremental)
    return backend.open(crawl_start=began, incremental=incremental)


class TestACrawlThatGoesOn:
    def test_what_it_met_before_its_pause_counts_as_met(self, backend):
        with backend.open() as index:
            crawl(index, ("x/earlier", A), ("x/met again", B))
        with backend.open() as index:
            crawl(index, ("x/met again", B), ("x/met", C))
            index.observe("x/pending", D)
            began = index.crawl_start
        with go_on(backend, began) as index:
            assert index.crawl_start == began
            assert index.observe("copy", A).kind == "new"
            assert seen(index.observe("copy", B)) == ("near-duplicate", "x/met again", 0)
            assert seen(index.observe("copy", C)) == ("near-duplicate", "x/met", 0)
            assert index.observe("copy of pending", D).kind == "new"
            assert index.observe("x/met", C).kind == "unchanged"
        with backend.open() as index:  # another crawl
            assert index.crawl_start > began
            assert index.observe("copy", C).kind == "new"

    def test_its_log_goes_on(self, backend):
        with backend.open() as index:
            crawl(index, ("x/1", A), ("x/earlier", A))
        with backend.open() as index:
            crawl(index, ("x/1", A), ("x/before", A))
            began = index.crawl_start
        with go_on(backend, began) as index:
            index.observe("x/after", A)
            lines = [line.key for line in index.near_duplicates(this_crawl=True)]
            assert lines == ["x/before", "x/after"]
            assert len(list(index.near_duplicates())) == 3

    def test_it_never_begins_later_than_now(self, backend):
        with backend.open() as index:
            crawl(index, ("x/1", A))
            now = index.observe("x/2", B).sequence
        # As of an index that was deleted, or lost what was not on the disk.
        with go_on(backend, now + 1000) as index:
            assert index.crawl_start <= now + isinstance(backend, RedisBackend)
            assert crawl(index, ("x/3", C)) == ["new"]
            assert seen(index.observe("copy", C)) == ("near-duplicate", "x/3", 0)

    def test_incremental_crawls_go_on_as_they_were(self, backend):
        with backend.open() as index:
            crawl(index, ("x/1", A))
        with go_on(backend, 2, incremental=True) as index:
            assert seen(index.observe("copy", A)) == ("near-duplicate", "x/1", 0)


def site_of(key: str) -> int:
    return ord(key[-1]) % 2


class ScopedOracle(Oracle):
    """The same with scopes, and with pages that take the place of their representatives."""

    site: int | None = None

    def open(self, *, incremental: bool) -> None:
        super().open(incremental=incremental)
        self.superseding: dict[int, str | None] = {}

    def scan(self, fingerprint: int) -> list[tuple[int, int, Row]]:
        scanned = super().scan(fingerprint)
        return [one for one in scanned if self.site in (None, site_of(one[2].key))]

    def observe(self, key: str, fingerprint: int) -> tuple[str, str | None, int | None]:
        self.site = site_of(key)
        result = super().observe(key, fingerprint)
        self.site = None
        return result

    def supersede(self, one: Observation) -> None:
        self.pending[one.sequence] = Row(one.key, one.fingerprint, one.sequence, one.sequence)
        self.superseding[one.sequence] = one.representative

    def confirm(self, sequence: int) -> None:
        representative = self.superseding.get(sequence)
        row = self.pending.get(sequence)
        if row is None:
            return
        kept = dict(self.stored)
        super().confirm(sequence)
        if self.stored.get(row.key, row).last_sequence != row.last_sequence:
            return
        # What super() let yield comes back if it is not in scope.
        for key, other in kept.items():
            if key not in self.stored and (representative or site_of(key) != site_of(row.key)):
                self.stored[key] = other
        old = self.stored.get(representative) if representative else None
        if old is None or old.key in {other.key for other in self.pending.values()}:
            return
        row = self.stored[row.key]
        distance = (old.fingerprint ^ row.fingerprint).bit_count()
        if distance <= self.k:
            ScopedSideBySide.happened["superseded"] += 1
            del self.stored[old.key]
            self.clock += 1
            self.log.append((old.key, row.key, distance, old.fingerprint))


class Scoped:
    """An index whose pages are observed within the site of their key."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def observe(self, key: str, fingerprint: int) -> Observation:
        site = site_of(key)
        return self.index.observe(key, fingerprint, in_scope=lambda other: site_of(other) == site)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.index, name)

    def __len__(self) -> int:
        return len(self.index)


class ScopedSideBySide(SideBySide):
    """All back ends with two sites; see `SideBySide`."""

    happened: ClassVar[Counter[str]] = Counter()

    def reopen(self, *, incremental: bool, crashed: bool = False) -> None:
        if not self.indexes:
            self.oracle = ScopedOracle(self.k)
        super().reopen(incremental=incremental, crashed=crashed)
        self.indexes = [Scoped(index) for index in self.indexes]

    def observe(self, key: str, fingerprint: int) -> None:
        super().observe(key, fingerprint)
        observed = self.observations[-1]
        self.happened[observed[0].kind] += 1
        if observed[0].kind == "near-duplicate":
            stands = any(
                self.oracle.near(row.fingerprint, observed[0].fingerprint)
                and self.oracle.counts(row)
                and (row.key != key and site_of(row.key) == site_of(key))
                for row in self.oracle.stored.values()
            )
            assert [one.provisional for one in observed] == [not stands] * len(observed)

    @rule(
        key=KEYS,
        cluster=st.integers(0, 1),
        low=st.integers(0, 127),
        confirmed=st.sampled_from([True, False, None]),
    )
    def observe_one_that_supersedes(
        self, key: str, cluster: int, low: int, confirmed: bool | None
    ) -> None:
        self.happened["step"] += 1
        self.observe(key, self.fingerprint(cluster, low))
        observed = self.observations[-1]
        if observed[0].kind == "near-duplicate":
            self.happened["supersedes"] += 1
            for index, one in zip(self.indexes, observed, strict=True):
                index.supersede(one)
            self.oracle.supersede(observed[0])
            if confirmed is not None:
                self.settle_key(key, confirmed=confirmed)

    @precondition(lambda self: len(self.observations) > 2)
    @rule(incremental=st.booleans())
    def pause_and_go_on(self, incremental: bool) -> None:
        self.happened["step"] += 1
        began, of_oracle = [index.crawl_start for index in self.indexes], self.oracle.began
        self.reopen(incremental=incremental)
        for index, one in zip(self.indexes, began, strict=True):
            index.index.rules = replace(index.index.rules, crawl_start=one)
        self.oracle.began = of_oracle


@pytest.mark.thorough
def test_all_back_ends_and_a_linear_scan_answer_alike_within_two_sites():
    ScopedSideBySide.happened.clear()
    run_state_machine_as_test(
        ScopedSideBySide,
        settings=settings(
            max_examples=settings.default.max_examples // 2,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
    happened = ScopedSideBySide.happened
    print(dict(happened))
    assert happened["near-duplicate"] > 100
    assert happened["supersedes"] > 10
    assert happened["superseded"] > 0
