"""What an index in Redis does that others don't: other people's keys, errors, crawls."""

import re
from pathlib import Path

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexMismatch,
    IndexUnreachable,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index import PageToObserve, TablePlan
from scrapy_simhash.index.redis import open_redis_index
from scrapy_simhash.index.redis.layout import redis_key

from .backends import FAR, PLAN, SCHEME, K, flip, seen
from .redis_servers import RedisBackend, free_port, needs_redis, running

A, B, C, D = FAR
SECRET = "geheim-7"


@pytest.fixture
def redis():
    return pytest.importorskip("redis")


def test_a_crawl_that_several_processes_name_has_one_beginning(redis_backend):
    with redis_backend.open() as earlier:
        earlier.confirm(earlier.observe("a", A))
        earlier.confirm(earlier.observe("b", B))
    with redis_backend.open(crawl="monday") as one:
        one.confirm(one.observe("b", B))
        with redis_backend.open(crawl="monday") as other, redis_backend.open() as alone:
            assert one.crawl_start == other.crawl_start < alone.crawl_start
            assert seen(other.observe("copy", B)) == ("near-duplicate", "b", 0)
            assert other.observe("copy of a", A).kind == "new"
            assert alone.observe("copy", B).kind == "new"
    with pytest.raises(IndexMismatch, match=r"monday.*incremental: False → True"):
        redis_backend.open(crawl="monday", incremental=True)


def test_pages_are_observed_together_in_one_round_trip(redis_backend, redis, monkeypatch):
    if redis_backend.server.cluster:
        pytest.skip("a cluster is asked where its keys are")
    sent, send = [], redis.Connection.send_packed_command
    with redis_backend.open() as index:
        index.observe("before", D)  # sends the scripts
        monkeypatch.setattr(
            redis.Connection,
            "send_packed_command",
            lambda self, *given, **named: sent.append(1) or send(self, *given, **named),
        )
        pages = [
            PageToObserve(key, fingerprint) for key, fingerprint in zip("abc", FAR, strict=False)
        ]
        observed = index.observe_all(pages)
        assert (len(sent), {one.kind for one in observed}) == (1, {"new"})
        index.confirm(*observed)
        assert len(sent) == 2


def test_other_settings_than_those_of_the_index_are_refused(redis_backend):
    redis_backend.open().close()
    url, name = redis_backend.server.url, redis_backend.name
    given = {"cluster": redis_backend.server.cluster}
    with pytest.raises(IndexMismatch, match="scheme"):
        open_redis_index(url, name, Scheme(bits=64), max_distance=3, **given)
    with pytest.raises(IndexMismatch, match="tables"):
        open_redis_index(url, name, SCHEME, plan=TablePlan(16, 5), **given)
    with pytest.raises(PlanError, match="distance"):
        open_redis_index(url, name, SCHEME, max_distance=9, **given)
    with open_redis_index(url, name, **given) as index:
        assert (index.scheme, index.plan, index.max_distance) == (SCHEME, PLAN, K)


def disconnect(client):
    from scrapy_simhash.index.redis.server import disconnect

    disconnect(client)


def client_of(backend, redis):
    if backend.server.cluster:
        return redis.RedisCluster.from_url(backend.server.url)
    return redis.Redis.from_url(backend.server.url)


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        *(
            (text, (IndexForeign, IndexCorrupt), "its manifest")
            for text in ("{", "[]", "null", "7")
        ),
        ('{"format": "other"}', (IndexForeign, IndexCorrupt), "its manifest"),
        (None, IndexForeign, "another program"),
        ("version 1", IndexMismatch, r"version 1.*use the release"),
    ],
)
def test_a_manifest_that_is_no_index_of_this_release_is_refused_and_left_alone(
    redis_backend, redis, content, error, said
):
    redis_backend.open().close()
    client = client_of(redis_backend, redis)
    key = redis_key(redis_backend.name, "manifest")
    if content == "version 1":
        content = re.sub(r'"format_version": \d+', '"format_version": 1', client.get(key).decode())
    client.delete(key)
    if content is None:
        client.hset(key, "a", "b")
    else:
        client.set(key, content)
    with pytest.raises(error, match=said):
        redis_backend.open()
    assert content is None or client.get(key) == content.encode()
    disconnect(client)


def test_copies_are_found_after_the_server_has_lost_everything(redis_backend, redis):
    with redis_backend.open() as earlier:
        for number in range(3):
            earlier.confirm(earlier.observe(f"page {number}", A))
    with redis_backend.open() as index:
        index.confirm(index.observe("a", A))
        pending = index.observe("c", C)
        for port in redis_backend.server.ports:
            with redis.Redis(port=port) as client:
                client.flushall()
        first = index.observe("b", B)
        assert (first.kind, first.sequence) == ("new", index.crawl_start)
        assert seen(index.observe("copy of b", flip(B, 0))) == ("near-duplicate", "b", 1)
        assert index.observe("a", A).kind == "new"
        index.confirm(pending)
        assert seen(index.observe("copy of c", C)) == ("near-duplicate", "c", 0)


@needs_redis
def test_the_example_of_the_manual_runs(redis_server):
    page = Path(__file__).parents[2] / "docs" / "several-machines.md"
    [example] = re.findall(r"```py\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    code = example.replace("redis://:password@host:6379/0", redis_server.url)
    assert redis_server.url in code
    words = " ".join(f"the ferry waits at pier {n} for bread" for n in range(40))
    html = f"<html><body><p>{words}.</p></body></html>"
    exec(compile(code, page.name, "exec"), {"html": html})
    with open_redis_index(redis_server.url, "shop:simhash") as index:
        assert index.entry("https://example.com/") is not None


@needs_redis
@pytest.mark.parametrize(
    ("url", "name", "said"),
    [
        *(
            (url, "x", "URL")
            for url in (
                *("", "redis", "redis://", f"http://:{SECRET}@host/0"),
                *(f"redis://:{SECRET}@host:port/0", "redis://host/0#name"),
                *(f"redis://user:1#{SECRET}@host/0", f"redis://user:1/{SECRET}@host"),
            )
        ),
        ("{server}?socket_timeout=abc", "x", "socket_timeout"),
        ("{server}?no_such_option=1", "x", "no_such_option"),
        (
            "{server}?decode_responses=True",
            "x",
            r"^the URL of the Redis server .* decode_responses",
        ),
        *(("redis://127.0.0.1:1/0", name, "name") for name in ("", "a{b", "a}b")),
    ],
)
def test_urls_and_names_that_are_not_valid_are_refused_without_their_secrets(
    redis_server, url, name, said
):
    with pytest.raises(SchemeError, match=said) as caught:
        open_redis_index(url.replace("{server}", redis_server.url), name)
    assert SECRET not in str(caught.value)


@needs_redis
@pytest.mark.parametrize("cluster", [False, True])
def test_a_server_that_is_away_is_an_error_of_ours(cluster):
    url = f"redis://user:{SECRET}@127.0.0.1:{free_port()}/0"
    with pytest.raises(StorageError, match=r"redis://127\.0\.0\.1.*reached") as caught:
        open_redis_index(url, "x", cluster=cluster)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)


@needs_redis
def test_a_server_that_hangs_is_waited_for_only_once_in_a_while(tmp_path, monkeypatch):
    """Hundreds of calls would wait for a time-out each."""
    with running(tmp_path) as server:
        options = {"parameters": {"socket_timeout": 0.3}}
        index = open_redis_index(server.url, "x", SCHEME, max_distance=K, plan=PLAN, **options)
        index.confirm(index.observe("a", A))
        pending = index.observe("b", B)
        monkeypatch.setattr("scrapy_simhash.index.redis.server._PAUSE_S", 60)
        server.pause()
        attempts = []
        execute = index.store.server._client.execute_command

        def counted(*command):
            attempts.append(command)
            return execute(*command)

        monkeypatch.setattr(index.store.server._client, "execute_command", counted)
        for _ in range(5):
            with pytest.raises(IndexUnreachable):
                index.confirm(pending)
        assert len(attempts) == 1
        monkeypatch.setattr(index.store.server, "_next_attempt_s", 0)
        server.go_on()
        index.confirm(pending)
        assert len(index) == 2
        index.observe("d", D)
        server.pause()
        with pytest.raises(IndexUnreachable):
            index.observe("c", C)
        attempts.clear()
        index.stop_waiting()
        monkeypatch.setattr("scrapy_simhash.index.redis.server._PAUSE_S", 0)
        with pytest.raises(IndexUnreachable):
            index.observe("c", C)
        with pytest.raises(IndexUnreachable):
            index.close()
        assert not attempts
        server.go_on()


@needs_redis
def test_a_wrong_password_is_an_error_of_ours(tmp_path):
    with running(tmp_path, "--requirepass", "right") as server:
        address = f"127.0.0.1:{server.ports[0]}/0"
        for url in (f"redis://:{SECRET}@{address}", f"redis://{address}"):
            with pytest.raises(StorageError, match="password") as caught:
                open_redis_index(url, "x")
            assert SECRET not in str(caught.value)
        with open_redis_index(f"redis://:right@{address}", "x") as index:
            assert "right" not in index.location
            assert len(index) == 0


@needs_redis
@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru"])
def test_a_server_that_may_evict_keys_is_refused(tmp_path, policy):
    with (
        running(tmp_path, "--maxmemory", "50mb", "--maxmemory-policy", policy) as server,
        pytest.raises(StorageError, match=f"is {policy}, but only noeviction"),
    ):
        open_redis_index(server.url, "x")


@needs_redis
def test_a_full_server_is_an_error_of_ours_and_what_was_stored_stays(tmp_path, redis):
    with running(tmp_path) as server:
        backend = RedisBackend(server)
        with backend.open() as index:
            index.confirm(index.observe("a", A))
            pending = index.observe("b", B)
            with redis.Redis(port=server.ports[0]) as client:
                client.config_set("maxmemory", "1mb")
                with pytest.raises(StorageError, match="memory is full"):
                    index.observe("c", C)
                with pytest.raises(StorageError, match="memory is full"):
                    index.confirm(pending)
                assert index.entry("a").fingerprint == A
                client.config_set("maxmemory", "0")
            index.confirm(pending)
            assert len(index) == 2
