"""The rows of the documents of a passage index, as bytes.

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

Numbers are big-endian. An ordinal is that of the passage's entry in the index of fingerprints, and
the check the lowest bits of its fingerprint: after a power loss the two databases may be of
different ages, and an ordinal that of another passage.
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
# Of the places of a passage in one document, the first are as good as any.
KEPT_PLACES = 4
MAX_CHARACTERS = (1 << 32) - 1


class Place(NamedTuple):
    """Where a passage stands: the number of a document, and characters `start` to `end`."""

    document: int
    start: int
    end: int


class Passage(NamedTuple):
    """A passage: how many documents have it."""

    check: int
    documents: int = 0


class Document(NamedTuple):
    """A document: `digest` of its text, and the ordinals of its passages."""

    name: str
    digest: bytes
    characters: int
    passages: tuple[int, ...]


class State(NamedTuple):
    """The number that the next document gets, how many there are, and how old the fingerprints
    were when they were written.
    """

    next_number: int = 0
    documents: int = 0
    next_sequence: int = 0
    suspect_below: int = 0


def digest(text: str) -> bytes:
    """16 bytes that tell texts apart."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def name_row(name: str) -> bytes:
    """Key of the row with the number of a document."""
    return b"N" + digest(name)


def document_row(number: int) -> bytes:
    """Key of a document."""
    return b"D" + _NUMBER.pack(number)


def text_row(number: int) -> bytes:
    """Key of a document's text."""
    return b"T" + _NUMBER.pack(number)


def passage_row(ordinal: int) -> bytes:
    """Key of a passage."""
    return b"P" + _NUMBER.pack(ordinal)


def encode_number(number: int) -> bytes:
    """Value of a name's row."""
    return _NUMBER.pack(number)


def decode_number(value: bytes) -> int:
    """:raises ValueError: it is none."""
    number: int = _unpacked(_NUMBER, value)[0]
    return number


def encode_state(state: State) -> bytes:
    """Value of the state's row."""
    return _STATE.pack(*state)


def decode_state(value: bytes) -> State:
    """:raises ValueError: it is none."""
    return State(*_unpacked(_STATE, value))


def encode_document(document: Document) -> bytes:
    """Value of a document's row."""
    passages = document.passages
    head = _DOCUMENT.pack(document.digest, document.characters, len(passages))
    name = document.name.encode("utf-8", "surrogatepass")
    return head + struct.pack(f">{len(passages)}I", *passages) + name


def decode_document(value: bytes) -> Document:
    """:raises ValueError: it is none."""
    head = _DOCUMENT.size
    text_digest, characters, count = _unpacked(_DOCUMENT, value[:head])
    end = head + 4 * count
    if len(value) < end:
        raise ValueError(f"{len(value)} bytes for {count} passages")
    passages = struct.unpack(f">{count}I", value[head:end])
    return Document(value[end:].decode("utf-8", "surrogatepass"), text_digest, characters, passages)


def encode_text(text: str) -> bytes:
    """Value of a text's row."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def decode_text(value: bytes) -> str:
    """:raises ValueError: it is none."""
    try:
        return zlib.decompress(value).decode("utf-8", "surrogatepass")
    except zlib.error as error:
        raise ValueError(str(error)) from error


def check(fingerprint: int) -> int:
    """What a passage's row says of its fingerprint."""
    return fingerprint & 0xFFFF_FFFF


def encode_passage(passage: Passage) -> bytes:
    """Value of a passage's row."""
    return _PASSAGE.pack(*passage)


def decode_passage(value: bytes) -> Passage:
    """:raises ValueError: it is none."""
    return Passage(*_unpacked(_PASSAGE, value))


def places_row(ordinal: int, number: int = 0) -> bytes:
    """Key of the places of a passage in a document; a passage's are in the order of documents."""
    return b"W" + _PAIR.pack(ordinal, number)


def encode_places(check: int, spans: Iterable[tuple[int, int]]) -> bytes:
    """Value of a places' row."""
    return _NUMBER.pack(check) + b"".join(_PAIR.pack(*span) for span in spans)


def decode_places(key: bytes, value: bytes) -> tuple[int, list[Place]]:
    """(check, places) of a row. :raises ValueError: it is none."""
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
