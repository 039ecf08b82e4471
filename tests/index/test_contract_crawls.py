"""The contract of `Index` over several crawls and handles, over every back end."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.index import TablePlan

from .backends import (
    BITS,
    DATABASE_KINDS,
    FAR,
    KINDS,
    K,
    MemoryBackend,
    flip,
    found,
    make_backend,
    seen,
    small_tables,
)

A, B, C, D = FAR


def crawl(index, pages):
    """Observe and confirm pages; their kinds."""
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


def test_pages_of_earlier_crawls_are_no_grounds_to_call_a_page_a_near_duplicate(backend):
    with backend.open() as index:
        crawl(index, [("a", A), ("b", B)])
    with backend.open() as index:
        assert seen(index.observe("copy", flip(A, 0))) == ("new", None, None)
        assert seen(index.observe("b", flip(B, 0))) == ("unchanged", None, 1)
        assert index.observe("copy of b", B).representative == "b"


def test_incremental_pages_of_earlier_crawls_count(backend):
    with backend.open() as index:
        crawl(index, [("a", A), ("b", B)])
    with backend.open(incremental=True) as index:
        assert seen(index.observe("copy", flip(A, 0))) == ("near-duplicate", "a", 1)
        assert seen(index.observe("b", flip(A, 1))) == ("near-duplicate", "a", 1)
        assert seen(index.observe("a", A)) == ("unchanged", None, 0)
        assert seen(index.observe("b", C)) == ("changed", None, 16)
        assert index.observe("d", D).kind == "new"


def test_changed_is_told_over_crawls(backend):
    with backend.open() as index:
        crawl(index, [("a", A)])
    with backend.open() as index:
        assert seen(index.observe("a", B)) == ("changed", None, 8)
        index.confirm("a")
        assert index.query(A) == []
    with backend.open() as index:
        assert seen(index.observe("a", B)) == ("unchanged", None, 0)
        assert len(index) == 1


def test_unchanged_pages_count_in_this_crawl_while_pending_and_from_confirm_on(backend):
    with backend.open() as index:
        crawl(index, [("a", A)])
    with backend.open() as index:
        index.observe("a", A)
        assert index.observe("copy", A).kind == "near-duplicate"
        index.discard("a")
        again = index.observe("copy", A)
        assert again.kind == "new"
        index.discard(again)
        crawl(index, [("a", A)])
        assert index.observe("copy", A).representative == "a"


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


def test_entries_met_in_this_crawl_do_not_yield_nor_do_any_when_incremental(backend):
    with backend.open(max_distance=0) as index:
        crawl(index, [("a", A), ("b", flip(A, 0, 1, 2))])
    with backend.open(max_distance=0) as index:
        crawl(index, [("b", flip(A, 0, 1, 2))])
        with backend.open(max_distance=K, incremental=True) as incremental:
            crawl(incremental, [("a", A)])
        assert len(index) == 2


def test_an_entry_whose_page_is_in_flight_does_not_yield(backend):
    with backend.open() as index:
        crawl(index, [("a", A)])
    with backend.open() as index:
        changed = index.observe("a", B)
        assert crawl(index, [("copy of old", A)]) == ["new"]
        index.discard(changed)
        assert found(index.query(A)) == [("a", A, 0), ("copy of old", A, 0)]


def test_ties_go_to_the_older_entry_whichever_this_crawl_met_first(backend):
    pages = [("a", flip(A, 0, 1)), ("b", flip(A, 8, 9))]
    with backend.open() as index:
        crawl(index, pages)
    with backend.open() as index:
        assert crawl(index, reversed(pages)) == ["unchanged"] * 2
        assert seen(index.observe("page", A)) == ("near-duplicate", "a", 2)
        assert [match.key for match in index.query(A)] == ["a", "b"]


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


# Plans that find all pairs at their distances, and those.
EXACT_PLANS = [
    (TablePlan(16, 4), 3),
    (TablePlan(16, 5, 2), 3),
    (TablePlan(16, 7, 3), 3),
    (TablePlan(16, 16), 3),
    (TablePlan(64, 5, 2), 3),
    (TablePlan(64, 6, 3), 3),
    (TablePlan(64, 3), 2),
    (TablePlan(64, 1), 0),
    (TablePlan(128, 12, 2), 10),
    (TablePlan(256, 16), 15),
]


@st.composite
def fingerprints_and_edges(draw):
    """A plan, its distance, fingerprints, and for each one at distance k and one at k + 1."""
    plan, k = draw(st.sampled_from(EXACT_PLANS))
    whole = st.integers(0, (1 << plan.bits) - 1)
    close = st.integers(0, 255)  # of each other, and mostly in the same buckets
    fingerprints = draw(st.lists(close | whole, min_size=1, max_size=12, unique=True))
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    edges = [
        flip(fingerprint, *rng.sample(range(plan.bits), distance))
        for fingerprint in fingerprints
        for distance in (k, k + 1)
    ]
    return plan, k, fingerprints, edges


@pytest.mark.thorough
@pytest.mark.parametrize("kind", DATABASE_KINDS)
@settings(patient, max_examples=settings.default.max_examples // 2)
@given(
    case=fingerprints_and_edges(),
    order=st.randoms(use_true_random=False),
    parts_and_capacity=st.tuples(st.integers(1, 4), st.integers(1, 6)),
)
def test_order_of_insertion_blocks_and_restarts_change_no_answer(
    tmp_path_factory, kind, case, order, parts_and_capacity
):
    plan, k, fingerprints, edges = case
    parts, capacity = parts_and_capacity
    queries = [*edges, *fingerprints]

    def answers(index):
        matches = [index.query(fingerprint) for fingerprint in queries]
        assert all([m.distance for m in one] == sorted(m.distance for m in one) for one in matches)
        return [sorted(found(one)) for one in matches]

    def linear_scan(fingerprint):
        distances = [(f"{fp}", fp, (fp ^ fingerprint).bit_count()) for fp in fingerprints]
        return sorted(one for one in distances if one[2] <= k)

    expected = [linear_scan(fingerprint) for fingerprint in queries]
    for number, fingerprint in enumerate(fingerprints):
        at_k, beyond = expected[2 * number], expected[2 * number + 1]
        assert (f"{fingerprint}", fingerprint, k) in at_k
        assert fingerprint not in [stored for _, stored, _ in beyond]
    backend = make_backend(kind, tmp_path_factory.mktemp("plan") / "index", plan)
    pages = [(f"{fp}", fp) for fp in fingerprints]
    order.shuffle(pages)
    with small_tables(memory=capacity):
        for part in range(parts):
            with backend.open(max_distance=0, incremental=True) as index:
                crawl(index, pages[part::parts])
                with backend.open(max_distance=k) as wide:
                    before = answers(wide)
        with backend.open(max_distance=k) as index:
            assert answers(index) == before == expected
