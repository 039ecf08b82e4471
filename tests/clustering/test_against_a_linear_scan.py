"""cluster() and near_pairs() against a linear scan, and against an index that grows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.clustering import cluster, near_pairs
from scrapy_simhash.errors import PlanError, SchemeError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import TablePlan

EXAMPLES = settings(max_examples=80, deadline=None)
BITS = st.sampled_from([8, 16, 64, 72, 256])


@st.composite
def prints(draw, most=60):
    """(bits, fingerprints): many near each other, and some equal."""
    bits = draw(BITS)
    bases = draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=1, max_size=5))
    flips = st.lists(st.integers(0, bits - 1), max_size=6)
    made = draw(st.lists(st.tuples(st.sampled_from(bases), flips), max_size=most))
    found = []
    for base, flipped in made:
        for bit in flipped:
            base ^= 1 << bit  # noqa: PLW2901 - one bit after the other
        found.append(base)
    return bits, found


def by_scan(fingerprints, k):
    """What leader clustering is, by its definition."""
    leaders, representative, distance = [], [], []
    for place, one in enumerate(fingerprints):
        near = [(hamming_distance(one, fingerprints[other]), other) for other in leaders]
        near = min((pair for pair in near if pair[0] <= k), default=None)
        if near is None:
            leaders.append(place)
            near = 0, place
        representative.append(near[1])
        distance.append(near[0])
    return representative, distance


def connected_by_scan(fingerprints, k):
    representative = list(range(len(fingerprints)))
    for place, one in enumerate(fingerprints):
        for other in range(place):
            if hamming_distance(one, fingerprints[other]) <= k:
                low, high = sorted((representative[place], representative[other]))
                representative = [low if at == high else at for at in representative]
    return representative


@EXAMPLES
@given(prints(), st.integers(0, 7))
def test_leader_clusters_are_those_of_their_definition(given_, k):
    bits, fingerprints = given_
    found = cluster(fingerprints, bits=bits, max_distance=k, min_recall=1.0)
    assert found.recall == 1
    assert (found.representative.tolist(), found.distance.tolist()) == by_scan(fingerprints, k)


@EXAMPLES
@given(prints(), st.integers(0, 7))
def test_connected_clusters_are_those_of_their_definition(given_, k):
    bits, fingerprints = given_
    found = cluster(fingerprints, bits=bits, max_distance=k, method="connected", min_recall=1.0)
    assert found.representative.tolist() == connected_by_scan(fingerprints, k)
    assert found.distance.tolist() == [
        hamming_distance(one, fingerprints[other])
        for one, other in zip(fingerprints, found.representative.tolist(), strict=True)
    ]


@EXAMPLES
@given(prints(most=40), st.integers(0, 7))
def test_an_index_says_the_same(given_, k):
    bits, fingerprints = given_
    found = cluster(fingerprints, bits=bits, max_distance=k, min_recall=1.0)
    with open_index("memory:", Scheme(bits=bits), max_distance=k) as index:
        for place, fingerprint in enumerate(fingerprints):
            seen = index.observe(str(place), fingerprint)
            index.confirm(seen)
            representative = place if seen.representative is None else int(seen.representative)
            assert found.representative[place] == representative
            assert found.distance[place] == (seen.distance or 0)


@st.composite
def plans(draw, bits):
    blocks = draw(st.integers(2, min(bits, 9)))
    chosen = draw(st.integers(1, min(blocks, 3)))
    return TablePlan(bits, blocks, chosen)


@EXAMPLES
@given(st.data(), st.sampled_from([16, 64, 256]))
def test_with_any_tables_all_pairs_up_to_the_guaranteed_distance(data, bits):
    plan = data.draw(plans(bits))
    seed = data.draw(st.integers(0, 1000))
    k = plan.guaranteed_distance
    rng = random.Random(seed)
    bases = [rng.getrandbits(bits) for _ in range(6)]
    fingerprints = []
    for _ in range(60):
        one = rng.choice(bases)
        for bit in rng.sample(range(bits), rng.randrange(k + 3)):
            one ^= 1 << bit
        fingerprints.append(one)
    pairs = near_pairs(fingerprints, bits=bits, max_distance=k, plan=plan)
    assert pairs.recall == 1
    first = {}
    for place, one in enumerate(fingerprints):
        first.setdefault(one, place)
    assert pairs.first_of.tolist() == [first[one] for one in fingerprints]
    expected = [
        (one, other, distance)
        for one in first.values()
        for other in first.values()
        if one < other
        and (distance := hamming_distance(fingerprints[one], fingerprints[other])) <= k
    ]
    found = pairs.arrays()
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(expected)
    leaders = cluster(fingerprints, bits=bits, max_distance=k, plan=plan)
    assert leaders.representative.tolist() == by_scan(fingerprints, k)[0]


def test_many_random_ones_with_planted_pairs():
    rng = np.random.default_rng(5)
    prints = rng.integers(0, 1 << 64, 200_000, dtype=np.uint64)
    copies = rng.choice(200_000, 5_000, replace=False)
    planted = prints[copies] ^ (np.uint64(1) << rng.integers(0, 64, 5_000, dtype=np.uint64))
    everything = np.concatenate([prints, planted])
    found = cluster(everything, bits=64, max_distance=3)
    assert found.recall == 1
    assert found.representative[200_000:].tolist() == copies.tolist()
    assert set(found.distance[200_000:].tolist()) == {1}
    assert found.near_duplicate_count >= 5_000
    # Chance brings hardly any other two that near.
    assert found.near_duplicate_count < 5_010


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["leader", "connected"])
def test_equal_ones_and_ones_that_share_most_bits_do_not_blow_up(method):
    """5e9 pairs of equal ones, 1.25e9 that share three of four blocks."""
    rng = np.random.default_rng(6)
    low = rng.choice(1 << 16, 50_000, replace=False).astype(np.uint64)
    everything = np.concatenate([np.zeros(100_000, np.uint64), low | np.uint64(0xABCD << 48)])
    found = cluster(everything, bits=64, max_distance=3, method=method)
    assert found.representative[:100_000].max() == 0
    sizes = found.sizes()
    assert sizes.sum() == 150_000
    if method == "connected":
        assert len(found) < 100
    else:
        leads = everything[found.representatives].astype(np.uint64)[1:200]
        apart = np.bitwise_count(leads[:, None] ^ leads[None, :])
        assert apart[np.triu_indices(len(leads), 1)].min() > 3


def test_all_forms_of_input_are_the_same():
    rng = random.Random(3)
    wide = [rng.getrandbits(256) for _ in range(50)]
    wide += [one ^ 1 for one in wide]
    as_bytes = np.array([list(one.to_bytes(32, "big")) for one in wide], np.uint8)
    as_words = as_bytes.view(">u8").astype(np.uint64)
    expected = cluster(wide, bits=256, max_distance=36).representative.tolist()
    for form in (as_bytes, as_words, tuple(wide)):
        assert cluster(form, bits=256, max_distance=36).representative.tolist() == expected
    assert expected[50:] == list(range(50))


def test_clusters_come_largest_first_and_then_oldest():
    found = cluster([0b1, 0xF000, 0xF001, 0xF003, 0x0FF0, 0], bits=16, max_distance=1)
    shown = [(one.representative, one.members.tolist()) for one in found]
    assert shown == [(0, [0, 5]), (1, [1, 2]), (3, [3]), (4, [4])]
    assert [one.representative for one in found.clusters(2)] == [0, 1]
    assert (len(found), found.near_duplicate_count) == (4, 2)
    assert found.representatives.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("method", ["leader", "connected"])
def test_nothing_to_cluster(method):
    found = cluster([], bits=64, max_distance=3, method=method)
    assert (list(found), len(found), found.near_duplicate_count) == ([], 0, 0)
    assert list(near_pairs([], bits=64, max_distance=3)) == []


@pytest.mark.parametrize(
    "fingerprints",
    [
        [1 << 16],
        [-1],
        [1.5],
        ["a"],
        [None],
        np.array([1.0]),
        np.array([-1]),
        np.zeros((2, 3), np.uint8),
        np.zeros((2, 2, 2), np.uint8),
        np.array([1 << 16], np.uint64),
        7,
    ],
    ids=str,
)
def test_what_is_no_fingerprint_is_said(fingerprints):
    with pytest.raises(SchemeError):
        cluster(fingerprints, bits=16, max_distance=3)


def test_arguments_that_make_no_sense():
    for wrong in (
        {"max_distance": 16}, {"max_distance": -1}, {"min_recall": 2.0}, {"min_recall": "all"},
        {"min_recall": None}, {"plan": "fast"},
    ):  # fmt: skip
        with pytest.raises(PlanError):
            cluster([1], **{"bits": 16, "max_distance": 3, **wrong})
    with pytest.raises(PlanError):
        cluster([1], bits=16, max_distance=3, plan=TablePlan(64, 4))
    for wrong in ({"bits": 7}, {"bits": 0}, {"bits": 520}, {"method": "other"}):
        with pytest.raises(SchemeError):
            cluster([1], **{"bits": 16, "max_distance": 3, **wrong})
