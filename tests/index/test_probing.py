"""Tables that are probed: what is asked for, what is found, and that the model says so."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import Scheme
from scrapy_simhash.errors import PlanError
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import TablePlan, choose_plan, open_index
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.scheme import PRESETS

from .backends import make_backend
from .probing_model import expected_recall

WIDE = TablePlan(256, 8, prefix_bits=16, probes=112)
SMALL = TablePlan(64, 3, prefix_bits=8, probes=12)


def asked(plan, fingerprint, certainty=b""):
    probes, _ = Prober(plan).probes([(fingerprint, certainty)])
    return list(zip(probes.tables.tolist(), probes.prefixes.tolist(), strict=True))


def certainty_of(sums):
    return np.minimum(np.rint(np.abs(sums) * 64), 255).astype(np.uint8).tobytes()


def near_pair(rng, distance, bits=256):
    """(fingerprint, its certainty, another one) of two texts whose sums are normal, with a
    correlation by which so many bits differ on average.
    """
    correlation = np.cos(np.pi * distance / bits)
    one = rng.standard_normal(bits)
    other = correlation * one + (1 - correlation**2) ** 0.5 * rng.standard_normal(bits)
    packed = [int.from_bytes(np.packbits(sums > 0).tobytes(), "big") for sums in (one, other)]
    return packed[0], certainty_of(one), packed[1]


def test_the_example_of_the_module():
    plan = TablePlan(8, 1, prefix_bits=4, probes=4)
    certainty = bytes([9, 200, 3, 90, 0, 0, 0, 0])
    found = asked(plan, 0b1011_0000, certainty)
    assert sorted(found) == [(0, 0b0001), (0, 0b0011), (0, 0b1001), (0, 0b1011)]


@given(st.integers(0, 2**64 - 1), st.binary(min_size=64, max_size=64))
def test_what_is_flipped_is_less_certain_than_what_is_not(fingerprint, certainty):
    found = set(asked(SMALL, fingerprint, certainty))
    for table, own in enumerate(SMALL.prefixes(fingerprint)):
        of_bit = certainty[8 * table : 8 * table + 8]
        for bit, flipped in combinations(range(8), 2):
            less, more = sorted((bit, flipped), key=lambda one: of_bit[one])
            if of_bit[less] < of_bit[more] and (table, own ^ 1 << 7 - more) in found:
                assert (table, own ^ 1 << 7 - less) in found


@given(st.integers(0, 2**64 - 1))
def test_without_certainty_each_bit_of_each_prefix_is_flipped(fingerprint):
    assert sorted(asked(SMALL, fingerprint)) == sorted(
        (table, prefix ^ flip)
        for table, prefix in enumerate(SMALL.prefixes(fingerprint))
        for flip in (0, *(1 << bit for bit in range(8)))
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {"blocks": 5, "prefix_bits": 13, "probes": 10},
        {"blocks": 2, "prefix_bits": 0, "probes": 10},
        {"blocks": 2, "prefix_bits": 8},
        {"blocks": 2, "prefix_bits": 8, "probes": 1},
        {"blocks": 1, "prefix_bits": 33, "probes": 1},
        {"blocks": 2, "prefix_bits": 8, "probes": 2, "chosen": 2},
    ],
)
def test_plans_that_cannot_be_are_refused(arguments):
    with pytest.raises(PlanError):
        TablePlan(64, **arguments)


def test_all_within_the_guaranteed_distance_are_found_with_any_certainty(tmp_path, kind):
    rng = random.Random(1)
    backend = make_backend(kind, tmp_path / "index", SMALL)
    assert SMALL.guaranteed_distance == 2
    with backend.open(max_distance=8) as index:
        page = rng.getrandbits(64)
        index.confirm(index.observe("page", page))
        for bits in combinations(range(64), 2):
            other = page ^ sum(1 << bit for bit in bits)
            assert index.query(other, Evidence(certainty=rng.randbytes(64)))
            assert index.query(other)


@pytest.mark.thorough
@pytest.mark.parametrize("in_files", [False, True])
def test_as_much_is_found_as_the_model_says_and_nothing_wrong(tmp_path, kind, in_files):
    """The oracle is a linear scan: what is found is within k, at its distance; what is missed is
    as much as the model says, within five standard deviations.
    """
    rng = np.random.default_rng(1)
    distance, pairs = 40, 600
    url = f"{kind}:{tmp_path / 'index'}"
    stored = {}
    near = [near_pair(rng, distance) for _ in range(pairs)]
    with open_index(url, Scheme(), max_distance=52, plan=WIDE, incremental=True) as index:
        for number, (_, _, other) in enumerate(near):
            stored[str(number)] = other
            index.confirm(index.observe(str(number), other))
        if in_files:
            index._store._tables.write_all()
        hits = within = 0
        recall = 0.0
        for number, (one, certainty, other) in enumerate(near):
            found = {match.key: match for match in index.query(one, Evidence(certainty=certainty))}
            for key, match in found.items():
                assert match.distance == hamming_distance(one, stored[key]) <= 52
            apart = hamming_distance(one, other)
            if apart <= 52:
                within += 1
                recall += expected_recall(WIDE, apart)
                hits += str(number) in found
    assert within > 550
    spread = (recall * (1 - recall / within)) ** 0.5
    assert abs(hits - recall) < 5 * spread + 1
    assert check(tmp_path / "index").problems == []


@pytest.mark.parametrize("pages", [10**4, 10**6, 10**7, 10**9])
def test_the_default_is_probed_and_finds_enough(pages):
    wide = PRESETS["wide"]
    plan = choose_plan(wide.scheme.bits, wide.max_distance, pages)
    assert plan.probes
    assert plan.recall(wide.max_distance) == 0.985
    with pytest.raises(PlanError):
        plan.expected_recall(plan.guaranteed_distance + 1)
    assert len(plan.tables) <= 12
