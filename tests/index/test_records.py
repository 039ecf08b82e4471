"""Rows as bytes: the worked example of the docstring, literal bytes, round trips, damage."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.index import TablePlan, records
from scrapy_simhash.index.base import Entry, NearDuplicate

from .backends import LevelDBBackend, rows

KEYS = st.text(st.characters(exclude_categories=()), min_size=1)
NUMBERS = st.integers(0, 2**64 - 1)
TIMES = st.integers(0, 2**40 - 1)
WIDTHS = st.sampled_from([1, 2, 8, 32, 64])


@st.composite
def entries(draw):
    width = draw(WIDTHS)
    fingerprint = draw(st.integers(0, 2 ** (8 * width) - 1))
    return width, Entry(
        draw(NUMBERS), draw(KEYS), fingerprint, draw(NUMBERS), draw(TIMES), draw(TIMES)
    )


@st.composite
def lines(draw):
    width = draw(WIDTHS)
    fingerprint = draw(st.integers(0, 2 ** (8 * width) - 1))
    distance = draw(st.integers(0, 8 * width))
    return width, NearDuplicate(
        draw(KEYS), draw(KEYS), distance, fingerprint, draw(NUMBERS), draw(TIMES)
    )


def test_the_worked_example_of_the_docstring_is_true(tmp_path):
    text = " ".join(records.__doc__.split())
    example = re.search(
        r"Worked example, (\d+) bits in two blocks: entry (\d+) of fingerprint 0x(\w+) has the "
        r"table rows ``T ([\w ]+)`` and ``T ([\w ]+)``, both with the value ``(\w+)``",
        text,
    )
    assert example is not None
    bits, number, fingerprint, first, second, value = example.groups()
    backend = LevelDBBackend(tmp_path / "index", TablePlan(int(bits), 2))
    with backend.open(max_distance=1) as index:
        for other in range(1, int(number)):
            index.discard(index.observe(f"page {other}", 0))
        index.confirm(index.observe("page", int(fingerprint, 16)))
    stored = rows(backend.directory)
    assert {row: data for row, data in stored.items() if row[:1] == b"T"} == {
        b"T" + bytes.fromhex(first): bytes.fromhex(value),
        b"T" + bytes.fromhex(second): bytes.fromhex(value),
    }
    assert set(stored) - {row for row in stored if row[:1] == b"T"} == {
        b"E" + int(number).to_bytes(8, "big"),
        b"K" + hashlib.blake2b(b"page", digest_size=16).digest(),
        b"S",
    }


def test_rows_are_laid_out_as_the_docstring_says():
    entry = Entry(7, "ü\udcff", 0xABCD, 0x1122334455667788, 0x0102030405, 0x060708090A)
    assert records.entry_row(7).hex() == "450000000000000007"
    assert records.encode_entry(entry, 2).hex() == (
        "11223344556677880102030405060708090aabcdc3bcedb3bf"
    )
    line = NearDuplicate("é", "ab", 3, 0xABCD, 9, 0x0102030405)
    assert records.log_row(9).hex() == "4e0000000000000009"
    assert records.encode_near_duplicate(line, 2).hex() == ("01020304050003abcd000000026162c3a9")
    assert records.STATE_KEY == b"S"
    assert records.encode_state(0x0102, 3).hex() == "00000000000001020000000000000003"
    assert records.key_row("a") == b"K" + hashlib.blake2b(b"a", digest_size=16).digest()


def test_prefixes_take_whole_bytes_and_are_right_aligned():
    # 24 bits in five blocks of 5, 5, 5, 5 and 4, two chosen: prefixes of 10 and 9 bits.
    found = records.table_prefixes(TablePlan(24, 5, 2), 0b11111_00000_10101_00001_1001)
    assert found[0] == b"T\0\0" + 0b11111_00000.to_bytes(2, "big")
    assert found[9] == b"T\0\x09" + 0b00001_1001.to_bytes(2, "big")
    assert len(set(found)) == 10


@given(entries())
def test_entries_come_back_as_they_were(case):
    width, entry = case
    assert records.decode_entry(entry.number, records.encode_entry(entry, width), width) == entry


@given(lines())
def test_log_lines_come_back_as_they_were(case):
    width, line = case
    value = records.encode_near_duplicate(line, width)
    assert records.decode_near_duplicate(line.sequence, value, width) == line


@given(NUMBERS, NUMBERS)
def test_the_state_comes_back_as_it_was(next_sequence, count):
    assert records.decode_state(records.encode_state(next_sequence, count)) == (
        next_sequence,
        count,
    )


@given(st.lists(NUMBERS, min_size=2, unique=True))
def test_the_order_of_bytes_is_the_order_of_numbers(numbers):
    for row in (records.entry_row, records.log_row):
        ordered = [row(number) for number in sorted(numbers)]
        assert all(one < other for one, other in pairwise(ordered))


@given(KEYS, KEYS)
def test_each_key_has_its_own_row(one, other):
    assert (records.key_row(one) == records.key_row(other)) == (one == other)
    assert records.decode_key(records.encode_key(one)) == one


@given(entries(), lines(), st.data())
def test_values_that_are_cut_short_are_refused(entry_case, line_case, data):
    width, entry = entry_case
    shortest = len(records.encode_entry(entry, width)) - len(records.encode_key(entry.key))
    with pytest.raises(ValueError, match="bytes"):
        cut = data.draw(st.integers(0, shortest))
        records.decode_entry(1, records.encode_entry(entry, width)[:cut], width)
    width, line = line_case
    value = records.encode_near_duplicate(line, width)
    with pytest.raises(ValueError, match="cut short"):
        cut = data.draw(st.integers(0, len(value) - len(records.encode_key(line.key))))
        records.decode_near_duplicate(1, value[:cut], width)


@pytest.mark.parametrize("value", [b"", b"\0" * 15, b"\0" * 17])
def test_a_state_of_another_length_is_refused(value):
    with pytest.raises(ValueError, match="16"):
        records.decode_state(value)


@pytest.mark.parametrize("key", [b"\xff", b"\xc3", b"abc\x80"])
def test_keys_that_are_not_utf_8_are_refused(key):
    with pytest.raises(ValueError, match="utf-8"):
        records.decode_entry(1, b"\0" * 20 + key, 2)
