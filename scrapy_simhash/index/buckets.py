"""Buckets: the records of permuted tables, the youngest in memory and the others in rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.buffer import Buffer, without
from scrapy_simhash.index.records import KEY_CHECK_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.buffer import Slot
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan

# A bucket's last row takes more records until it has this many.
ROW_RECORDS = 64
# Spilling goes on once in so many entries.
SPILL_EVERY = 64
_MIN_CAPACITY = 4096


class Buckets:
    """The buckets of each table and, as one table more, of page keys.

    What it changes in the database it gives back as rows to write; `dropped` and `removed` say
    that they were written.

    :param check_bits: of a fingerprint's check in a record; a multiple of 32.
    :param buffer_bytes: of records in memory, in each of two generations.
    """

    def __init__(
        self, database: Database, plan: TablePlan, check_bits: int, buffer_bytes: int
    ) -> None:
        self._database = database
        self._plan = plan
        self._check_bits = check_bits
        self.key_table = len(plan.tables)
        self._heads = records.bucket_heads(plan)
        self._record_bytes = [check_bits // 8 + 4] * self.key_table + [KEY_CHECK_BITS // 8 + 4]
        widths_bits = [*plan.prefix_widths_bits, records.KEY_PREFIX_BITS]
        self._buffer = Buffer(widths_bits, self._record_bytes)
        self._capacity = max(self._buffer.capacity(buffer_bytes), _MIN_CAPACITY)
        self._slots_per_spill = 0
        self.frozen_below = 0
        """Entries with lower ordinals are in rows once `spilled` says so."""
        self.in_rows = False
        """Whether there are rows to look into."""

    @property
    def frozen(self) -> bool:
        """Whether records wait to be spilled."""
        return self._buffer.frozen

    def find(self, first_table: int, prefixes: Sequence[int]) -> list[bytes | bytearray]:
        """The packed records of the buckets with these prefixes, in tables from the first on."""
        found = self._buffer.found(first_table, prefixes)
        if self.in_rows:
            heads = self._heads
            rows = self._database.items(
                [
                    heads[table][0] + prefix.to_bytes(heads[table][1], "big")
                    for table, prefix in enumerate(prefixes, first_table)
                ]
            )
            found += [value for _, value in rows]
        return found

    def add(self, entry: Entry, ordinal: int) -> None:
        """Add an entry's records, in memory."""
        prefixes, key_check = self._slots(entry)
        check = records.fold(entry.fingerprint, self._check_bits)
        record = records.record(check, self._check_bits, ordinal)
        key_record = records.record(key_check, KEY_CHECK_BITS, ordinal)
        buffer = self._buffer
        buffer.add(prefixes, [record] * self.key_table + [key_record])
        if buffer.entries >= self._capacity and not buffer.frozen:
            self.freeze(ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Let all records wait to be spilled, if there are any."""
        buffer = self._buffer
        if buffer.entries and not buffer.frozen:
            # Done when the next generation is half full.
            spills = max(self._capacity // 2 // SPILL_EVERY, 1)
            self._slots_per_spill = -(-buffer.slot_count // spills)
            buffer.freeze()
            self.frozen_below = next_ordinal

    def spill(self, slot_count: int | None = None) -> tuple[list[Slot], list[Row]] | None:
        """The next slots to spill, and the rows to write for them; None if none is left."""
        slots = self._buffer.take_slots(slot_count or self._slots_per_spill)
        if slots is None:
            return None
        puts = []
        for slot in slots:
            width = self._record_bytes[slot[0]]
            bucket = self._bucket(slot)
            added = self._buffer.old(slot)
            rows = self._database.items((bucket,))
            row, kept = rows[-1] if rows else (b"", b"")
            if kept:
                # After a crash, some may be in the database already.
                added = _later(added, width, int.from_bytes(kept[-4:], "little"))
            if not added:
                continue
            if not kept or len(kept) >= ROW_RECORDS * width:
                first = int.from_bytes(added[width - 4 : width], "little")
                row, kept = records.bucket_row(bucket, first), b""
            puts.append((row, kept + added))
        return slots, puts

    def dropped(self, slots: Sequence[Slot]) -> None:
        """The rows of these slots were written."""
        self._buffer.drop(slots)
        self._database.refresh()
        self.in_rows = True

    def spilled(self) -> bool:
        """Whether all that waited is in rows now; if not, `spill` starts over."""
        return self._buffer.thaw()

    def removal(self, entries: Sequence[Entry]) -> tuple[list[Row], list[bytes]]:
        """Rows to put and to delete so that no row holds records of these entries."""
        changed: dict[bytes, bytes] = {}
        for entry in entries:
            for slot in enumerate(self._slots(entry)[0]):
                for row, value in self._database.items((self._bucket(slot),)):
                    before = changed.get(row, value)
                    after = without(before, self._record_bytes[slot[0]], entry.ordinal)
                    if len(after) != len(before):
                        changed[row] = after
        puts = [(row, value) for row, value in changed.items() if value]
        return puts, [row for row, value in changed.items() if not value]

    def removed(self, entries: Sequence[Entry]) -> None:
        """The rows of their removal were written."""
        for entry in entries:
            for table, prefix in enumerate(self._slots(entry)[0]):
                self._buffer.remove(table, prefix, entry.ordinal)
        self._database.refresh()

    def _slots(self, entry: Entry) -> tuple[list[int], int]:
        """(prefix in each table and among page keys, check of the page key)."""
        prefix, check = records.key_hash(records.encode_key(entry.key))
        return [*self._plan.prefixes(entry.fingerprint), prefix], check

    def _bucket(self, slot: Slot) -> bytes:
        head, prefix_bytes = self._heads[slot[0]]
        return head + slot[1].to_bytes(prefix_bytes, "big")


def _later(packed: bytes, record_bytes: int, ordinal: int) -> bytes:
    """The records with ordinals above that one; they are in the order of their ordinals."""
    for end in range(record_bytes, len(packed) + 1, record_bytes):
        if int.from_bytes(packed[end - 4 : end], "little") > ordinal:
            return packed[end - record_bytes :]
    return b""
