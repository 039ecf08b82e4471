"""The contract of `Index` over several crawls and handles, over every back end."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexClosed

from .backends import (
    BITS,
    DATABASE_KINDS,
    FAR,
    KINDS,
    MemoryBackend,
    flip,
    found,
    make_backend,
    seen,
)

A, B, C, D = FAR


def crawl(index, pages):
    kinds = []
    for key, fingerprint in pages:
        observation = index.observe(key, fingerprint)
        index.confirm(observation)
        kinds.append(observation.kind)
    return kinds


def test_what_was_confirmed_is_there_after_reopening_and_what_was_pending_is_not(backend):
    with backend.open() as index:
        crawl(index, [("a", A), ("copy", flip(A, 1)), ("b", B), ("b", C)])
        index.observe("pending", D)
        index.observe("a", flip(A, 0, 1, 2, 3))
        line = next(index.near_duplicates())
    with backend.open() as index:
        assert len(index) == 2
        assert found(index.query(A)) == [("a", A, 0)]
        assert found(index.query(C)) == [("b", C, 0)]
        assert index.query(B) == index.query(D) == []
        assert list(index.near_duplicates()) == [line]
        assert list(index.near_duplicates(this_crawl=True)) == []
        assert index.observe("another", D).sequence > line.sequence


def test_an_entry_remembers_when_its_page_was_first_and_last_seen(backend):
    # Stored, unchanged, changed, unchanged.
    for time_s, fingerprint in ((1000, A), (2000, flip(A, 1)), (3000, D), (4000, D)):
        with backend.open() as index:
            index.rules = replace(index.rules, clock=lambda now=time_s: now + 0.9)
            index.confirm(index.observe("a", fingerprint))
            entry = index.entry("a")
        assert entry.last_sequence == index.crawl_start
        assert (entry.first_seen_s, entry.last_seen_s) == (1000, time_s)


@pytest.mark.parametrize("name", DATABASE_KINDS)
def test_the_near_duplicate_log_of_a_closed_index_says_so_and_does_not_hold_it(tmp_path, name):
    backend = make_backend(name, tmp_path / "index")
    with backend.open() as index:
        crawl(index, [("a", A), *((f"copy {number}", A) for number in range(3))])
        log = index.near_duplicates()
        assert next(log).key == "copy 0"
    with backend.open() as again:
        assert len(list(again.near_duplicates())) == 3
    with pytest.raises(IndexClosed, match="close"):
        list(log)


def test_incremental_pages_of_earlier_crawls_count(backend):
    with backend.open() as index:
        crawl(index, [("a", A), ("b", B)])
    with backend.open(incremental=True) as index:
        assert seen(index.observe("copy", flip(A, 0))) == ("near-duplicate", "a", 1)
        assert seen(index.observe("b", flip(A, 1))) == ("near-duplicate", "a", 1)
        assert seen(index.observe("a", A)) == ("unchanged", None, 0)
        assert seen(index.observe("b", C)) == ("changed", None, 16)
        assert index.observe("d", D).kind == "new"


def test_a_new_page_takes_the_place_of_unmet_entries_within_k(backend):
    with backend.open(max_distance=0) as index:
        old = [
            ("at 0", A),
            ("at k", flip(A, 0, 1, 2)),
            ("also", flip(A, 7)),
            ("beyond", flip(A, 8, 9, 10, 11)),
        ]
        assert crawl(index, old) == ["new"] * 4
    with backend.open() as index:
        observation = index.observe("page", A)
        assert len(index.query(A)) == 4
        index.discard(observation)
        assert len(index) == 4
        crawl(index, [("page", A)])
        assert found(index.query(A)) == [("page", A, 0)]
        assert [match.key for match in index.query(flip(A, 8, 9, 10))] == ["beyond", "page"]
        assert len(index) == 2


@pytest.mark.parametrize("seed", range(8))
def test_the_index_does_not_grow_when_a_site_is_crawled_again_in_another_order(backend, seed):
    rng = random.Random(seed)
    families = [rng.getrandbits(BITS) for _ in range(12)]
    # Each within one bit of its family's centre: any member finds all of them.
    site = [
        (f"/{f}/{n}", flip(c, rng.randrange(BITS)))
        for f, c in enumerate(families)
        for n in range(6)
    ]
    sizes = []
    for _ in range(3):
        rng.shuffle(site)
        with backend.open() as index:
            crawl(index, site)
            sizes.append(len(index))
    with MemoryBackend().open() as fresh:
        crawl(fresh, site)
        assert sizes[2] == len(fresh)
    assert max(sizes) <= len(families)


@dataclass
class Page:
    """What happens to one page: its observation is settled when `delay` more were observed."""

    key: str
    fingerprint: int
    confirmed: bool
    delay: int


def near_duplicates_of(index, pages):
    """For each page whether it was called one."""
    called = []
    due = []
    for number, page in enumerate(pages):
        observation = index.observe(page.key, page.fingerprint)
        called.append(observation.kind == "near-duplicate")
        due.append((number + page.delay, observation, page.confirmed))
        for entry in [entry for entry in due if entry[0] <= number]:
            due.remove(entry)
            (index.confirm if entry[2] else index.discard)(entry[1])
    for _, observation, confirmed in due:
        (index.confirm if confirmed else index.discard)(observation)
    return called


KEYS = st.sampled_from("abcdef")
CLOSE = st.integers(0, 63)  # with k = 2 about a third of all pairs are near-duplicates
FATES = {
    "confirmed": st.sampled_from([True, True, True, False]),
    "delay": st.sampled_from([0, 0, 1, 3]),
}


# A database syncs files whenever it is opened, which takes as long as the disk takes.
patient = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", KINDS)
@patient
@given(
    site=st.none() | st.fixed_dictionaries(dict.fromkeys("abcdef", CLOSE)),
    crawls=st.lists(
        st.lists(st.builds(Page, KEYS, CLOSE, **FATES), max_size=12), min_size=2, max_size=3
    ),
)
def test_a_crawl_has_the_near_duplicates_of_an_empty_index(name, tmp_path_factory, site, crawls):
    """The site stays the same, or its pages change."""
    backend = make_backend(name, tmp_path_factory.mktemp("crawls") / "index")
    for pages in crawls:
        for page in pages if site else ():
            page.fingerprint = site[page.key]
        with backend.open(max_distance=2) as index, MemoryBackend().open(max_distance=2) as fresh:
            assert near_duplicates_of(index, pages) == near_duplicates_of(fresh, pages)


def test_a_page_that_changed_within_k_counts_with_its_fingerprint_of_this_crawl(backend):
    with backend.open() as index:
        crawl(index, [("a", A)])
    with backend.open() as index:
        assert crawl(index, [("a", flip(A, 0, 1))]) == ["unchanged"]
        assert seen(index.observe("copy", flip(A, 0, 1, 2, 3))) == ("near-duplicate", "a", 2)
