"""Fingerprints that are looked up together: observations are the same as one by one."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import TablePlan

from .backends import KINDS, make_backend, small_tables

PROBED = TablePlan(128, 6, prefix_bits=12, probes=40)
CUT_IN_BLOCKS = TablePlan(128, 16)
K = 20
PAGES, BATCH = 200, 16


def pages():
    """Random pages, and after each a near one, all with certainties; or, of a few, with none."""
    rng = random.Random(3)
    made = []
    for number in range(PAGES):
        fingerprint = rng.getrandbits(128)
        if number % 2:
            fingerprint = made[number // 2][1] ^ rng.getrandbits(128) & rng.getrandbits(128) >> 60
        certainty = b"" if number % 20 == 7 else rng.randbytes(128)
        made.append((f"page {number % 150}", fingerprint, Evidence(certainty=certainty)))
    return made


def observed(index, *, together):
    """What is observed where each third page is confirmed at once, which ends a look-up, and of the
    others half at the end of a batch.
    """
    made = pages()
    seen = []
    for start in range(0, len(made), BATCH):
        batch = made[start : start + BATCH]
        if together:
            index.prefetch([(fingerprint, evidence) for _, fingerprint, evidence in batch])
        for number, (key, fingerprint, evidence) in enumerate(batch):
            observation = index.observe(key, fingerprint, evidence)
            seen.append((observation.kind, observation.representative, observation.distance))
            if number % 3 == 0:
                index.confirm(observation)
        for key, _, _ in batch[::2]:
            index.confirm(key)
    return seen


@pytest.mark.parametrize("plan", [PROBED, CUT_IN_BLOCKS], ids=["probed", "blocks"])
@pytest.mark.parametrize("kind", KINDS)
def test_observations_are_the_same(tmp_path, kind, plan):
    results = []
    with small_tables(unsorted=5, memory=40):
        for together in (True, False):
            backend = make_backend(kind, tmp_path / str(together), plan)
            with backend.open(max_distance=K, confirmation=UNCONFIRMED) as index:
                results.append(observed(index, together=together))
    assert results[0] == results[1]
    assert {"new", "near-duplicate", "changed"} <= {kind for kind, _, _ in results[0]}


def test_a_look_up_ends_when_an_entry_is_written_or_removed(tmp_path):
    """One handle looks up, another one of the same process writes."""
    fingerprint, certainty = 1 << 100, bytes(128)
    asked = (fingerprint, Evidence(certainty=certainty))
    backend = make_backend("leveldb", tmp_path / "index", PROBED)
    with (
        backend.open(max_distance=K, confirmation=UNCONFIRMED) as index,
        backend.open(max_distance=K, confirmation=UNCONFIRMED) as other,
    ):
        index.prefetch([asked])
        other.confirm(other.observe("page", fingerprint ^ 1))
        evidence = Evidence(certainty=certainty)
        assert [match.key for match in index.query(fingerprint, evidence)] == ["page"]
        index.prefetch([asked])
        other.confirm(other.observe("page", fingerprint ^ (1 << 64) - 1))
        assert index.query(fingerprint, evidence) == []
