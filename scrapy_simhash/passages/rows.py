"""The rows of the documents of a passage index, as bytes.

======  =====================  ==========================================================
first   rest of the key        value
======  =====================  ==========================================================
``S``                          state: number of the next document (4 bytes), documents (4)
``N``   digest of a name (16)  number of the document of that name (4)
``D``   number (4)             document: digest of its text (16), characters (8), passages
                               (4), their ordinals (4 each, in the order of the text), name
``T``   number (4)             text: zlib, UTF-8
``P``   ordinal (4)            passage: check (4), documents that have it (4); places (12
                               each): document, start, end
======  =====================  ==========================================================

Numbers are big-endian. An ordinal is that of the passage's entry in the index of fingerprints, and
the check the lowest bits of its fingerprint: after a power loss the two databases may be of
different ages, and an ordinal that of another passage.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, NamedTuple

STATE_KEY = b"S"
_NUMBER = struct.Struct(">I")
_STATE = struct.Struct(">II")
_DOCUMENT = struct.Struct(">16sQI")
_PASSAGE = struct.Struct(">II")
_PLACE = struct.Struct(">III")
# Of the places of a passage that very many documents have, the first are as good as any.
KEPT_PLACES = 32
MAX_CHARACTERS = (1 << 32) - 1


class Place(NamedTuple):
    """Where a passage stands: the number of a document, and characters `start` to `end`."""

    document: int
    start: int
    end: int


class Passage(NamedTuple):
    """A passage: how many documents have it, and where the first of them have it."""

    check: int
    documents: int = 0
    places: tuple[Place, ...] = ()


class Document(NamedTuple):
    """A document: `digest` of its text, and the ordinals of its passages."""

    name: str
    digest: bytes
    characters: int
    passages: tuple[int, ...]


class State(NamedTuple):
    """The number that the next document gets, and how many there are."""

    next_number: int
    documents: int


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
    places = b"".join(_PLACE.pack(*place) for place in passage.places)
    return _PASSAGE.pack(passage.check, passage.documents) + places


def decode_passage(value: bytes) -> Passage:
    """:raises ValueError: it is none."""
    if len(value) % _PLACE.size != _PASSAGE.size:
        raise ValueError(f"a passage of {len(value)} bytes")
    places = tuple(Place(*place) for place in _PLACE.iter_unpack(value[_PASSAGE.size :]))
    number, documents = _PASSAGE.unpack_from(value)
    return Passage(number, documents, places)


def _unpacked(layout: struct.Struct, value: bytes) -> tuple[Any, ...]:
    try:
        return layout.unpack(value)
    except struct.error as error:
        raise ValueError(str(error)) from error
