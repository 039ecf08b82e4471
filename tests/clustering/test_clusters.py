"""Clusters, beside an index that meets one fingerprint after the other, and a plain closure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme, cluster, open_index
from scrapy_simhash.clustering import clusters
from scrapy_simhash.clustering.pairs import Pairs
from scrapy_simhash.index import TablePlan
from tests.clustering.oracle import as_array, components, crowded, leaders, plans

many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def observed(fingerprints, bits, max_distance):
    """(distance, representative) of each, as an online crawl has them."""
    scheme = replace(Scheme.preset("classic"), bits=bits)
    found = []
    with open_index("memory:", scheme, max_distance=max_distance) as index:
        for position, fingerprint in enumerate(fingerprints):
            seen = index.observe(str(position), fingerprint)
            index.confirm(seen)
            if seen.kind == "new":
                found.append((0, position))
            else:
                found.append((seen.distance, int(seen.representative)))
    return found


def assigned(found):
    return list(zip(found.distance.tolist(), found.representative.tolist(), strict=True))


@many
@given(crowd=crowded(), plan=st.booleans())
def test_leaders_are_those_of_an_index(sizes, crowd, plan):
    bits, fingerprints, max_distance = crowd
    complete = TablePlan(bits, max_distance + 1) if plan else None
    found = cluster(
        fingerprints, bits=bits, max_distance=max_distance, plan=complete, min_recall=1.0
    )
    assert assigned(found) == observed(fingerprints, bits, max_distance)
    assert found.recall == 1.0


@many
@given(data=st.data(), crowd=crowded())
def test_leaders_by_any_tables(sizes, data, crowd):
    bits, fingerprints, max_distance = crowd
    plan = data.draw(plans(bits))
    found = cluster(as_array(fingerprints, bits), bits=bits, max_distance=max_distance, plan=plan)
    assert assigned(found) == leaders(fingerprints, max_distance, plan)


@many
@given(data=st.data(), crowd=crowded())
def test_components_by_any_tables(sizes, data, crowd):
    bits, fingerprints, max_distance = crowd
    plan = data.draw(st.none() | plans(bits))
    found = cluster(
        fingerprints, bits=bits, max_distance=max_distance, method="connected", plan=plan
    )
    earliest = components(fingerprints, max_distance, plan)
    assert found.representative.tolist() == earliest
    apart = [(fingerprints[i] ^ one).bit_count() for i, one in zip(earliest, fingerprints)]  # noqa: B905
    assert found.distance.tolist() == apart


def test_a_copy_may_have_a_nearer_leader_than_the_first_of_its_kind():
    # 3 is 2 from the first; the fourth is a leader, too, and 1 from 3.
    fingerprints = [0b0000, 0b0011, 0b0011, 0b0111, 0b0011]
    found = cluster(fingerprints, bits=8, max_distance=2)
    assert assigned(found) == observed(fingerprints, 8, 2)
    assert assigned(found) == [(0, 0), (2, 0), (2, 0), (0, 3), (1, 3)]


def test_equally_near_leaders_the_oldest_wins_and_the_nearest_before():
    found = cluster([0b0000, 0b1111, 0b0011, 0b0111], bits=8, max_distance=2)
    assert assigned(found) == [(0, 0), (0, 1), (2, 0), (1, 1)]


def test_the_distance_is_inclusive():
    assert len(cluster([0, 0b111], bits=64, max_distance=3)) == 1
    assert len(cluster([0, 0b1111], bits=64, max_distance=3)) == 2
    assert len(cluster([0, 0b1], bits=64, max_distance=0)) == 2


def test_chains_are_followed_to_their_end(sizes):
    chain = np.arange(499)
    pairs = Pairs(chain, chain + 1, np.ones(499, dtype=np.uint16))
    assert clusters.leaders(500, pairs).tolist() == [True, False] * 250


def chain(length):
    """Each is 1 bit from the next: Gray code."""
    return [number ^ number >> 1 for number in range(length)]


def test_components_follow_chains_and_leaders_do_not():
    fingerprints = chain(1000)
    connected = cluster(fingerprints, bits=64, max_distance=1, method="connected")
    assert connected.representative.tolist() == [0] * 1000
    assert connected.distance.tolist() == [one.bit_count() for one in fingerprints]
    led = cluster(fingerprints, bits=64, max_distance=1)
    assert len(led) > 200
    assert led.distance.max() == 1


def test_the_result_counts_and_lists_clusters():
    fingerprints = [8, 1, 8, 128, 0, 129, 9, 3]
    found = cluster(fingerprints, bits=8, max_distance=1)
    assert found.representative.tolist() == [0, 1, 0, 3, 0, 1, 0, 1]
    assert found.representatives.tolist() == [0, 1, 3]
    assert found.sizes().tolist() == [4, 3, 1]
    assert (len(found), found.near_duplicate_count) == (3, 5)
    listed = [(one.representative, one.members.tolist()) for one in found]
    assert listed == [(0, [0, 2, 4, 6]), (1, [1, 5, 7]), (3, [3])]
    assert [one.representative for one in found.clusters(smallest=2)] == [0, 1]
    assert list(found.clusters(smallest=5)) == []
    assert (found.method, found.bits, found.max_distance) == ("leader", 8, 1)
    assert (found.plan, found.recall) == (None, 1.0)


def test_clusters_of_one_size_are_listed_by_age():
    found = cluster([255, 0, 255, 0, 16], bits=8, max_distance=0)
    assert [one.representative for one in found] == [0, 1, 4]


@pytest.mark.parametrize("method", ["leader", "connected"])
def test_nothing_makes_no_cluster(method):
    found = cluster([], bits=256, max_distance=36, method=method)
    assert (len(found), list(found), found.near_duplicate_count) == (0, [], 0)
    assert found.sizes().tolist() == []


@pytest.mark.parametrize("method", ["leader", "connected"])
def test_the_same_input_gives_the_same_and_is_left_as_it_is(method):
    rng = np.random.default_rng(8)
    fingerprints = rng.integers(0, 2**20, 30_000, dtype=np.uint64) << np.uint64(20)
    before = fingerprints.copy()
    found = [cluster(fingerprints, bits=64, max_distance=3, method=method) for _ in range(2)]
    assert assigned(found[0]) == assigned(found[1])
    assert (fingerprints == before).all()
    fingerprints.setflags(write=False)
    assert assigned(cluster(fingerprints, bits=64, max_distance=3, method=method)) == assigned(
        found[0]
    )
