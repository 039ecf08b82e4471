"""Buckets alone: what they find and write, through spills that fail and crashes."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scrapy_simhash.index import TablePlan, buckets, records
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.buckets import Buckets

from .backends import small_buffers
from .dict_database import DictDatabase

PLAN = TablePlan(16, 4)
CHECK_BITS = 32
KEYS = ["a", "b", "c"]


def made(database, plan=PLAN, check_bits=CHECK_BITS, buffer_bytes=0):
    return Buckets(database, plan, check_bits, buffer_bytes)


def entry(ordinal, fingerprint, key="a"):
    return Entry(ordinal + 1, key, fingerprint, ordinal + 1, 0, 0, ordinal)


def spill_all(some, database):
    """Spill what waits; the number of writes."""
    writes = 0
    while (spilling := some.spill()) is not None:
        slots, puts, _ = spilling
        database.write(puts)
        some.end_step(slots)
        writes += 1
    assert some.end_spill()
    return writes


class BesideDictionaries(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        # Prefixes of fingerprints index lists, those of page keys dictionaries; a bucket of three
        # records grows in place.
        self.patch = small_buffers(5, max_list_bits=8, max_bytes=20)
        self.patch.__enter__()
        self.database = DictDatabase()
        self.buckets = made(self.database)
        self.entries = {}
        self.next_ordinal = 0
        self.first_buffered = 0

    def teardown(self):
        self.patch.__exit__(None, None, None)

    @rule(fingerprint=st.sampled_from([0, 1, 0x11, 0x1111, 0xFFFF]), key=st.sampled_from(KEYS))
    def add(self, fingerprint, key):
        one = entry(self.next_ordinal, fingerprint, key)
        self.buckets.add(one)
        self.entries[one.ordinal] = one
        self.next_ordinal += 1

    @rule()
    def freeze(self):
        """Nothing happens if something waits already, or if there is nothing."""
        self.buckets.freeze(self.next_ordinal)

    @precondition(lambda self: self.buckets.frozen)
    @rule(
        slots=st.sampled_from([None, 1, 20, 30_000]), failed=st.sampled_from([False, False, True])
    )
    def spill(self, slots, failed):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(buckets, "_LARGE_STEP_SLOTS", slots)
            spilling = self.buckets.spill(large=slots is not None)
        if spilling is None:
            frozen_below = self.buckets.frozen_below
            if self.buckets.end_spill():
                self.first_buffered = frozen_below
                assert not self.buckets.frozen
            else:
                assert self.buckets.frozen
        elif not failed:
            slots, puts, _ = spilling
            self.database.write(puts)
            self.buckets.end_step(slots)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def remove(self, data):
        ordinals = data.draw(st.sets(st.sampled_from(sorted(self.entries)), min_size=1, max_size=3))
        removed = [self.entries.pop(ordinal) for ordinal in sorted(ordinals)]
        puts, deletes = self.buckets.removal(removed)
        self.database.write(puts, deletes)
        self.buckets.forget(removed)
        for one in removed:
            assert one.ordinal not in self.buckets.find_near(one.fingerprint, 16)
            assert one.ordinal not in self.buckets.find_key(one.key)

    @rule()
    def crash(self):
        """As the store reads what was buffered again."""
        self.buckets = made(self.database)
        self.buckets.may_repeat(self.next_ordinal)
        for ordinal in sorted(self.entries):
            if ordinal >= self.first_buffered:
                self.buckets.add(self.entries[ordinal])

    @invariant()
    def the_entries_that_share_a_bucket_are_found(self):
        for fingerprint in (0, 1, 0x11, 0x1111, 0xFFFF, 0x2222):
            prefixes = PLAN.prefixes(fingerprint)
            for distance in (0, 1, 16):
                assert self.buckets.find_near(fingerprint, distance) == {
                    one.ordinal
                    for one in self.entries.values()
                    if any(
                        a == b
                        for a, b in zip(PLAN.prefixes(one.fingerprint), prefixes, strict=True)
                    )
                    and (one.fingerprint ^ fingerprint).bit_count() <= distance
                }
        for key in [*KEYS, "d"]:
            assert set(self.buckets.find_key(key)) == {
                one.ordinal for one in self.entries.values() if one.key == key
            }

    @invariant()
    def no_record_is_in_rows_twice_and_none_is_missing(self):
        found = []
        for row, value in sorted(self.database.content.items()):
            # Prefixes of table rows are four bits, and of page keys sixteen.
            opened = len(row) == (3 if row[:1] == b"K" else 4)
            if opened:
                closed = int.from_bytes(value[:4], "little")
                numbered = [records.closed_row_key(row, number) for number in range(closed)]
                assert [one for one in sorted(self.database.content) if one[:-4] == row] == numbered
                bucket = [self.database.content[one] for one in numbered] + [value[4:]]
                ordinals = records.ordinals(b"".join(bucket), 8)
                assert ordinals == sorted(set(ordinals))
                assert ordinals or closed
                found += ordinals
        assert set(found) <= set(self.entries)
        assert all(
            found.count(ordinal) == len(PLAN.tables) + 1
            for ordinal in self.entries
            if ordinal < self.first_buffered
        )


TestBesideDictionaries = BesideDictionaries.TestCase
TestBesideDictionaries.settings = settings(stateful_step_count=40)


@pytest.fixture
def database():
    return DictDatabase()


def test_nothing_is_read_from_the_database_before_anything_was_written(monkeypatch, database):
    some = made(database)
    for ordinal in range(100):
        some.add(entry(ordinal, ordinal))
    assert len(some.find_near(0, 16)) > 1
    assert some.find_key("a") == list(range(100))
    some.freeze(100)
    monkeypatch.setattr(buckets, "_LARGE_STEP_SLOTS", 100_000)
    spilled = some.spill(large=True)
    assert spilled is not None
    assert database.read == []


def test_a_generation_waits_when_it_is_full(database):
    with small_buffers(3):
        some = made(database)
    for ordinal in range(3):
        assert not some.frozen
        some.add(entry(ordinal, ordinal))
    assert some.frozen
    assert some.frozen_below == 3
    # The next one waits for the first one, however full it is.
    for ordinal in range(3, 10):
        some.add(entry(ordinal, ordinal))
    assert some.frozen_below == 3
    spill_all(some, database)
    assert not some.frozen
    some.add(entry(10, 10))
    assert some.frozen
    assert some.frozen_below == 11


def test_memory_is_at_least_some_thousand_entries_and_else_as_many_bytes_as_were_asked_for(
    database,
):
    some = made(database, buffer_bytes=0)
    for ordinal in range(buckets._MIN_CAPACITY):
        assert not some.frozen
        some.add(entry(ordinal, 0))
    assert some.frozen
    # Four records of eight bytes and one of a page key.
    some = made(database, buffer_bytes=5000 * 5 * 8)
    for ordinal in range(5000):
        assert not some.frozen
        some.add(entry(ordinal, 0))
    assert some.frozen


def test_nothing_waits_of_nothing(database):
    some = made(database)
    some.freeze(0)
    assert not some.frozen


def test_a_generation_is_spilled_bit_by_bit_before_the_next_one_is_full(monkeypatch, database):
    monkeypatch.setattr(buckets, "_MIN_CAPACITY", 400)
    rng = random.Random(1)
    some = made(database, TablePlan(64, 4))
    puts_of_spills = []
    for ordinal in range(4000):
        some.add(entry(ordinal, rng.getrandbits(64), f"{ordinal}"))
        # Each generation began to wait when it was full: the one before was in rows by then.
        assert some.frozen_below == (ordinal + 1) // 400 * 400
        if ordinal % buckets.SPILL_EVERY == 0 and some.frozen:
            spilling = some.spill()
            if spilling is None:
                assert some.end_spill()
            else:
                slots, puts, _ = spilling
                database.write(puts)
                some.end_step(slots)
                puts_of_spills.append(len(puts))
    # Each time about the same part of a generation's 2,000 records, a few of which share rows.
    assert 17_500 < sum(puts_of_spills) <= 9 * 2000
    assert max(puts_of_spills) < 100


def test_records_of_several_words_are_found(database):
    plan = TablePlan(256, 16)
    some = made(database, plan, 96)
    near = entry(0, (1 << 20) - 1)
    far = entry(1, (1 << 100) - 1)
    some.add(near)
    some.add(far)
    for _ in range(2):
        assert some.find_near(0, 20) == {0}
        assert some.find_near(0, 19) == set()
        assert some.find_near((1 << 100) - 1, 0) == {1}
        some.freeze(2)
        if some.frozen:
            spill_all(some, database)
    value = database.content[b"T\0\0\0\0"]
    assert len(value) == 4 + 2 * (12 + 4)


def test_a_removal_takes_a_record_out_of_its_row_alone(database):
    with small_buffers(open_row_records=2, closed_row_records=2):
        some = made(database)
        added = [entry(ordinal, 0x1234) for ordinal in range(7)]
        for one in added:
            some.add(one)
            some.freeze(one.ordinal + 1)
            spill_all(some, database)
    bucket = b"T\0\0\1"
    rows = [bucket, *(records.closed_row_key(bucket, number) for number in range(3))]

    def ordinals():
        opened, *closed = [database.content.get(row) for row in rows]
        return [None if opened is None else records.ordinals(opened[4:], 8)] + [
            None if value is None else records.ordinals(value, 8) for value in closed
        ]

    def remove(*removed):
        puts, deletes = some.removal([added[number] for number in removed])
        database.write(puts, deletes)
        some.forget([added[number] for number in removed])
        return len(puts) + len(deletes)

    assert ordinals() == [[6], [0, 1], [2, 3], [4, 5]]
    tables = len(PLAN.tables) + 1
    # One row of each table.
    assert remove(2) == tables
    assert ordinals() == [[6], [0, 1], [3], [4, 5]]
    # A closed row stays when it is empty, as the open one counts them; so does the open one.
    assert remove(3) == remove(6) == tables
    assert ordinals() == [[], [0, 1], [], [4, 5]]
    assert some.find_near(0x1234, 0) == set(some.find_key("a")) == {0, 1, 4, 5}
    assert remove(0, 5, 1) == 2 * tables
    assert ordinals() == [[], [], [], [4]]
    # What comes next goes on as before.
    some.add(added[0]._replace(ordinal=7))
    some.freeze(8)
    spill_all(some, database)
    assert ordinals() == [[7], [], [], [4]]


def test_the_row_of_a_bucket_without_closed_rows_goes_with_its_last_record(database):
    some = made(database)
    one, other = entry(0, 0x1234), entry(1, 0x1235, "b")
    for added in (one, other):
        some.add(added)
    some.freeze(2)
    spill_all(some, database)
    puts, deletes = some.removal([one])
    # They share three tables.
    assert (len(puts), len(deletes)) == (3, 2)
    database.write(puts, deletes)
    some.forget([one])
    puts, deletes = some.removal([other])
    assert puts == []
    assert len(deletes) == 5
    database.write(puts, deletes)
    assert not database.content


def test_a_removal_of_what_is_in_memory_alone_changes_no_row(database):
    some = made(database)
    some.add(entry(0, 0x1234))
    some.add(entry(1, 0x1234))
    assert some.removal([entry(0, 0x1234)]) == ([], [])
    some.forget([entry(0, 0x1234)])
    assert some.find_near(0x1234, 0) == {1}
    assert some.find_key("a") == [1]


def test_spilling_starts_over_with_what_could_not_be_written(monkeypatch, database):
    with small_buffers():
        some = made(database)
        some.add(entry(0, 0x1234))
        # A write fails that has some of the slots.
        monkeypatch.setattr(buckets, "_LARGE_STEP_SLOTS", 4 * 16)
        slots, puts, _ = some.spill(large=True)
        assert len(puts) == 4
        monkeypatch.setattr(buckets, "_LARGE_STEP_SLOTS", 100_000)
        slots, puts, _ = some.spill(large=True)
        assert len(puts) == 1
        database.write(puts)
        some.end_step(slots)
        assert some.spill() is None
        assert not some.end_spill()
        assert some.frozen
        assert some.find_near(0x1234, 0) == {0}
        slots, puts, _ = some.spill(large=True)
        assert len(puts) == 4
        database.write(puts)
        some.end_step(slots)
        assert some.spill() is None
        assert some.end_spill()
    assert len(database.content) == 5
    assert some.find_near(0x1234, 0) == {0}
