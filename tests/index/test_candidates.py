"""Packed records are searched as a loop over them would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index import records
from scrapy_simhash.index.candidates import equal_ordinals, near_ordinals

CHECK_BITS = st.sampled_from([32, 64, 96, 160, 256, 512])
ORDINALS = st.integers(0, records.MAX_ORDINAL)


@st.composite
def buckets(draw):
    """Width of checks, a check, and buckets of (check, ordinal), many of them near it."""
    width = draw(CHECK_BITS)
    check = draw(st.integers(0, 2**width - 1))
    flipped = st.sets(st.integers(0, width - 1), max_size=8)
    near = flipped.map(lambda bits: check ^ sum(1 << bit for bit in bits))
    anything = st.integers(0, 2**width - 1)
    bucket = st.lists(st.tuples(near | anything, ORDINALS), max_size=8)
    return width, check, draw(st.lists(bucket, max_size=4))


def packed(bucket, width, kind=bytes):
    return kind(b"".join(records.record(check, width, ordinal) for check, ordinal in bucket))


@given(case=buckets(), distance=st.integers(0, 511), kind=st.sampled_from([bytes, bytearray]))
def test_near_records_are_those_within_the_distance(case, distance, kind):
    width, check, found = case
    expected = {
        ordinal
        for bucket in found
        for other, ordinal in bucket
        if (other ^ check).bit_count() <= distance
    }
    buffers = [packed(bucket, width, kind) for bucket in found]
    assert near_ordinals(buffers, check, width, distance) == expected


@pytest.mark.parametrize("width", [32, 64, 256])
def test_exactly_the_records_within_the_distance_are_near(width):
    bucket = [((1 << differing) - 1, differing) for differing in range(width + 1)]
    for distance in range(width + 1):
        near = near_ordinals([packed(bucket, width)], 0, width, distance)
        assert near == set(range(distance + 1))


def test_the_ordinal_of_a_record_is_no_part_of_its_check():
    bucket = packed([(0, records.MAX_ORDINAL), (0xFFFFFFFF, 0)], 32)
    assert near_ordinals([bucket], 0, 32, 0) == {records.MAX_ORDINAL}
    assert near_ordinals([bucket], 0xFFFFFFFF, 32, 0) == {0}


def test_an_ordinal_in_several_buckets_is_near_once():
    bucket = packed([(5, 1), (5, 2)], 32)
    assert near_ordinals([bucket, bytearray(bucket), bucket], 5, 32, 0) == {1, 2}


def test_ordinals_are_whole_numbers_of_python():
    for width in (32, 64):
        assert {type(one) for one in near_ordinals([packed([(1, 1)], width)], 1, width, 0)} == {int}


# Few values of bytes, so that checks also occur across the borders of records.
WORDS = st.sampled_from([0, 1, 0x100, 0x01010101, 0x01000000, 0x00010001, 0xFFFFFFFF])


@given(
    found=st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=8), max_size=4),
    check=WORDS,
    kind=st.sampled_from([bytes, bytearray]),
)
def test_equal_records_are_those_with_that_check_and_no_others(found, check, kind):
    expected = [ordinal for bucket in found for other, ordinal in bucket if other == check]
    buffers = [packed(bucket, 32, kind) for bucket in found]
    assert equal_ordinals(buffers, check.to_bytes(4, "little")) == expected
