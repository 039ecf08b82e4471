"""Names and values of an index in Redis. docs/several-machines.md explains the protocol.

All names begin with the name of the index, here ``shop:simhash``. Braces hold the part that decides
on the slot in a cluster (hash tag).

=============================  =====================================================================
key                            value
=============================  =====================================================================
``…:manifest{shop:simhash}``   scheme, tables, distance, confirmation and format, as JSON
``…:sequence{shop:simhash}``   number of the last observation
``…:crawls{shop:simhash}``     hash: when each named crawl began, as JSON
``…:admitted{shop:simhash}``   number of the last admission
``…:recent{shop:simhash}``     sorted set, the last admissions by number: sequence:8 digest:8
                               fingerprint
``…:unwritten{shop:simhash}``  those of them whose records may not be in all tables yet
``…:url-rules{shop:simhash}``  hash: rules of URLs by site
``…:history{shop:simhash}``    hash: crawls by their first sequence number
``…:validators{shop:simhash}`` hash: ETags by page key
``…:sitemaps{shop:simhash}``   hash: evidence of sitemaps by site
``…:t{`` table ``}`` prefix    bucket: (digest:4 check) for each record
``…:e{`` shard ``}`` group     entries of a group of pages: (digest:8 length:4 entry) for each
``…:p{`` shard ``}`` group     hash, its pending pages: sequence:8 digest:8 = admitted:1 deadline:8
                               entry
``…:n{`` shard ``}``           number of entries
``…:l{`` number ``}``          hash, a thousand lines of the near-duplicate log by sequence
=============================  =====================================================================

Entries and lines of the log are encoded as on disk (`scrapy_simhash.index.records`). A digest is
the first 8 bytes of the BLAKE2b hash of the page's key; its leading bits number the group, and the
first 6 of these the shard. Several entries share a key, because a key takes 80 bytes by itself.
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
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import SideKind
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.probing import Probes

# Kinds of keys with a part in braces of their own, and keys that an index has once.
KINDS = "tepnl"
SIDE_ROWS: tuple[SideKind, ...] = ("url-rules", "history", "validators", "sitemaps")
STATES = ("manifest", "sequence", "crawls", "admitted", "recent", "unwritten", *SIDE_ROWS)
DIGEST_BYTES = 8
RECORD_DIGEST_BYTES = 4
SHARD_BITS = 6
LOG_CHUNK = 1000
ENTRIES_PER_GROUP = 16
_GROUP_BYTES = 4
# Of texts in one language, shorter ones let many unrelated pages through.
_MAX_CHECK_BYTES = 20
# A check may let so few pages at the largest distance slip.
_MAX_SLIPPED = 1e-4
_DIGEST_BITS = 8 * DIGEST_BYTES
_HEAD = struct.Struct(">8sI")
_FIELD = struct.Struct(">Q8s")
_PENDING = struct.Struct(">cd")


class PendingPage(NamedTuple):
    """A pending page as the server holds it.

    :param admitted: whether it counts; if not, its crawler is about to ask for that.
    """

    sequence: int
    digest: bytes
    admitted: bool
    entry: bytes


class Group(NamedTuple):
    """The pages of a group: stored entries by digest, and pending ones."""

    entries: dict[bytes, bytes]
    pending: list[PendingPage]


class Layout:
    """Makes names and packs values.

    :param name: of the index.
    :param group_bits: leading bits of a digest that number its group.
    """

    def __init__(self, name: str, plan: TablePlan, group_bits: int) -> None:
        self._name = name
        self.name = encode_key(name)
        self.plan = plan
        self.group_bits = group_bits
        self.width_bytes = plan.bits // 8
        self.prefix_bytes = -(-max(plan.prefix_widths_bits) // 8)
        self.check_bytes = min(self.width_bytes, _MAX_CHECK_BYTES)
        self.record_bytes = RECORD_DIGEST_BYTES + self.check_bytes
        self._padding = bytes(-self.width_bytes % 4)
        self.head = self.name + b":t{"
        # Records are compared in words of this type; their checks differ in 160 bits at most.
        self._word = np.dtype(next(f"<u{n}" for n in (8, 4, 2, 1) if not self.record_bytes % n))

    def state(self, what: str) -> bytes:
        """Return the name of a key that there is one of."""
        return state_key(self._name, what)

    @cached_property
    def order(self) -> tuple[bytes, ...]:
        """Names of the keys that order observations: sequence, admitted, recent, unwritten."""
        return tuple(self.state(what) for what in ("sequence", "admitted", "recent", "unwritten"))

    @cached_property
    def _heads(self) -> list[bytes]:
        return [self.table(number) for number in range(len(self.plan.tables))]

    def table(self, number: int) -> bytes:
        """Return a name in the slot of a table."""
        return self.head + str(number).encode() + b"}"

    def group_of(self, digest: bytes) -> int:
        """Return the number of the group of a digest, or of its first bytes."""
        number = int.from_bytes(digest[:DIGEST_BYTES].ljust(DIGEST_BYTES, b"\0"), "big")
        return number >> _DIGEST_BITS - self.group_bits

    def shard_of(self, group: int) -> int:
        """Return the number of the shard of a group, whose keys are in one slot."""
        return group >> self.group_bits - SHARD_BITS

    def group_keys(self, group: int) -> tuple[bytes, bytes, bytes]:
        """Return the names of a group's entries, pending pages and count."""
        shard = b"%d}" % self.shard_of(group)
        number = group.to_bytes(_GROUP_BYTES, "big")
        return (
            self.name + b":e{" + shard + number,
            self.name + b":p{" + shard + number,
            self.name + b":n{" + shard,
        )

    def pattern(self, kinds: str) -> bytes:
        """Return the pattern of all keys of some kinds, such as "t", for SCAN."""
        name = re.sub(rb"([\\*?\[\]])", rb"\\\1", self.name)
        return name + b":[" + kinds.encode() + b"]{*"

    @property
    def counts(self) -> list[bytes]:
        """Names of the numbers of entries of all shards."""
        return [self.name + b":n{%d}" % shard for shard in range(1 << SHARD_BITS)]

    def log(self, sequence: int) -> bytes:
        """Return the name of the part of the near-duplicate log that has a line."""
        return self.name + b":l{%d}" % (sequence // LOG_CHUNK)

    def member(self, sequence: int, digest: bytes, fingerprint: int) -> bytes:
        """Return what is admitted."""
        packed = fingerprint.to_bytes(self.width_bytes, "big")
        return _FIELD.pack(sequence, digest) + packed + self._padding

    def parsed_member(self, member: bytes) -> tuple[int, bytes, int]:
        """Inverse of `member`: sequence, digest, fingerprint."""
        sequence, digest = _FIELD.unpack_from(member)
        packed = member[_FIELD.size : _FIELD.size + self.width_bytes]
        return sequence, digest, int.from_bytes(packed, "big")

    def record(self, digest: bytes, fingerprint: int) -> bytes:
        """Return a bucket's record of a page."""
        check = fingerprint & (1 << 8 * self.check_bytes) - 1
        return digest[:RECORD_DIGEST_BYTES] + check.to_bytes(self.check_bytes, "little")

    def buckets(self, prefixes: Sequence[int]) -> bytes:
        """Return the buckets of a fingerprint, packed: table:2 prefix."""
        width = self.prefix_bytes
        return b"".join(
            number.to_bytes(2, "big") + prefix.to_bytes(width, "big")
            for number, prefix in enumerate(prefixes)
        )

    def names(self, asked: Probes) -> dict[int, list[bytes]]:
        """Return the names of buckets by table."""
        found: dict[int, list[bytes]] = {}
        heads, width = self._heads, self.prefix_bytes
        for table, prefix in zip(asked.tables.tolist(), asked.prefixes.tolist(), strict=True):
            found.setdefault(table, []).append(heads[table] + prefix.to_bytes(width, "big"))
        return found

    def get(self, asked: Probes) -> bytes:
        """Return the command that reads buckets, as Redis takes it."""
        start = b"*%d\r\n$4\r\nMGET\r\n" % (len(asked.tables) + 1)
        if self._templates is None:
            names = [name for some in self.names(asked).values() for name in some]
            return start + b"".join(b"$%d\r\n%b\r\n" % (len(name), name) for name in names)
        rows, width = self._templates[asked.tables], self.prefix_bytes
        prefixes = asked.prefixes.astype(">u4").view(np.uint8).reshape(-1, 4)
        rows[:, -2 - width : -2] = prefixes[:, 4 - width :]
        return start + rows.tobytes()

    @cached_property
    def _templates(self) -> NDArray[np.uint8] | None:
        """For each table a bucket's name without prefix, as an argument; None if they are not
        equally long, or a prefix has more than 4 bytes.
        """
        if self.prefix_bytes > 4 or len({len(head) for head in self._heads}) > 1:  # noqa: PLR2004
            return None
        rows = []
        for head in self._heads:
            name = head + bytes(self.prefix_bytes)
            rows.append(np.frombuffer(b"$%d\r\n%b\r\n" % (len(name), name), np.uint8))
        return np.stack(rows)

    def by_table(self, packed: bytes) -> dict[int, bytes]:
        """Split packed buckets by table."""
        step = 2 + self.prefix_bytes
        parts: dict[int, bytes] = {}
        for at in range(0, len(packed), step):
            number = int.from_bytes(packed[at : at + 2], "big")
            parts[number] = parts.get(number, b"") + packed[at : at + step]
        return parts

    def near(self, records: bytes, fingerprint: int, max_check_distance: int) -> set[bytes]:
        """Return the first bytes of the digests of records whose check is near a fingerprint's."""
        if not records:
            return set()
        wanted = fingerprint & (1 << 8 * self.check_bytes) - 1
        query = bytes(RECORD_DIGEST_BYTES) + wanted.to_bytes(self.check_bytes, "little")
        row = np.frombuffer(query, self._word)
        differing = np.frombuffer(records, self._word).reshape(-1, len(row)) ^ row
        differing.view(np.uint8).reshape(-1, self.record_bytes)[:, :RECORD_DIGEST_BYTES] = 0
        bits = np.bitwise_count(differing)
        counts = bits[:, 0]
        for at in range(1, bits.shape[1]):
            counts += bits[:, at]
        size = self.record_bytes
        return {
            records[size * at : size * at + RECORD_DIGEST_BYTES]
            for at in np.flatnonzero(counts <= max_check_distance).tolist()
        }

    def max_check_distance(self, max_distance: int) -> int:
        """Return how far checks of pages within a distance may be from each other.

        A check is a part of a long fingerprint: differing bits fall in it by chance.
        """
        bits, check_bits = self.plan.bits, 8 * self.check_bytes
        if check_bits == bits or 4 * max_distance <= check_bits:
            return min(max_distance, check_bits)
        total, within, beyond = comb(bits, check_bits), max_distance, 0
        for inside in range(min(max_distance, check_bits), 0, -1):
            beyond += comb(max_distance, inside) * comb(bits - max_distance, check_bits - inside)
            if beyond > _MAX_SLIPPED * total:
                within = inside
                break
        return within


def state_key(name: str, what: str) -> bytes:
    """Return the name of a key that an index has once; see `Layout.state`."""
    encoded = encode_key(name)
    return encoded + b":" + what.encode() + b"{" + encoded + b"}"


def digest_of(key: str) -> bytes:
    """Return the digest of a page's key."""
    return blake2b(encode_key(key), digest_size=DIGEST_BYTES).digest()


def field_of(sequence: int, digest: bytes) -> bytes:
    """Return the field of a pending page."""
    return _FIELD.pack(sequence, digest)


def parsed_group(packed: bytes, pending: Iterable[bytes]) -> Group:
    """Return the pages of a group as the server sent them."""
    entries, at = {}, 0
    while at < len(packed):
        digest, length = _HEAD.unpack_from(packed, at)
        at += _HEAD.size
        entries[digest] = packed[at : at + length]
        at += length
    return Group(entries, parsed_pages(pending))


def parsed_pages(pending: Iterable[bytes]) -> list[PendingPage]:
    """Return pending pages as the server sent them: fields and values. The oldest is first."""
    pages = []
    fields = iter(pending)
    for field, value in zip(fields, fields, strict=True):
        sequence, digest = _FIELD.unpack(field)
        pages.append(PendingPage(sequence, digest, value[:1] == b"1", value[_PENDING.size :]))
    pages.sort()
    return pages
