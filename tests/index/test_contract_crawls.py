"""The contract of `Index` over several crawls and handles, over every back end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexClosed

from .backends import (
    DATABASE_KINDS,
    FAR,
    KINDS,
    MemoryBackend,
    flip,
    found,
    make_backend,
)
from .redis_servers import RedisBackend

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
        [line] = index.near_duplicates()
        assert (line.key, line.representative, line.distance) == ("copy", "a", 1)
        assert (line.fingerprint, line.seen_at_s > 1_600_000_000) == (flip(A, 1), True)
    with backend.open() as index:
        assert len(index) == 2
        assert found(index.query(A)) == [("a", A, 0)]
        assert found(index.query(C)) == [("b", C, 0)]
        assert index.query(B) == index.query(D) == []
        assert list(index.near_duplicates()) == [line]
        assert list(index.near_duplicates(this_crawl=True)) == []
        assert index.observe("another", D).sequence > line.sequence


def test_a_crawl_never_begins_later_than_now(backend):
    with backend.open() as index:
        crawl(index, [("a", A)])
        now = index.observe("b", B).sequence
    # As of an index that was deleted, or lost what was not on the disk.
    with backend.open(crawl_start=now + 1000) as index:
        assert index.crawl_start <= now + isinstance(backend, RedisBackend)
        assert crawl(index, [("c", C), ("copy", C)]) == ["new", "near-duplicate"]


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
