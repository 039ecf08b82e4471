"""The port to an ordered key-value database: what the tables of an index are kept in."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from scrapy_simhash.errors import IndexCorrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Row = tuple[bytes, bytes]


class Database(Protocol):
    """Rows in the order of their keys' bytes, in a directory, for one process at a time.

    What is read has passed the checksums that it was written with. All methods raise
    StorageError where the disk or its rights fail, IndexCorrupt where files are damaged and
    IndexClosed after `close`. Calls come one at a time.
    """

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of some rows, in the order of the keys."""

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Return the rows with start <= key < stop, as they are when the first is asked for."""

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        """Carry out all puts and deletes, or none.

        Whatever was written before a crash of the process is there after it. With `sync`, this
        and all earlier writes are on the disk when the call returns.
        """

    def sync(self) -> None:
        """Bring what was written before to the disk, without holding up calls of other threads:
        the only method that may be called beside others.
        """

    def compact(self) -> None:
        """Drop what was overwritten and deleted; takes as long as copying the database."""

    def close(self) -> None:
        """Give the database back. Harmless when repeated."""


class DatabaseKind(Protocol):
    """A kind of database: opens, destroys and repairs directories of its own."""

    name: str

    def __call__(self, location: str, path: Path) -> Database:
        """Open the database in `path`, or make it; `location` names the index in errors.

        :raises IndexLocked: another process has it.
        """

    def destroy(self, location: str, path: Path) -> None:
        """Delete the database, and nothing that it did not write. :raises IndexLocked: in use."""

    def salvage(self, location: str, path: Path) -> None:
        """Let the database repair its files: it keeps every row that can still be read.

        Files that cannot be are set aside or dropped. :raises IndexLocked: in use.
        """


def sync_logs(path: Path) -> None:
    """Bring the logs in a directory to the disk. :raises OSError: the disk fails."""
    for log in path.glob("*.log"):
        with suppress(FileNotFoundError):  # its rows are in a table by now, which was synced
            opened = os.open(log, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def corrupt(location: str, detail: object) -> IndexCorrupt:
    """Files or rows are damaged."""
    return IndexCorrupt(
        location,
        f"it is damaged ({detail}): `scrapy simhash repair --index {location}` keeps what can "
        "still be read; or restore a backup, or start over with SIMHASH_RESET = True; "
        "nothing was deleted",
    )
