"""The pairs that shards find, beside those that the tables of an index find."""

from collections import Counter

import numpy as np
import pytest

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extras.spark import candidates
from scrapy_simhash.extras.spark.candidates import MORE, CandidateSearch
from scrapy_simhash.index.base import Query
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.index.tables.tables import Tables

PROBED = TablePlan(128, 6, prefix_bits=16, probes=60)
PLANS = [
    (PROBED, 24),
    (TablePlan(64, 4), 12),  # prefixes alone
    (TablePlan(64, 9, 2), 12),  # of several widths
    (TablePlan(256, 5, 3), 40),  # longer than a number of 64 bits
]
COUNT = 400
ALL = 1 << 40


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(candidates, "SHARD_RECORDS", COUNT // 8)


def records(bits, noise=0.35):
    """(fingerprint, certainty) of texts, half of which are like an earlier one."""
    chance = np.random.default_rng(7)
    sums, found = [], []
    for number in range(COUNT):
        new = chance.standard_normal(bits)
        if number % 2:
            new = sums[chance.integers(number // 4 + 1)] + noise * new
        sums.append(new)
        certainty = np.minimum(np.rint(64 * abs(new)), 255).astype(np.uint8).tobytes()
        found.append((np.packbits(new > 0).tobytes(), certainty))
    return found


def searched(search, made, most=ALL, asks=None, stored=None):
    """({(record, other, distance)}, records with more)."""
    everyone = np.ones(len(made), bool)
    fingerprints, certainties = (np.array(column, object) for column in zip(*made, strict=True))
    columns = {
        "position": np.arange(len(made)),
        "fingerprint": fingerprints,
        "certainty": certainties,
        "asks": everyone if asks is None else asks,
        "stored": everyone if stored is None else stored,
    }
    batches = [*search.shard_rows(columns)]
    rows = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    order = np.random.default_rng(1).permutation(len(rows["shard"]))
    found, more = set(), set()
    for shard in set(rows["shard"].tolist()):
        at = order[rows["shard"][order] == shard]
        result = search.search({name: column[at] for name, column in rows.items()}, most)
        reported = Counter(result["record"].tolist())
        assert all(count <= most + 1 for count in reported.values())  # with MORE
        for record, other, distance in zip(*map(np.ndarray.tolist, result.values()), strict=True):
            if other == MORE:
                assert distance == 0  # so that rows of several shards are equal
                more.add(record)
            else:
                found.add((record, other, distance))
    return found, more


def wanted(plan, max_distance, made):
    """What the tables of an index find."""
    values = [int.from_bytes(one, "big") for one, _ in made]
    tables, found = Tables(plan), set()
    for record, (value, (_, certainty)) in enumerate(zip(values, made, strict=True)):
        [others] = tables.near([Query(value, certainty)], max_distance)
        found |= {(record, other, (value ^ values[other]).bit_count()) for other in others}
        tables.add(record, value, b"", 0)
    return found


@pytest.mark.parametrize(("plan", "max_distance"), PLANS, ids=str)
def test_the_pairs_are_those_of_an_index(plan, max_distance):
    made = records(plan.bits, noise=0.02 if plan.chosen == 3 else 0.35)
    search = CandidateSearch(plan, max_distance, COUNT)
    assert search.shard_bits == 3
    expected = wanted(plan, max_distance, made)
    assert len(expected) > 20
    assert searched(search, made) == (expected, set())


@pytest.mark.parametrize(("most", "others"), [(4, COUNT), (candidates._FIRST_STEP, 0)])
def test_records_with_many_candidates_report_some_and_that_there_are_more(most, others):
    made = records(128)
    made = [*made[:others], *made[:1] * 300]  # equal ones
    search = CandidateSearch(PROBED, 24, len(made))
    everything, _ = searched(search, made)
    some, more = searched(search, made, most=most)
    assert some < everything
    assert {record for record, _, _ in everything - some} <= more
    assert len(some) < len(everything) / 2


@pytest.mark.parametrize(("plan", "max_distance"), PLANS[:2], ids=str)
def test_only_those_that_ask_ask_and_only_stored_ones_are_found(plan, max_distance):
    made = records(plan.bits)
    asks, stored = np.arange(COUNT) % 3 == 0, np.arange(COUNT) % 2 == 0
    search = CandidateSearch(plan, max_distance, COUNT)
    found, _ = searched(search, made, asks=asks, stored=stored)
    everything = wanted(plan, max_distance, made)
    assert found == {one for one in everything if asks[one[0]] and stored[one[1]]}
    assert found


@pytest.mark.parametrize(
    ("fingerprint", "certainty", "message"),
    [(bytes(8), bytes(128), "has not 128 bits"), (bytes(16), b"", "without the certainties")],
)
def test_what_another_scheme_made_is_refused(fingerprint, certainty, message):
    search = CandidateSearch(PROBED, 24, 1)
    with pytest.raises(SimhashError, match=message):
        searched(search, [(fingerprint, certainty)])
