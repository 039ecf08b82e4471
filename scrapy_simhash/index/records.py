"""Keys and values of the LevelDB index as bytes. Format version 1.

======================================================  ==========================================
key                                                     value
======================================================  ==========================================
``E`` number:8                                          entry: met:8 first:5 last:5 fp:f/8 key
``K`` blake2b-128 of the key:16                         number:8
``T`` table:2 prefix:ceil(p/8) number:8                 fp:f/8
``N`` sequence:8                                        near-duplicate: seen:5 distance:2 fp:f/8
                                                        length of the representative:4
                                                        representative, key
``S``                                                   state: next sequence:8 entries:8
======================================================  ==========================================

All integers are big-endian, so that LevelDB's order of bytes is the order of numbers; times are
Unix seconds; keys of pages are UTF-8 (lone surrogates as they are). The number of an entry is
the sequence of the observation that made it, so ``E`` rows are ordered by age. A ``T`` row holds
the fingerprint, so that a candidate is judged where it is found. Worked example, 16 bits in two
blocks: entry 7 of fingerprint 0xABCD has the table rows ``T 0000 AB 0000000000000007`` and
``T 0001 CD 0000000000000007``, both with the value ``ABCD``.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from scrapy_simhash.index.base import Entry, NearDuplicate

if TYPE_CHECKING:
    from scrapy_simhash.index.plan import TablePlan

STATE_KEY = b"S"
ENTRY_PREFIX = b"E"
LOG_PREFIX = b"N"
_STATE = struct.Struct(">QQ")
_TIME_BYTES = 5


def number_bytes(number: int) -> bytes:
    """A number or sequence, 8 bytes."""
    return number.to_bytes(8, "big")


def key_row(key: str) -> bytes:
    """Row that leads from a page's key to its entry's number."""
    return b"K" + hashlib.blake2b(encode_key(key), digest_size=16).digest()


def encode_key(key: str) -> bytes:
    """UTF-8; lone surrogates, which a URL from a broken page may hold, as they are."""
    return key.encode("utf-8", "surrogatepass")


def decode_key(value: bytes) -> str:
    """Inverse of `encode_key`."""
    return value.decode("utf-8", "surrogatepass")


def entry_row(number: int) -> bytes:
    """Row of an entry."""
    return ENTRY_PREFIX + number_bytes(number)


def log_row(sequence: int) -> bytes:
    """Row of a line of the near-duplicate log."""
    return LOG_PREFIX + number_bytes(sequence)


def encode_entry(entry: Entry, width_bytes: int) -> bytes:
    """Value of an entry's row."""
    return (
        number_bytes(entry.met)
        + entry.first_seen_s.to_bytes(_TIME_BYTES, "big")
        + entry.last_seen_s.to_bytes(_TIME_BYTES, "big")
        + entry.fingerprint.to_bytes(width_bytes, "big")
        + encode_key(entry.key)
    )


def decode_entry(number: int, value: bytes, width_bytes: int) -> Entry:
    """Inverse of `encode_entry`. :raises ValueError: the value is too short."""
    key_at = 18 + width_bytes
    if len(value) <= key_at:
        raise ValueError(f"entry {number} has {len(value)} bytes, more than {key_at} are needed")
    return Entry(
        number=number,
        key=decode_key(value[key_at:]),
        fingerprint=int.from_bytes(value[18:key_at], "big"),
        met=int.from_bytes(value[:8], "big"),
        first_seen_s=int.from_bytes(value[8:13], "big"),
        last_seen_s=int.from_bytes(value[13:18], "big"),
    )


def table_prefixes(plan: TablePlan, fingerprint: int) -> list[bytes]:
    """For each table the bytes that its rows for this fingerprint begin with."""
    return [
        b"T" + table.to_bytes(2, "big") + prefix.to_bytes(-(-width // 8), "big")
        for table, (prefix, width) in enumerate(
            zip(plan.prefixes(fingerprint), plan.prefix_widths_bits, strict=True)
        )
    ]


def encode_near_duplicate(line: NearDuplicate, width_bytes: int) -> bytes:
    """Value of a line of the near-duplicate log."""
    representative = encode_key(line.representative)
    return (
        line.seen_at_s.to_bytes(_TIME_BYTES, "big")
        + line.distance.to_bytes(2, "big")
        + line.fingerprint.to_bytes(width_bytes, "big")
        + len(representative).to_bytes(4, "big")
        + representative
        + encode_key(line.key)
    )


def decode_near_duplicate(sequence: int, value: bytes, width_bytes: int) -> NearDuplicate:
    """Inverse of `encode_near_duplicate`. :raises ValueError: the value is too short."""
    text_at = 11 + width_bytes
    length = int.from_bytes(value[text_at - 4 : text_at], "big")
    if len(value) <= text_at + length:
        raise ValueError(f"line {sequence} of the near-duplicate log is cut short")
    return NearDuplicate(
        key=decode_key(value[text_at + length :]),
        representative=decode_key(value[text_at : text_at + length]),
        distance=int.from_bytes(value[5:7], "big"),
        fingerprint=int.from_bytes(value[7 : 7 + width_bytes], "big"),
        sequence=sequence,
        seen_at_s=int.from_bytes(value[:5], "big"),
    )


def encode_state(next_sequence: int, entries: int) -> bytes:
    """Value of the state row."""
    return _STATE.pack(next_sequence, entries)


def decode_state(value: bytes) -> tuple[int, int]:
    """(next sequence, number of entries). :raises ValueError: not 16 bytes."""
    if len(value) != _STATE.size:
        raise ValueError(f"the state row has {len(value)} bytes instead of {_STATE.size}")
    next_sequence, entries = _STATE.unpack(value)
    return next_sequence, entries
