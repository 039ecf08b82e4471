"""Which entries count: those in scope (`in_scope`), and those met since a crawl that goes on began."""

from contextlib import ExitStack

import pytest

from scrapy_simhash.index import open_index

from .backends import FAR, MemoryBackend, flip, found, seen
from .redis_servers import RedisBackend

A, B, C, D = FAR


def observe(index, key, fingerprint):
    """A page whose representative must be of its own site."""
    site = key.partition("/")[0]
    return index.observe(key, fingerprint, in_scope=lambda other: other.startswith(f"{site}/"))


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


def test_what_was_seen_under_the_same_key_counts_whatever_the_scope(index):
    nowhere = {"in_scope": lambda _: False}
    index.confirm(index.observe("x/1", A, **nowhere))
    assert seen(index.observe("x/1", flip(A, 0), **nowhere)) == ("unchanged", None, 1)
    assert seen(index.observe("x/1", B, **nowhere)) == ("changed", None, 8)


@pytest.mark.parametrize("handles", [1, 2])
def test_a_new_page_takes_the_place_of_unmet_entries_in_scope_alone(backend, handles):
    with backend.open(max_distance=0) as index:
        crawl(index, ("x/old", A), ("y/old", flip(A, 1)), ("x/older", flip(A, 2)))
    with ExitStack() as stack:
        index, *_ = [stack.enter_context(backend.open()) for _ in range(handles)]
        assert crawl(index, ("x/new", A)) == ["new"]
        assert found(index.query(A)) == [("x/new", A, 0), ("y/old", flip(A, 1), 1)]
        assert crawl(index, ("y/old", flip(A, 1)), ("x/old", A)) == ["unchanged", "near-duplicate"]


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
