"""Looked up some tables at a time, an index finds what it finds at once."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index import open_tables
from scrapy_simhash.index.base import Entry

from .backends import DATABASE_KINDS

BITS = 256
DISTANCE = 44
SCHEME = Scheme(bits=BITS)


@pytest.fixture(scope="module")
def fingerprints():
    rng = random.Random(5)
    centres = [rng.getrandbits(BITS) for _ in range(40)]
    return centres + [
        centre ^ sum(1 << bit for bit in rng.sample(range(BITS), distance))
        for centre in centres
        for distance in (0, 1, 10, 25, 44, 45, 70)
    ]


@pytest.fixture(params=DATABASE_KINDS)
def tables(request, tmp_path, fingerprints):
    """Half of them are in rows, the others in memory."""
    half = len(fingerprints) // 2
    store = None
    for part in (fingerprints[:half], fingerprints[half:]):
        if store is not None:
            store.close()
        store = open_tables(tmp_path / "index", request.param, SCHEME, DISTANCE)
        for fingerprint in part:
            number = store.next_sequence
            key = f"{number} {to_hex(fingerprint, BITS)}"
            store.write(Entry(number, key, fingerprint, number, 1, 1), None, (), number + 1)
    yield store
    store.close()


def test_all_of_them_once(tables, fingerprints):
    several = 0
    for fingerprint in fingerprints:
        at_once = sorted(tables.within(fingerprint, DISTANCE))
        in_turn = list(tables.within_in_turn(fingerprint, DISTANCE))
        assert sorted(in_turn) == at_once
        assert len({entry.ordinal for _, entry in in_turn}) == len(in_turn)
        several += len(in_turn) > 1
    assert several > len(fingerprints) // 2


def test_who_has_what_was_looked_for_may_stop(tables, fingerprints):
    for fingerprint in fingerprints[:20]:
        distance, entry = next(tables.within_in_turn(fingerprint, DISTANCE))
        assert (entry.fingerprint ^ fingerprint).bit_count() == distance <= DISTANCE
