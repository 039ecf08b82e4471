"""The keys and values of an index in Redis. docs/decisions/redis.md explains how they are used.

All Redis keys begin with the name of the index, here ``shop:simhash``. In a cluster, keys with the
same text in braces (hash tag) are in one slot. In values, ``name:4`` takes 4 bytes, and ``a = b``
is a hash field with its value.

=============================  =====================================================================
key                            value
=============================  =====================================================================
``…:manifest{shop:simhash}``   scheme, tables, distance, confirmation and format, as JSON
``…:sequence{shop:simhash}``   the last sequence number that was assigned
``…:crawls{shop:simhash}``     hash: first sequence number and settings of each named crawl, as JSON
``…:admitted{shop:simhash}``   number of the last admission
``…:recent{shop:simhash}``     sorted set, at least the last 10,000 admissions by number: sequence:8
                               digest:8 fingerprint, padded to words of 4 bytes: Lua compares these
``…:unmarked{shop:simhash}``   sorted set, in a cluster: admissions whose pending pages are perhaps
                               not marked as admitted yet
``…:journal{shop:simhash}``    list, the *journal*: digest:8 random:4 mark:8 fingerprint of each
                               admitted page, with the same padding
``…:notes{shop:simhash}``      hash: what slices keep beside the pages
``…:history{shop:simhash}``    hash: crawls by their first sequence number
``…:e{`` shard ``}`` group     stored entries of a group: digest:8 length:4 entry, for each
``…:p{`` shard ``}`` group     hash, pending pages of a group: sequence:8 digest:8 = admitted:1
                               deadline:8 entry
``…:n{`` shard ``}``           number of stored entries in all groups of the shard
``…:l{`` number ``}``          hash, a thousand lines of the near-duplicate log by sequence
=============================  =====================================================================

For marks see `scrapy_simhash.index.marks`. Entries and lines of the log are encoded as on disk
(`scrapy_simhash.index.records`). A *digest* is the BLAKE2b hash of a page key, with a digest size
of 8 bytes. Its first bits are the number of the page's *group*, its first 6 bits that of the
*shard*. The entries of a group share one Redis key, and its pending pages another, because each key
takes 80 bytes by itself. An *admission* is the server's numbered permission for a pending page to
count. A *deadline* is the end of a lease, in Unix milliseconds. The random bytes tell rows of the
journal apart: if a server has lost rows, and others have come in their place, a replica notices.
"""

from __future__ import annotations

import os
import re
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import encode_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.index.base import SideKind
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.rules import Text

# Letters of the keys that exist once for each group, shard or part of the log.
KINDS = "epnl"
SIDE_ROWS: tuple[SideKind, ...] = ("notes", "history")
# Names of the keys that exist once per index.
STATES = (
    *("manifest", "sequence", "crawls", "admitted", "recent", "unmarked", "journal"),
    *SIDE_ROWS,
)
DIGEST_BYTES = 8
_RANDOM_BYTES = 4
MARK_AT = DIGEST_BYTES + _RANDOM_BYTES
FINGERPRINT_AT = MARK_AT + 8
"""Where marks and fingerprints begin in rows of the journal. `scripts.OBSERVE` knows it, too."""
SHARD_BITS = 6
LOG_CHUNK = 1000
ENTRIES_PER_GROUP = 8
_GROUP_BYTES = 4
MAX_GROUP_BITS = 8 * _GROUP_BYTES
_ENTRY_HEAD = struct.Struct(">8sI")
_FIELD = struct.Struct(">Q8s")
_PENDING_HEAD = struct.Struct(">cd")


class PendingPage(NamedTuple):
    """A pending page as the server holds it.

    :param admitted: the page was admitted. In a cluster, a page is held before it asks for
        admission, and is marked afterwards.
    """

    sequence: int
    digest: bytes
    admitted: bool
    entry: bytes


class Group(NamedTuple):
    """The pages of a group: stored entries, encoded, by digest; and pending pages."""

    entries: dict[bytes, bytes]
    pending: list[PendingPage]


class OrderKeys(NamedTuple):
    """The Redis keys that order observations."""

    sequence: bytes
    admitted: bytes
    journal: bytes
    unmarked: bytes
    recent: bytes


class Layout:
    """Makes Redis keys, and packs and unpacks values.

    :param name: name of the index.
    :param group_bits: how many leading bits of a digest tell its group.
    """

    def __init__(self, name: str, plan: TablePlan, group_bits: int) -> None:
        self._name = name
        self.name = encode_key(name)
        self.plan = plan
        self.group_bits = group_bits
        self._not_group_bits = 8 * DIGEST_BYTES - group_bits
        self.width_bytes = plan.bits // 8
        self._padding = bytes(-self.width_bytes % 4)
        self.journal_row_bytes = FINGERPRINT_AT + self.width_bytes + len(self._padding)
        self.order = OrderKeys(*map(self.state, OrderKeys._fields))

    def state(self, what: str) -> bytes:
        """Return the key of one of `STATES`, or of the list that `compact` writes."""
        return state_key(self._name, what)

    def group_of(self, digest: bytes) -> int:
        """Return the number of the group of a digest."""
        return int.from_bytes(digest, "big") >> self._not_group_bits

    def shard_of(self, group: int) -> int:
        """Return the number of the shard of a group. All keys of a shard are in one slot."""
        return group >> self.group_bits - SHARD_BITS

    def group_keys(self, group: int) -> tuple[bytes, bytes, bytes]:
        """Return the keys of (the group's entries, its pending pages, the count of its shard)."""
        shard = b"%d}" % self.shard_of(group)
        number = group.to_bytes(_GROUP_BYTES, "big")
        return (
            self.name + b":e{" + shard + number,
            self.name + b":p{" + shard + number,
            self.name + b":n{" + shard,
        )

    def pending_key(self, digest: bytes) -> bytes:
        """Return the key of the pending pages of a digest's group."""
        return self.group_keys(self.group_of(digest))[1]

    def pattern(self, kinds: str) -> bytes:
        """Return the pattern, for SCAN, of all keys with some letters of `KINDS`."""
        name = re.sub(rb"([\\*?\[\]])", rb"\\\1", self.name)
        return name + b":[" + kinds.encode() + b"]{*"

    @property
    def count_keys(self) -> list[bytes]:
        """The keys of the numbers of entries of all shards."""
        return count_keys(self._name)

    def log_key(self, sequence: int) -> bytes:
        """Return the key of the lines of the near-duplicate log around a sequence number."""
        return self.name + b":l{%d}" % (sequence // LOG_CHUNK)

    def member(self, sequence: int, digest: bytes, fingerprint: int) -> bytes:
        """Return an admission: a member of ``recent`` and ``unmarked``."""
        return _FIELD.pack(sequence, digest) + self._packed(fingerprint)

    def journal_row(self, digest: bytes, page: Text) -> bytes:
        """Return a new row of the journal."""
        mark = mark_of(page.evidence).to_bytes(FINGERPRINT_AT - MARK_AT, "little")
        return digest + os.urandom(_RANDOM_BYTES) + mark + self._packed(page.fingerprint)

    def _packed(self, fingerprint: int) -> bytes:
        return fingerprint.to_bytes(self.width_bytes, "big") + self._padding

    def row_id(self, row: bytes) -> bytes:
        """Return the parts of a row of the journal that are equal for equal pages."""
        return row[:DIGEST_BYTES] + row[MARK_AT:]


def state_key(name: str, what: str) -> bytes:
    """Return a key that exists once per index; see `Layout.state`."""
    encoded = encode_key(name)
    return encoded + b":" + what.encode() + b"{" + encoded + b"}"


def count_keys(name: str) -> list[bytes]:
    """Return the keys of the numbers of entries of all shards; see `Layout.count_keys`."""
    return [encode_key(name) + b":n{%d}" % shard for shard in range(1 << SHARD_BITS)]


def digest_of(key: str) -> bytes:
    """Return the digest of a page key."""
    return blake2b(encode_key(key), digest_size=DIGEST_BYTES).digest()


def field_of(sequence: int, digest: bytes) -> bytes:
    """Return the field of a pending page in the hash of its group."""
    return _FIELD.pack(sequence, digest)


def parsed_group(packed: bytes, *pending: bytes) -> Group:
    """Return a group from the values of its two keys.

    :param pending: fields and values of pending pages, alternating.
    :raises ValueError: a value is damaged; `struct.error` likewise.
    """
    entries, at = {}, 0
    while at < len(packed):
        digest, length = _ENTRY_HEAD.unpack_from(packed, at)
        at += _ENTRY_HEAD.size
        entries[digest] = packed[at : at + length]
        at += length
    return Group(entries, _parsed_pages(pending))


def _parsed_pages(pending: Iterable[bytes]) -> list[PendingPage]:
    """Return pending pages, oldest first."""
    pages = []
    items = iter(pending)
    for field, value in zip(items, items, strict=True):
        sequence, digest = _FIELD.unpack(field)
        pages.append(PendingPage(sequence, digest, value[:1] == b"1", value[_PENDING_HEAD.size :]))
    return sorted(pages)
