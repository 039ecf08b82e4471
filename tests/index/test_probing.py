"""Tables that are probed: what is asked for, what is found, and that the model says so."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan, choose_plan
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.scheme import PRESETS

SMALL = TablePlan(64, 3, prefix_bits=8, probes=12)


def asked(plan, fingerprint, certainty=b""):
    probes, _ = Prober(plan).probes([(fingerprint, certainty)])
    return list(zip(probes.tables.tolist(), probes.prefixes.tolist(), strict=True))


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


@pytest.mark.parametrize("pages", [10**4, 10**6, 10**7, 10**9])
def test_the_default_is_probed_and_finds_enough(pages):
    wide = PRESETS["wide"]
    plan = choose_plan(wide.scheme.bits, wide.max_distance, pages)
    assert plan.probes
    assert plan.recall(wide.max_distance) == 0.985
    with pytest.raises(PlanError):
        plan.expected_recall(plan.guaranteed_distance + 1)
    assert len(plan.tables) <= 12
