"""The buckets of tables that are not probed (`scrapy_simhash.index.runs` is for probed tables).

A *record* is the check of an entry (`records.fold`) and its *ordinal*, the number of the entry's
row. A *bucket* is the records of all entries with one prefix in one table; (table, prefix) is its
*slot*. In the database, a bucket has an *open row*, which grows, and *closed rows*. New records
wait in memory, in a *generation* (`scrapy_simhash.index.buffer`). A full generation is *frozen*,
and then *spilled*: moved to rows in small steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.buffer import Buffer, without
from scrapy_simhash.index.records import HEADER_BYTES, KEY_CHECK_BITS, NO_CLOSED_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.buffer import Slot
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan

# If an open row has this many records, they move to a closed row before more are added.
OPEN_ROW_RECORDS = 64
# A closed row with this many records takes no more.
CLOSED_ROW_RECORDS = 512
# Upper limit for the size of the records in a generation. Python's objects take as much again.
BUFFER_BYTES = 32 << 20
# While a generation is spilled, a step runs after every so many added entries.
SPILL_EVERY = 8
# A generation takes at least this many entries, even if they exceed the limit.
_MIN_CAPACITY = 4096
_LARGE_STEP_SLOTS = 4096
_CACHED_PAGES = 256


class Buckets:
    """The buckets of each table. Page keys are the last table.

    `spill` and `removal` return rows. The caller writes them, then calls `end_step` or `forget`.

    :param check_bits: width of the fingerprint check in a record; a multiple of 32.
    :param buffer_bytes: upper limit for the size of the records in each of two generations;
        defaults to 32 MiB. A generation takes at least 4096 entries, even if they exceed the limit.
    """

    def __init__(
        self, database: Database, plan: TablePlan, check_bits: int, buffer_bytes: int | None
    ) -> None:
        # Imported lazily: callers that open no index need no numpy.
        from scrapy_simhash.index.candidates import equal_ordinals, near_ordinals

        self._equal_ordinals, self._near_ordinals = equal_ordinals, near_ordinals
        self._database = database
        self._check_bits = check_bits
        self._key_table = len(plan.tables)
        self._heads = records.bucket_heads(plan)
        self._record_bytes = [check_bits // 8 + 4] * self._key_table + [KEY_CHECK_BITS // 8 + 4]
        widths_bits = [*plan.prefix_widths_bits, records.KEY_PREFIX_BITS]
        self._buffer = Buffer(widths_bits, self._record_bytes)
        size_bytes = BUFFER_BYTES if buffer_bytes is None else buffer_bytes
        self._capacity = max(self._buffer.capacity(size_bytes), _MIN_CAPACITY)
        self._slots_per_step = 0
        # Cached, because a page is confirmed soon after it was observed.
        cached = lru_cache(_CACHED_PAGES)
        self._prefixes_and_check = cached(
            lambda fingerprint: (plan.prefixes(fingerprint), records.fold(fingerprint, check_bits))
        )
        self._key_prefix_and_check = cached(lambda key: records.key_hash(records.encode_key(key)))
        self.frozen_below = 0
        """Entries with lower ordinals are in rows once `end_spill` returns True."""
        self._has_rows = False
        # Rows may already hold records of entries below this ordinal.
        self._repeated_below = 0

    @property
    def frozen(self) -> bool:
        """True while a generation is being spilled."""
        return self._buffer.frozen

    def find_near(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",  # noqa: ARG002 - see `Runs`
        *,
        mark: int | None = None,  # noqa: ARG002 - see `Runs`
        extra: int = 0,  # noqa: ARG002 - see `Runs`
    ) -> set[int]:
        """Return the ordinals of the entries that share a bucket with the fingerprint and whose
        checks are within the distance. The fingerprints of some of them may be farther away.
        """
        prefixes, check = self._prefixes_and_check(fingerprint)
        packed = self._find(0, prefixes)
        if not packed:
            return set()
        return self._near_ordinals(packed, check, self._check_bits, max_distance)

    def find_key(self, key: str) -> list[int]:
        """Return the ordinals of the entries whose page key has the same 48-bit hash."""
        prefix, check = self._key_prefix_and_check(key)
        packed = self._find(self._key_table, (prefix,))
        return self._equal_ordinals(packed, check.to_bytes(KEY_CHECK_BITS // 8, "little"))

    def _find(self, first_table: int, prefixes: Sequence[int]) -> list[bytes | bytearray]:
        """Return the packed records of buckets: a prefix for each table from `first_table` on."""
        packed = self._buffer.found(first_table, prefixes)
        if self._has_rows:
            heads = self._heads
            rows = [
                heads[table][0] + prefix.to_bytes(heads[table][1], "big")
                for table, prefix in enumerate(prefixes, first_table)
            ]
            for row, value in zip(rows, self._database.get_all(rows), strict=True):
                if value is not None:
                    packed.append(value[HEADER_BYTES:])
                    if value[:HEADER_BYTES] != NO_CLOSED_ROWS:
                        packed += self._closed_rows(row, value).values()
        return packed

    def was_removed(self, ordinal: int) -> bool:  # noqa: ARG002 - see `Runs`
        """Return False: the records of removed entries are removed at once."""
        return False

    def add(self, entry: Entry) -> None:
        """Add an entry's records; freeze the generation if it is full and no other is frozen."""
        prefixes, check = self._prefixes_and_check(entry.fingerprint)
        key_prefix, key_check = self._key_prefix_and_check(entry.key)
        record = records.record(check, self._check_bits, entry.ordinal)
        key_record = records.record(key_check, KEY_CHECK_BITS, entry.ordinal)
        buffer = self._buffer
        buffer.add([*prefixes, key_prefix], [record] * self._key_table + [key_record])
        if buffer.entry_count >= self._capacity and not buffer.frozen:
            self.freeze(entry.ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Begin to spill all records, whose ordinals are below `next_ordinal`. No effect without
        records, or during a spill.
        """
        buffer = self._buffer
        if buffer.entry_count and not buffer.frozen:
            # The spill must end before the next generation is full.
            steps = max(self._capacity * 9 // 10 // SPILL_EVERY, 1)
            self._slots_per_step = -(-buffer.slot_count // steps)
            buffer.freeze()
            self.frozen_below = next_ordinal

    def spill(self, *, large: bool = False) -> tuple[list[Slot], list[Row], list[bytes]] | None:
        """Return (slots of a step, rows to put, []), or None if no slot is left.

        :param large: take 4096 slots, not as few as end the spill before the next generation is
            full.
        """
        slots = self._buffer.take_slots(_LARGE_STEP_SLOTS if large else self._slots_per_step)
        if slots is None:
            return None
        puts: list[Row] = []
        for slot in slots:
            open_row = self._open_row_key(slot)
            added = self._buffer.old_records(slot)
            value = self._database.get(open_row) if self._has_rows else None
            if value is None:
                puts.append((open_row, NO_CLOSED_ROWS + added))
                continue
            record_bytes = self._record_bytes[slot[0]]
            first_ordinal = int.from_bytes(added[record_bytes - 4 : record_bytes], "little")
            if first_ordinal < self._repeated_below:
                added = self._drop_stored(open_row, value, added, record_bytes)
                if not added:
                    continue
            if len(value) - HEADER_BYTES >= OPEN_ROW_RECORDS * record_bytes:
                closed_row, value = self._close(open_row, value, record_bytes)
                puts.append(closed_row)
            puts.append((open_row, value + added))
        return slots, puts, []

    def _close(self, open_row: bytes, value: bytes, record_bytes: int) -> tuple[Row, bytes]:
        """Return (closed row with the open row's records added, header of the empty open row)."""
        count = int.from_bytes(value[:HEADER_BYTES], "little")
        stored = b""
        if count:
            row = records.closed_row_key(open_row, count - 1)
            stored = self._database.get(row) or b""
        if not count or len(stored) >= CLOSED_ROW_RECORDS * record_bytes:
            row, stored = records.closed_row_key(open_row, count), b""
            count += 1
        return (row, stored + value[HEADER_BYTES:]), count.to_bytes(HEADER_BYTES, "little")

    def _closed_rows(self, open_row: bytes, value: bytes) -> dict[bytes, bytes]:
        """Return the closed rows of a bucket by key, given the key and value of its open row."""
        count = int.from_bytes(value[:HEADER_BYTES], "little")
        rows = [records.closed_row_key(open_row, number) for number in range(count)]
        values = self._database.get_all(rows)
        return {row: value or b"" for row, value in zip(rows, values, strict=True)}

    def _drop_stored(self, open_row: bytes, value: bytes, added: bytes, record_bytes: int) -> bytes:
        """Return the added records without those that are in the bucket's rows already."""
        stored = {
            ordinal
            for packed in (value[HEADER_BYTES:], *self._closed_rows(open_row, value).values())
            for ordinal in records.ordinals(packed, record_bytes)
        }
        return b"".join(
            added[number * record_bytes : (number + 1) * record_bytes]
            for number, ordinal in enumerate(records.ordinals(added, record_bytes))
            if ordinal not in stored
        )

    def end_step(self, slots: Sequence[Slot]) -> None:
        """Remove the records of a step from memory, after the rows of `spill` were written."""
        self._buffer.drop(slots)
        self._has_rows = True

    def may_repeat(self, below: int) -> None:
        """Expect that rows have records of ordinals below this one, which a crash or a failed write
        may have left, and do not add these again. With 0, there are no rows.
        """
        self._has_rows = below > 0
        self._repeated_below = below

    def end_spill(self) -> bool:
        """End the spill and return True if all records are in rows. Otherwise return False, and let
        `spill` start over.
        """
        return self._buffer.end_spill()

    def removal(self, entries: Sequence[Entry]) -> tuple[list[Row], list[bytes]]:
        """Return (rows to put, keys to delete) that remove all stored records of these entries."""
        changed: dict[bytes, bytes] = {}
        for entry in entries:
            for slot in enumerate(self._prefixes(entry)):
                open_row = self._open_row_key(slot)
                value = changed.get(open_row, self._database.get(open_row))
                if value is None:
                    continue
                record_bytes = self._record_bytes[slot[0]]
                kept = without(value[HEADER_BYTES:], record_bytes, entry.ordinal)
                if len(kept) < len(value) - HEADER_BYTES:
                    changed[open_row] = value[:HEADER_BYTES] + kept
                    continue
                for row, stored in self._closed_rows(open_row, value).items():
                    before = changed.get(row, stored)
                    after = without(before, record_bytes, entry.ordinal)
                    if len(after) < len(before):
                        changed[row] = after
        puts = [(row, value) for row, value in changed.items() if value != NO_CLOSED_ROWS]
        return puts, [row for row, value in changed.items() if value == NO_CLOSED_ROWS]

    def forget(self, entries: Sequence[Entry]) -> None:
        """Remove the records of entries from memory, after the rows of `removal` were written."""
        for entry in entries:
            for table, prefix in enumerate(self._prefixes(entry)):
                self._buffer.remove(table, prefix, entry.ordinal)

    def _prefixes(self, entry: Entry) -> list[int]:
        """Return the entry's prefix in each table. The prefix of its page key is the last."""
        prefixes = self._prefixes_and_check(entry.fingerprint)[0]
        return [*prefixes, self._key_prefix_and_check(entry.key)[0]]

    def _open_row_key(self, slot: Slot) -> bytes:
        head, prefix_bytes = self._heads[slot[0]]
        return head + slot[1].to_bytes(prefix_bytes, "big")
