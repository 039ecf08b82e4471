"""Buckets: the records of permuted tables, the youngest in memory and the others in rows.

Tables that are probed are in `scrapy_simhash.index.runs`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.buffer import Buffer, without
from scrapy_simhash.index.records import HEADER_BYTES, KEY_CHECK_BITS, NO_CLOSED_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.buffer import Slot
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan

# A bucket's open row takes this many records, which then move to a closed row.
OPEN_ROW_RECORDS = 64
CLOSED_ROW_RECORDS = 512
# What a generation of the buffer may hold in records; about twice that with Python's objects.
BUFFER_BYTES = 32 << 20
# One spill step runs per this many entries.
SPILL_EVERY = 8
_MIN_CAPACITY = 4096
_RECENT_PAGES = 256
_TABLES_IN_TURN = 4


class Buckets:
    """The buckets of each table and, as one table more, of page keys.

    It writes nothing itself: `spill` and `removal` return rows, and the caller writes them and
    confirms it by `dropped` and `removed`.

    :param check_bits: width of the fingerprint check in a record; a multiple of 32.
    :param buffer_bytes: size of the records in memory, in each of two generations; defaults to
        `BUFFER_BYTES`.
    """

    def __init__(
        self, database: Database, plan: TablePlan, check_bits: int, buffer_bytes: int | None
    ) -> None:
        # Imported lazily: callers that open no index need no numpy.
        from scrapy_simhash.index.candidates import equal_ordinals, near_ordinals

        self._equal_ordinals, self._near_ordinals = equal_ordinals, near_ordinals
        self._database = database
        self._plan = plan
        self._check_bits = check_bits
        self._key_table = len(plan.tables)
        self._heads = records.bucket_heads(plan)
        self._record_bytes = [check_bits // 8 + 4] * self._key_table + [KEY_CHECK_BITS // 8 + 4]
        widths_bits = [*plan.prefix_widths_bits, records.KEY_PREFIX_BITS]
        self._buffer = Buffer(widths_bits, self._record_bytes)
        held_bytes = BUFFER_BYTES if buffer_bytes is None else buffer_bytes
        # Each mask flips one bit of every block. Only where a prefix is one block.
        step = -(-plan.bits // plan.blocks) if plan.chosen == 1 and not plan.inner_blocks else 0
        self._flips = [sum(1 << i for i in range(at, plan.bits, step)) for at in range(step)]
        self._capacity = max(self._buffer.capacity(held_bytes), _MIN_CAPACITY)
        self._slots_per_spill = 0

        # A page is looked up when it is observed, and soon again when it is confirmed.
        @lru_cache(_RECENT_PAGES)
        def looked_up(fingerprint: int) -> tuple[list[int], int]:
            return plan.prefixes(fingerprint), records.fold(fingerprint, check_bits)

        @lru_cache(_RECENT_PAGES)
        def hashed(key: str) -> tuple[int, int]:
            return records.key_hash(records.encode_key(key))

        self._looked_up = looked_up
        self._hashed = hashed
        self.frozen_below = 0
        """Entries with lower ordinals are in rows once `spilled` says so."""
        # Rows may exist, and may already hold records of entries below that ordinal.
        self._in_rows = False
        self._repeated_below = 0

    @property
    def frozen(self) -> bool:
        """True if records wait to be spilled."""
        return self._buffer.frozen

    def find_near(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",  # noqa: ARG002 - see `Runs`
        *,
        flipped: bool = False,
    ) -> set[int]:
        """Return the ordinals of the entries in the same buckets which may be within the distance.

        :param flipped: look up each prefix with one of its bits flipped, too.
        """
        prefixes, check = self._looked_up(fingerprint)
        found = self._find(0, prefixes)
        for mask in self._flips if flipped else ():
            found += self._find(0, self._plan.prefixes(fingerprint ^ mask))
        return self._near_ordinals(found, check, self._check_bits, max_distance) if found else set()

    def find_near_in_turn(self, fingerprint: int, max_distance: int) -> Iterator[set[int]]:
        """Yield the result of `find_near`, some tables at a time. Ordinals may repeat."""
        prefixes, check = self._looked_up(fingerprint)
        for first in range(0, self._key_table, _TABLES_IN_TURN):
            found = self._find(first, prefixes[first : first + _TABLES_IN_TURN])
            if found:
                yield self._near_ordinals(found, check, self._check_bits, max_distance)

    def find_key(self, key: str) -> list[int]:
        """Return the ordinals of the entries that may have that page key."""
        prefix, check = self._hashed(key)
        found = self._find(self._key_table, (prefix,))
        return self._equal_ordinals(found, check.to_bytes(KEY_CHECK_BITS // 8, "little"))

    def _find(self, first_table: int, prefixes: Sequence[int]) -> list[bytes | bytearray]:
        """Return the packed records of the buckets with these prefixes, from the first table on."""
        found = self._buffer.found(first_table, prefixes)
        if self._in_rows:
            heads = self._heads
            buckets = [
                heads[table][0] + prefix.to_bytes(heads[table][1], "big")
                for table, prefix in enumerate(prefixes, first_table)
            ]
            values = self._database.get_all(buckets)
            for bucket, value in zip(buckets, values, strict=True):
                if value is not None:
                    found.append(value[HEADER_BYTES:])
                    if value[:HEADER_BYTES] != NO_CLOSED_ROWS:
                        found += self._closed(bucket, value).values()
        return found

    def was_removed(self, ordinal: int) -> bool:  # noqa: ARG002 - see `Runs`
        """Return False: removed entries are in no bucket."""
        return False

    def add(self, entry: Entry, ordinal: int) -> None:
        """Add an entry's records, in memory."""
        prefixes, check = self._looked_up(entry.fingerprint)
        key_prefix, key_check = self._hashed(entry.key)
        record = records.record(check, self._check_bits, ordinal)
        key_record = records.record(key_check, KEY_CHECK_BITS, ordinal)
        buffer = self._buffer
        buffer.add([*prefixes, key_prefix], [record] * self._key_table + [key_record])
        if buffer.entries >= self._capacity and not buffer.frozen:
            self.freeze(ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Make all records wait to be spilled, if there are any and none wait already."""
        buffer = self._buffer
        if buffer.entries and not buffer.frozen:
            # Spilling must end before the next generation is full.
            spills = max(self._capacity * 9 // 10 // SPILL_EVERY, 1)
            self._slots_per_spill = -(-buffer.slot_count // spills)
            buffer.freeze()
            self.frozen_below = next_ordinal

    def spill(
        self, slot_count: int | None = None
    ) -> tuple[list[Slot], list[Row], list[bytes]] | None:
        """Return (next slots to spill, rows to put, rows to delete); None if no slot is left."""
        slots = self._buffer.take_slots(slot_count or self._slots_per_spill)
        if slots is None:
            return None
        puts: list[Row] = []
        for slot in slots:
            bucket = self._bucket(slot)
            added = self._buffer.old(slot)
            value = self._database.get(bucket) if self._in_rows else None
            if value is None:
                puts.append((bucket, NO_CLOSED_ROWS + added))
                continue
            record_bytes = self._record_bytes[slot[0]]
            if int.from_bytes(added[record_bytes - 4 : record_bytes], "little") < (
                self._repeated_below
            ):
                added = self._not_in_rows(bucket, value, added, record_bytes)
                if not added:
                    continue
            if len(value) - HEADER_BYTES >= OPEN_ROW_RECORDS * record_bytes:
                row, value = self._closing(bucket, value, record_bytes)
                puts.append(row)
            puts.append((bucket, value + added))
        return slots, puts, []

    def _closing(self, bucket: bytes, value: bytes, record_bytes: int) -> tuple[Row, bytes]:
        """Return (closed row with the open row's records added, header of the empty open row)."""
        closed = int.from_bytes(value[:HEADER_BYTES], "little")
        kept = b""
        if closed:
            last = records.closed_row(bucket, closed - 1)
            kept = self._database.get(last) or b""
        if not closed or len(kept) >= CLOSED_ROW_RECORDS * record_bytes:
            last, kept = records.closed_row(bucket, closed), b""
            closed += 1
        return (last, kept + value[HEADER_BYTES:]), closed.to_bytes(HEADER_BYTES, "little")

    def _closed(self, bucket: bytes, value: bytes) -> dict[bytes, bytes]:
        """Return the closed rows of a bucket, by the value of its open row."""
        closed = int.from_bytes(value[:HEADER_BYTES], "little")
        rows = [records.closed_row(bucket, number) for number in range(closed)]
        found = self._database.get_all(rows)
        return {row: value or b"" for row, value in zip(rows, found, strict=True)}

    def _not_in_rows(self, bucket: bytes, value: bytes, added: bytes, record_bytes: int) -> bytes:
        known = {
            ordinal
            for packed in (value[HEADER_BYTES:], *self._closed(bucket, value).values())
            for ordinal in records.ordinals(packed, record_bytes)
        }
        ordinals = records.ordinals(added, record_bytes)
        return b"".join(
            added[number * record_bytes : (number + 1) * record_bytes]
            for number, ordinal in enumerate(ordinals)
            if ordinal not in known
        )

    def dropped(self, slots: Sequence[Slot]) -> None:
        """Forget slots in memory: their rows were written."""
        self._buffer.drop(slots)
        self._in_rows = True

    def may_repeat(self, below: int) -> None:
        """Expect that rows already hold records of entries below an ordinal; 0 for none.

        That happens after a crash, or after a write with an unknown outcome.
        """
        self._in_rows = below > 0
        self._repeated_below = below

    def spilled(self) -> bool:
        """Return True if all waiting records are in rows now; if not, `spill` starts over."""
        return self._buffer.thaw()

    def removal(self, entries: Sequence[Entry]) -> tuple[list[Row], list[bytes]]:
        """Return (rows to put, rows to delete) that remove all records of these entries."""
        changed: dict[bytes, bytes] = {}
        for entry in entries:
            for slot in enumerate(self._slots(entry)):
                bucket = self._bucket(slot)
                value = changed.get(bucket, self._database.get(bucket))
                if value is None:
                    continue
                record_bytes = self._record_bytes[slot[0]]
                kept = without(value[HEADER_BYTES:], record_bytes, entry.ordinal)
                if len(kept) < len(value) - HEADER_BYTES:
                    changed[bucket] = value[:HEADER_BYTES] + kept
                    continue
                for row, stored in self._closed(bucket, value).items():
                    before = changed.get(row, stored)
                    after = without(before, record_bytes, entry.ordinal)
                    if len(after) < len(before):
                        changed[row] = after
        puts = [(row, value) for row, value in changed.items() if value != NO_CLOSED_ROWS]
        return puts, [row for row, value in changed.items() if value == NO_CLOSED_ROWS]

    def removed(self, entries: Sequence[Entry]) -> None:
        """Remove entries from memory: the rows of their removal were written."""
        for entry in entries:
            for table, prefix in enumerate(self._slots(entry)):
                self._buffer.remove(table, prefix, entry.ordinal)

    def _slots(self, entry: Entry) -> list[int]:
        """Return the prefix of an entry's bucket in each table, and among page keys."""
        return [*self._looked_up(entry.fingerprint)[0], self._hashed(entry.key)[0]]

    def _bucket(self, slot: Slot) -> bytes:
        head, prefix_bytes = self._heads[slot[0]]
        return head + slot[1].to_bytes(prefix_bytes, "big")
