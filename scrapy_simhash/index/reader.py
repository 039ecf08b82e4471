"""RowReader: read the entries, the log and the notes of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.memory import MemoryDatabase

_Decoded = TypeVar("_Decoded")


class RowReader:
    """A reader of the entries, the near-duplicate log and the notes of an open database.

    :param width_bytes: bytes of a fingerprint.
    :raises IndexCorrupt: a method cannot decode a row.
    """

    def __init__(self, database: Database | MemoryDatabase, width_bytes: int) -> None:
        self._database = database
        self._width_bytes = width_bytes
        self.location = database.location

    def get(self, row: bytes) -> bytes | None:
        """Return the value of a row; None if there is no such row."""
        return self._database.get(row)

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Yield the rows with start <= key < stop, sorted."""
        return self._database.rows(start, stop)

    def entries(self, first_ordinal: int = 0) -> Iterator[Entry]:
        """Yield the entries from an ordinal on, without those written after the first was read."""
        for row, value in self._database.rows(records.entry_row_key(first_ordinal), b"F"):
            yield self._decoded(records.decode_entry, int.from_bytes(row[1:], "big"), value)

    def near_duplicates(self, since_sequence: int = 0) -> Iterator[NearDuplicate]:
        """Yield the log lines from a sequence number on, oldest first. Lines written after the
        first was read are left out.
        """
        for row, value in self._database.rows(records.log_row_key(since_sequence), b"O"):
            yield self._decoded(
                records.decode_near_duplicate, int.from_bytes(row[1:], "big"), value
            )

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield (name, note) of all notes, in the order of names."""
        try:
            for row, value in self._database.rows(*records.NOTES):
                yield records.decode_key(row[1:]), value
        except ValueError as error:
            raise corrupt(self.location, f"the name of a note: {error}") from error

    def _read_state(self) -> records.State | None:
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
