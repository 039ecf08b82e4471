"""Rows of documents: what is written is read again, and damage is noticed."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.extras.passages import rows
from scrapy_simhash.extras.passages.rows import Document, Place

NUMBERS = st.integers(0, 2**32 - 1)
TEXTS = st.text(st.characters())


@given(TEXTS, st.binary(min_size=16, max_size=16), st.integers(0, 2**60), st.lists(NUMBERS))
def test_document(name, digest, characters, passages):
    document = Document(name, digest, characters, tuple(passages))
    assert rows.decode_document(rows.encode_document(document)) == document


@given(TEXTS)
def test_text(text):
    assert rows.decode_text(rows.encode_text(text)) == text


@given(NUMBERS, NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_places(ordinal, number, spans):
    key = rows.key(b"W", ordinal, number)
    assert rows.key(b"W", ordinal) < key < rows.key(b"W", ordinal) + b"\xff" * 5
    found = rows.decode_places(key, rows.encode_places(ordinal, spans))
    assert found == (ordinal, [Place(number, *span) for span in spans])


@pytest.mark.parametrize(
    ("decode", "value"),
    [
        (rows.decode_document, b"short"),
        (rows.decode_document, rows.encode_document(Document("", b"x" * 16, 1, (1, 2)))[:-4]),
        (rows.decode_text, b"not zlib"),
        (partial(rows.decode_places, rows.key(b"W", 1, 2)), b""),
        (partial(rows.decode_places, rows.key(b"W", 1, 2)), b"1234"),
        (partial(rows.decode_places, b"Wxy"), b"12345678"),
    ],
)
def test_damage_is_noticed(decode, value):
    with pytest.raises(rows.INVALID):
        decode(value)


def test_keys_are_apart():
    keys = [rows.STATE_KEY, rows.name_key("a"), rows.key(b"D", 1), rows.key(b"T", 1)]
    keys += [rows.key(b"P", 1), rows.key(b"D", 2), rows.name_key("b")]
    assert len(set(keys)) == len(keys)
