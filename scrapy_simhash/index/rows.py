"""Rows: the entries, the log, the notes, the texts and the state in the database of an index."""

from __future__ import annotations

import secrets
import time
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.records import State
from scrapy_simhash.index.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SyncPolicy
    from scrapy_simhash.index.database import Database, MemoryDatabase, Row
    from scrapy_simhash.index.manifest import Manifest

_SYNC_INTERVAL_S = 1.0
Decoded = TypeVar("Decoded")


class Rows:
    """The rows of an open database. Each write has the state row, too.

    :param sync: when writes are synced to disk.
    :raises IndexCorrupt: this or a method cannot decode a row.
    """

    next_sequence = 1
    """The number of the next observation. It is higher than all numbers in rows."""

    def __init__(
        self,
        database: Database | MemoryDatabase,
        manifest: Manifest,
        sync: SyncPolicy = "everysec",
    ) -> None:
        self.database = database
        self.manifest, self._sync = manifest, sync
        self._width_bytes = manifest.plan.bits // 8
        self.texts = Texts(self)
        self.location = database.location
        self.lock = RLock()
        self._synced_at_s = time.monotonic()
        self._state: State | None = None
        self.next_sequence = self.state.next_sequence

    @property
    def state(self) -> State:
        """The stored state. It is read again after a failed write, which may have come through."""
        if self._state is None:
            self._state = self._stored_state()
        return self._state

    def __len__(self) -> int:
        """Return the number of stored entries."""
        return self.state.entries

    def size_bytes(self) -> int:
        """Return the size of the database on disk."""
        path = self.database.path
        files = () if path is None else path.rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def entries(self, first_ordinal: int = 0) -> Iterator[Entry]:
        """Yield the entries from an ordinal on, without those written after the first was read."""
        return self.decoded(records.entry_row_key(first_ordinal), b"F", self._entry)

    def entries_by_age(self) -> Iterator[Entry]:
        """Yield all entries, oldest first."""
        import numpy as np

        ages = np.fromiter(((entry.number, entry.ordinal) for entry in self.entries()), "u8, u8")
        for ordinal in ages["f1"][ages["f0"].argsort(kind="stable")]:
            row = records.entry_row_key(int(ordinal))
            yield self._decoded(row, self.database.get(row) or b"", self._entry)

    def near_duplicates(self) -> Iterator[NearDuplicate]:
        """Yield the log lines, oldest first, without those written after the first was read."""
        decode = records.decode_near_duplicate
        return self.decoded(b"N", b"O", lambda key, value: decode(_number(key), value))

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield (name, note) of all notes, in the order of names."""
        return self.decoded(*records.NOTES, lambda key, note: (records.decode_key(key), note))

    def decoded(
        self, start: bytes, stop: bytes, decode: Callable[[bytes, bytes], Decoded]
    ) -> Iterator[Decoded]:
        """Yield the decoded rows with start <= key < stop, sorted by key.

        :param decode: called with the key without its head, and the value. A ValueError means that
            the row is damaged.
        """
        for row, value in self.database.rows(start, stop):
            yield self._decoded(row, value, decode)

    def _decoded(
        self, row: bytes, value: bytes, decode: Callable[[bytes, bytes], Decoded]
    ) -> Decoded:
        try:
            return decode(row[1:], value)
        except ValueError as error:
            raise corrupt(self.location, f"the row {row!r}: {error}") from error

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
        return self.database.get(records.note_row_key(name))

    def replace_note(self, name: str, before: bytes | None, after: bytes | None) -> bool:
        """Replace the note `before`; None means none. Return False if there is another."""
        key, stored = records.note_row_key(name), self.note(name)
        if stored not in (before, after):
            return False
        if after is None:
            self.write_rows([], [key])
        elif stored != after:
            self.write_rows([(key, after)])
        return True

    def sync(self) -> None:
        """Sync earlier writes without blocking other calls, if the policy is ``everysec``.

        If this is called every second or more often, writes don't sync.
        """
        if self._sync == "everysec":
            self.database.sync()
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
        _, entries, identity, text_bytes = self.state
        state = State(
            self.next_sequence, entries + added_entries, identity, text_bytes + added_text_bytes
        )
        sync = self._sync == "always"
        if self._sync == "everysec":
            sync = time.monotonic() - self._synced_at_s >= _SYNC_INTERVAL_S
        self._state = None
        state_row = (records.STATE_KEY, records.encode_state(state))
        self.database.write([*puts, state_row], deletes, sync=sync)
        self._state = state
        if sync:
            self._synced_at_s = time.monotonic()

    def _stored_state(self) -> State:
        """Return the stored state. If the database is empty, store the first one."""
        value = self.database.get(records.STATE_KEY)
        if value is None:
            if next(self.database.rows(b"", records.END), None) is not None:
                raise corrupt(self.location, "its state row is missing")
            state = State(1, 0, identity=secrets.randbits(64))
            self.database.write(
                [(records.STATE_KEY, records.encode_state(state))], sync=self._sync != "no"
            )
            return state
        try:
            return records.decode_state(value)
        except ValueError as error:
            raise corrupt(self.location, error) from error

    def _entry(self, key: bytes, value: bytes) -> Entry:
        """Return the entry of a row, by its key without the head. :raises ValueError: damage."""
        return records.decode_entry(_number(key), value, self._width_bytes)


def _number(key: bytes) -> int:
    return int.from_bytes(key, "big")
