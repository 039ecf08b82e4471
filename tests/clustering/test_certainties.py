"""Pairs and clusters of fingerprints that know how certain their bits are."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme
from scrapy_simhash.clustering import cluster, near_pairs, plans
from scrapy_simhash.clustering.plans import batch_plan
from scrapy_simhash.clustering.probed import probed_plan, typical_recall
from scrapy_simhash.errors import PlanError, SchemeError
from scrapy_simhash.fingerprint import Fingerprint
from scrapy_simhash.index import TablePlan
from tests.clustering.oracle import components, crowded, leaders, pairs, standing, triples

WIDE = probed_plan(256, 52)


def texts(count, seed=1):
    """Texts of a hundred words, every third with some words of the one before changed."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        if number % 3 == 2:
            words = made[-1].split()
            for place in chance.sample(range(len(words)), chance.randint(1, 8)):
                words[place] = f"w{chance.randrange(5000)}"
        else:
            words = [f"w{chance.randrange(5000)}" for _ in range(100)]
        made.append(" ".join(words))
    return made


@pytest.fixture(scope="module")
def fingerprints():
    scheme = Scheme.preset("wide")
    return [scheme.certain_fingerprint(scheme.tokens(text)) for text in texts(600)]


@given(
    crowded(widths=(16, 64, 136)),
    st.data(),
    st.sampled_from([(1, 4, 3), (2, 6, 8), (2, 8, 32), (3, 5, 9)]),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_pairs_and_clusters_are_those_that_stand_under_one_prefix(sizes, example, data, shape):
    bits, values, k = example
    tables, width, stands = shape
    plan = TablePlan(bits, tables, prefix_bits=width, probes=tables * stands)
    chance = random.Random(data.draw(st.integers(0, 1000)))
    certainties = [chance.choices(range(12), k=bits) for _ in values]
    rows = np.array(certainties, np.uint8).reshape(len(values), bits)
    places = {}
    for value, certainty in zip(values, certainties, strict=True):
        places.setdefault(value, standing(value, certainty, plan))

    def meet(one, other):
        return one == other or bool(places[one] & places[other])

    wanted = {"bits": bits, "max_distance": k, "plan": plan, "certainties": rows}
    assert triples(near_pairs(values, **wanted).arrays()) == sorted(pairs(values, k, meet))
    found = cluster(values, **wanted)
    assert list(
        zip(found.distance.tolist(), found.representative.tolist(), strict=True)
    ) == leaders(values, k, meet)
    found = cluster(values, method="connected", **wanted)
    assert found.representative.tolist() == components(values, k, meet)


def test_pieces_change_nothing(fingerprints, monkeypatch):
    wanted = {"bits": 256, "max_distance": 52, "plan": WIDE}
    whole = triples(near_pairs(fingerprints, **wanted).arrays())
    monkeypatch.setattr("scrapy_simhash.clustering.pairs._PIECE_KEYS", 100)
    assert triples(near_pairs(fingerprints, **wanted).arrays()) == whole != []


def test_near_duplicates_of_texts_are_found(fingerprints):
    found = near_pairs(fingerprints, bits=256, max_distance=52, plan=WIDE)
    values = [one.value for one in fingerprints]
    wanted = pairs(values, 52, None)
    assert len(wanted) >= 190
    assert set(triples(found.arrays())) <= wanted
    assert len(found.arrays().first) >= 0.98 * len(wanted)
    assert found.recall == typical_recall(WIDE, 52) >= 0.99


def test_they_are_given_as_objects_bytes_or_an_array(fingerprints):
    values = [one.value for one in fingerprints]
    wanted = {"bits": 256, "max_distance": 52, "plan": WIDE}
    found = triples(near_pairs(fingerprints, **wanted).arrays())
    given_bytes = [one.certainty for one in fingerprints]
    rows = np.frombuffer(b"".join(given_bytes), np.uint8).reshape(-1, 256)
    for certainties in (given_bytes, rows):
        again = near_pairs(values, certainties=certainties, **wanted)
        assert triples(again.arrays()) == found
    # Those that are given beside win over those of the objects.
    none = near_pairs(fingerprints, certainties=np.zeros_like(rows), **wanted)
    assert triples(none.arrays()) != found


def test_they_are_used_where_they_help_and_never_needed(fingerprints, monkeypatch):
    values = [one.value for one in fingerprints]
    # Few are compared with each other, so that nothing is missed.
    few = near_pairs(fingerprints, bits=256, max_distance=52)
    assert (few.plan, few.recall) == (None, 1.0)
    assert batch_plan(256, 52, 1_000_000, certain=True) == WIDE
    bare_plan = batch_plan(256, 52, 1_000_000)
    monkeypatch.setattr(plans, "batch_plan", lambda *_, certain: WIDE if certain else bare_plan)
    assert near_pairs(fingerprints, bits=256, max_distance=52).plan == WIDE
    bare = near_pairs(values, bits=256, max_distance=52)
    # One that is not known is enough: all others might be near it.
    unknown = Fingerprint(values[0], b"")
    mixed = near_pairs([unknown, *fingerprints[1:]], bits=256, max_distance=52)
    partly = near_pairs([values[0], *fingerprints[1:]], bits=256, max_distance=52)
    for found in (bare, mixed, partly):
        assert found.plan == bare_plan
        assert triples(found.arrays()) == triples(bare.arrays())
    # Narrow fingerprints, and distances at which no near-duplicates are.
    assert batch_plan(64, 3, 10_000_000, certain=True) == batch_plan(64, 3, 10_000_000)
    assert probed_plan(256, 65) is None


@pytest.mark.parametrize(
    "certainties",
    [
        np.zeros((2, 255), np.uint8),
        np.zeros((3, 256), np.uint8),
        np.zeros((2, 256), np.int64),
        np.zeros(512, np.uint8),
        [bytes(256), bytes(255)],
        [bytes(256)],
        [bytes(256), b"", b""],
        ["a" * 256, "b" * 256],
        5,
        {bytes(256): 1, bytes([1] * 256): 2},
        iter([bytes(256), bytes(256)]),
    ],
)
def test_certainties_that_do_not_fit_are_refused(certainties):
    with pytest.raises(SchemeError, match="certainties"):
        near_pairs([1, 2], bits=256, max_distance=3, certainties=certainties)


def test_probed_tables_need_certainties():
    with pytest.raises(PlanError, match="certainties of all"):
        cluster([1, 2], bits=256, max_distance=3, plan=WIDE)
