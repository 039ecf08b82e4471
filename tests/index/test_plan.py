"""TablePlan: what the tables find, counted in other ways than its own."""

import random
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan

SMALL = [
    (bits, blocks, chosen)
    for bits in (1, 5, 8, 10)
    for blocks in range(1, bits + 1)
    for chosen in range(1, blocks + 1)
]


def meet(plan, one, other):
    return any(a == b for a, b in zip(plan.prefixes(one), plan.prefixes(other), strict=True))


def differences(bits, distance):
    for chosen in combinations(range(bits), distance):
        yield sum(1 << bit for bit in chosen)


@pytest.mark.parametrize(("bits", "blocks", "chosen"), SMALL)
def test_recall_is_the_share_of_all_differences_that_leave_a_prefix_whole(bits, blocks, chosen):
    plan = TablePlan(bits, blocks, chosen)
    base = random.Random(bits).getrandbits(bits)
    for distance in range(bits + 1):
        met = sum(meet(plan, base, base ^ one) for one in differences(bits, distance))
        assert plan.expected_recall(distance) == met / comb(bits, distance)
        assert (met == comb(bits, distance)) == (distance <= plan.guaranteed_distance)


@st.composite
def plans_and_pairs(draw):
    bits = draw(st.integers(1, 80) | st.sampled_from([128, 256, 512]))
    blocks = draw(st.integers(1, min(bits, 40)))
    few_enough = [chosen for chosen in range(1, blocks + 1) if comb(blocks, chosen) <= 300]
    chosen = draw(st.sampled_from(few_enough))
    plan = TablePlan(bits, blocks, chosen)
    positions = st.integers(0, bits - 1)
    flipped = draw(st.sets(positions, max_size=min(plan.guaranteed_distance, bits)))
    one = draw(st.integers(0, (1 << bits) - 1))
    return plan, one, one ^ sum(1 << bit for bit in flipped)


@given(plans_and_pairs())
def test_fingerprints_within_the_guaranteed_distance_share_a_prefix(case):
    plan, one, other = case
    assert plan.guaranteed_distance == plan.blocks - plan.chosen
    assert plan.expected_recall((one ^ other).bit_count()) == 1.0
    assert meet(plan, one, other)


# Section 3 of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling" (WWW 2007):
# number of tables and widths of prefixes, for 64 bits and k = 3.
DESIGNS = [
    (TablePlan(64, 6, 3), 20, {31, 32, 33}, "20 tables with 31-33-bit prefixes"),
    (TablePlan(64, 5, 2), 10, {25, 26}, "10 tables with 25-26-bit prefixes"),
    (TablePlan(64, 4), 4, {16}, "4 tables with 16-bit prefixes"),
]


@pytest.mark.parametrize(("plan", "tables", "widths", "text"), DESIGNS)
def test_the_designs_of_manku_et_al_for_64_bits_and_3(plan, tables, widths, text):
    assert len(plan.tables) == tables
    assert set(plan.prefix_widths_bits) == widths
    assert plan.guaranteed_distance == 3
    assert str(plan) == text
    # With 2**34 pages, as they count: 2**(34 - 16) candidates in each of four tables, and so on.
    if len(widths) == 1:
        (width,) = widths
        assert plan.expected_candidates(2**34) == tables * 2 ** (34 - width)


@pytest.mark.parametrize(
    ("bits", "blocks", "chosen"),
    [(64, 0, 1), (64, 4, 0), (64, 4, 5), (4, 5, 1), (64, -1, -1), (0, 0, 0)],
)
def test_plans_that_cannot_be_are_refused(bits, blocks, chosen):
    with pytest.raises(PlanError, match="1 <= chosen <= blocks <= bits"):
        TablePlan(bits, blocks, chosen)
