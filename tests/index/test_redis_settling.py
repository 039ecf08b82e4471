"""How an index in Redis stores its pending pages when leases have ended, or commands fail."""

import logging
import time

import pytest

from .backends import FAR, flip, found

A, B, C, D = FAR


@pytest.fixture(autouse=True)
def silent(monkeypatch, request):
    """Crawlers that renew no leases, as if they were stopped."""
    if "renewed" not in request.node.name:
        store = pytest.importorskip("scrapy_simhash.index.redis.store")
        monkeypatch.setattr(store.RedisStore, "_renew", lambda self: None)


def test_a_page_whose_lease_has_ended_does_not_stand_in_the_way(redis_backend):
    with redis_backend.open(lease_s=0.3) as one, redis_backend.open() as other:
        first = one.observe("a", A)
        assert other.observe("copy", A).provisional
        time.sleep(0.35)
        copy = other.observe("copy", A)
        assert copy.kind == "new"
        other.confirm(copy)
        one.confirm(first)
        assert one.store.lost_leases == 1
        assert found(other.query(A)) == [("copy", A, 0)]
        assert [line.representative for line in other.near_duplicates()] == ["a", "copy"]


def test_one_that_another_looked_for_and_did_not_replace_is_stored(redis_backend, caplog):
    with redis_backend.open(lease_s=0.2) as one, redis_backend.open() as other:
        page = one.observe("a", A)
        time.sleep(0.25)
        assert other.query(A) == []
        with caplog.at_level(logging.WARNING):
            one.confirm(page)
        assert one.store.lost_leases == 1
        assert "lease" in caplog.text
        assert found(other.query(A)) == [("a", A, 0)]


def test_leases_are_renewed(redis_backend):
    with redis_backend.open(lease_s=0.5) as one, redis_backend.open() as other:
        page = one.observe("a", A)
        for _ in range(6):
            time.sleep(0.25)
            assert other.observe("copy", A).provisional
        one.confirm(page)
        assert one.store.lost_leases == 0


def test_one_that_was_to_supersede_does_not_lose_its_representative(redis_backend):
    with redis_backend.open(lease_s=0.2) as one, redis_backend.open() as other:
        one.confirm(one.observe("old", A))
        page = one.observe("page", flip(A, 0))
        one.supersede(page)
        time.sleep(0.25)
        assert [match.key for match in other.query(A)] == ["old"]
        one.confirm(page)
        assert found(other.query(A)) == [("page", flip(A, 0), 1)]
