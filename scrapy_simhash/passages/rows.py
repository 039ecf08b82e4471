"""Encode and decode the rows of the document database of a passage index.

======  =====================  ==========================================================
first   rest of the key        value
======  =====================  ==========================================================
``S``                          state: number of the next document (4 bytes), documents (4), next
                               sequence of the index of fingerprints (8), number below which
                               documents may have lost fingerprints (4)
``N``   digest of a name (16)  number of the document of that name (4)
``D``   number (4)             document: digest of its text (16), characters (8), passages
                               (4), their ordinals (4 each, in the order of the text), name
``T``   number (4)             text: zlib, UTF-8
``P``   ordinal (4)            passage: check (4), number of documents that have it (4)
``W``   ordinal (4), number    where a document has a passage: check (4); start (4) and end (4)
        of a document (4)      of the first places
======  =====================  ==========================================================

Numbers are big-endian. An ordinal is that of the passage's entry in the fingerprint index. The
check is the lowest 32 bits of the fingerprint: after a power loss, one database may be older than
the other, and an ordinal may refer to another passage.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

STATE_KEY = b"S"
_NUMBER = struct.Struct(">I")
_STATE = struct.Struct(">IIQI")
_DOCUMENT = struct.Struct(">16sQI")
_PASSAGE = struct.Struct(">II")
_PAIR = struct.Struct(">II")
# Upper limit for stored places of a passage in one document.
KEPT_PLACES = 4
MAX_CHARACTERS = (1 << 32) - 1


class Place(NamedTuple):
    """A place of a passage: the characters from `start` to `end` of a document."""

    document: int
    start: int
    end: int


class Passage(NamedTuple):
    """A passage, with the number of documents that have it."""

    check: int
    documents: int = 0


class Document(NamedTuple):
    """A document, with the digest of its text and the ordinals of its passages."""

    name: str
    digest: bytes
    characters: int
    passages: tuple[int, ...]


class State(NamedTuple):
    """The state of the document database.

    :param next_number: number of the next document.
    :param next_sequence: that of the fingerprint index when the state was written.
    :param suspect_below: documents with lower numbers may have lost fingerprints.
    """

    next_number: int = 0
    documents: int = 0
    next_sequence: int = 0
    suspect_below: int = 0


def digest(text: str) -> bytes:
    """Return a 16-byte hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def name_row(name: str) -> bytes:
    """Return the key of the row with the number of the named document."""
    return b"N" + digest(name)


def document_row(number: int) -> bytes:
    """Return the key of a document."""
    return b"D" + _NUMBER.pack(number)


def text_row(number: int) -> bytes:
    """Return the key of the text of a document."""
    return b"T" + _NUMBER.pack(number)


def passage_row(ordinal: int) -> bytes:
    """Return the key of a passage."""
    return b"P" + _NUMBER.pack(ordinal)


def encode_number(number: int) -> bytes:
    """Return the value of the row of a name."""
    return _NUMBER.pack(number)


def decode_number(value: bytes) -> int:
    """Decode the row of a name.

    :raises ValueError: the value is invalid.
    """
    number: int = _unpacked(_NUMBER, value)[0]
    return number


def encode_state(state: State) -> bytes:
    """Return the value of the state row."""
    return _STATE.pack(*state)


def decode_state(value: bytes) -> State:
    """Decode the state row.

    :raises ValueError: the value is invalid.
    """
    return State(*_unpacked(_STATE, value))


def encode_document(document: Document) -> bytes:
    """Return the value of the row of a document."""
    passages = document.passages
    head = _DOCUMENT.pack(document.digest, document.characters, len(passages))
    name = document.name.encode("utf-8", "surrogatepass")
    return head + struct.pack(f">{len(passages)}I", *passages) + name


def decode_document(value: bytes) -> Document:
    """Decode the row of a document.

    :raises ValueError: the value is invalid.
    """
    head = _DOCUMENT.size
    text_digest, characters, count = _unpacked(_DOCUMENT, value[:head])
    end = head + 4 * count
    if len(value) < end:
        raise ValueError(f"{len(value)} bytes for {count} passages")
    passages = struct.unpack(f">{count}I", value[head:end])
    return Document(value[end:].decode("utf-8", "surrogatepass"), text_digest, characters, passages)


def encode_text(text: str) -> bytes:
    """Return the value of the row of a text."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def decode_text(value: bytes) -> str:
    """Decode the row of a text.

    :raises ValueError: the value is invalid.
    """
    try:
        return zlib.decompress(value).decode("utf-8", "surrogatepass")
    except zlib.error as error:
        raise ValueError(str(error)) from error


def check(fingerprint: int) -> int:
    """Return the check of a fingerprint: its lowest 32 bits."""
    return fingerprint & 0xFFFF_FFFF


def encode_passage(passage: Passage) -> bytes:
    """Return the value of the row of a passage."""
    return _PASSAGE.pack(*passage)


def decode_passage(value: bytes) -> Passage:
    """Decode the row of a passage.

    :raises ValueError: the value is invalid.
    """
    return Passage(*_unpacked(_PASSAGE, value))


def places_row(ordinal: int, number: int = 0) -> bytes:
    """Return the key of the places of a passage in a document, sorted by passage, then document."""
    return b"W" + _PAIR.pack(ordinal, number)


def encode_places(check: int, spans: Iterable[tuple[int, int]]) -> bytes:
    """Return the value of a row of places."""
    return _NUMBER.pack(check) + b"".join(_PAIR.pack(*span) for span in spans)


def decode_places(key: bytes, value: bytes) -> tuple[int, list[Place]]:
    """Return the (check, places) of a row.

    :raises ValueError: the row is invalid.
    """
    _, number = _unpacked(_PAIR, key[1:])
    if len(value) <= _NUMBER.size or len(value) % _PAIR.size != _NUMBER.size:
        raise ValueError(f"places of {len(value)} bytes")
    spans = _PAIR.iter_unpack(value[_NUMBER.size :])
    return decode_number(value[: _NUMBER.size]), [Place(number, *span) for span in spans]


def _unpacked(layout: struct.Struct, value: bytes) -> tuple[Any, ...]:
    try:
        return layout.unpack(value)
    except struct.error as error:
        raise ValueError(str(error)) from error
