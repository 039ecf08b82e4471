"""The youngest records of all buckets, in memory, until they are spilled to the database.

To add one record to its bucket, the database reads and writes the last row of the bucket, in every
table. Records that wait until a bucket has several share that cost. A crash loses nothing: the
entry has its own row from the start, and its records are made again from it.

There are two generations. `add` fills the young one. `freeze` makes it the old one, which is
spilled in small steps while a new one fills, so that no page waits for all of it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Slot = tuple[int, int]
Records = bytes | bytearray
Generation = list["list[Records] | _Sparse"]

# Prefixes up to this width index a list; longer ones a dict, as most of them never occur.
_MAX_LIST_BITS = 17
_SPARSE_COST = 8
# `bytes` are small, but grow by copying. Larger buckets are a `bytearray`, which grows in place.
_MAX_BYTES = 4096


class _Sparse(dict[int, Records]):
    """Prefix to records, for long prefixes."""

    def __missing__(self, prefix: int) -> Records:
        return b""


def without(records: Records, record_bytes: int, ordinal: int) -> bytes:
    """Return a bucket's records without that of one ordinal."""
    wanted = ordinal.to_bytes(4, "little")
    return b"".join(
        records[end - record_bytes : end]
        for end in range(record_bytes, len(records) + 1, record_bytes)
        if records[end - 4 : end] != wanted
    )


class Buffer:
    """Records by table and prefix.

    :param widths_bits: width of the prefixes, by table.
    :param record_bytes: size of a record, by table.
    """

    def __init__(self, widths_bits: Sequence[int], record_bytes: Sequence[int]) -> None:
        self._widths_bits = widths_bits
        self._record_bytes = record_bytes
        self._young = self._empty()
        self._old: Generation = []
        self._slots: Iterator[Slot] = iter(())
        self.entries = 0
        """Number of entries added since the last `freeze`."""

    def _empty(self) -> Generation:
        return [
            [b""] * (1 << width) if width <= _MAX_LIST_BITS else _Sparse()
            for width in self._widths_bits
        ]

    @property
    def slot_count(self) -> int:
        """Number of slots that the young generation takes to spill."""
        return sum(len(slots) for slots in self._young)

    def capacity(self, buffer_bytes: int) -> int:
        """Return how many entries fit into a generation; records in dicts count more."""
        entry_bytes = sum(
            width * (1 if isinstance(slots, list) else _SPARSE_COST)
            for width, slots in zip(self._record_bytes, self._young, strict=True)
        )
        return buffer_bytes // entry_bytes

    @property
    def frozen(self) -> bool:
        """True if there is an older generation."""
        return bool(self._old)

    def add(self, prefixes: Sequence[int], records: Sequence[bytes]) -> None:
        """Add an entry's record to a bucket of each table."""
        for slots, prefix, record in zip(self._young, prefixes, records, strict=True):
            records_ = slots[prefix]
            if len(records_) < _MAX_BYTES:
                slots[prefix] = records_ + record
            elif isinstance(records_, bytearray):
                records_ += record
            else:
                slots[prefix] = bytearray(records_) + record
        self.entries += 1

    def found(self, first_table: int, prefixes: Sequence[int]) -> list[Records]:
        """Return the records of the buckets with these prefixes, from the first table on."""
        found: list[Records] = []
        for generation in (self._young, self._old) if self._old else (self._young,):
            for table, prefix in enumerate(prefixes, first_table):
                records = generation[table][prefix]
                if records:
                    found.append(records)
        return found

    def remove(self, table: int, prefix: int, ordinal: int) -> None:
        """Remove an entry's record from a bucket, if it is there."""
        width = self._record_bytes[table]
        for generation in (self._young, self._old):
            if generation and (records := generation[table][prefix]):
                generation[table][prefix] = without(records, width, ordinal)

    def freeze(self) -> None:
        """Make the young generation the old one. There must be no old one."""
        self._old, self._young = self._young, self._empty()
        self.entries = 0
        self._slots = self._all_slots()

    def take_slots(self, count: int) -> list[Slot] | None:
        """Return the slots with records among the next `count` of the old generation; None at the
        end. Slots have the order of the database's rows.
        """
        taken = list(islice(self._slots, count))
        if not taken:
            return None
        return [(table, prefix) for table, prefix in taken if self._old[table][prefix]]

    def old(self, slot: Slot) -> bytes:
        """Return the records of the old generation in a slot."""
        return bytes(self._old[slot[0]][slot[1]])

    def drop(self, slots: Sequence[Slot]) -> None:
        """Forget these slots of the old generation: they are in the database."""
        for table, prefix in slots:
            self._old[table][prefix] = b""

    def thaw(self) -> bool:
        """Forget the old generation if it is empty. If not, return False and start over."""
        if any(any(slots.values() if isinstance(slots, dict) else slots) for slots in self._old):
            self._slots = self._all_slots()
            return False
        self._old = []
        return True

    def _all_slots(self) -> Iterator[Slot]:
        for table, slots in enumerate(self._old):
            for prefix in sorted(slots) if isinstance(slots, dict) else range(len(slots)):
                yield table, prefix
