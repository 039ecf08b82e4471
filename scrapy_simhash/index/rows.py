"""Rows: the entries, the log, the notes, the texts and the state in the database of an index."""

from __future__ import annotations

import secrets
import time
from threading import RLock
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.records import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SyncPolicy
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.memory import MemoryDatabase

_SYNC_INTERVAL_S = 1.0


class Rows:
    """The rows of an open database. Each write has the state row, too.

    :param width_bytes: bytes of a fingerprint.
    :param sync: when writes are synced to disk.
    :raises IndexCorrupt: this or a method cannot decode a row.
    """

    def __init__(
        self,
        database: Database | MemoryDatabase,
        width_bytes: int,
        sync: SyncPolicy = "everysec",
    ) -> None:
        self._database = database
        self._width_bytes = width_bytes
        self.location = database.location
        self._sync = sync
        self.lock = RLock()
        self.next_sequence = 1
        """The number of the next observation. It is higher than all numbers in rows."""
        self._synced_at_s, self._is_synced = time.monotonic(), True
        self._state = self._stored_state()
        self._is_current = True
        """The state is that in the database. A write that failed may have come through."""
        self.next_sequence = self._state.next_sequence

    @property
    def text_bytes(self) -> int:
        """Size of all stored texts, see `State`."""
        return self._state.text_bytes

    def __len__(self) -> int:
        """Return the number of stored entries."""
        return self._state.entries

    def get(self, row: bytes) -> bytes | None:
        """Return the value of a row; None if there is no such row."""
        return self._database.get(row)

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Yield the rows with start <= key < stop, sorted."""
        return self._database.rows(start, stop)

    def entries(self, first_ordinal: int = 0) -> Iterator[Entry]:
        """Yield the entries from an ordinal on, without those written after the first was read."""
        for row, value in self._database.rows(records.entry_row_key(first_ordinal), b"F"):
            yield self._entry(int.from_bytes(row[1:], "big"), value)

    def near_duplicates(self, since_sequence: int = 0) -> Iterator[NearDuplicate]:
        """Yield the log lines from a sequence number on, oldest first. Lines written after the
        first was read are left out.
        """
        try:
            for row, value in self._database.rows(records.log_row_key(since_sequence), b"O"):
                yield records.decode_near_duplicate(int.from_bytes(row[1:], "big"), value)
        except ValueError as error:
            raise corrupt(self.location, error) from error

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield (name, note) of all notes, in the order of names."""
        try:
            for row, value in self._database.rows(*records.NOTES):
                yield records.decode_key(row[1:]), value
        except ValueError as error:
            raise corrupt(self.location, f"the name of a note: {error}") from error

    def skip_to(self, next_sequence: int) -> None:
        """Raise the next sequence number to at least this one."""
        self.next_sequence = max(next_sequence, self.next_sequence)
        self.write_rows([])

    def write_lines(self, lines: Iterable[NearDuplicate]) -> None:
        """Add lines to the near-duplicate log, or replace those with their sequence numbers."""
        rows = []
        for line in lines:
            rows.append((records.log_row_key(line.sequence), records.encode_near_duplicate(line)))
            self.next_sequence = max(self.next_sequence, line.sequence + 1)
        if rows:
            self.write_rows(rows)

    def unlog(self, sequences: Iterable[int]) -> None:
        """Remove the lines with these sequence numbers, as far as there are any."""
        if keys := [records.log_row_key(sequence) for sequence in sequences]:
            self.write_rows([], keys)

    def note(self, name: str) -> bytes | None:
        """Return the note of this name, or None."""
        return self._database.get(records.note_row_key(name))

    def replace_note(self, name: str, before: bytes | None, after: bytes | None) -> bool:
        """Replace the note `before`; None means none. Return False if there is another."""
        key, stored = records.note_row_key(name), self.note(name)
        if stored not in (before, after):
            return False
        if stored != after:
            self.write_rows([] if after is None else [(key, after)], [key] if after is None else [])
        return True

    def end_crawl(self, name: str, note: bytes) -> int:
        """See `Index.end_crawl`."""
        self.replace_note(name, self.note(name), note)
        return len(self)

    def sync(self) -> None:
        """Sync earlier writes without blocking other calls, if the policy is ``everysec``.

        If this is called every second or more often, writes don't sync.
        """
        if self._sync == "everysec" and not self._is_synced:
            self._is_synced = True  # before, because writes during the sync may not be in it
            try:
                self._database.sync()
            except BaseException:
                self._is_synced = False
                raise
        self._synced_at_s = time.monotonic()

    def write_rows(
        self,
        puts: Sequence[Row],
        deletes: Sequence[bytes] = (),
        *,
        added_entries: int = 0,
        added_text_bytes: int = 0,
    ) -> None:
        """Write rows and the state: all or nothing.

        :param added_entries: how many more entries there are then; `added_text_bytes` likewise.
        """
        if not self._is_current:
            self._state, self._is_current = self._stored_state(), True
        _, entries, identity, text_bytes = self._state
        state = State(
            self.next_sequence, entries + added_entries, identity, text_bytes + added_text_bytes
        )
        sync = self._sync == "always"
        if self._sync == "everysec":
            sync = time.monotonic() - self._synced_at_s >= _SYNC_INTERVAL_S
        self._is_current = False
        try:
            self._database.write([*puts, state_row(state)], deletes, sync=sync)
            self._state, self._is_current = state, True
        finally:
            # After the write, because a `sync` that runs during the write may not include it.
            self._is_synced = False
        if sync:
            self._synced_at_s, self._is_synced = time.monotonic(), True

    def _stored_state(self) -> State:
        """Return the stored state. If the database is empty, store the first one."""
        value = self._database.get(records.STATE_KEY)
        if value is None:
            if next(self._database.rows(b"", records.END), None) is not None:
                raise corrupt(self.location, "its state row is missing")
            state = State(1, 0, identity=secrets.randbits(64))
            self._database.write([state_row(state)], sync=self._sync != "no")
            return state
        try:
            return records.decode_state(value)
        except ValueError as error:
            raise corrupt(self.location, error) from error

    def _entry(self, ordinal: int, value: bytes) -> Entry:
        try:
            return records.decode_entry(ordinal, value, self._width_bytes)
        except ValueError as error:
            raise corrupt(self.location, error) from error


def state_row(state: State) -> Row:
    """Return the state row."""
    return records.STATE_KEY, records.encode_state(state)
