"""Encode and decode the rows of an index. docs/index-format.md describes them (format version 9).

The *head* of a row's key is its first byte, which tells the kind of row. Integers are big-endian,
so that keys sort by value.
"""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from typing import NamedTuple

from scrapy_simhash.evidence import encode_evidence, read_evidence, read_varint, varint
from scrapy_simhash.index.base import Entry, NearDuplicate

STATE_KEY = b"S"
# (start, stop) of the keys of notes.
NOTES = (b"U", b"V")
# The same of stored texts.
TEXTS = (b"X", b"Y")
# All keys sort before `END`.
END = b"\xff" * 64
MAX_ORDINAL = (1 << 32) - 1
_STATE = struct.Struct(">QQQQ")
SEQUENCE_BYTES = 5
_TIME_BYTES = 4
_NO_FLAGS = b"\0"
_GAVE_ITEMS = b"\1"
# The values in the row of a log line.
_LINE = [field.name for field in fields(NearDuplicate) if field.name != "sequence"]
_FINGERPRINT_AT = SEQUENCE_BYTES + _TIME_BYTES


class State(NamedTuple):
    """The content of the state row, which is written together with each other row.

    :param next_sequence: higher than all numbers in rows.
    :param entries: number of entries.
    :param identity: a random number of the database, by which its tables are known.
    :param text_bytes: size of the keys and values of all stored texts.
    """

    next_sequence: int
    entries: int
    identity: int
    text_bytes: int = 0


def encode_key(key: str) -> bytes:
    """Return a page key as UTF-8 that keeps lone surrogates, which URLs of broken pages contain."""
    return key.encode("utf-8", "surrogatepass")


def decode_key(value: bytes) -> str:
    """Return the page key that `encode_key` encoded. :raises ValueError: it is not UTF-8."""
    return value.decode("utf-8", "surrogatepass")


def entry_row_key(ordinal: int) -> bytes:
    """Return the key of an entry's row."""
    return b"E" + ordinal.to_bytes(4, "big")


def log_row_key(sequence: int) -> bytes:
    """Return the key of a row of the near-duplicate log."""
    return b"N" + sequence.to_bytes(SEQUENCE_BYTES, "big")


def note_row_key(name: str) -> bytes:
    """Return the key of a note, which may have any length."""
    return b"U" + encode_key(name)


def text_row_key(key: str) -> bytes:
    """Return the key of the row with the text of a page."""
    return b"X" + encode_key(key)


def encode_entry(entry: Entry, width_bytes: int) -> bytes:
    """Return the value of an entry's row. `width_bytes` is the size of a fingerprint."""
    return (
        (entry.number << 8 * _TIME_BYTES | entry.first_seen_s).to_bytes(_FINGERPRINT_AT, "big")
        + entry.fingerprint.to_bytes(width_bytes, "big")
        + (_GAVE_ITEMS if entry.gave_items else _NO_FLAGS)
        + varint(entry.last_sequence - entry.number)
        + varint(entry.last_seen_s - entry.first_seen_s)
        + encode_evidence(entry.evidence)
        + encode_key(entry.key)
    )


def decode_entry(ordinal: int, value: bytes, width_bytes: int) -> Entry:
    """Return the entry of a row. In Redis, which has no ordinals, `ordinal` is -1.

    :raises ValueError: the value is cut short, or the page key is not UTF-8.
    """
    flags_at = _FINGERPRINT_AT + width_bytes
    try:
        sequence_difference, at = read_varint(value, flags_at + 1)
        seen_difference_s, at = read_varint(value, at)
        evidence, key_at = read_evidence(value, at)
    except (IndexError, ValueError):
        key_at = len(value)
    if len(value) <= key_at:
        name = "its value" if ordinal < 0 else f"entry {ordinal}"
        raise ValueError(f"{name} is cut short: it has {len(value)} bytes")
    from_bytes = int.from_bytes
    number = from_bytes(value[:SEQUENCE_BYTES], "big")
    first_seen_s = from_bytes(value[SEQUENCE_BYTES:_FINGERPRINT_AT], "big")
    return Entry(
        number,
        decode_key(value[key_at:]),
        from_bytes(value[_FINGERPRINT_AT:flags_at], "big"),
        number + sequence_difference,
        first_seen_s,
        first_seen_s + seen_difference_s,
        ordinal,
        evidence,
        value[flags_at : flags_at + 1] == _GAVE_ITEMS,
    )


def encode_near_duplicate(line: NearDuplicate) -> bytes:
    """Return the value of the row of a log line."""
    return encode_key(json.dumps([getattr(line, name) for name in _LINE], ensure_ascii=False))


def decode_near_duplicate(sequence: int, value: bytes) -> NearDuplicate:
    """Return the log line of a row. :raises ValueError: it is damaged."""
    try:
        values = zip(_LINE, json.loads(decode_key(value)), strict=True)
        return NearDuplicate(sequence=sequence, **dict(values))
    except (ValueError, TypeError) as error:
        raise ValueError(f"line {sequence} of the near-duplicate log: {error}") from error


def encode_state(state: State) -> bytes:
    """Return the value of the state row."""
    return _STATE.pack(*state)


def decode_state(value: bytes) -> State:
    """Return the state of a row. :raises ValueError: the value has a wrong length."""
    if len(value) != _STATE.size:
        raise ValueError(f"the state row has {len(value)} bytes instead of {_STATE.size}")
    return State(*_STATE.unpack(value))
