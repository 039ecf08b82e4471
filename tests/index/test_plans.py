"""TablePlan: what the tables find, counted in other ways than its own, and what is chosen."""

import random
from itertools import combinations
from math import comb

import pytest

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan, choose_plan
from scrapy_simhash.index.plan import PROBING
from scrapy_simhash.scheme import PRESETS

from .probing_model import typical_recall

SMALL = [
    (bits, blocks, chosen)
    for bits in (1, 5, 8)
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
    ("bits", "plan"),
    [
        *((64, (0, 1)), (64, (4, 0)), (64, (4, 5)), (4, (5, 1)), (64, (-1, -1)), (0, (0, 0))),
        # blocks, chosen, prefix_bits, probes
        *((64, (5, 1, 13, 10)), (64, (2, 1, 0, 10)), (64, (2, 1, 8)), (64, (2, 1, 8, 1))),
        *((64, (1, 1, 33, 1)), (64, (2, 2, 8, 2))),
    ],
)
def test_plans_that_cannot_be_are_refused(bits, plan):
    with pytest.raises(PlanError):
        TablePlan(bits, *plan)


def test_presets_have_plans_that_find_enough():
    assert choose_plan(64, 3) == TablePlan(64, 4)
    wide = PRESETS["wide"]
    assert choose_plan(wide.scheme.bits, wide.max_distance).probes
    for preset in PRESETS.values():
        if preset.has_tables:
            plan = choose_plan(preset.scheme.bits, preset.max_distance)
            assert plan.recall(preset.max_distance) >= 0.95


@pytest.mark.parametrize("bits", [128, 192, 256, 512])
def test_probed_plans_find_as_many_real_near_duplicates_as_their_table_says(bits):
    farthest = bits * 3 // 8
    fitting = [
        (width, tables, probes) for width, tables, probes in PROBING if width * tables <= bits
    ]
    assert fitting
    for width, tables, probes in fitting:
        plan = TablePlan(bits, tables, prefix_bits=width, probes=probes)
        assert typical_recall(plan, farthest) >= plan.recall(farthest) == 0.985
