"""How often a crawl waits for the answer of a Redis server when it opens and closes its index."""

from __future__ import annotations

import pytest

from scrapy_simhash.crawl.history import CrawlHistory
from scrapy_simhash.errors import PlanError, StorageError
from scrapy_simhash.index.history import read_history

from .backends import FAR
from .redis_proxy import RedisProxy
from .redis_servers import RedisBackend, needs_redis, running

pytestmark = needs_redis


@pytest.fixture
def proxy(redis_server, redis):
    """A proxy before a server that has no script."""
    with redis.Redis(port=redis_server.ports[0]) as client:
        client.script_flush()
    proxy = RedisProxy(redis_server.ports[0], delay_s=0.005)
    yield proxy
    proxy.close()


@pytest.fixture
def redis():
    return pytest.importorskip("redis")


@pytest.fixture
def backend(proxy, redis_server):
    """A place for an index behind the proxy."""
    backend = RedisBackend(redis_server)
    backend.server = RedisServerBehind(proxy)
    return backend


class RedisServerBehind:
    cluster = False

    def __init__(self, proxy: RedisProxy) -> None:
        self.url = proxy.url


def test_an_index_is_created_in_two_round_trips_and_opened_in_one(backend, proxy):
    backend.open().close()
    assert (proxy.taken(), proxy.connections) == (2, 1)
    backend.open(crawl_start=1).close()
    assert (proxy.taken(), proxy.connections) == (1, 2)


def test_a_crawl_of_several_processes_is_opened_in_one_round_trip_more_by_the_first(backend, proxy):
    backend.open().close()
    proxy.taken()
    for expected in (2, 1, 1):
        backend.open(crawl="monday").close()
        assert proxy.taken() == expected


def test_a_password_and_a_database_take_a_round_trip_each(tmp_path):
    with running(tmp_path, "--requirepass", "right") as server:
        proxy = RedisProxy(server.ports[0], delay_s=0.005)
        backend = RedisBackend(server)
        backend.server = RedisServerBehind(proxy)
        backend.server.url = proxy.url.replace("//", "//:right@").replace("/0", "/1")
        backend.open().close()
        assert proxy.taken() == 4
        proxy.close()


def test_pending_pages_are_released_in_one_round_trip(backend, proxy):
    index = backend.open()
    index.discard(index.observe("first", FAR[0]))  # the new server gets the scripts
    for number, fingerprint in enumerate(FAR):
        assert index.observe(f"page {number}", fingerprint).kind == "new"
    assert index._store.pending_pages() == len(FAR) > 1
    proxy.taken()
    index.close()
    assert proxy.taken() == 1
    with backend.open() as index:
        assert index._store.pending_pages() == 0


def test_the_history_is_written_in_three_round_trips_at_the_end(backend, proxy):
    for sent_again in (1, 0):  # a new server lacks the script
        with backend.open() as index:
            index.confirm(index.observe("a", FAR[0]))
            proxy.taken()
            history = CrawlHistory(index)
            history.close(index.ending().next_sequence, finished=True)
            assert proxy.taken() == 3 + sent_again
            crawls = read_history(index.side_rows("history"))
    assert [crawl.finished for crawl in crawls] == [True, True]
    assert (index.size_at_opening, crawls[-1].end) == (1, index.crawl_start + 1)


def test_two_connections_serve_all_threads(backend, proxy):
    with backend.open() as index:
        index.confirm(index.observe("a", FAR[0]))
        index.ending()
        assert len(index) == 1
    assert proxy.connections == 2  # one for single commands, and one for several at once


@pytest.mark.parametrize("protocol", [2, 3])
def test_the_protocol_may_be_chosen(backend, redis_server, protocol):
    backend.server = redis_server
    with backend.open(parameters={"protocol": protocol}) as index:
        index.confirm(index.observe("a", FAR[0]))
        CrawlHistory(index).close(index.ending().next_sequence, finished=True)
        assert len(index) == 1
        assert len(read_history(index.side_rows("history"))) == 1


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_server_that_may_evict_keys_is_refused_before_anything_is_written(
    tmp_path, redis, protocol
):
    with running(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
        with pytest.raises(StorageError, match="is allkeys-lru"):
            RedisBackend(server).open(parameters={"protocol": protocol}, crawl="monday")
        with redis.Redis(port=server.ports[0]) as client:
            assert client.dbsize() == 0


def test_another_scheme_is_refused_before_anything_is_written(redis_backend):
    with redis_backend.open() as index:
        with pytest.raises(PlanError):
            redis_backend.open(max_distance=9, crawl="monday")
        assert index._store.server.call("HLEN", index._store.layout.state("crawls")) == 0


def test_processes_of_a_crawl_that_end_at_the_same_time_all_count(backend):
    with backend.open() as index:
        one, other = (CrawlHistory(index, clock=lambda: 1000) for _ in range(2))
        one.crawl.judged("one.example")
        other.crawl.judged("other.example")
        side_rows = index.side_rows

        def then_another_ends(kind):
            index.side_rows = side_rows
            rows = side_rows(kind)
            other.close(1, finished=True)
            return rows

        index.side_rows = then_another_ends
        one.close(2, finished=True)
        [crawl] = read_history(side_rows("history"))
        assert (crawl.sites, crawl.end) == ({"one.example", "other.example"}, 2)
