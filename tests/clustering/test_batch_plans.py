"""Tables for a batch: what they guarantee, what they find beyond, and which are chosen."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest

from scrapy_simhash.clustering.grouped import GroupedPlan
from scrapy_simhash.clustering.plans import batch_plan, cost_s, exact_plan
from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan
from tests.clustering.oracle import brought_together

PLANS = [
    GroupedPlan(8, 1, 4, 2),
    GroupedPlan(8, 2, 2, 1),
    GroupedPlan(9, 2, 3, 1),
    GroupedPlan(10, 3, 3, 2),
    GroupedPlan(12, 2, 4, 3),
]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_the_recall_is_what_counting_all_differences_gives(plan):
    for distance in range(plan.bits + 1):
        found = sum(
            brought_together(plan, 0, sum(1 << bit for bit in bits))
            for bits in combinations(range(plan.bits), distance)
        )
        assert plan.expected_recall(distance) == pytest.approx(found / comb(plan.bits, distance))
        guaranteed = distance <= plan.guaranteed_distance
        assert (plan.expected_recall(distance) == 1.0) == guaranteed


def test_two_groups_do_with_8_tables_what_took_10():
    plan = GroupedPlan(64, 2, 4, 3)
    assert plan.guaranteed_distance == TablePlan(64, 5, 2).guaranteed_distance == 3
    assert str(plan) == "8 tables with 24-bit prefixes"
    assert plan.prefix_widths_bits == (24,) * 8
    assert str(GroupedPlan(64, 2, 3, 2)) == "6 tables with 21-22-bit prefixes"


def test_the_example_of_the_documentation():
    plan = GroupedPlan(8, 2, 2, 1)
    assert len(plan.tables) == 4
    one, other = 0b0110_1100, 0b0010_0101
    differing = one ^ other
    shared = [table for table in plan.tables if not differing >> table[0].shift & 0b11]
    assert [table[0].shift for table in shared] == [4]


def test_one_group_is_a_table_plan():
    plan, same = GroupedPlan(64, 1, 6, 2), TablePlan(64, 6, 2)
    assert plan.tables == same.tables
    assert plan.guaranteed_distance == same.guaranteed_distance
    for distance in (3, 4, 9, 40):
        assert plan.expected_recall(distance) == pytest.approx(same.expected_recall(distance))


@pytest.mark.parametrize("wrong", [(0, 2, 1), (65, 1, 1), (2, 33, 1), (2, 2, 3), (2, 2, 0)])
def test_groups_that_cannot_be_are_refused(wrong):
    with pytest.raises(PlanError):
        GroupedPlan(64, *wrong)
    with pytest.raises(PlanError, match="distance 65"):
        GroupedPlan(64, 2, 4, 3).expected_recall(65)


@pytest.mark.parametrize("count", [0, 1, 100, 10**4, 10**5, 10**6, 10**7, 10**9])
@pytest.mark.parametrize(("bits", "max_distance"), [(64, 3), (64, 0), (8, 7), (256, 36), (512, 90)])
def test_what_is_chosen_finds_enough(count, bits, max_distance):
    plan = batch_plan(bits, max_distance, count)
    assert plan is None or plan.expected_recall(max_distance) >= 0.95
    complete = batch_plan(bits, max_distance, count, min_recall=1.0)
    assert complete is None or complete.guaranteed_distance >= max_distance
    words = -(-bits // 64)
    assert cost_s(plan, words, max_distance, count) <= cost_s(complete, words, max_distance, count)
    if cost_s(complete, words, max_distance, count) < 2:
        assert plan == complete


def test_few_are_compared_with_each_other_and_many_are_not():
    assert batch_plan(64, 3, 500) is None
    assert batch_plan(256, 36, 5_000) is None
    assert batch_plan(64, 3, 10_000_000) == GroupedPlan(64, 2, 4, 3)
    assert batch_plan(256, 36, 1_000_000) == TablePlan(256, 19)
    # Distances that tables can't serve.
    assert batch_plan(32, 15, 1_000_000) is None or batch_plan(32, 15, 1_000_000).bits == 32


def test_a_run_is_searched_by_tables_only_where_that_is_faster():
    assert exact_plan(64, 3, 50_000, 50_000**2 / 2).guaranteed_distance >= 3
    assert exact_plan(64, 3, 50_000, 1_000) is None
    assert exact_plan(256, 36, 5_000, 5_000**2 / 2) is None
    assert exact_plan(3, 3, 8, 28) is None


def test_bad_distances_are_refused():
    for max_distance in (-1, 64):
        with pytest.raises(PlanError):
            batch_plan(64, max_distance, 10)
