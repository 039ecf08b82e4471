from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_simhash.clustering import distinct, every, found, leader, partition, search

# What is meant for millions, at sizes that an oracle can follow: pieces of a few fingerprints,
# runs that count as long, tiles of a few pairs, and so on.
SIZES = {
    "usual": {},
    "pieces": {(partition, "_PIECE"): 3, (partition, "_CHUNK"): 4, (found, "BATCH"): 2},
    "threads": {
        (distinct, "thread_count"): lambda _threads, _count: 3,
        (partition, "_PIECE"): 3,
        (partition, "_CHUNK"): 4,
        (found, "BATCH"): 1,
    },
    "runs": {
        (search, "_LONG_RUN"): 2,
        (search, "_LONG_RUN_APART"): 2,
        (search, "_FEW"): 3,
        (search, "_COMPARISONS"): 1,
        (every, "_BEGINNINGS"): 1,
        (every, "_TILE_PAIRS"): 5,
        (every, "_TILE_WIDTH"): 2,
    },
    "links": {
        (search, "_LONG_RUN"): 4,
        (search, "_LONG_RUN_APART"): 1,
        (search, "_MANY_PAIRS"): 0,
        (every, "_TILE_PAIRS"): 7,
    },
    "dense": {(search, "_WORTH_MOVING"): 100, (search, "_DENSE"): 100},
    "chunks": {
        (leader, "_HELD_PAIRS"): 0,
        (leader, "_HELD_PER_INPUT"): 0,
        (leader, "_SMALLEST_CHUNK"): 2,
        (leader, "_MOST_ROUNDS"): 1,
        (search, "_LONG_RUN_APART"): 1,
        (every, "_TILE_PAIRS"): 3,
    },
}


@pytest.fixture(params=SIZES)
def sizes(request):
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in SIZES[request.param].items():
            patch.setattr(module, name, value)
        yield request.param


@pytest.fixture
def work(monkeypatch):
    """Counts the pairs that are compared, and those that are handed on."""
    counted = SimpleNamespace(compared=0, handed=0)
    near, within, at = every._near, search.Search._within, search.Search._counted

    def counting_near(rows, others, max_distance):
        counted.compared += len(rows[0]) * len(others[0])
        return near(rows, others, max_distance)

    def counting_within(self, columns, sides, first, second):
        counted.compared += len(first)
        return within(self, columns, sides, first, second)

    def counting_counted(self, columns, pairs, number):
        for batch in at(self, columns, pairs, number):
            counted.handed += len(batch.first)
            yield batch

    monkeypatch.setattr(every, "_near", counting_near)
    monkeypatch.setattr(search.Search, "_within", counting_within)
    monkeypatch.setattr(search.Search, "_counted", counting_counted)
    return counted
