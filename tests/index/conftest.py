"""One fixture over every back end, and one over every kind of database."""

from contextlib import nullcontext

import pytest

from .backends import DATABASE_KINDS, KINDS, kind_parameter, make_backend, small_tables
from .redis_servers import RedisBackend, needs_redis, running

REDIS_KINDS = [pytest.param(kind, marks=needs_redis) for kind in ("redis", "redis-cluster")]


@pytest.fixture(params=[*KINDS, kind_parameter("leveldb", "leveldb, small"), *REDIS_KINDS])
def backend(request, tmp_path):
    """A place for one index, empty at first; one keeps few rows in memory."""
    if request.param.startswith("redis"):
        name = "redis_cluster" if request.param.endswith("cluster") else "redis_server"
        yield RedisBackend(request.getfixturevalue(name))
        return
    kind, _, small = request.param.partition(", ")
    with small_tables() if small else nullcontext():
        yield make_backend(kind, tmp_path / "index")


@pytest.fixture(params=DATABASE_KINDS)
def kind(request):
    return request.param


@pytest.fixture
def index(backend):
    with backend.open() as opened:
        yield opened


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory):
    """A Redis cluster of three masters."""
    with running(tmp_path_factory.mktemp("cluster"), processes=3) as cluster:
        yield cluster


@pytest.fixture(params=REDIS_KINDS)
def redis_backend(request):
    """A place for one index, on one server and on a cluster."""
    name = "redis_cluster" if request.param.endswith("cluster") else "redis_server"
    return RedisBackend(request.getfixturevalue(name))
