"""The contract of `Index` within a crawl and over several, over every back end. What pages are, and what becomes of
them, is compared with a linear scan in `test_observe_all`.
"""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexClosed, SchemeError, StorageError
from scrapy_simhash.index import PageToObserve
from scrapy_simhash.index.store import Store

from .backends import BITS, DATABASE_KINDS, FAR, flip, found, make_backend
from .redis_servers import RedisBackend

A, B, *_ = FAR


def test_a_second_look_tells_what_observe_would_and_writes_nothing(index):
    index.confirm(index.observe("a", A))
    index.observe("pending", B)
    for key, fingerprint in [("a", A), ("b", flip(A, 0)), ("c", flip(B, 0)), ("pending", B)]:
        page = PageToObserve(key, fingerprint)
        foreseen = [index.foresee(page, in_this_crawl=True) for _ in range(2)]
        observed = index.observe(key, fingerprint)
        assert foreseen == [replace(observed, sequence=0)] * 2, key
    assert [line.key for line in index.near_duplicates()] == ["b", "c"]
    assert index.foresee(PageToObserve("d", FAR[2]), in_this_crawl=True).kind == "new"
    assert len(index) == 1


def test_a_write_that_fails_changes_nothing(index, monkeypatch):
    index.confirm(index.observe("old", A))
    page = index.observe("page", flip(A, 0))
    index.supersede(page)

    def log():
        return [(line.key, line.representative) for line in index.near_duplicates()]

    def fail(*_, **__):
        raise StorageError("/index", "the disk is full")

    with monkeypatch.context() as patch:
        store = index.store
        target = (store, "write") if isinstance(store, Store) else (store.server, "run")
        patch.setattr(*target, fail)
        with pytest.raises(StorageError, match="full"):
            index.confirm(page)
    assert found(index.query(A)) == [("old", A, 0), ("page", flip(A, 0), 1)]
    assert log() == [("page", "old")]
    index.confirm(page)
    assert found(index.query(A)) == [("page", flip(A, 0), 1)]
    assert log() == [("page", "old"), ("old", "page")]


def test_notes_are_kept_by_name(index):
    assert list(index.notes()) == []
    index.change_note("example.com", lambda row: (row or b"") + b"1")
    index.change_note("bücher.example", lambda row: (row or b"") + b"2")
    index.change_note("example.com", lambda row: (row or b"") + b"3")
    index.change_note("", lambda _: b"every site")
    assert dict(index.notes()) == {"": b"every site", "bücher.example": b"2", "example.com": b"13"}
    index.change_note("example.com", lambda _: None)
    index.change_note("example.com", lambda row: row)  # nothing stays nothing
    assert set(dict(index.notes())) == {"", "bücher.example"}
    assert len(index) == 0


def test_a_change_of_a_note_is_made_again_if_another_comes_between(index):
    seen = []

    def change(note):
        seen.append(note)
        if note is None:
            index.change_note("http://example.com/\udcff", lambda _: b"theirs")
        return (note or b"") + b" and ours"

    index.change_note("http://example.com/\udcff", change)
    assert seen == [None, b"theirs"]
    assert list(index.notes()) == [("http://example.com/\udcff", b"theirs and ours")]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=settings().max_examples // 4,  # a pass over all back ends takes its time
)
@given(key=st.text(st.characters(exclude_categories=()), min_size=1))
@example(key="ü" * 50_000)
def test_keys_are_any_unicode_with_lone_surrogates(backend, key):
    with backend.open() as index:
        index.confirm(index.observe(key, A))
        copy = index.observe(key + "'", A)
        assert (copy.key, copy.representative) == (key + "'", key)
    with backend.open(incremental=True) as index:
        assert [line.key for line in index.near_duplicates()][-1] == key + "'"
        assert [match.key for match in index.query(A)] == [key]
        assert index.observe(key, A).kind == "unchanged"


@pytest.mark.parametrize("key", ["", None, 7, b"bytes"])
def test_what_is_not_a_key_is_refused(index, key):
    with pytest.raises(SchemeError, match="key"):
        index.observe(key, A)
    assert index.query(A) == []


@pytest.mark.parametrize("fingerprint", [-1, 1 << BITS, 1 << 64, "0", 1.0, None])
def test_fingerprints_of_another_width_are_refused(index, fingerprint):
    for ask in (lambda: index.observe("a", fingerprint), lambda: index.query(fingerprint)):
        with pytest.raises(SchemeError, match=f"{BITS} bits"):
            ask()
    index.confirm("a")
    assert len(index) == 0


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
