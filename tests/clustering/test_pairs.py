"""Every pair, beside a linear scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.clustering import near_pairs
from scrapy_simhash.clustering import pairs as pairs_module
from scrapy_simhash.index import TablePlan
from tests.clustering.oracle import as_array, crowded, pairs, plans, triples

many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@many
@given(data=st.data(), crowd=crowded())
def test_pairs_are_those_of_a_linear_scan_that_share_a_prefix(sizes, data, crowd):
    bits, fingerprints, max_distance = crowd
    plan = data.draw(plans(bits))
    found = near_pairs(fingerprints, bits=bits, max_distance=max_distance, plan=plan)
    assert triples(found.arrays()) == sorted(pairs(fingerprints, max_distance, plan))
    assert found.plan is plan
    assert found.recall == plan.expected_recall(max_distance)


@many
@given(crowd=crowded())
def test_by_default_nothing_is_missed_among_few(crowd):
    bits, fingerprints, max_distance = crowd
    found = near_pairs(fingerprints, bits=bits, max_distance=max_distance)
    assert triples(found.arrays()) == sorted(pairs(fingerprints, max_distance, None))
    assert found.recall == 1.0


@many
@given(crowd=crowded())
def test_forms_of_input_give_the_same(crowd):
    bits, fingerprints, max_distance = crowd
    rows = as_array(fingerprints, bits)
    forms = [fingerprints, tuple(fingerprints), rows, np.array(fingerprints, dtype=object)]
    if bits <= 64:
        forms.append(np.array(fingerprints, dtype=np.uint64))
    if bits in (8, 16):
        forms.append(np.array(fingerprints, dtype=f"u{bits // 8}"))
    if bits % 64 == 0:
        forms.append(rows.copy().view(">u8").astype(np.uint64))
    found = [
        triples(near_pairs(form, bits=bits, max_distance=max_distance).arrays()) for form in forms
    ]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_fingerprints_have_few_pairs(count):
    found = near_pairs([7] * count, bits=64, max_distance=3)
    assert [len(part) for part in found.arrays()] == [0, 0, 0]
    assert list(found) == []
    assert found.first_of.tolist() == [0] * count


def test_equal_fingerprints_stand_for_each_other():
    found = near_pairs([9, 5, 9, 4, 5], bits=8, max_distance=1)
    assert triples(found.arrays()) == [(1, 3, 1)]
    assert found.first_of.tolist() == [0, 1, 0, 3, 1]


def planted(count, bits, max_distance, seed=4):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (count, bits // 8), dtype=np.uint8)
    source, target = rng.permutation(count)[: count // 5].reshape(2, -1)
    unpacked = np.unpackbits(rows[source], axis=1)
    ranks = rng.random(unpacked.shape).argsort(axis=1)
    distance = rng.integers(1, max_distance + 1, len(source))
    rows[target] = np.packbits(unpacked ^ (ranks < distance[:, None]), axis=1)
    return rows, set(zip(np.minimum(source, target), np.maximum(source, target), strict=True))


PLANS = [
    None,
    TablePlan(64, 4),
    TablePlan(64, 5, 2),
    TablePlan(64, 6, 3),
    TablePlan(64, 4, 1, 4),
    TablePlan(64, 4, 3),
]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_all_planted_pairs_are_found_whatever_the_tables(plan):
    # Enough for pieces and chunks as they are meant.
    rows, wanted = planted(200_000, 64, max_distance=plan.guaranteed_distance if plan else 3)
    k = plan.guaranteed_distance if plan else 3
    found = near_pairs(rows, bits=64, max_distance=k, plan=plan)
    got = {(first, second) for first, second, _ in triples(found.arrays())}
    assert wanted <= got
    # Chance brings hardly any others within 3 of 64 bits.
    assert len(got) <= len(wanted) + 2
    assert found.recall == 1.0
    batches = [batch.first for batch in found]
    assert sum(map(len, batches)) == len(got)


def test_beyond_the_guarantee_the_recall_is_what_the_plan_expects():
    rows, wanted = planted(60_000, 256, max_distance=36)
    found = near_pairs(rows, bits=256, max_distance=36, plan=TablePlan(256, 16))
    distances = {(first, second): distance for first, second, distance in triples(found.arrays())}
    assert set(distances) <= wanted
    expected = np.mean([TablePlan(256, 16).expected_recall(d) for d in range(1, 37)])
    assert abs(len(distances) / len(wanted) - expected) < 0.01
    assert found.recall == TablePlan(256, 16).expected_recall(36) < expected
    near = {pair for pair in wanted if distances.get(pair, 99) <= 15}
    assert len(near) >= len(wanted) * 15 / 36 * 0.9


@pytest.mark.thorough
def test_what_is_chosen_for_many_wide_ones_says_its_recall():
    rows, wanted = planted(30_000, 256, max_distance=36)
    found = near_pairs(rows, bits=256, max_distance=36)
    assert found.recall == 1.0 or found.recall >= 0.95
    assert len(found.arrays().first) >= found.recall * len(wanted)
    complete = near_pairs(rows, bits=256, max_distance=36, min_recall=1.0)
    assert {pair[:2] for pair in triples(complete.arrays())} == wanted


def test_pairs_come_in_batches_and_can_be_asked_for_again():
    fingerprints = np.arange(2048, dtype=np.uint64)  # each has 66 others within 2 bits
    found = near_pairs(fingerprints, bits=64, max_distance=2, plan=TablePlan(64, 4))
    for _ in range(2):
        sizes = [len(batch.first) for batch in found]
        assert sum(sizes) == 2048 * 66 // 2
        assert max(sizes) < 2048 * 66 // 2
    assert all((batch.first < batch.second).all() for batch in found)


def test_a_search_that_is_left_and_one_that_is_interrupted_leave_nothing(monkeypatch):
    fingerprints = list(range(64))
    found = near_pairs(fingerprints, bits=64, max_distance=1, plan=TablePlan(64, 4))
    for _ in found:
        break
    whole = triples(found.arrays())
    real = pairs_module.hashed
    calls = iter(range(100))

    def interrupted(*arguments):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(pairs_module, "hashed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.arrays()
    monkeypatch.undo()
    assert triples(found.arrays()) == whole == sorted(pairs(fingerprints, 1, None))
