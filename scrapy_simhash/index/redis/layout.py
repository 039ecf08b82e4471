"""The keys and values of an index in Redis. docs/decisions/redis.md explains how they are used.

All Redis keys begin with the name of the index, here ``shop:simhash``, and end with the name in
braces (hash tag). So on a cluster, they share one slot. In values, ``name:4`` takes 4 bytes.

===============================  ===================================================================
key                              value
===============================  ===================================================================
``…:manifest{shop:simhash}``     scheme, tables, distance, confirmation and format, as JSON
``…:crawls{shop:simhash}``       hash: first sequence number and settings of each named crawl (JSON)
``…:sequence{shop:simhash}``     the last sequence number that was assigned
``…:journal{shop:simhash}``      list, the *journal*: digest:8 attempt:8 mark:8 fingerprint of each
                                 admitted page, padded to words of 4 bytes: Lua compares these
``…:entries{shop:simhash}``      hash, the stored entries: digest:8 = entry
``…:pending{shop:simhash}``      hash, the pending pages: digest:8 = list of (attempt:8, deadline,
                                 entry), oldest first, in MessagePack
``…:notes{shop:simhash}``        hash: the notes beside the pages, of slices and of crawls
``…:log{shop:simhash}``          hash, the near-duplicate log: sequence number = line
===============================  ===================================================================

For marks see `scrapy_simhash.index.marks`. Entries and lines of the log are encoded as on disk
(`scrapy_simhash.index.records`). A *digest* is the BLAKE2b hash of a page key, with a digest size
of 8 bytes. An *attempt* is 8 random bytes that a process chooses for a page that it wants to be
admitted: they tell the rows of the journal apart, and name a pending page. A *deadline* is the end
of a lease, in Unix milliseconds.
"""

from __future__ import annotations

from hashlib import blake2b, sha1
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.index.records import encode_key

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS = ("manifest", "crawls", "sequence", "journal", "entries", "pending", "notes", "log")
DIGEST_BYTES = ATTEMPT_BYTES = MARK_BYTES = 8
MARK_AT = DIGEST_BYTES + ATTEMPT_BYTES
FINGERPRINT_AT = MARK_AT + MARK_BYTES
"""Where marks and fingerprints begin in rows of the journal. `scripts` knows it, too."""


class State(NamedTuple):
    """What the server has of a digest.

    :param stored: value of the stored entry, or b"".
    :param pending: attempt and encoded entry of each pending page, oldest first.
    :param sum: the SHA-1 of the stored value and the last attempt, in hexadecimal digits.
    """

    stored: bytes = b""
    pending: Sequence[tuple[bytes, bytes]] = ()
    sum: bytes = sha1(b"", usedforsecurity=False).hexdigest().encode()


def redis_key(name: str, what: str) -> bytes:
    """Return one of the `KEYS` of an index."""
    encoded = encode_key(name)
    return encoded + b":" + what.encode() + b"{" + encoded + b"}"


def digest_of(key: str) -> bytes:
    """Return the digest of a page key."""
    return blake2b(encode_key(key), digest_size=DIGEST_BYTES).digest()


def row_id(row: bytes) -> bytes:
    """Return the parts of a row of the journal that are equal for equal pages."""
    return row[:DIGEST_BYTES] + row[MARK_AT:]
