"""The contract of `Index` over several crawls and handles, over every back end."""

from dataclasses import replace

import pytest

from scrapy_simhash.errors import IndexClosed

from .backends import DATABASE_KINDS, FAR, flip, make_backend
from .redis_servers import RedisBackend

A, B, C, D = FAR


def crawl(index, pages):
    kinds = []
    for key, fingerprint in pages:
        observation = index.observe(key, fingerprint)
        index.confirm(observation)
        kinds.append(observation.kind)
    return kinds


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
