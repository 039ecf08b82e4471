"""RowWriter: write the log, the side rows and the state of an index, and sync them to disk."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.reader import RowReader
from scrapy_simhash.index.records import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind, SyncPolicy
    from scrapy_simhash.index.database import KeyValues, Row

_SYNC_INTERVAL_S = 1.0


class RowWriter(RowReader):
    """A reader of an open database that also writes.

    The state row counts the entries below an ordinal. A later entry is one row, written without the
    state, and counted by the next opening.

    :param width_bytes: bytes of a fingerprint.
    :param sync: when writes are synced to disk.
    """

    def __init__(self, database: KeyValues, width_bytes: int, sync: SyncPolicy) -> None:
        super().__init__(database, width_bytes)
        self._sync = sync
        self._synced_at_s = time.monotonic()
        self._writes = self._synced_writes = 0
        self._state = self._stored_state()
        # Number of the entries that the state row does not count; wrong after a failed write.
        self._uncounted = 0
        self._is_counted = True
        self._next_ordinal = self._state.counted_below

    @property
    def next_sequence(self) -> int:
        """The next sequence number that the last `write` or `log` was given.

        It is stored, so that no number is used twice after the store is reopened.
        """
        return self._state.next_sequence

    def __len__(self) -> int:
        """Return the number of stored entries."""
        return self._state.entries + self._uncounted

    def skip_to(self, next_sequence: int) -> None:
        """Raise the next sequence number to at least this one."""
        self._write_with_state([], [], max(next_sequence, self._state.next_sequence))

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """Add a line to the near-duplicate log, or replace the one with its sequence number."""
        value = records.encode_near_duplicate(near_duplicate, self._width_bytes)
        row = (records.log_row_key(near_duplicate.sequence), value)
        self._write_with_state([row], [], next_sequence)

    def unlog(self, sequence: int) -> None:
        """Remove the line with this sequence number, if there is one."""
        self._write([], [records.log_row_key(sequence)])

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        """Return the side row of this name, or None."""
        return self._database.get(records.side_row_key(kind, name))

    def write_side_row(self, kind: SideKind, name: str, row: bytes | None) -> None:
        """Create or replace the side row of this name; None deletes it."""
        key = records.side_row_key(kind, name)
        if row is None:
            self._write([], [key])
        else:
            self._write([(key, row)])

    def sync(self) -> None:
        """Sync earlier writes without blocking other calls, if the policy is ``everysec``.

        If this is called every second or more often, writes don't sync.
        """
        writes, now_s = self._writes, time.monotonic()
        if self._sync == "everysec":
            if writes != self._synced_writes:
                self._database.sync()
            self._synced_writes, self._synced_at_s = writes, now_s

    def _write(self, puts: Sequence[Row], deletes: Sequence[bytes] = ()) -> None:
        sync = self._sync == "always"
        if self._sync == "everysec":
            sync = time.monotonic() - self._synced_at_s >= _SYNC_INTERVAL_S
        is_counted, self._is_counted = self._is_counted, False
        try:
            self._database.write(puts, deletes, sync=sync)
            self._is_counted = is_counted
        finally:
            # After the write, because a `sync` that runs during the write may not include it.
            self._writes += 1
        if sync:
            self._synced_writes, self._synced_at_s = self._writes, time.monotonic()

    def _write_with_state(
        self,
        puts: Sequence[Row],
        removed: Sequence[Entry],
        next_sequence: int,
        *,
        added: Entry | None = None,
    ) -> None:
        """Write rows and the state, and delete entries: all or nothing.

        :param added: a new entry, whose row is in `puts`.
        """
        self._recount()
        state, uncounted = self._state, self._uncounted
        entries = state.entries
        for entry, change in [(each, -1) for each in removed] + ([(added, 1)] if added else []):
            if entry.ordinal < state.counted_below:
                entries += change
            else:
                uncounted += change
        state = state._replace(next_sequence=next_sequence, entries=entries)
        deletes = [records.entry_row_key(entry.ordinal) for entry in removed]
        self._write([*puts, state_row(state)], deletes)
        self._state, self._uncounted = state, uncounted

    def _counted(self) -> Row:
        """Count all entries in the state, and return its row."""
        self._recount()
        self._state = self._state._replace(entries=len(self), counted_below=self._next_ordinal)
        self._uncounted = 0
        return state_row(self._state)

    def _recount(self) -> None:
        """Count again after a write that failed or was interrupted: it may have come through."""
        if self._is_counted:
            return
        stored = self._stored_state()
        self._uncounted = sum(1 for _ in self.entries(stored.counted_below))
        self._state = stored._replace(
            next_sequence=max(stored.next_sequence, self._state.next_sequence)
        )
        self._is_counted = True

    def _stored_state(self) -> State:
        """Return the stored state. If the database is empty, store the first one."""
        state = self._read_state()
        if state is None:
            if next(self._database.rows(b"", records.END), None) is not None:
                raise corrupt(self.location, "its state row is missing")
            state = State(1, 0, 0, identity=secrets.randbits(64))
            self._database.write([state_row(state)], sync=self._sync != "no")
        return state


def state_row(state: State) -> Row:
    """Return the state row."""
    return records.STATE_KEY, records.encode_state(state)
