"""An index in Redis as a whole: read, expired, compacted and deleted, also while crawls go on."""

import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from scrapy_simhash.errors import IndexCorrupt, IndexForeign, IndexLocked, IndexMissing
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import PageToObserve
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.redis.layout import digest_of, row_id
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.remove import delete, expire

from .backends import FAR, PLAN, SCHEME, K, flip, found, seen
from .test_redis_index import client_of, disconnect

A, B, C, D = FAR


@pytest.fixture
def address(redis_backend):
    return RedisAddress(redis_backend.server.url, redis_backend.name, redis_backend.server.cluster)


def store(index, *pages):
    for key, fingerprint in pages:
        index.confirm(index.observe(key, fingerprint))


def rows(index):
    """How often each row is in the journal, without the random bytes."""
    return Counter(row_id(row) for _, row in index.store.journal())


def row_of(index, key, fingerprint):
    return row_id(index.store.row(PageToObserve(key, fingerprint)))


def before_command(index, number, action):
    """Do something before a command of an index; returns the commands, which get more."""
    server, ran = index.store.server, []

    def counted(send):
        def sent(*arguments):
            ran.append(arguments)
            if len(ran) == number:
                action()
            return send(*arguments)

        return sent

    server.run, server.call = counted(server.run), counted(server.call)
    return ran


def problems(index):
    return list(index.store.problems())


def test_a_page_that_is_handled_does_not_expire(redis_backend, address):
    with redis_backend.open(incremental=True) as index:
        index.rules = replace(index.rules, clock=lambda: 1000)
        store(index, ("b", B))
    with redis_backend.open(incremental=True) as index:
        handled = index.observe("b", B)
        assert expire(address, 2000).removed_entries == 0
        index.discard(handled)
        assert expire(address, 1000).removed_entries == 0
        assert expire(address, 2000).removed_entries == 1
        assert index.query(B) == []


def test_rows_of_pages_that_are_gone_are_removed(redis_backend):
    rng = random.Random(2)
    with redis_backend.open(incremental=True) as index:
        store(index, ("a", A), ("b", B), ("c", C))
        index.discard(index.observe("failed", D))
        for _ in range(5):
            store(index, ("c", rng.randrange(1 << 16)))
        assert index.remove(["b"])
        assert not index.remove(["b"])
        index.discard(index.observe("pending", D))  # leaves an equal row
        pending = index.observe("pending", D)
        before = rows(index)
        removed = index.store.compact()
        after = rows(index)
        assert removed == before.total() - after.total() > 2
        kept = [("pending", D), *((one.key, one.fingerprint) for one in index.store.entries())]
        assert len(kept) == 3
        assert after == {row_of(index, key, fingerprint): 1 for key, fingerprint in kept}
        assert index.store.compact() == 0
        index.confirm(pending)
        assert found(index.query(D)) == [("pending", D, 0)]
        assert problems(index) == []


@pytest.mark.parametrize("which", ["entries", "pending", "sequence"])
def test_damaged_values_are_errors_that_say_so(redis_backend, which):
    with redis_backend.open() as index:
        store(index, ("a", A))
        call = index.store.server.call
        uses = [lambda: index.observe("a", A), lambda: index.query(A)]
        if which == "sequence":
            call("SET", "sequence", b"junk")
            uses = [lambda: index.store.next_sequence, lambda: index.observe("b", B)]
        else:
            call("HSET", which, digest_of("a"), b"\xc1junk")
        if which == "entries":
            uses += [lambda: index.entry("a"), lambda: list(index.store.entries())]
        for use in uses:
            with pytest.raises(IndexCorrupt, match=r"damaged.*backup of the server"):
                use()


@pytest.mark.parametrize(
    ("command", "error", "message"),
    [
        ("RPUSH", IndexCorrupt, r"damaged row.*backup of the server"),
        ("SET", IndexForeign, "choose another name"),
    ],
)
def test_a_damaged_journal_is_an_error_that_says_so(redis_backend, command, error, message):
    with redis_backend.open() as earlier:
        store(earlier, ("a", A))
        earlier.store.server.call(command, "journal", b"junk")
        for use in (lambda one: one.observe("b", B), lambda one: one.query(B)):
            for index in (earlier, redis_backend.open()):
                with pytest.raises(error, match=message):
                    use(index)
                if index is not earlier:
                    index.close()


@pytest.mark.parametrize("command", range(1, 12, 2))
def test_a_merge_that_is_killed_loses_no_page_and_can_be_repeated(
    redis_backend, address, tmp_path, monkeypatch, command
):
    """A page of the other index replaces a copy: the copy goes only when the page is stored."""
    from scrapy_simhash.index.redis.server import Server

    with open_index(tmp_path, SCHEME, max_distance=K, plan=PLAN) as other:
        store(other, ("copy", flip(A, 0)), ("c", C))
    with redis_backend.open() as index:
        store(index, ("a", A), ("b", B))
    run, ran = Server.run, []

    def run_until_it_is_killed(server, script, *arguments):
        ran.append(script)
        if len(ran) == command:
            raise KeyboardInterrupt
        return run(server, script, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Server, "run", run_until_it_is_killed)
        with suppress(KeyboardInterrupt):
            merge(address, tmp_path)
    with redis_backend.open(incremental=True) as index:
        assert len(index.query(A)) == len(index.query(B)) == 1
        assert problems(index) == []
    merge(address, tmp_path)
    with redis_backend.open(incremental=True) as index:
        assert sorted(entry.key for entry in index.store.entries()) == ["b", "c", "copy"]


def test_pages_that_a_crawl_stores_during_a_merge_get_numbers_of_their_own(
    redis_backend, address, tmp_path, monkeypatch
):
    where = tmp_path / "index"
    with open_index(where, SCHEME, max_distance=K, plan=PLAN) as index:
        store(index, ("d", D))
    with redis_backend.open() as crawl:
        store(crawl, ("a", A))
        store_type = type(crawl.store)
        entries = store_type.entries_by_age

        def entries_while_the_crawl_goes_on(other):
            monkeypatch.undo()
            store(crawl, ("b", B), ("c", C))
            return entries(other)

        monkeypatch.setattr(store_type, "entries_by_age", entries_while_the_crawl_goes_on)
        merge(where, address)
    assert check(where).problems == []
    with open_index(where) as index:
        assert len(index) == 4
        assert index.observe("new", flip(C, 0)).kind == "new"


def test_a_page_whose_stored_entry_is_removed_before_its_admission_gets_a_row(redis_backend):
    with redis_backend.open() as earlier:
        store(earlier, ("a", A))
    with redis_backend.open() as index, redis_backend.open() as other:

        def remove():
            assert other.remove(["a"])
            assert other.store.compact() == 1

        before_command(index, 2, remove)  # its stored entry was read
        page = index.observe("a", A)
        assert seen(other.observe("copy", flip(A, 0))) == ("near-duplicate", "a", 1)
        index.confirm(page)
        assert found(other.query(A)) == [("a", A, 0)]
        assert problems(index) == []


def test_a_page_is_compared_with_one_that_comes_back_at_the_same_time(redis_backend):
    """It has a row from an earlier crawl, so the journal gets no new one."""
    with redis_backend.open() as earlier:
        store(earlier, ("a", A))
    with redis_backend.open(crawl="x") as index, redis_backend.open(crawl="x") as other:

        def observe():
            before = rows(other)
            assert other.observe("a", A).kind == "unchanged"
            assert rows(other) == before

        ran = before_command(index, 3, observe)  # the entry of the earlier crawl was read
        assert seen(index.observe("copy", flip(A, 0))) == ("near-duplicate", "a", 1)
        assert len(ran) > 3


def test_a_page_relies_on_the_row_of_its_stored_entry_if_that_is_changed_later(redis_backend):
    with redis_backend.open() as earlier:
        store(earlier, ("a", A))
    with redis_backend.open() as index, redis_backend.open() as other:
        page = index.observe("a", A)
        store(other, ("a", B))
        assert rows(index) == {row_of(index, "a", A): 1, row_of(index, "a", B): 1}
        assert other.store.compact() == 0
        index.discard(page)
        assert other.store.compact() == 1
        page = index.observe("a", B)
        store(other, ("a", C))
        other.store.compact()
        index.confirm(page)
        assert problems(index) == []


@pytest.mark.parametrize("command", range(1, 7))
def test_a_page_that_is_confirmed_during_a_compaction_keeps_its_row(redis_backend, command):
    with redis_backend.open(incremental=True) as index, redis_backend.open() as other:
        store(index, ("a", A), ("b", B))
        index.remove(["a"])
        page = other.observe("c", C)
        before_command(index, command, lambda: other.confirm(page))
        assert index.store.compact() == 1
        assert rows(index) == {row_of(index, "b", B): 1, row_of(index, "c", C): 1}


def test_what_a_check_finds(redis_backend, address):
    with redis_backend.open() as index:
        store(index, ("a", A), ("b", D))
        server = index.store.server
        server.call("LPOP", "journal")
        assert check(address).problems == ["the entry of 'a' has no row in the journal"]
        store(index, ("c", C))
        server.call("HSET", "log", 1, b"?")
        server.call("SET", "sequence", 1)
        server.call("HSET", "entries", digest_of("c"), b"???")
        texts = " ".join(check(address).problems)
        for part in ("log", "comes next", "cannot be read"):
            assert part in texts


@pytest.mark.parametrize("name", ["x*[y]?\\:simhash", "shop"])
def test_only_the_keys_of_the_index_are_deleted(redis_backend, name):
    redis = pytest.importorskip("redis")
    redis_backend.name = name
    server = redis_backend.server
    address = RedisAddress(server.url, name, server.cluster)
    with pytest.raises(IndexMissing):
        delete(address)
    client = client_of(redis_backend, redis)
    theirs = [f"{name}:requests", f"{name}:e", f"{name}:x{{1}}", f"{name}:simhash:e{{0}}a"]
    theirs += ["xx:simhash:e{0}a", "xay?\\:simhash:e{0}", "e{0}", "shop2:e{0}"]
    try:
        for key in theirs:
            client.set(key, "theirs")
        before = set(client.scan_iter())
        with redis_backend.open(crawl="c") as index:
            store(index, ("a", A), ("b", B), ("copy", A))
            page = index.observe("pending", C)
            with pytest.raises(IndexLocked, match="1 pending"):
                delete(address)
            index.discard(page)
        assert set(client.scan_iter()) > before
        delete(address)
        assert set(client.scan_iter()) == before
        with redis_backend.open() as index:
            assert len(index) == 0
            assert index.observe("a", A).kind == "new"
        delete(address)
    finally:
        for key in theirs:
            client.delete(key)
        disconnect(client)
