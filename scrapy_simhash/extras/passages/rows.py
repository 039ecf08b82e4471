"""Encode and decode the rows of the document database of a passage index.

======  =====================  ==========================================================
first   rest of the key        value
======  =====================  ==========================================================
``S``                          state: id of the next document (4 bytes), count of documents (4),
                               next sequence number of the fingerprint index (8), id below which
                               documents may have lost fingerprints (4)
``N``   digest of a name (16)  id of the document with this name (4)
``D``   id (4)                 document: digest of its text (16), count of characters (8), count
                               of passages (4), ordinals of the passages in text order (4 each),
                               name (UTF-8)
``T``   id (4)                 text of the document (UTF-8, zlib)
``P``   ordinal (4)            passage: check (4), count of documents that have it (4)
``W``   ordinal (4), id of     places of a passage in a document: check (4), then start (4) and
        a document (4)         end (4) of each of the first four places
======  =====================  ==========================================================

Numbers are big-endian. The *id* of a document is a number, called `number` below; it changes when
the text changes. A passage has the *ordinal* of its entry in the fingerprint index. After a power
loss, one database may be older than the other, so an ordinal may refer to another passage. The
*check*, the lowest 32 bits of the fingerprint, reveals this.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

STATE_KEY = b"S"
NUMBER = struct.Struct(">I")
STATE = struct.Struct(">IIQI")
PASSAGE = struct.Struct(">II")
_DOCUMENT = struct.Struct(">16sQI")
_SPAN = struct.Struct(">II")
# The exceptions that decoding an invalid value raises.
INVALID = (ValueError, struct.error, zlib.error)
# Upper limit for stored places of a passage in one document.
KEPT_PLACES = 4


class Place(NamedTuple):
    """A place of a passage: the characters from `start` to `end` of a document."""

    document: int
    start: int
    end: int


class Passage(NamedTuple):
    """The check of a passage, and the number of documents that have it."""

    check: int
    documents: int = 0


class Document(NamedTuple):
    """A document: its name, digest and length of its text, and ordinals of its passages."""

    name: str
    digest: bytes
    characters: int
    passages: tuple[int, ...]


class State(NamedTuple):
    """The state of the document database.

    :param next_number: id of the next document.
    :param documents: count of documents.
    :param next_sequence: next sequence number of the fingerprint index when the state was written.
    :param suspect_below: documents with lower ids may have lost fingerprints.
    """

    next_number: int = 0
    documents: int = 0
    next_sequence: int = 0
    suspect_below: int = 0


def digest(text: str) -> bytes:
    """Return a 16-byte hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def key(first: bytes, *numbers: int) -> bytes:
    """Return a key from its first byte and numbers of 32 bits; keys sort by the numbers."""
    return first + struct.pack(f">{len(numbers)}I", *numbers)


def name_key(name: str) -> bytes:
    """Return the key of the id of the document with a name."""
    return b"N" + digest(name)


def encode_document(document: Document) -> bytes:
    """Return the value that stores a document."""
    passages = document.passages
    head = _DOCUMENT.pack(document.digest, document.characters, len(passages))
    name = document.name.encode("utf-8", "surrogatepass")
    return head + struct.pack(f">{len(passages)}I", *passages) + name


def decode_document(value: bytes) -> Document:
    """Return the document that a value stores, or raise one of `INVALID`."""
    text_digest, characters, count = _DOCUMENT.unpack_from(value)
    passages = struct.unpack_from(f">{count}I", value, _DOCUMENT.size)
    name = value[_DOCUMENT.size + 4 * count :].decode("utf-8", "surrogatepass")
    return Document(name, text_digest, characters, passages)


def encode_text(text: str) -> bytes:
    """Return the value that stores a text."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def decode_text(value: bytes) -> str:
    """Return the text that a value stores, or raise one of `INVALID`."""
    return zlib.decompress(value).decode("utf-8", "surrogatepass")


def check(fingerprint: int) -> int:
    """Return the check of a fingerprint: its lowest 32 bits."""
    return fingerprint & 0xFFFF_FFFF


def encode_places(check: int, spans: Iterable[tuple[int, int]]) -> bytes:
    """Return the value that stores the places of a passage in a document."""
    return NUMBER.pack(check) + b"".join(_SPAN.pack(*span) for span in spans)


def decode_places(key: bytes, value: bytes) -> tuple[int, list[Place]]:
    """Return the (check, places) that a row stores, or raise one of `INVALID`."""
    [number] = NUMBER.unpack(key[5:])
    if len(value) <= NUMBER.size:
        raise ValueError(f"places of {len(value)} bytes")
    [check] = NUMBER.unpack_from(value)
    spans = _SPAN.iter_unpack(value[NUMBER.size :])
    return check, [Place(number, *span) for span in spans]
