"""Inputs that are not random: bounded by what is compared and held, not by the clock."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from scrapy_simhash import cluster, near_pairs
from scrapy_simhash.clustering import clusters
from scrapy_simhash.index import TablePlan
from tests.clustering.oracle import triples

pytestmark = pytest.mark.thorough

METHODS = ["leader", "connected"]
# What a comparison of all with all would be, of 50,000.
ALL_PAIRS = 50_000**2 / 2


def random_words(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def around(centre, count, flips, seed=2):
    """Different ones that are so many flips from a centre, or fewer."""
    rng = np.random.default_rng(seed)
    words = np.full(count, centre, dtype=np.uint64)
    for _ in range(flips):
        words ^= np.uint64(1) << rng.integers(0, 64, count).astype(np.uint64)
    return np.unique(words)


def mixed(*parts):
    words = np.concatenate(parts)
    np.random.default_rng(3).shuffle(words)
    return words


# Batches and tiles, which do not grow with the input.
WORKING_BYTES = 30 << 20


class Peak:
    """The most memory that was taken, but for what does not grow with the input."""

    def __enter__(self):
        tracemalloc.start()
        return self

    def __exit__(self, *_):
        self.bytes = tracemalloc.get_traced_memory()[1] - WORKING_BYTES
        tracemalloc.stop()


@pytest.mark.parametrize("method", METHODS)
def test_equal_ones_are_no_pairs(work, method):
    words = mixed(np.full(100_000, 12345, np.uint64), random_words(50_000))
    with Peak() as peak:
        found = cluster(words, bits=64, max_distance=3, method=method)
    assert len(found) == 50_001
    assert next(iter(found)).members.tolist() == np.flatnonzero(words == 12345).tolist()
    assert work.compared < 10 * 50_000
    assert peak.bytes < 150 * len(words)


def test_equal_ones_make_no_pairs_with_their_neighbours_either(work):
    # 1,000 copies each of two near ones: one pair, not a million.
    words = np.tile(np.array([5, 7], dtype=np.uint64), 1000)
    found = near_pairs(words, bits=64, max_distance=3, plan=TablePlan(64, 4)).arrays()
    assert [part.tolist() for part in found] == [[0], [1], [1]]
    assert work.compared <= 4


@pytest.mark.parametrize("plan", [None, TablePlan(64, 4), TablePlan(64, 5, 2)], ids=repr)
@pytest.mark.parametrize("what", [*METHODS, "pairs"])
def test_a_shared_block_does_not_make_all_pairs(work, what, plan):
    low = random_words(50_000) >> np.uint64(16)
    words = mixed(np.uint64(0xABCD << 48) | low, random_words(50_000, seed=9))
    with Peak() as peak:
        if what == "pairs":
            near_pairs(words, bits=64, max_distance=3, plan=plan).arrays()
        else:
            cluster(words, bits=64, max_distance=3, plan=plan, method=what)
    assert work.compared < ALL_PAIRS / 50
    assert peak.bytes < 200 * len(words)


@pytest.mark.parametrize("what", [*METHODS, "pairs"])
def test_half_of_the_bits_shared_does_not_make_all_pairs(work, what):
    words = random_words(50_000) >> np.uint64(32)
    if what == "pairs":
        batches = list(near_pairs(words, bits=64, max_distance=3))
        assert sum(len(batch.first) for batch in batches) < 10_000
    else:
        cluster(words, bits=64, max_distance=3, method=what)
    assert work.compared < ALL_PAIRS / 5


@pytest.mark.parametrize("method", METHODS)
def test_a_dense_set_is_not_listed_pair_by_pair(work, method):
    words = around(2**40 + 77, 60_000, flips=3)
    assert len(words) > 30_000
    with Peak() as peak:
        found = cluster(words, bits=64, max_distance=3, method=method)
    if method == "connected":
        assert len(found) == 1
        assert work.handed < 10 * len(words)  # of 9.6 million pairs in all
    assert peak.bytes < 1000 * len(words)


def test_all_within_reach_of_the_first_is_one_cluster_in_linear_work(work):
    # 300 million pairs, in three tables.
    rng = np.random.default_rng(6)
    flipped = rng.random((25_000, 256)).argsort(axis=1) < 9
    rows = np.packbits(flipped, axis=1)
    rows[0] = 0
    with Peak() as peak:
        found = cluster(rows, bits=256, max_distance=18, plan=TablePlan(256, 19))
    assert len(found) == 1
    assert found.distance[1:].tolist() == [9] * (len(rows) - 1)
    assert work.compared < len(rows) ** 2 / 20
    assert peak.bytes < 100e6


def test_dense_pairs_come_in_batches(work):
    words = np.arange(1 << 14, dtype=np.uint64)  # each has 469 others within 3 bits
    wanted = len(words) * 469 // 2
    with Peak() as peak:
        found = near_pairs(words, bits=64, max_distance=3, plan=TablePlan(64, 4))
        sizes = [len(batch.first) for batch in found]
    assert sum(sizes) == wanted
    # As arrays these pairs would take 18 bytes each.
    assert peak.bytes < wanted * 18 / 2
    assert max(sizes) < wanted / 4


@pytest.mark.parametrize("chunks", [False, True])
def test_chunks_of_leaders_change_nothing(monkeypatch, chunks):
    words = mixed(np.arange(3000, dtype=np.uint64), random_words(3000))
    plan = TablePlan(64, 4)
    whole = cluster(words, bits=64, max_distance=3, plan=plan)
    entered = []
    real = clusters._leaders_in_chunks

    def entering(distinct):
        entered.append(len(distinct))
        return real(distinct)

    monkeypatch.setattr(clusters, "_leaders_in_chunks", entering)
    if chunks:
        monkeypatch.setattr(clusters, "_HELD_PAIRS", 1000)
    found = cluster(words, bits=64, max_distance=3, plan=plan)
    assert bool(entered) == chunks
    assert found.representative.tolist() == whole.representative.tolist()
    assert found.distance.tolist() == whole.distance.tolist()


def test_one_bucket_of_all_is_sorted_by_wide_keys():
    # More than a key of 32 bits has places for, all with the same leading block.
    words = np.uint64(7 << 48) | random_words(70_000) >> np.uint64(16)
    words[-1] = words[0] ^ np.uint64(0b111)
    found = near_pairs(words, bits=64, max_distance=3, plan=TablePlan(64, 4)).arrays()
    # Chance may bring others.
    assert (0, 69_999, 3) in triples(found)
    assert len(found.first) < 5
