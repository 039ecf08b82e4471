"""Rows as bytes: literal bytes and round trips; for evidence see `test_evidence`."""

from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.confirmation import Against
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index import records
from scrapy_simhash.index.base import Action, Entry, NearDuplicate
from scrapy_simhash.index.records import State

KEYS = st.text(st.characters(exclude_categories=()), min_size=1)
ORDINALS = st.integers(0, records.MAX_ORDINAL)
NUMBERS = st.integers(0, 2**40 - 1)
TIMES = st.integers(0, 2**32 - 1)
SIMILARITIES = st.none() | st.integers(0, 100).map(lambda percent: percent / 100)
WIDTHS = st.sampled_from([1, 2, 8, 32, 64])


@st.composite
def entries(draw):
    width = draw(WIDTHS)
    fingerprint = draw(st.integers(0, 2 ** (8 * width) - 1))
    number, met = sorted([draw(NUMBERS), draw(NUMBERS)])
    first_seen_s, last_seen_s = sorted([draw(TIMES), draw(TIMES)])
    return width, Entry(
        number,
        draw(KEYS),
        fingerprint,
        met,
        first_seen_s,
        last_seen_s,
        draw(ORDINALS),
        draw(st.sampled_from([NO_EVIDENCE, Evidence(bytes(128), 7, depth=3)])),
        draw(st.booleans()),
    )


@st.composite
def lines(draw):
    width = draw(WIDTHS)
    fingerprint = draw(st.integers(0, 2 ** (8 * width) - 1))
    distance = draw(st.integers(0, 8 * width))
    return NearDuplicate(
        draw(KEYS),
        draw(KEYS),
        distance,
        fingerprint,
        draw(NUMBERS),
        draw(TIMES),
        draw(SIMILARITIES),
        draw(st.sampled_from(get_args(Against))),
        draw(st.sampled_from(get_args(Action))),
        draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=60)),
    )


def test_rows_are_laid_out_as_docs_index_format_says():
    entry = Entry(0x1122334455, "ü\udcff", 0xABCD, 0x1122334455, 0x01020304, 0x01020304, 7)
    assert records.entry_row_key(7).hex() == "4500000007"
    fixed = "1122334455" + "01020304" + "abcd"
    assert records.encode_entry(entry, 2).hex() == fixed + "00" + "0000" + "00" + "c3bcedb3bf"
    gave_items = entry._replace(gave_items=True)
    assert records.encode_entry(gave_items, 2).hex() == fixed + "01" + "000000" + "c3bcedb3bf"
    # Met 300 = 0b10_0101100 observations later, and seen 16385 = 2**14 + 1 s later.
    later = entry._replace(last_sequence=entry.number + 300, last_seen_s=entry.first_seen_s + 16385)
    assert records.encode_entry(later, 2).hex() == (
        fixed + "00" + "ac02" + "818001" + "00" + "c3bcedb3bf"
    )
    known = entry._replace(evidence=Evidence(b"\1\2\3", 0x0A0B0C0D, b"\4\5", b"", depth=1))
    evidence = "0103010203" + "02040a0b0c0d" + "03020405" + "0a0101" + "00"
    assert records.encode_entry(known, 2).hex() == fixed + "000000" + evidence + "c3bcedb3bf"
    line = NearDuplicate("é", "ab", 3, 0xABCD, 9, 0x01020304)
    assert records.log_row_key(9).hex() == "4e0000000009"
    assert records.encode_near_duplicate(line).decode() == (
        '["é", "ab", 3, 43981, 16909060, null, "", "", ""]'
    )
    similar = replace(line, similarity=0.57, against="doubt", action="passed", label="x")
    assert records.encode_near_duplicate(similar).decode() == (
        '["é", "ab", 3, 43981, 16909060, 0.57, "doubt", "passed", "x"]'
    )
    assert records.STATE_KEY == b"S"
    assert records.encode_state(State(0x0102, 3, 0x0A0B, 5)).hex() == (
        "0000000000000102" + "0000000000000003" + "0000000000000a0b" + "0000000000000005"
    )


@given(entries())
def test_entries_come_back_as_they_were(case):
    width, entry = case
    assert records.decode_entry(entry.ordinal, records.encode_entry(entry, width), width) == entry


@given(lines())
def test_log_lines_come_back_as_they_were(line):
    value = records.encode_near_duplicate(line)
    assert records.decode_near_duplicate(line.sequence, value) == line
