"""What plans are modelled to cost, and which one is chosen: compared with all that there are."""

from functools import cache
from math import comb

import pytest

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan, choose_plan, cost
from scrapy_simhash.index.cost import PROBING, cost_us
from scrapy_simhash.index.plan import MAX_TABLES, MIN_RECALL
from scrapy_simhash.scheme import PRESETS

from .probing_model import typical_recall

PAGES = (1, 10_000, 1_000_000, 100_000_000, 10_000_000_000)
ASKED = [
    (bits, distance)
    for bits in (8, 16, 24, 32, 64, 128)
    for distance in (0, 1, 2, 3, 4, 5, 6, 8, 12, 15, 20, 28, 36)
    if distance < bits
]


@cache
def plans_that_find_enough(bits, distance):
    """All of up to three chosen blocks, whose prefixes have ten bits or more on average."""
    found = []
    for chosen in (1, 2, 3):
        for blocks in range(chosen, bits + 1):
            if comb(blocks, chosen) > MAX_TABLES:
                break
            if chosen * bits / blocks >= 10 or blocks == chosen:
                plan = TablePlan(bits, blocks, chosen)
                if plan.expected_recall(distance) >= 0.95:
                    found.append(plan)
    return found


@pytest.mark.parametrize(("bits", "distance"), ASKED)
def test_the_cheapest_plan_that_finds_enough_is_chosen(monkeypatch, bits, distance):
    monkeypatch.setattr(cost, "PROBING", ())
    choose = choose_plan.__wrapped__  # without its cache
    plans = plans_that_find_enough(bits, distance)
    for pages in PAGES:
        if not plans:
            with pytest.raises(PlanError, match="95%") as caught:
                choose(bits, distance, pages)
            assert f"distance {distance} of {bits} bits" in str(caught.value)
            continue
        plan = choose(bits, distance, pages)
        assert plan in plans
        assert cost_us(plan, pages) == min(cost_us(p, pages) for p in plans)
    assert MIN_RECALL == 0.95


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
