"""The choice of k and of the least resemblance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.calibration.choosing import (
    Score,
    choose,
    choose_resemblance,
    fill_weight,
    scores_by_k,
    table_recall,
)
from scrapy_simhash.index import choose_plan
from scrapy_simhash.intervals import Z95, wilson


def counts(bits, **at):
    row = [0] * (bits + 1)
    for distance, count in at.items():
        row[int(distance[1:])] = count
    return row


def test_scores_count_all_pairs_within_k():
    rows = scores_by_k([3, 0, 1, 0], [0, 2, 0, 7])
    assert rows == [Score(0, 3, 4, 0), Score(1, 3, 4, 2), Score(2, 4, 4, 2), Score(3, 4, 4, 9)]
    assert [row.recall for row in rows] == [0.75, 0.75, 1, 1]
    assert [row.precision for row in rows] == [1, 0.6, 4 / 6, 4 / 13]
    assert rows[0].f1 == pytest.approx(2 * 0.75 / 1.75)
    nothing = Score(0, 0, 0, 0)
    assert (nothing.recall, nothing.precision, nothing.f1) == (1, 1, 1)
    assert Score(0, 0, 4, 4).f1 == 0


def test_few_pairs_are_filled_up_to_twenty():
    assert fill_weight(5, 30) == 0.5
    assert fill_weight(0, 200) == 0.1
    # Enough near-duplicates, or no copies.
    assert fill_weight(21, 18) == 0
    assert fill_weight(1, 0) == 0
    rows = scores_by_k([4, 10, 1, 5], [0, 0, 5, 0])
    assert [row.recall for row in rows] == pytest.approx([0.2, 0.7, 0.75, 1])
    assert rows[3].precision == pytest.approx(20 / 25)
    assert rows[3].recall_95 == wilson(20, 20, Z95)


def test_the_middle_of_the_gap():
    choice = choose(scores_by_k(counts(256, d3=20, d21=5), counts(256, d60=100)), 256)
    assert (choice.low, choice.middle, choice.max_distance, choice.high) == (21, 40, 40, 59)
    assert choice.plan == choose_plan(256, 40)


def test_where_they_overlap_the_best_balance():
    near = counts(64, d2=90, d5=5, d9=5)
    choice = choose(scores_by_k(near, counts(64, d6=1, d8=40, d20=100)), 64)
    assert (choice.low, choice.max_distance, choice.high) == (5, 5, 5)
    # Five more right pairs outweigh one wrong pair.
    choice = choose(scores_by_k(near, counts(64, d8=1, d14=100)), 64)
    assert (choice.low, choice.max_distance, choice.high) == (9, 11, 13)


def test_tables_that_are_very_many_lower_it():
    rows = scores_by_k(counts(64, d3=20), counts(64, d32=100))
    choice = choose(rows, 64)
    assert (choice.low, choice.middle, choice.high) == (3, 17, 31)
    assert 3 <= choice.max_distance < 17
    assert len(choice.plan.tables) <= 100
    assert len(choose_plan(64, choice.max_distance + 1).tables) > 100
    # No lower k is as good.
    choice = choose(scores_by_k(counts(32, d15=20), counts(32, d16=100)), 32)
    assert choice.max_distance == 15
    assert choice.plan is None


def test_confirmation_lets_k_be_large_but_not_for_nothing():
    near, similar = counts(256, d3=20, d21=5), counts(256, d30=10, d35=15, d36=1, d50=1000)
    rows = scores_by_k(near, counts(256), similar=similar)
    assert [rows[k].similar for k in (29, 30, 36)] == [0, 10, 26]
    assert {row.f1 for row in rows[21:]} == {1.0}
    choice = choose(rows, 256)
    # At 36 bits, rejected pairs outnumber the found near-duplicate pairs.
    assert (choice.low, choice.middle, choice.high) == (21, 28, 35)
    # If they outnumber them at every k of the range, the lowest k is chosen.
    rows = scores_by_k(near, counts(256), similar=counts(256, d20=1000))
    choice = choose(rows, 256)
    assert (choice.low, choice.max_distance, choice.high) == (21, 21, 21)


def test_pairs_that_no_k_finds_are_missed():
    rows = scores_by_k(counts(64, d3=20), counts(64, d30=100), total=25)
    assert rows[-1].recall == 0.8
    choice = choose(rows, 64)
    assert (choice.low, choice.high) == (3, 29)


def test_a_k_that_tables_in_use_serve_is_taken_if_it_is_as_good():
    rows = scores_by_k(counts(256, d3=20, d21=5), counts(256, d60=100))
    for served, chosen in ((20, 40), (21, 21), (36, 36), (50, 40), (None, 40)):
        choice = choose(rows, 256, served=served)
        assert (choice.max_distance, choice.middle) == (chosen, 40)
        assert choice.plan == choose_plan(256, chosen)


def test_the_present_k_stays_if_it_is_one_of_the_best():
    rows = scores_by_k(counts(256, d3=20, d21=5), counts(256, d60=100))
    for present, chosen in ((20, 40), (21, 21), (48, 48), (60, 40)):
        assert choose(rows, 256, present=present).max_distance == chosen
    assert choose(rows, 256, present=48, served=44).max_distance == 44
    assert choose(rows, 256, present=48, served=50).max_distance == 48


def by_per_cent(**at):
    return [at.get(f"p{step}", 0) for step in range(101)]


def test_the_least_resemblance_stays_if_it_is_one_of_the_best():
    near, loss = by_per_cent(p82=20, p95=30), by_per_cent(p10=90, p41=8)
    for now in (42, 60, 82):
        assert choose_resemblance(near, loss, now) == (now, 42, 82)
    # Otherwise the nearest one of the best is chosen.
    assert choose_resemblance(near, loss, 30) == (42, 42, 82)
    assert choose_resemblance(near, loss, 90) == (82, 42, 82)


def test_where_similarities_overlap_the_best_balance():
    near, loss = by_per_cent(p50=1, p80=99), by_per_cent(p60=30)
    assert choose_resemblance(near, loss, 40).per_cent == 61
    near, loss = by_per_cent(p50=30, p80=70), by_per_cent(p60=1)
    assert choose_resemblance(near, loss, 70).per_cent == 50


@given(
    st.lists(st.integers(0, 9), min_size=101, max_size=101),
    st.lists(st.integers(0, 9), min_size=101, max_size=101),
    st.integers(0, 100),
)
def test_no_other_least_resemblance_is_better(near, loss, now):
    near[70] += 1

    def f1(least):
        found, wrong = sum(near[least:]), sum(loss[least:])
        return found / (found + (wrong + sum(near) - found) / 2)

    chosen = choose_resemblance(near, loss, now)
    best = max(map(f1, range(101)))
    for least in range(chosen.low, chosen.high + 1):
        assert f1(least) == pytest.approx(best)
    nearer = range(max(now - abs(chosen.per_cent - now) + 1, 0), now + abs(chosen.per_cent - now))
    assert all(f1(least) < best - 1e-12 for least in nearer if least <= 100)


def test_too_little_to_choose_by():
    assert choose(scores_by_k(counts(64), counts(64, d30=1000)), 64) is None
    assert choose(scores_by_k(counts(64, d3=1000), counts(64, d30=99)), 64) is None
    assert choose(scores_by_k(counts(64, d3=1), counts(64, d30=100)), 64) is not None


@given(
    st.lists(st.integers(0, 9), min_size=65, max_size=65),
    st.lists(st.integers(0, 99), min_size=65, max_size=65),
)
def test_no_other_k_is_better(near, different):
    near[3] += 1
    different[64] += 100
    rows = scores_by_k(near, different)
    choice = choose(rows, 64)
    best = max(row.f1 for row in rows[:64])
    assert choice.low <= choice.max_distance <= choice.high < 64
    for k in range(choice.low, choice.high + 1):
        assert rows[k].f1 == pytest.approx(best, abs=1e-9)


def test_what_tables_find():
    plan = choose_plan(64, 7)
    assert plan.guaranteed_distance < 7
    assert table_recall(plan, counts(64, d2=9), 7) == 1
    near = counts(64, d2=1, d7=3, d9=50)
    assert table_recall(plan, near, 7) == pytest.approx((1 + 3 * plan.expected_recall(7)) / 4)
    assert table_recall(plan, counts(64), 7) == 1
