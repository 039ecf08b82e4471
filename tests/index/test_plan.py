"""TablePlan: what the tables find, counted in other ways than its own."""

from __future__ import annotations

import random
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.plan import MIN_RECALL

SMALL = [
    (bits, blocks, chosen)
    for bits in (1, 5, 8, 11)
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
    plan = TablePlan(bits, blocks, draw(st.sampled_from(few_enough)))
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


@given(plans_and_pairs())
def test_tables_bring_every_choice_of_blocks_to_the_front(case):
    plan, fingerprint, _ = case
    cut = sorted({block for table in plan.tables for block in table}, reverse=True)
    assert len(cut) == plan.blocks
    assert max(b.width for b in cut) - min(b.width for b in cut) <= 1
    # The blocks lie side by side and make up the fingerprint.
    assert [b.shift for b in cut] == [sum(b.width for b in cut[n + 1 :]) for n in range(len(cut))]
    assert sum(b.width for b in cut) == plan.bits
    assert len(set(plan.tables)) == len(plan.tables) == comb(plan.blocks, plan.chosen)
    assert {frozenset(t) for t in plan.tables} == {
        frozenset(t) for t in combinations(cut, plan.chosen)
    }
    digits = f"{fingerprint:0{plan.bits}b}"
    for table, prefix, width in zip(
        plan.tables, plan.prefixes(fingerprint), plan.prefix_widths_bits, strict=True
    ):
        start = [plan.bits - b.shift - b.width for b in table]
        text = "".join(digits[s : s + b.width] for s, b in zip(start, table, strict=True))
        assert f"{prefix:0{width}b}" == text
        assert width == len(text)


@pytest.mark.parametrize(
    ("blocks", "chosen", "tables", "widths", "text"),
    [
        (4, 1, 4, {16}, "4 tables with 16-bit prefixes"),
        (5, 2, 10, {25, 26}, "10 tables with 25-26-bit prefixes"),
        (6, 3, 20, {31, 32, 33}, "20 tables with 31-33-bit prefixes"),
    ],
)
def test_the_designs_of_manku_et_al_for_64_bits_and_3(blocks, chosen, tables, widths, text):
    plan = TablePlan(64, blocks, chosen)
    assert len(plan.tables) == tables
    assert set(plan.prefix_widths_bits) == widths
    assert plan.guaranteed_distance == 3
    assert str(plan) == text
    # 2**34 pages: 2**(34 - 16) candidates in each of four tables, as they count.
    if chosen == 1:
        assert plan.expected_candidates(2**34) == 4 * 2**18


def test_one_table_is_named_in_the_singular():
    assert str(TablePlan(64, 1)) == "1 table with 64-bit prefixes"


@pytest.mark.parametrize(
    ("bits", "blocks", "chosen", "distance"),
    [(64, 4, 1, 5), (64, 6, 3, 5), (70, 16, 1, 20), (256, 16, 1, 28), (256, 10, 2, 16)],
)
def test_expected_recall_is_what_random_pairs_show(bits, blocks, chosen, distance):
    plan = TablePlan(bits, blocks, chosen)
    rng = random.Random(7)
    trials = 20_000
    met = 0
    for _ in range(trials):
        one = rng.getrandbits(bits)
        flipped = sum(1 << bit for bit in rng.sample(range(bits), distance))
        met += meet(plan, one, one ^ flipped)
    expected = plan.expected_recall(distance)
    assert 0.05 < expected < 1
    # Five standard deviations.
    assert abs(met / trials - expected) < 5 * (expected * (1 - expected) / trials) ** 0.5 + 1e-9


@given(plan=st.builds(TablePlan, st.integers(20, 72), st.integers(3, 16), st.integers(1, 3)))
def test_recall_falls_with_the_distance_and_rises_with_the_blocks(plan):
    recalls = [plan.expected_recall(distance) for distance in range(plan.bits + 1)]
    assert recalls == sorted(recalls, reverse=True)
    assert (recalls[0], recalls[-1]) == (1.0, 0.0)
    more = TablePlan(plan.bits, plan.blocks + 1, plan.chosen)
    assert all(more.expected_recall(d) >= recalls[d] for d in range(0, plan.bits, 7))


@pytest.mark.parametrize("bits", [8, 16, 24, 64, 128, 256, 512])
def test_for_distance_takes_the_fewest_tables_that_find_enough(bits):
    refused = None
    for distance in [d for d in (*range(9), 12, 28, 29, 40, 64) if d < bits]:
        enough = [
            blocks
            for blocks in range(1, max(bits // 10, 1) + 1)
            if TablePlan(bits, blocks).expected_recall(distance) >= MIN_RECALL
        ]
        if enough:
            plan = choose_plan(bits, distance)
            assert plan == TablePlan(bits, min(enough), 1)
            assert refused is None
        else:
            refused = distance
            with pytest.raises(PlanError, match="95%"):
                choose_plan(bits, distance)
    assert MIN_RECALL == 0.95
    assert refused is not None or bits == 512


def test_presets_have_plans_that_find_enough():
    assert choose_plan(64, 3) == TablePlan(64, 4)
    assert choose_plan(256, 36) == TablePlan(256, 19)
    assert TablePlan(256, 19).expected_recall(36) >= 0.95


@pytest.mark.parametrize("distance", [-1, 64, 1000])
def test_distances_that_cannot_be_are_refused(distance):
    with pytest.raises(PlanError, match=f"{distance}"):
        choose_plan(64, distance)


@pytest.mark.parametrize("distance", [-1, 65])
def test_recall_at_a_distance_that_cannot_be_is_refused(distance):
    with pytest.raises(PlanError):
        TablePlan(64, 4).expected_recall(distance)


@pytest.mark.parametrize(
    ("bits", "blocks", "chosen"),
    [(64, 0, 1), (64, 4, 0), (64, 4, 5), (4, 5, 1), (64, -1, -1), (0, 0, 0)],
)
def test_plans_that_cannot_be_are_refused(bits, blocks, chosen):
    with pytest.raises(PlanError, match="1 <= chosen <= blocks <= bits"):
        TablePlan(bits, blocks, chosen)


def test_plans_are_equal_by_value_and_usable_as_keys():
    assert {TablePlan(64, 4): 1}[TablePlan(64, 4, 1)] == 1
    assert TablePlan(64, 4) != TablePlan(64, 5)
