"""TableStore: a `Store` of entries and their permuted tables in a key-value database.

An entry is one row, written when its page is confirmed, so a crash leaves all of it or nothing.
Its *records* are its places in the tables. They wait in memory until they are *spilled* in small
steps: to rows (`Buckets`), or to files if tables are probed (`Runs`). After a kill, the next
opening makes lost records again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import records
from scrapy_simhash.index.base import Store
from scrapy_simhash.index.buckets import SPILL_EVERY, Buckets
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind, SyncPolicy
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.runs import Runs

logger = logging.getLogger(__name__)

_Decoded = TypeVar("_Decoded")

_SYNC_INTERVAL_S = 1.0


class RowReader:
    """A reader of the entries, the near-duplicate log and the side rows of an open database.

    :param width_bytes: bytes of a fingerprint.
    :raises IndexCorrupt: a method cannot decode a row.
    """

    def __init__(self, database: Database, width_bytes: int) -> None:
        self._database = database
        self._width_bytes = width_bytes
        self.location = database.location
        self._decode_entry = records.decode_entry
        self._decode_near_duplicate = records.decode_near_duplicate

    def entries(self, first_ordinal: int = 0) -> Iterator[Entry]:
        """Yield the entries from an ordinal on, without those written after the first was read."""
        for row, value in self._database.rows(records.entry_row_key(first_ordinal), b"F"):
            yield self._decoded(self._decode_entry, int.from_bytes(row[1:], "big"), value)

    def near_duplicates(self, since_sequence: int = 0) -> Iterator[NearDuplicate]:
        """See `Store.near_duplicates`. Lines written after the first was read are left out."""
        for row, value in self._database.rows(records.log_row_key(since_sequence), b"O"):
            yield self._decoded(self._decode_near_duplicate, int.from_bytes(row[1:], "big"), value)

    def side_rows(self, kind: SideKind) -> Iterator[tuple[str, bytes]]:
        """See `Store.side_rows`."""
        try:
            for row, value in self._database.rows(*records.side_range(kind)):
                yield records.decode_key(row[1:]), value
        except ValueError as error:
            raise corrupt(self.location, f"the name of a side row: {error}") from error

    def _read_state(self) -> State | None:
        """Return the state row; None if there is none."""
        value = self._database.get(records.STATE_KEY)
        try:
            return None if value is None else records.decode_state(value)
        except ValueError as error:
            raise corrupt(self.location, error) from error

    def _decoded(
        self, decode: Callable[[int, bytes, int], _Decoded], number: int, value: bytes
    ) -> _Decoded:
        try:
            return decode(number, value, self._width_bytes)
        except ValueError as error:
            raise corrupt(self.location, error) from error


class TableStore(RowReader, Store):
    """A `Store` over a `Database`.

    :param database: an open database, which `close` closes.
    :param check_bits: width of the fingerprint check in a record, see `Buckets`.
    :param sync: when writes are synced to disk.
    :param buffer_bytes: see `Buckets`.
    :raises StorageError: the disk fails, or rows or files are damaged (IndexCorrupt).
    """

    def __init__(
        self,
        database: Database,
        plan: TablePlan,
        check_bits: int,
        *,
        sync: SyncPolicy = "everysec",
        buffer_bytes: int | None = None,
    ) -> None:
        super().__init__(database, plan.bits // 8)
        self._sync = sync
        self._synced_at_s = time.monotonic()
        self._writes = self._synced_writes = 0
        self._buckets: Buckets | Runs
        if plan.prefix_bits:
            from scrapy_simhash.index.runs import Runs

            self._buckets = Runs(database, plan, durable=sync != "no")
        else:
            self._buckets = Buckets(database, plan, check_bits, buffer_bytes)
        # Results of `prefetch` by (fingerprint, certainty, mark, distance): ordinals.
        self._prefetched: dict[tuple[int, bytes, int | None, int], set[int]] = {}
        self._until_spill = SPILL_EVERY
        self._spill_failed = False
        # After an interrupted write, records in memory may be incomplete, so they are not spilled.
        self._interrupted = False
        self._state = self._stored_state()
        self._restore_records()

    @property
    def next_sequence(self) -> int:
        return self._state.next_sequence

    def entry(self, key: str) -> Entry | None:
        ordinals = self._buckets.find_key(key)
        for entry in self._entries_of(ordinals) if ordinals else ():
            if entry.key == key:
                return entry
        return None

    def within(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",
        *,
        mark: int | None = None,
    ) -> list[tuple[int, Entry]]:
        """See `Store.within`. `mark` has no effect on tables that are not probed."""
        ordinals = self._prefetched.get((fingerprint, certainty, mark, max_distance))
        if ordinals is None:
            ordinals = self._buckets.find_near(fingerprint, max_distance, certainty, mark=mark)
        entries = [*self._entries_of(ordinals)]
        if mark is not None and len(entries) < len(ordinals):
            from scrapy_simhash.index.crowds import more_to_choose  # loads numpy

            extra = 0
            while extra := more_to_choose(len(ordinals), len(entries), extra):
                ordinals = self._buckets.find_near(
                    fingerprint, max_distance, certainty, mark=mark, extra=extra
                )
                entries = [*self._entries_of(ordinals)]
        return [
            (distance, entry)
            for entry in entries
            if (distance := hamming_distance(fingerprint, entry.fingerprint)) <= max_distance
        ]

    def prefetch(self, queries: Sequence[tuple[int, bytes, int]], max_distance: int) -> None:
        """See `Store.prefetch`. No effect on buckets, for which it would not be faster."""
        if isinstance(self._buckets, Buckets):
            return
        marks = [mark for _, _, mark in queries]
        pairs = [(fingerprint, certainty) for fingerprint, certainty, _ in queries]
        results = self._buckets.find_near_many(pairs, max_distance, marks)
        self._prefetched = {
            (*query, max_distance): ordinals
            for query, ordinals in zip(queries, results, strict=True)
        }

    def skip_to(self, next_sequence: int) -> None:
        """Raise the next sequence number to at least this one."""
        self.remove((), max(next_sequence, self._state.next_sequence))

    def remove(self, entries: Sequence[Entry], next_sequence: int) -> None:
        """Delete stored entries and store the next sequence number: all or nothing."""
        try:
            self._write_without(entries, [], self._state._replace(next_sequence=next_sequence))
        except BaseException as error:  # See `write`.
            self._interrupted |= not isinstance(error, StorageError)
            raise

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> Entry:
        try:
            return self._put(put, replaced, outdated, next_sequence)
        except BaseException as error:
            # After Ctrl-C or a MemoryError, the row may be written, but not its records.
            self._interrupted |= not isinstance(error, StorageError)
            raise

    def _put(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> Entry:
        state, removed = self._state, [*outdated]
        # If fingerprint and mark stay, so do the row's key and the records.
        keeps_row = (
            replaced is not None
            and replaced.fingerprint == put.fingerprint
            and mark_of(replaced.evidence) == mark_of(put.evidence)
        )
        if replaced is not None and keeps_row:
            put = put._replace(ordinal=replaced.ordinal)
            state = state._replace(next_sequence=next_sequence)
        else:
            ordinal = state.next_ordinal
            if ordinal > records.MAX_ORDINAL:
                raise StorageError(
                    self.location,
                    f"it has held {ordinal} entries, and cannot take more: start another index",
                )
            if replaced is not None:
                removed.insert(0, replaced)
            put = put._replace(ordinal=ordinal)
            state = State(next_sequence, state.entries + 1, ordinal + 1, state.first_buffered)
        row = (records.entry_row_key(put.ordinal), records.encode_entry(put, self._width_bytes))
        if keeps_row or removed:
            self._write_without(removed, [row], state)
        else:
            # `_restore_records` derives the state from the entry.
            self._write([row])
            self._state = state
        if not keeps_row:
            self._prefetched = {}
            self._buckets.add(put)
            self._until_spill -= 1
            if not self._until_spill:
                self._spill_in_turn()
        return put

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        value = records.encode_near_duplicate(near_duplicate, self._width_bytes)
        state = self._state._replace(next_sequence=next_sequence)
        self._write([(records.log_row_key(near_duplicate.sequence), value), _state_row(state)])
        self._state = state

    def unlog(self, sequence: int) -> None:
        self._write([], [records.log_row_key(sequence)])

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        return self._database.get(records.side_row_key(kind, name))

    def write_side_row(self, kind: SideKind, name: str, row: bytes | None) -> None:
        key = records.side_row_key(kind, name)
        if row is None:
            self._write([], [key])
        else:
            self._write([(key, row)])

    def sync(self) -> None:
        """See `Store.sync`. If this is called every second or more often, writes don't sync."""
        writes, now_s = self._writes, time.monotonic()
        if self._sync == "everysec":
            if writes != self._synced_writes:
                self._database.sync()
            self._synced_writes, self._synced_at_s = writes, now_s

    def close(self) -> None:
        """See `Store.close`. If records cannot be spilled, the next opening makes them again."""
        try:
            if not self._interrupted:
                self._spill_all()
        except StorageError as error:
            logger.warning("simhash: %s; no page is lost, but the next opening takes longer", error)
        finally:
            if not isinstance(self._buckets, Buckets):
                self._buckets.close()
            self._database.close()

    def __len__(self) -> int:
        return self._state.entries

    def _entries_of(self, ordinals: Iterable[int]) -> Iterator[Entry]:
        """Yield the entries with these ordinals, without removed ones that a run still has."""
        ordinals = list(ordinals)
        values = self._database.get_all([records.entry_row_key(ordinal) for ordinal in ordinals])
        for ordinal, value in zip(ordinals, values, strict=True):
            if value is not None:
                yield self._decoded(self._decode_entry, ordinal, value)
            elif not self._buckets.was_removed(ordinal):
                raise corrupt(self.location, f"entry {ordinal} is missing")

    def _write(self, puts: Sequence[Row], deletes: Sequence[bytes] = ()) -> None:
        sync = self._sync == "always"
        if self._sync == "everysec":
            sync = time.monotonic() - self._synced_at_s >= _SYNC_INTERVAL_S
        try:
            self._database.write(puts, deletes, sync=sync)
        finally:
            # After the write, because a `sync` that runs during the write may not include it.
            self._writes += 1
        if sync:
            self._synced_writes, self._synced_at_s = self._writes, time.monotonic()

    def _write_without(self, removed: Sequence[Entry], puts: list[Row], state: State) -> None:
        """Write rows, and delete entries with all of their records: all or nothing.

        :param state: the new state, but `State.entries` still counts the deleted entries.
        """
        changed, emptied = self._buckets.removal(removed)
        state = state._replace(entries=state.entries - len(removed))
        deletes = [*emptied, *(records.entry_row_key(entry.ordinal) for entry in removed)]
        self._write([*puts, *changed, _state_row(state)], deletes)
        if removed:
            self._prefetched = {}
            self._buckets.forget(removed)
        self._state = state

    def _spill_in_turn(self) -> None:
        """Spill a small step, if records are being spilled. Called for every eighth new entry."""
        self._until_spill = SPILL_EVERY
        if self._buckets.frozen and not self._interrupted:
            try:
                self._spill_step()
            except StorageError as error:  # Only logged, because all pages are stored.
                if not self._spill_failed:
                    logger.warning("simhash: %s; its tables stay in memory for now", error)
                self._spill_failed = True

    def _spill_all(self) -> None:
        """Spill all records, and sync unless the policy is ``no``."""
        # Two rounds for each of two generations: after a failed write, the first leaves records.
        for _ in range(4):
            self._buckets.freeze(self._state.next_ordinal)
            while self._buckets.frozen and self._spill_step(large=True):
                pass
        if self._sync != "no" and self._writes != self._synced_writes:
            self._database.write([_state_row(self._state)], sync=True)

    def _spill_step(self, *, large: bool = False) -> bool:
        """Spill one step, and return True. If no step is left, end the spill, or start it over
        because the write of a step has failed, and return False.

        :param large: while no page waits for the step, as at opening and closing.
        """
        step = self._buckets.spill(large=large)
        if step is not None:
            part: Any
            part, puts, deletes = step
            try:
                if puts:
                    self._write(puts, deletes)
            except StorageError:
                # A write that failed may still have written the records.
                self._buckets.may_repeat(self._state.next_ordinal)
                raise
            self._buckets.end_step(part)
            return True
        if self._buckets.end_spill():
            self._state = self._state._replace(first_buffered=self._buckets.frozen_below)
            self._write([_state_row(self._state)])
        return False

    def _restore_records(self) -> None:
        """Make records that were not spilled, and count entries that the state row does not."""
        buckets, stored = self._buckets, self._state
        buckets.may_repeat(records.MAX_ORDINAL + 1)
        count = 0
        for entry in self.entries(stored.first_buffered):
            if entry.ordinal >= stored.next_ordinal:
                state = self._state
                self._state = state._replace(
                    next_sequence=max(state.next_sequence, entry.last_sequence + 1),
                    entries=state.entries + 1,
                    next_ordinal=entry.ordinal + 1,
                )
            buckets.add(entry)
            count += 1
            if buckets.frozen:
                while self._spill_step(large=True):
                    pass
        buckets.may_repeat(self._state.next_ordinal)
        if count:
            logger.info(
                "simhash: the index %s was not closed; %d entries were read again",
                self.location,
                count,
            )

    def _stored_state(self) -> State:
        """Return the stored state. If the database is empty, store the first one."""
        state = self._read_state()
        if state is None:
            if next(self._database.rows(b"", b"\xff"), None) is not None:
                raise corrupt(self.location, "its state row is missing")
            state = State(next_sequence=1, entries=0, next_ordinal=0, first_buffered=0)
            self._database.write([_state_row(state)], sync=self._sync != "no")
        return state


def _state_row(state: State) -> Row:
    return records.STATE_KEY, records.encode_state(state)
