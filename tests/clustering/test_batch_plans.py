"""Tables for a batch: what they guarantee, what they find beyond, and which are chosen."""

from __future__ import annotations

import pytest

from scrapy_simhash.clustering.plans import batch_plan, cost_s
from scrapy_simhash.index import TablePlan


@pytest.mark.parametrize("count", [0, 1, 100, 10**4, 10**5, 10**6, 10**7, 10**9])
@pytest.mark.parametrize(("bits", "max_distance"), [(64, 3), (64, 0), (8, 7), (256, 36), (512, 90)])
def test_what_is_chosen_finds_enough(count, bits, max_distance):
    plan = batch_plan(bits, max_distance, count)
    assert plan is None or plan.expected_recall(max_distance) >= 0.95
    complete = batch_plan(bits, max_distance, count, min_recall=1.0)
    assert complete is None or complete.guaranteed_distance >= max_distance
    assert cost_s(plan, bits, max_distance, count) <= cost_s(complete, bits, max_distance, count)
    if cost_s(complete, bits, max_distance, count) < 2:
        assert plan == complete


def test_few_are_compared_with_each_other_and_many_are_not():
    assert batch_plan(64, 3, 500) is None
    assert batch_plan(256, 36, 5_000) is None
    assert batch_plan(64, 3, 10_000_000) == TablePlan(64, 5, 2)
    assert batch_plan(256, 36, 1_000_000) == TablePlan(256, 19)
    # Distances that tables can't serve.
    assert batch_plan(32, 15, 1_000_000) is None or batch_plan(32, 15, 1_000_000).bits == 32


def test_a_run_is_searched_by_tables_only_where_that_is_faster():
    assert batch_plan(64, 3, 50_000, 1.0).guaranteed_distance >= 3
    assert batch_plan(64, 3, 50, 1.0) is None
    assert batch_plan(256, 36, 5_000, 1.0) is None
    assert batch_plan(3, 3, 8, 1.0) is None
