"""What plans are modelled to cost, and which one is chosen: compared with all that there are."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan, choose_plan, records
from scrapy_simhash.index.cost import bytes_per_page, check_bits, cost_us
from scrapy_simhash.index.plan import MAX_TABLES, MIN_RECALL
from scrapy_simhash.scheme import PRESETS

from .backends import make_backend, rows

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
def test_the_cheapest_plan_that_finds_enough_is_chosen(bits, distance):
    plans = plans_that_find_enough(bits, distance)
    for pages in PAGES:
        if not plans:
            with pytest.raises(PlanError, match="95%") as caught:
                choose_plan(bits, distance, pages, probing=False)
            assert f"distance {distance} of {bits} bits" in str(caught.value)
            continue
        plan = choose_plan(bits, distance, pages, probing=False)
        assert plan in plans
        assert cost_us(plan, distance, pages) == min(cost_us(p, distance, pages) for p in plans)
    assert MIN_RECALL == 0.95


@pytest.mark.parametrize(("bits", "distance"), [*ASKED, (256, 3), (256, 36)])
def test_more_pages_never_choose_shorter_prefixes(bits, distance):
    try:
        plans = [choose_plan(bits, distance, 10**power, probing=False) for power in range(13)]
    except PlanError:
        assert not plans_that_find_enough(bits, distance)
        return
    for fewer, more in pairwise(plans):
        assert min(fewer.prefix_widths_bits) <= min(more.prefix_widths_bits)
        assert fewer.expected_candidates(1) >= more.expected_candidates(1)


def test_tables_are_traded_for_candidates_as_pages_grow():
    chosen = [choose_plan(64, 3, pages) for pages in (10_000, 10**12)]
    assert chosen[0] == TablePlan(64, 4)
    assert min(chosen[1].prefix_widths_bits) > 16
    assert len(chosen[1].tables) > 4


def test_presets_have_plans_that_find_enough():
    assert choose_plan(64, 3) == TablePlan(64, 4)
    wide = PRESETS["wide"]
    assert choose_plan(wide.scheme.bits, wide.max_distance).probes
    for preset in PRESETS.values():
        if preset.has_tables:
            plan = choose_plan(preset.scheme.bits, preset.max_distance)
            assert plan.recall(preset.max_distance) >= 0.95


@pytest.mark.parametrize("distance", [-1, 64, 1000])
def test_distances_that_cannot_be_are_refused(distance):
    with pytest.raises(PlanError, match=f"{distance}"):
        choose_plan(64, distance)


@given(
    plan=st.builds(TablePlan, st.just(64), st.integers(4, 12), st.integers(1, 2)),
    distance=st.integers(0, 12),
    pages=st.integers(1000, 10**9),
)
def test_cost_grows_with_pages_and_with_tables(plan, distance, pages):
    cost = cost_us(plan, distance, pages)
    assert 0 < cost_us(plan, distance, 1) < cost < cost_us(plan, distance, 10 * pages)
    more = TablePlan(64, plan.blocks + 1, plan.chosen)  # more tables, shorter prefixes
    assert cost < cost_us(more, distance, pages)


def test_wider_checks_cost_more_per_candidate():
    plan = TablePlan(256, 19)
    assert check_bits(256, 36) > check_bits(256, 3) == 32
    assert cost_us(plan, 36, 10**6) > cost_us(plan, 3, 10**6)


def chance(bits, distance):
    """That two random numbers of so many bits are within the distance."""
    return sum(comb(bits, differing) for differing in range(min(distance, bits) + 1)) / 2**bits


@pytest.mark.parametrize("bits", [8, 16, 24, 32, 64, 96, 128, 256, 512])
def test_checks_are_as_narrow_as_let_few_unrelated_candidates_through(bits):
    for distance in range(0, bits, max(bits // 64, 1)):
        width = check_bits(bits, distance)
        assert width % 32 == 0
        assert 32 <= width < bits + 32
        # Wide enough, or as wide as the fingerprint.
        assert chance(width, distance) <= 1e-5 or width >= bits
        assert width == 32 or chance(width - 32, distance) > 1e-5
    assert (check_bits(64, 3), check_bits(256, 3)) == (32, 32)


def test_checks_let_as_few_random_fingerprints_through_as_said():
    rng = random.Random(1)
    width, distance, trials = 32, 8, 200_000
    query = rng.getrandbits(64)
    folded = records.fold(query, width)
    passed = sum(
        (records.fold(rng.getrandbits(64), width) ^ folded).bit_count() <= distance
        for _ in range(trials)
    )
    expected = chance(width, distance) * trials
    assert expected > 500
    # Five standard deviations.
    assert abs(passed - expected) < 5 * expected**0.5


@pytest.mark.parametrize(
    ("plan", "distance"),
    [(TablePlan(64, 4), 3), (TablePlan(64, 5, 2), 3), (TablePlan(256, 19), 36)],
)
def test_bytes_per_page_are_those_that_an_index_writes(tmp_path, kind, plan, distance):
    rng = random.Random(1)
    backend = make_backend(kind, tmp_path / "index", plan)
    pages = 500
    with backend.open(max_distance=distance) as index:
        for number in range(pages):
            index.confirm(index.observe(f"{number:08}", rng.getrandbits(plan.bits)))
        assert len(index) == pages
    stored = rows(backend.directory)
    entries = sum(len(row) + len(value) for row, value in stored.items() if row[:1] == b"E")
    # What rows of buckets have besides records is shared by the pages of a bucket.
    records_bytes = sum(len(value) - 4 for row, value in stored.items() if row[:1] in {b"T", b"K"})
    assert entries + records_bytes == pages * (bytes_per_page(plan, distance) + 8)
