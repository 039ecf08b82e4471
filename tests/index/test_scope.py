"""Which entries count: those in scope (`in_scope`), and those met since a crawl that goes on began."""

import pytest

from .backends import FAR, found, seen
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


class TestACrawlThatGoesOn:
    def test_what_it_met_before_its_pause_counts_as_met(self, backend):
        with backend.open() as index:
            crawl(index, ("x/earlier", A), ("x/met again", B))
        with backend.open() as index:
            crawl(index, ("x/met again", B), ("x/met", C))
            index.observe("x/pending", D)
            began = index.crawl_start
        with backend.open(crawl_start=began) as index:
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
        with backend.open(crawl_start=began) as index:
            index.observe("x/after", A)
            lines = [line.key for line in index.near_duplicates(this_crawl=True)]
            assert lines == ["x/before", "x/after"]
            assert len(list(index.near_duplicates())) == 3

    def test_it_never_begins_later_than_now(self, backend):
        with backend.open() as index:
            crawl(index, ("x/1", A))
            now = index.observe("x/2", B).sequence
        # As of an index that was deleted, or lost what was not on the disk.
        with backend.open(crawl_start=now + 1000) as index:
            assert index.crawl_start <= now + isinstance(backend, RedisBackend)
            assert crawl(index, ("x/3", C)) == ["new"]
            assert seen(index.observe("copy", C)) == ("near-duplicate", "x/3", 0)
