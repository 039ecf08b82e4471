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
                               digest:8 fingerprint, padded to 4 bytes, because Lua compares words
``…:unwritten{shop:simhash}``  sorted set, in a cluster: admissions whose records may not be in all
                               tables
``…:url-rules{shop:simhash}``  hash: rules of URLs by site
``…:history{shop:simhash}``    hash: crawls by their first sequence number
``…:validators{shop:simhash}`` hash: ETag and Last-Modified by page key
``…:sitemaps{shop:simhash}``   hash: by site, the evidence for and against its sitemap
``…:t{`` table ``}`` prefix    bucket: a list of records, each digest:4 check
``…:e{`` shard ``}`` group     stored entries of a group: digest:8 length:4 entry, for each
``…:p{`` shard ``}`` group     hash, pending pages of a group: sequence:8 digest:8 = admitted:1
                               deadline:8 entry
``…:n{`` shard ``}``           number of stored entries in all groups of the shard
``…:l{`` number ``}``          hash, a thousand lines of the near-duplicate log by sequence
=============================  =====================================================================

Entries and lines of the log are encoded as on disk (`scrapy_simhash.index.records`). A *digest* is
the BLAKE2b hash of a page key, with a digest size of 8 bytes. Its first bits are the number of the
page's *group*, its first 6 bits that of the *shard*. The entries of a group share one Redis key,
and its pending pages another, because each key takes 80 bytes by itself. A *check* is the lowest
160 bits of a fingerprint, or a whole shorter fingerprint. An *admission* is the server's numbered
permission for a page to become pending. A *deadline* is the end of a lease, in Unix milliseconds.
"""

from __future__ import annotations

import re
import struct
from functools import cached_property
from hashlib import blake2b
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.records import encode_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import SideKind
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.probing import Probes

# Letters of the keys that exist once for each table, group, shard or part of the log.
KINDS = "tepnl"
SIDE_ROWS: tuple[SideKind, ...] = ("url-rules", "history", "validators", "sitemaps")
# Names of the keys that exist once per index.
STATES = ("manifest", "sequence", "crawls", "admitted", "recent", "unwritten", *SIDE_ROWS)
DIGEST_BYTES = 8
RECORD_DIGEST_BYTES = 4
SHARD_BITS = 6
LOG_CHUNK = 1000
ENTRIES_PER_GROUP = 16
_GROUP_BYTES = 4
MAX_GROUP_BITS = 8 * _GROUP_BYTES
# Upper limit of a check. Shorter checks would let many unrelated pages in one language pass.
_MAX_CHECK_BYTES = 20
# Upper limit for the share of pairs at distance k whose checks are too far from each other.
_MAX_MISSED = 1e-4
_ENTRY_HEAD = struct.Struct(">8sI")
_FIELD = struct.Struct(">Q8s")
_PENDING_HEAD = struct.Struct(">cd")


class PendingPage(NamedTuple):
    """A pending page as the server holds it.

    :param admitted: the page was admitted, and its records are in the tables. In a cluster, a page
        is stored before it asks for admission, and this stays False until the records are written.
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
    unwritten: bytes
    recent: bytes


class Layout:
    """Makes Redis keys, and packs and unpacks values.

    :param name: name of the index.
    :param group_bits: number of leading bits of a digest that number its group.
    """

    def __init__(self, name: str, plan: TablePlan, group_bits: int) -> None:
        self._name = name
        self.name = encode_key(name)
        self.plan = plan
        self.group_bits = group_bits
        self._not_group_bits = 8 * DIGEST_BYTES - group_bits
        self.width_bytes = plan.bits // 8
        self.prefix_bytes = -(-max(plan.prefix_widths_bits) // 8)
        self.check_bytes = min(self.width_bytes, _MAX_CHECK_BYTES)
        self.record_bytes = RECORD_DIGEST_BYTES + self.check_bytes
        self._padding = bytes(-self.width_bytes % 4)
        self.head = self.name + b":t{"
        """The first bytes of all keys of buckets."""
        # Records are compared in words of this type.
        self._word = np.dtype(next(f"<u{n}" for n in (8, 4, 2, 1) if not self.record_bytes % n))
        self._table_heads = [self.table_head(number) for number in range(len(plan.tables))]
        self.order = OrderKeys(*map(self.state, OrderKeys._fields))

    def state(self, what: str) -> bytes:
        """Return a key that exists once per index: one of `STATES`."""
        return state_key(self._name, what)

    def table_head(self, number: int) -> bytes:
        """Return the first bytes of all keys of a table's buckets, a key in the same slot."""
        return self.head + str(number).encode() + b"}"

    def group_of(self, digest: bytes) -> int:
        """Return the number of the group of a digest, or of a digest's first 4 bytes."""
        return int.from_bytes(digest.ljust(DIGEST_BYTES, b"\0"), "big") >> self._not_group_bits

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
        return [self.name + b":n{%d}" % shard for shard in range(1 << SHARD_BITS)]

    def log_key(self, sequence: int) -> bytes:
        """Return the key of the lines of the near-duplicate log around a sequence number."""
        return self.name + b":l{%d}" % (sequence // LOG_CHUNK)

    def member(self, sequence: int, digest: bytes, fingerprint: int) -> bytes:
        """Return an admission: a member of ``recent`` and ``unwritten``."""
        packed = fingerprint.to_bytes(self.width_bytes, "big")
        return _FIELD.pack(sequence, digest) + packed + self._padding

    def parsed_member(self, member: bytes) -> tuple[int, bytes, int]:
        """Return (sequence, digest, fingerprint) of an admission."""
        sequence, digest = _FIELD.unpack_from(member)
        packed = member[_FIELD.size : _FIELD.size + self.width_bytes]
        return sequence, digest, int.from_bytes(packed, "big")

    def record(self, digest: bytes, fingerprint: int) -> bytes:
        """Return the record of a page."""
        check = fingerprint & (1 << 8 * self.check_bytes) - 1
        return digest[:RECORD_DIGEST_BYTES] + check.to_bytes(self.check_bytes, "little")

    def buckets(self, fingerprint: int) -> bytes:
        """Return the packed addresses of a fingerprint's buckets: table:2 prefix for each table."""
        width = self.prefix_bytes
        return b"".join(
            number.to_bytes(2, "big") + prefix.to_bytes(width, "big")
            for number, prefix in enumerate(self.plan.prefixes(fingerprint))
        )

    def bucket_keys(self, probes: Probes) -> dict[int, list[bytes]]:
        """Return the keys of buckets by table."""
        keys: dict[int, list[bytes]] = {}
        heads, width = self._table_heads, self.prefix_bytes
        for table, prefix in zip(probes.tables.tolist(), probes.prefixes.tolist(), strict=True):
            keys.setdefault(table, []).append(heads[table] + prefix.to_bytes(width, "big"))
        return keys

    def mget_command(self, probes: Probes) -> bytes:
        """Return the command that reads buckets, in Redis's protocol."""
        start = b"*%d\r\n$4\r\nMGET\r\n" % (len(probes.tables) + 1)
        if self._templates is None:
            keys = [key for of_table in self.bucket_keys(probes).values() for key in of_table]
            return start + b"".join(b"$%d\r\n%b\r\n" % (len(key), key) for key in keys)
        rows, width = self._templates[probes.tables], self.prefix_bytes
        prefixes = probes.prefixes.astype(">u4").view(np.uint8).reshape(-1, 4)
        rows[:, -2 - width : -2] = prefixes[:, 4 - width :]
        return start + rows.tobytes()

    @cached_property
    def _templates(self) -> NDArray[np.uint8] | None:
        """For each table, the argument of MGET for a bucket with a prefix of zeros; None if they
        are not equally long, or a prefix has more than 4 bytes.
        """
        heads = self._table_heads
        if self.prefix_bytes > 4 or len({len(head) for head in heads}) > 1:  # noqa: PLR2004
            return None
        rows = []
        for head in heads:
            key = head + bytes(self.prefix_bytes)
            rows.append(np.frombuffer(b"$%d\r\n%b\r\n" % (len(key), key), np.uint8))
        return np.stack(rows)

    def near(self, records: bytes, fingerprint: int, max_check_distance: int) -> set[bytes]:
        """Return the first 4 bytes of the digests of the records whose check is near enough."""
        if not records:
            return set()
        row = np.frombuffer(self.record(bytes(DIGEST_BYTES), fingerprint), self._word)
        differing = np.frombuffer(records, self._word).reshape(-1, len(row)) ^ row
        differing.view(np.uint8).reshape(-1, self.record_bytes)[:, :RECORD_DIGEST_BYTES] = 0
        bits = np.bitwise_count(differing)
        counts = bits[:, 0]  # at most 160, so a byte is enough
        for at in range(1, bits.shape[1]):
            counts += bits[:, at]
        size = self.record_bytes
        return {
            records[size * at : size * at + RECORD_DIGEST_BYTES]
            for at in np.flatnonzero(counts <= max_check_distance).tolist()
        }

    def max_check_distance(self, max_distance: int) -> int:
        """Return the largest distance of the checks of two pages within a distance. If a check is
        only a part of the fingerprint, one in 10,000 pages at most is further away.
        """
        bits, check_bits = self.plan.bits, 8 * self.check_bytes
        if check_bits == bits or 4 * max_distance <= check_bits:
            return min(max_distance, check_bits)
        total, missed = comb(bits, check_bits), 0
        for inside in range(min(max_distance, check_bits), 0, -1):
            missed += comb(max_distance, inside) * comb(bits - max_distance, check_bits - inside)
            if missed > _MAX_MISSED * total:
                return inside
        return max_distance


def state_key(name: str, what: str) -> bytes:
    """Return a key that exists once per index; see `Layout.state`."""
    encoded = encode_key(name)
    return encoded + b":" + what.encode() + b"{" + encoded + b"}"


def digest_of(key: str) -> bytes:
    """Return the digest of a page key."""
    return blake2b(encode_key(key), digest_size=DIGEST_BYTES).digest()


def field_of(sequence: int, digest: bytes) -> bytes:
    """Return the field of a pending page in the hash of its group."""
    return _FIELD.pack(sequence, digest)


def parsed_group(packed: bytes, pending: Iterable[bytes]) -> Group:
    """Return a group from the values of its two keys. For `pending` see `parsed_pages`."""
    entries, at = {}, 0
    while at < len(packed):
        digest, length = _ENTRY_HEAD.unpack_from(packed, at)
        at += _ENTRY_HEAD.size
        entries[digest] = packed[at : at + length]
        at += length
    return Group(entries, parsed_pages(pending))


def parsed_pages(pending: Iterable[bytes]) -> list[PendingPage]:
    """Return pending pages, oldest first, from the fields and values of a hash by turns."""
    pages = []
    items = iter(pending)
    for field, value in zip(items, items, strict=True):
        sequence, digest = _FIELD.unpack(field)
        pages.append(PendingPage(sequence, digest, value[:1] == b"1", value[_PENDING_HEAD.size :]))
    return sorted(pages)
