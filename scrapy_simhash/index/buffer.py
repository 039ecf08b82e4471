"""The newest records of buckets (`scrapy_simhash.index.buckets`), until the database has them.

To add a record to a bucket, its row in the database must be read and rewritten. So records wait in
memory, and all new records of a bucket are written at once. There are two generations. `add` fills
the young one. `freeze` makes it the old one. While the old one is spilled in small steps, a new one
fills, so no page waits for the whole spill.
"""

from __future__ import annotations

from itertools import compress, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Slot = tuple[int, int]
# Packed records of one bucket.
Records = bytes | bytearray
# For each table, the records by prefix.
Generation = list["list[Records] | _Sparse"]

# Prefixes up to this width index a list. Longer prefixes are keys of a dict: most never occur.
_MAX_LIST_BITS = 17
# A record in a dict counts as this many in a list: it is mostly alone under its prefix, and takes
# about 120 bytes, where a record of 8 bytes in a list takes about 11.
_SPARSE_COST = 8
# `bytes` are small, but grow by copying. Larger buckets are a `bytearray`, which grows in place.
_MAX_BYTES = 4096


class _Sparse(dict[int, Records]):
    """Records by prefix. A look-up of a missing prefix returns b"", and does not add the prefix."""

    def __missing__(self, prefix: int) -> Records:
        return b""


def without(records: Records, record_bytes: int, ordinal: int) -> bytes:
    """Return the records of a bucket without the records of one ordinal."""
    removed = ordinal.to_bytes(4, "little")
    return b"".join(
        records[end - record_bytes : end]
        for end in range(record_bytes, len(records) + 1, record_bytes)
        if records[end - 4 : end] != removed
    )


class Buffer:
    """Records by table and prefix, in two generations.

    :param widths_bits: for each table, the width of its prefixes.
    :param record_bytes: for each table, the size of its records.
    """

    def __init__(self, widths_bits: Sequence[int], record_bytes: Sequence[int]) -> None:
        self._widths_bits = widths_bits
        self._record_bytes = record_bytes
        self._young = self._new_generation()
        self._old: Generation = []
        # Where `take_slots` goes on: a table, its prefixes, and a position in them.
        self._table = 0
        self._prefixes: Sequence[int] = ()
        self._position = 0
        self.entry_count = 0
        """Number of entries added since the last `freeze`."""

    def _new_generation(self) -> Generation:
        return [
            [b""] * (1 << bits) if bits <= _MAX_LIST_BITS else _Sparse()
            for bits in self._widths_bits
        ]

    @property
    def slot_count(self) -> int:
        """Number of slots in the young generation: all slots of lists, used slots of dicts."""
        return sum(len(slots) for slots in self._young)

    def capacity(self, buffer_bytes: int) -> int:
        """Return how many entries fit into a generation of that size; see `_SPARSE_COST`."""
        entry_bytes = sum(
            record_bytes * (1 if isinstance(slots, list) else _SPARSE_COST)
            for record_bytes, slots in zip(self._record_bytes, self._young, strict=True)
        )
        return buffer_bytes // entry_bytes

    @property
    def frozen(self) -> bool:
        """True if there is an old generation."""
        return bool(self._old)

    def add(self, prefixes: Sequence[int], records: Sequence[bytes]) -> None:
        """Add the records of an entry to its buckets: a prefix and a record for each table."""
        for slots, prefix, record in zip(self._young, prefixes, records, strict=True):
            bucket = slots[prefix]
            if len(bucket) < _MAX_BYTES:
                slots[prefix] = bucket + record
            elif isinstance(bucket, bytearray):
                bucket += record
            else:
                slots[prefix] = bytearray(bucket) + record
        self.entry_count += 1

    def found(self, first_table: int, prefixes: Sequence[int]) -> list[Records]:
        """Return the records of the buckets that have any.

        :param prefixes: a prefix for each table from `first_table` on.
        """
        found: list[Records] = []
        for generation in (self._young, self._old) if self._old else (self._young,):
            for table, prefix in enumerate(prefixes, first_table):
                records = generation[table][prefix]
                if records:
                    found.append(records)
        return found

    def remove(self, table: int, prefix: int, ordinal: int) -> None:
        """Remove an entry's record from a bucket, if it is there."""
        record_bytes = self._record_bytes[table]
        for generation in (self._young, self._old):
            if generation and (records := generation[table][prefix]):
                generation[table][prefix] = without(records, record_bytes, ordinal)

    def freeze(self) -> None:
        """Make the young generation the old one. There must be no old generation yet."""
        self._old, self._young = self._young, self._new_generation()
        self.entry_count = 0
        self._start_at(0)

    def take_slots(self, count: int) -> list[Slot] | None:
        """Take the next `count` slots of the old generation, sorted by table and prefix. Return
        those that have records; None if no slot is left.
        """
        if self._table == len(self._old):
            return None
        taken: list[Slot] = []
        while count > 0 and self._table < len(self._old):
            prefixes = self._prefixes[self._position : self._position + count]
            records = map(self._old[self._table].__getitem__, prefixes)
            taken += zip(repeat(self._table), compress(prefixes, records), strict=False)
            count -= len(prefixes)
            self._position += len(prefixes)
            if self._position == len(self._prefixes):
                self._start_at(self._table + 1)
        return taken

    def _start_at(self, table: int) -> None:
        """Let `take_slots` go on at the first prefix of a table, if there is such a table."""
        self._table, self._position = table, 0
        if table < len(self._old):
            slots = self._old[table]
            self._prefixes = sorted(slots) if isinstance(slots, dict) else range(len(slots))

    def old_records(self, slot: Slot) -> bytes:
        """Return the records of a bucket in the old generation."""
        return bytes(self._old[slot[0]][slot[1]])

    def drop(self, slots: Sequence[Slot]) -> None:
        """Delete the records of these slots from the old generation: the database has them."""
        for table, prefix in slots:
            self._old[table][prefix] = b""

    def end_spill(self) -> bool:
        """Remove the old generation and return True if it is empty. Otherwise return False, and let
        `take_slots` start over.
        """
        if any(any(slots.values() if isinstance(slots, dict) else slots) for slots in self._old):
            self._start_at(0)
            return False
        self._old, self._prefixes = [], ()
        self._start_at(0)
        return True
