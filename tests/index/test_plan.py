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
from scrapy_simhash.index.plan import MAX_TABLES

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


@given(plans_and_pairs())
def test_a_prefix_is_the_bits_of_its_blocks_most_significant_first(case):
    plan, fingerprint, _ = case
    digits = f"{fingerprint:0{plan.bits}b}"
    for table, prefix, width in zip(
        plan.tables, plan.prefixes(fingerprint), plan.prefix_widths_bits, strict=True
    ):
        start = [plan.bits - b.shift - b.width for b in table]
        text = "".join(digits[s : s + b.width] for s, b in zip(start, table, strict=True))
        assert f"{prefix:0{width}b}" == text
        assert width == len(text)


@given(plans_and_pairs())
def test_tables_bring_every_choice_of_blocks_to_the_front(case):
    plan, _, _ = case
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
    ("entries", "candidates"), [(0, 0), (2**16, 256), (2**20 - 1, 2 * 256), (2**22, 4 * 256)]
)
def test_buckets_of_probed_tables_have_at_least_one_entry_on_average(entries, candidates):
    plan = TablePlan(256, 12, prefix_bits=20, probes=256)
    assert plan.expected_candidates(entries) == pytest.approx(candidates, rel=1e-5)


@pytest.mark.parametrize("plan", [design[0] for design in DESIGNS], ids=str)
def test_their_tables_bring_every_pair_within_3_bits_together(plan):
    base = random.Random(3).getrandbits(64)
    prefixes = plan.prefixes(base)

    def met(difference):
        other = plan.prefixes(base ^ difference)
        return any(a == b for a, b in zip(prefixes, other, strict=True))

    for distance in range(4):
        assert all(met(difference) for difference in differences(64, distance))
    assert not all(met(difference) for difference in differences(64, 4))


def test_one_table_is_named_in_the_singular():
    assert str(TablePlan(64, 1)) == "1 table with 64-bit prefixes"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("plan", "distance"),
    [
        (TablePlan(64, 4), 5),
        (TablePlan(64, 6, 3), 5),
        (TablePlan(70, 16), 20),
        (TablePlan(256, 16), 28),
        (TablePlan(256, 10, 2), 16),
    ],
)
def test_expected_recall_is_what_random_pairs_show(plan, distance):
    bits = plan.bits
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


@pytest.mark.parametrize(("bits", "blocks"), [(8, 3), (64, 3), (64, 5), (256, 7), (7, 7)])
def test_all_blocks_may_be_chosen_whatever_their_widths(bits, blocks):
    plan = TablePlan(bits, blocks, blocks)
    assert plan.prefix_widths_bits == (bits,)
    assert plan.guaranteed_distance == 0


@pytest.mark.parametrize(("blocks", "chosen"), [(64, 3), (92, 2), (4097, 1)])
def test_too_many_tables_are_refused(blocks, chosen):
    with pytest.raises(PlanError, match="more than 4096 tables"):
        TablePlan(5000, blocks, chosen)
    assert MAX_TABLES == 4096
    assert len(TablePlan(8192, 4096).tables) == 4096


def test_plans_are_equal_by_value_and_usable_as_keys():
    assert {TablePlan(64, 4): 1}[TablePlan(64, 4, 1)] == 1
    assert TablePlan(64, 4) != TablePlan(64, 5)
