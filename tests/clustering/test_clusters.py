"""Clusters, beside an index that meets one fingerprint after the other, and a plain closure."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from scrapy_simhash import Scheme, cluster, open_index
from scrapy_simhash.clustering import clusters
from scrapy_simhash.errors import PlanError, SchemeError

from .test_pairs import by_scan, crowded

many = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def observed(fingerprints, bits, max_distance):
    """(distance, representative) of each, as an online crawl has them."""
    scheme = replace(Scheme.preset("classic"), bits=bits)
    found = []
    with open_index("memory:", scheme, max_distance=max_distance) as index:
        for position, fingerprint in enumerate(fingerprints):
            seen = index.observe(str(position), fingerprint)
            index.confirm(seen)
            own = seen.representative is None
            found.append((0, position) if own else (seen.distance, int(seen.representative)))
    return found


def components(fingerprints, max_distance):
    earliest = list(range(len(fingerprints)))
    links = by_scan(fingerprints, max_distance, None)
    changed = True
    while changed:
        changed = False
        for i, j, _ in links:
            changed |= earliest[i] != earliest[j]
            earliest[i] = earliest[j] = min(earliest[i], earliest[j])
    return earliest


def assigned(found):
    return list(zip(found.distance.tolist(), found.representative.tolist(), strict=True))


@pytest.fixture(params=[False, True], ids=["held", "not held"])
def _memory(request, monkeypatch):
    """Pairs are held in memory, or are too many for that."""
    for name in ("_HELD_PAIRS", "_HELD_PER_ITEM") if request.param else ():
        monkeypatch.setattr(clusters, name, 0)


@many
@given(crowd=crowded())
@pytest.mark.usefixtures("_memory")
def test_leaders_are_those_of_an_index(crowd):
    bits, fingerprints, max_distance = crowd
    found = cluster(fingerprints, bits=bits, max_distance=max_distance)
    assert assigned(found) == observed(fingerprints, bits, max_distance)
    assert found.recall == 1.0


@many
@given(crowd=crowded())
def test_components_are_those_of_a_closure(crowd):
    bits, fingerprints, max_distance = crowd
    found = cluster(fingerprints, bits=bits, max_distance=max_distance, method="connected")
    earliest = components(fingerprints, max_distance)
    assert found.representative.tolist() == earliest
    apart = [
        (fingerprints[i] ^ one).bit_count() for i, one in zip(earliest, fingerprints, strict=True)
    ]
    assert found.distance.tolist() == apart


@pytest.mark.usefixtures("_memory")
def test_a_copy_may_have_a_nearer_leader_than_the_first_of_its_kind():
    # 3 is 2 from the first; the fourth is a leader, too, and 1 from 3.
    found = cluster([0b0000, 0b0011, 0b0011, 0b0111, 0b0011], bits=8, max_distance=2)
    assert assigned(found) == [(0, 0), (2, 0), (2, 0), (0, 3), (1, 3)]


@pytest.mark.usefixtures("_memory")
@pytest.mark.parametrize("method", ["leader", "connected"])
def test_many_that_need_tables(method):
    """20,000 copies of 100,000 fingerprints, most of which equal another one."""
    rng = np.random.default_rng(5)
    distinct = rng.integers(0, 1 << 64, 50_000, dtype=np.uint64)
    copies = distinct[:20_000] ^ (np.uint64(1) << rng.integers(0, 64, 20_000, dtype=np.uint64))
    before = np.concatenate([distinct, distinct, copies])
    fingerprints = before.copy()
    fingerprints.setflags(write=False)
    found = cluster(fingerprints, bits=64, max_distance=3, method=method)
    places = [*range(50_000), *range(50_000), *range(20_000)]
    assert found.representative.tolist() == places
    assert np.bincount(found.distance).tolist() == [100_000, 20_000]
    assert (len(found), found.recall) == (50_000, 1)
    assert (fingerprints == before).all()


def test_the_result_counts_and_lists_clusters():
    found = cluster([8, 1, 8, 128, 0, 129, 9, 3], bits=8, max_distance=1)
    assert found.representative.tolist() == [0, 1, 0, 3, 0, 1, 0, 1]
    assert len(found) == 3
    listed = [members.tolist() for members in found.clusters()]
    assert listed == [[0, 2, 4, 6], [1, 5, 7], [3]]
    assert [members[0] for members in found.clusters(smallest=2)] == [0, 1]
    assert list(found.clusters(smallest=5)) == []
    # Of one size, the earlier one first.
    found = cluster([255, 0, 255, 0, 16], bits=8, max_distance=0)
    assert [members.tolist() for members in found.clusters()] == [[0, 2], [1, 3], [4]]


@pytest.mark.parametrize("method", ["leader", "connected"])
def test_nothing_makes_no_cluster(method):
    found = cluster([], bits=256, max_distance=36, method=method)
    assert (len(found), list(found.clusters())) == (0, [])


def test_arguments_that_make_no_sense():
    for wrong in ({"max_distance": 16}, {"max_distance": -1}):
        with pytest.raises(PlanError, match="max_distance is"):
            cluster([1], **{"bits": 16, "max_distance": 3, **wrong})
    for wrong in ({"bits": 7}, {"bits": 0}, {"bits": 520}, {"method": "other"}):
        with pytest.raises(SchemeError, match=f"{next(iter(wrong))} = "):
            cluster([1], **{"bits": 16, "max_distance": 3, **wrong})
