"""Encode and decode the rows of an index. docs/index-format.md describes them (format version 8).

The *head* of a row's key is its first byte, which tells the kind of row. Integers are big-endian,
so that keys sort by value.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, get_args

from scrapy_simhash.confirmation import Against
from scrapy_simhash.evidence import encode_evidence, read_evidence, read_varint, varint
from scrapy_simhash.index.base import ACTIONS, Entry, NearDuplicate

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
MAX_SEQUENCE = (1 << 8 * SEQUENCE_BYTES) - 1
_TIME_BYTES = 4
_NO_FLAGS = b"\0"
_GAVE_ITEMS = b"\1"
# A similarity is stored in per cent.
_PERCENT = 100
_NO_SIMILARITY = 0xFF
# The flags of a log line are the position of the action in `ACTIONS`, and above these bits that of
# the rule that says that the page is no copy.
_AGAINST_SHIFT = 3
_AGAINST: tuple[Against, ...] = get_args(Against)
_MAX_LABEL = 255
_LOG_HEAD = struct.Struct(">IHBB")
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


def encode_near_duplicate(line: NearDuplicate, width_bytes: int) -> bytes:
    """Return the value of the row of a log line."""
    representative = encode_key(line.representative)
    similarity = _NO_SIMILARITY if line.similarity is None else round(_PERCENT * line.similarity)
    flags = ACTIONS.index(line.action) | _AGAINST.index(line.against) << _AGAINST_SHIFT
    label = encode_key(line.label)[:_MAX_LABEL]
    return (
        _LOG_HEAD.pack(line.seen_at_s, line.distance, similarity, flags)
        + line.fingerprint.to_bytes(width_bytes, "big")
        + len(representative).to_bytes(4, "big")
        + representative
        + bytes((len(label),))
        + label
        + encode_key(line.key)
    )


def decode_near_duplicate(sequence: int, value: bytes, width_bytes: int) -> NearDuplicate:
    """Return the log line of a row. :raises ValueError: it is cut short, impossible or no UTF-8."""
    fingerprint_at = _LOG_HEAD.size
    text_at = fingerprint_at + width_bytes + 4
    length = int.from_bytes(value[text_at - 4 : text_at], "big")
    label_at = text_at + length + 1
    key_at = label_at + value[label_at - 1] if label_at < len(value) else len(value)
    if len(value) <= key_at:
        raise ValueError(f"line {sequence} of the near-duplicate log is cut short")
    seen_at_s, distance, similarity, flags = _LOG_HEAD.unpack_from(value)
    against, action = divmod(flags, 1 << _AGAINST_SHIFT)
    is_percent = similarity <= _PERCENT or similarity == _NO_SIMILARITY
    if action >= len(ACTIONS) or against >= len(_AGAINST) or not is_percent:
        raise ValueError(f"line {sequence} of the near-duplicate log has an impossible value")
    return NearDuplicate(
        key=decode_key(value[key_at:]),
        representative=decode_key(value[text_at : text_at + length]),
        distance=distance,
        fingerprint=int.from_bytes(value[fingerprint_at : text_at - 4], "big"),
        sequence=sequence,
        seen_at_s=seen_at_s,
        similarity=None if similarity == _NO_SIMILARITY else similarity / _PERCENT,
        against=_AGAINST[against],
        action=ACTIONS[action],
        label=value[label_at:key_at].decode("utf-8", "replace"),
    )


def encode_state(state: State) -> bytes:
    """Return the value of the state row."""
    return _STATE.pack(*state)


def decode_state(value: bytes) -> State:
    """Return the state of a row. :raises ValueError: the value has a wrong length."""
    if len(value) != _STATE.size:
        raise ValueError(f"the state row has {len(value)} bytes instead of {_STATE.size}")
    return State(*_STATE.unpack(value))
