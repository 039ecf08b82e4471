from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_simhash.clustering import clusters, pairs
from scrapy_simhash.clustering.pairs import PairSearch

# What is meant for millions, at sizes that an oracle can follow: pieces of a few fingerprints,
# runs that count as long, tiles of a few pairs, and so on.
SIZES = {
    "usual": {},
    "pieces": {(pairs, "_PIECE_KEYS"): 3, (pairs, "BATCH"): 2},
    "runs": {
        (pairs, "_LONG_RUN"): 2,
        (pairs, "_LONG_RUN_OF_LINKS"): 2,
        (pairs, "_SMALL_SET"): 3,
        (pairs, "_SAMPLE"): 1,
        (pairs, "_TILE_PAIRS"): 5,
        (pairs, "_TILE_WIDTH"): 2,
    },
    "links": {
        (pairs, "_LONG_RUN"): 4,
        (pairs, "_LONG_RUN_OF_LINKS"): 1,
        (pairs, "_TILE_PAIRS"): 7,
    },
    "chunks": {
        (clusters, "_HELD_PAIRS"): 0,
        (clusters, "_HELD_PER_ITEM"): 0,
        (clusters, "_MIN_CHUNK"): 2,
        (clusters, "BATCH"): 2,
        (pairs, "_TILE_PAIRS"): 3,
        (pairs, "BATCH"): 3,
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
    near, all_near = pairs._near, pairs._all_near

    def counting_near(ones, others, first, second, max_distance):
        counted.compared += len(first)
        return near(ones, others, first, second, max_distance)

    def counting_all_near(rows, others, max_distance, *, is_same_set=False):
        counted.compared += rows.shape[1] * others.shape[1] // (1 + is_same_set)
        return all_near(rows, others, max_distance, is_same_set=is_same_set)

    def counting(found):
        def counting_pairs(search, **options):
            for batch in found(search, **options):
                counted.handed += len(batch.first) * (search._depth == 0)
                yield batch

        return counting_pairs

    monkeypatch.setattr(pairs, "_near", counting_near)
    monkeypatch.setattr(pairs, "_all_near", counting_all_near)
    monkeypatch.setattr(PairSearch, "pairs", counting(PairSearch.pairs))
    return counted
