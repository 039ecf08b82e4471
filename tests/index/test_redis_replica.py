"""The replica of the journal of an index in Redis: what it finds, and how it follows the journal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.index.base import PageToObserve
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.index.redis.layout import Layout, digest_of, new_attempt
from scrapy_simhash.index.redis.replica import Replica
from scrapy_simhash.index.tables import tables

from .backends import FAR, found
from .probing_model import found_by

A, B, C, D = FAR
PLANS = [
    TablePlan(16, 4),
    TablePlan(64, 6, 3),
    TablePlan(256, 2),  # prefixes of 128 bits
    TablePlan(96, 5, 2),
    TablePlan(256, 12, prefix_bits=20, probes=256),
    TablePlan(128, 5, prefix_bits=6, probes=20),
]


def layout_of(plan):
    return Layout("x", plan)


def rows_of(layout, fingerprints, first=0):
    return [
        layout.row(digest_of(str(number)), new_attempt(), PageToObserve(str(number), fingerprint))
        for number, fingerprint in enumerate(fingerprints, first)
    ]


def extend(replica, rows):
    replica.extend(replica.end.rows, rows)


def digests_near(replica, fingerprint, max_distance, certainty=b""):
    [found] = replica.near([(fingerprint, certainty)], max_distance)
    return set(found.values())


@pytest.mark.parametrize("plan", PLANS, ids=str)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_it_finds_what_a_linear_scan_finds_in_the_probed_buckets(plan, data):
    rng = random.Random(data.draw(st.integers(0, 1 << 30)))
    layout = layout_of(plan)
    centre, k = rng.getrandbits(plan.bits), plan.guaranteed_distance or 20
    fingerprints = []
    for _ in range(data.draw(st.integers(0, 120))):
        one = centre if rng.random() < 0.7 else rng.getrandbits(plan.bits)
        for bit in rng.sample(range(plan.bits), rng.randrange(2 * k)):
            one ^= 1 << bit
        fingerprints.append(one)
    certainty = rng.randbytes(plan.bits) if plan.probes and rng.random() < 0.5 else b""
    replica, at = Replica(layout, "here"), 0
    is_probed = found_by(plan, centre, certainty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "UNSORTED_ROWS", data.draw(st.integers(1, 40)))
        while True:
            expected = {
                digest_of(str(number))
                for number, one in enumerate(fingerprints[:at])
                if (one ^ centre).bit_count() <= k and is_probed(one)
            }
            assert digests_near(replica, centre, k, certainty) == expected
            if at == len(fingerprints):
                return
            count = data.draw(st.integers(1, len(fingerprints) - at))
            extend(replica, rows_of(layout, fingerprints[at : at + count], at))
            at += count


class TestInAnIndex:
    def test_a_journal_that_was_compacted_is_read_again(self, redis_backend):
        with redis_backend.open(incremental=True) as one, redis_backend.open() as other:
            for key, fingerprint in (("a", A), ("b", B), ("c", C)):
                one.confirm(one.observe(key, fingerprint))
            assert found(other.query(B)) == [("b", B, 0)]
            one.remove(["a"])
            assert one._store.compact() == 1
            other.confirm(other.observe("d", D))
            for index in (one, other):
                for key, fingerprint in (("b", B), ("c", C), ("d", D)):
                    assert found(index.query(fingerprint)) == [(key, fingerprint, 0)]
                assert index._store._replica.end.rows == 3

    def test_a_server_that_lost_rows_and_got_others_is_read_again(self, redis_backend):
        """As after a failover: the replica of a master may lack the last rows."""
        with redis_backend.open(incremental=True) as one, redis_backend.open() as other:
            for key, fingerprint in (("a", A), ("b", B)):
                one.confirm(one.observe(key, fingerprint))
            assert found(one.query(B)) == found(other.query(B)) == [("b", B, 0)]
            one._store.server.call("RPOP", one._store.layout.journal)
            one.remove(["b"])
            other.confirm(other.observe("c", C))
            assert one._store._replica.end.rows == 2  # as many as the journal has again
            assert one.observe("copy", C).representative == "c"

    def test_a_long_journal_is_read_in_parts(self, redis_backend, monkeypatch):
        from scrapy_simhash.index.redis import scripts

        monkeypatch.setattr(scripts, "ROWS_AT_ONCE", 2)
        body = scripts.OBSERVE.source.removeprefix(scripts._LIBRARY)
        monkeypatch.setattr(scripts, "OBSERVE", scripts.Script("ROWS_AT_ONCE = 2\n" + body))
        with redis_backend.open(incremental=True) as one:
            for key, fingerprint in zip("abcd", FAR, strict=True):
                one.confirm(one.observe(key, fingerprint))
        for use in (lambda index: index.query(D), lambda index: index.observe("copy", D)):
            with redis_backend.open(incremental=True) as other:
                use(other)
                assert other._store._replica.end.rows == 4
                assert other.observe("copy", D).representative == "d"
