"""The buffer of records: what dictionaries of lists would hold, in two generations."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scrapy_simhash.index import buffer as buffer_module
from scrapy_simhash.index.buffer import Buffer, without

# A list, a dictionary of prefixes up to 20 bits, and records of two widths.
WIDTHS_BITS = (3, 20, 2)
RECORD_BYTES = (8, 8, 12)
PREFIXES = [
    st.integers(0, 7),
    st.sampled_from([0, 5, 2**20 - 1, 70_000, 131_072]),
    st.integers(0, 3),
]


def record(table, ordinal):
    return bytes([table] * (RECORD_BYTES[table] - 4)) + ordinal.to_bytes(4, "little")


def packed(table, ordinals):
    return b"".join(record(table, ordinal) for ordinal in ordinals)


@pytest.fixture(autouse=True)
def small_bytes(monkeypatch):
    """Buckets of few records grow in place already."""
    monkeypatch.setattr(buffer_module, "_MAX_BYTES", 20)


class BesideDictionaries(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.buffer = Buffer(WIDTHS_BITS, RECORD_BYTES)
        self.young = defaultdict(list)
        self.old = defaultdict(list)
        self.frozen = False
        self.left = []
        self.next_ordinal = 0
        self.added = 0

    @rule(prefixes=st.tuples(*PREFIXES), times=st.sampled_from([1, 1, 6]))
    def add(self, prefixes, times):
        for _ in range(times):
            ordinal = self.next_ordinal
            self.buffer.add(prefixes, [record(table, ordinal) for table in range(3)])
            for slot in enumerate(prefixes):
                self.young[slot].append(ordinal)
            self.next_ordinal += 1
            self.added += 1

    @precondition(lambda self: self.next_ordinal)
    @rule(data=st.data(), prefixes=st.tuples(*PREFIXES))
    def remove(self, data, prefixes):
        """From each generation, or from a bucket where it is not."""
        ordinal = data.draw(st.integers(0, self.next_ordinal - 1))
        slots = [slot for slot, ordinals in self.young.items() if ordinal in ordinals]
        slots += [slot for slot, ordinals in self.old.items() if ordinal in ordinals]
        for table, prefix in (*slots, *enumerate(prefixes)):
            self.buffer.remove(table, prefix, ordinal)
            for generation in (self.young, self.old):
                if ordinal in generation.get((table, prefix), ()):
                    generation[table, prefix].remove(ordinal)

    @precondition(lambda self: not self.frozen)
    @rule()
    def freeze(self):
        self.buffer.freeze()
        self.old, self.young = self.young, defaultdict(list)
        self.frozen = True
        self.added = 0
        self.left = self.all_slots()

    def all_slots(self):
        return (
            [(0, prefix) for prefix in range(8)]
            + sorted(slot for slot in self.old if slot[0] == 1)
            + [(2, prefix) for prefix in range(4)]
        )

    @precondition(lambda self: self.frozen)
    @rule(count=st.integers(1, 12), failed=st.sampled_from([False, False, True]))
    def spill(self, count, failed):
        """As many slots as were asked for, of which those with records are given."""
        taken = self.buffer.take_slots(count)
        if not self.left:
            assert taken is None
            return
        expected, self.left = self.left[:count], self.left[count:]
        # Buckets that never had records are none of a dictionary's.
        assert taken == [slot for slot in expected if self.old.get(slot)]
        for slot in taken:
            assert self.buffer.old(slot) == packed(slot[0], self.old[slot])
            assert type(self.buffer.old(slot)) is bytes
        if not failed:
            self.buffer.drop(taken)
            for slot in taken:
                del self.old[slot]

    @precondition(lambda self: self.frozen)
    @rule()
    def thaw(self):
        """Nothing is forgotten that was not dropped."""
        kept = [slot for slot, ordinals in self.old.items() if ordinals]
        assert self.buffer.thaw() == (not kept)
        if kept:
            # Spilling starts over. Dropped slots of the dictionary are passed over again.
            self.left = None
            taken = []
            while (slots := self.buffer.take_slots(3)) is not None:
                taken += slots
            assert taken == sorted(kept)
            self.left = []
        else:
            self.frozen = False

    @invariant()
    def it_finds_the_records_of_both_generations(self):
        for table, prefixes in enumerate(
            [range(8), [0, 5, 2**20 - 1, 70_000, 131_072, 77], range(4)]
        ):
            for prefix in prefixes:
                expected = [
                    packed(table, generation[table, prefix])
                    for generation in (self.young, self.old)
                    if generation.get((table, prefix))
                ]
                assert self.buffer.found(table, [prefix]) == expected
        assert self.buffer.entries == self.added
        assert self.buffer.frozen == self.frozen


TestBesideDictionaries = BesideDictionaries.TestCase
TestBesideDictionaries.settings = settings(stateful_step_count=30)


def test_tables_are_searched_from_the_first_one_on():
    buffer = Buffer(WIDTHS_BITS, RECORD_BYTES)
    buffer.add((1, 70_000, 2), [record(table, 9) for table in range(3)])
    found = [packed(table, [9]) for table in range(3)]
    assert buffer.found(0, (1, 70_000, 2)) == found
    assert buffer.found(1, (70_000, 2)) == found[1:]
    assert buffer.found(2, (2,)) == found[2:]
    assert buffer.found(0, (1, 70_001, 2)) == [found[0], found[2]]
    assert buffer.found(0, (2, 2, 1)) == []


def test_to_search_and_to_remove_does_not_make_buckets():
    buffer = Buffer((20,), (8,))
    for prefix in range(100):
        assert buffer.found(0, (prefix,)) == []
        buffer.remove(0, prefix, 1)
    assert buffer.slot_count == 0
    buffer.add((3,), (bytes(8),))
    assert buffer.slot_count == 1


def test_the_number_of_slots_is_that_of_lists_and_of_prefixes_that_occurred():
    buffer = Buffer(WIDTHS_BITS, RECORD_BYTES)
    assert buffer.slot_count == 8 + 0 + 4
    for prefix in (7, 9, 9):
        buffer.add((0, prefix, 0), [bytes(width) for width in RECORD_BYTES])
    assert buffer.slot_count == 8 + 2 + 4
    buffer.freeze()
    assert buffer.slot_count == 8 + 0 + 4


def test_capacity_is_what_records_take_and_more_in_dictionaries():
    assert Buffer((4, 16), (8, 8)).capacity(1600) == 100
    assert Buffer((4,), (36,)).capacity(3600) == 100
    assert Buffer((4, 28), (8, 8)).capacity(8 * 100 + 8 * 8 * 100) == 100
    assert Buffer((17,), (8,)).capacity(800) == 8 * Buffer((18,), (8,)).capacity(800) + 4


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("width", [8, 36])
def test_without_a_record_the_others_stay_in_their_order(kind, width):
    ordinals = [3, 1, 2**32 - 1, 256, 1]
    records = kind(b"".join(bytes(width - 4) + n.to_bytes(4, "little") for n in ordinals))

    def left(ordinal):
        kept = without(records, width, ordinal)
        assert type(kept) is bytes
        return [
            int.from_bytes(kept[at - 4 : at], "little") for at in range(width, len(kept) + 1, width)
        ]

    assert left(3) == [1, 2**32 - 1, 256, 1]
    assert left(1) == [3, 2**32 - 1, 256]
    assert left(2**32 - 1) == [3, 1, 256, 1]
    # 256 is not 1, one byte further, nor 0.
    assert left(0) == left(65_536) == ordinals
