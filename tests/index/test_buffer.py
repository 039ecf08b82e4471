"""The buffer of records in two generations; `test_buckets` compares it with dictionaries."""

from __future__ import annotations

import pytest

from scrapy_simhash.index.buffer import Buffer, without

# A list, a dictionary of prefixes up to 20 bits, and records of two widths.
WIDTHS_BITS = (3, 20, 2)
RECORD_BYTES = (8, 8, 12)


def record(table, ordinal):
    return bytes([table] * (RECORD_BYTES[table] - 4)) + ordinal.to_bytes(4, "little")


def packed(table, ordinals):
    return b"".join(record(table, ordinal) for ordinal in ordinals)


def test_slots_are_taken_in_the_order_of_the_rows_until_all_are_dropped():
    """Those without records are passed over; after a failed write, they are taken once more."""
    buffer = Buffer(WIDTHS_BITS, RECORD_BYTES)
    for ordinal, prefixes in enumerate([(5, 70_000, 0), (1, 5, 3), (5, 131_072, 0)]):
        buffer.add(prefixes, [record(table, ordinal) for table in range(3)])
    buffer.freeze()
    slots = [(0, 1), (0, 5), (1, 5), (1, 70_000), (1, 131_072), (2, 0), (2, 3)]
    # 8 slots of a list, 3 prefixes that occurred, 4 slots of a list.
    assert [buffer.take_slots(5), buffer.take_slots(5)] == [slots[:1], slots[1:4]]
    buffer.drop(slots[:4])
    assert buffer.take_slots(50) == slots[4:]
    assert buffer.take_slots(5) is None
    assert not buffer.end_spill()
    assert buffer.take_slots(50) == slots[4:]
    assert buffer.old_records((2, 0)) == packed(2, [0, 2])
    buffer.drop(slots[4:])
    assert buffer.end_spill()
    assert not buffer.frozen


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
