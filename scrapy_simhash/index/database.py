"""An ordered key-value database, which holds the tables of an index, and what its drivers share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_simhash.errors import IndexClosed, IndexCorrupt, IndexLocked, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy_simhash.errors import SimhashError

Row = tuple[bytes, bytes]


class Database(ABC):
    """Rows in the order of their keys' bytes, in a directory that one process at a time can open.

    Reads verify checksums. All methods raise StorageError if the disk fails or rights are missing,
    IndexCorrupt if files are damaged, and IndexClosed after `close`. Only `sync` may be called
    while another call is running.

    A subclass adapts a driver. Its methods that begin with an underscore may raise the driver's
    errors.

    :param location: names the index in errors.
    :param path: directory of the database, which is created if it is missing.
    :raises IndexLocked: another process has it open.
    """

    name: ClassVar[str]
    """The kind of database, as in URLs of indexes."""

    _errors: ClassVar[tuple[type[Exception], ...]]
    """What the driver raises."""

    _reading: Mapping[str, Any]
    """The driver's options to read a row with verified checksums."""

    def __init__(self, location: str, path: Path) -> None:
        self._location = location
        self._path = path
        self._closed = self._write_failed = False
        if not (path / "CURRENT").exists() and _has_data(path):
            # The driver would take it for an empty database, and may delete its files.
            raise corrupt(location, f"{path / 'CURRENT'} is missing")
        path.mkdir(mode=0o700, exist_ok=True)
        self._db: Any = None
        try:
            self._db = self._open()
        except self._errors as error:
            raise self.translated(location, error) from error

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        try:
            value: bytes | None = self._opened().get(key, **self._reading)
        except self._errors as error:
            raise self.translated(self._location, error) from error
        return value

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, in the order of the keys; None for missing rows."""
        try:
            return self._get_all(self._opened(), keys)
        except self._errors as error:
            raise self.translated(self._location, error) from error

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Return the rows with start <= key < stop, as of the time when the first one is read."""
        try:
            yield from self._rows(self._opened(), start, stop)
        except self._errors as error:
            raise self.translated(self._location, error) from error

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        """Carry out all puts and deletes, or none.

        A write survives a crash of the process. With `sync`, this and all earlier writes are on
        disk when the call returns.
        """
        try:
            if self._write_failed:
                # The log may end in a part of a batch. Rows written after it would be lost;
                # reopening the database cuts it off.
                self._give_back()
            database = self._opened()
            self._write_failed = False
            self._write(database, puts, deletes, sync=sync)
        except self._errors as error:
            self._write_failed = not self._closed
            raise self.translated(self._location, error) from error

    def sync(self) -> None:
        """Sync earlier writes to disk, without blocking other threads."""
        try:
            for log in self._path.glob("*.log"):
                # A missing log was replaced by a table file, which is synced.
                with suppress(FileNotFoundError):
                    opened = os.open(log, os.O_RDONLY)
                    try:
                        os.fsync(opened)
                    finally:
                        os.close(opened)
        except OSError as error:
            raise StorageError(self._location, f"it cannot be synced ({error})") from error

    def compact(self) -> None:
        """Drop overwritten and deleted rows. This takes as long as copying the database."""
        try:
            self._compact(self._opened())
        except self._errors as error:
            raise self.translated(self._location, error) from error

    def close(self) -> None:
        """Close the database. May be called repeatedly."""
        self._closed = True
        self._give_back()

    @classmethod
    @abstractmethod
    def destroy(cls, location: str, path: Path) -> None:
        """Delete a closed database, and no file that it did not write.

        :raises IndexLocked: it is open.
        """

    @classmethod
    @abstractmethod
    def salvage(cls, location: str, path: Path) -> None:
        """Let the driver repair the files of a closed database. All readable rows are kept.

        Damaged files are set aside or dropped. :raises IndexLocked: it is open.
        """

    @staticmethod
    @abstractmethod
    def translated(location: str, error: Exception) -> SimhashError:
        """Return our error for one of the driver's; raise any other error unchanged."""

    @abstractmethod
    def _open(self) -> Any:
        """Return the driver's handle of the database, which is created if it is missing."""

    @abstractmethod
    def _get_all(self, database: Any, keys: Sequence[bytes]) -> list[bytes | None]:
        """See `get_all`."""

    @abstractmethod
    def _rows(self, database: Any, start: bytes, stop: bytes) -> Iterator[Row]:
        """See `rows`."""

    @abstractmethod
    def _write(
        self, database: Any, puts: Sequence[Row], deletes: Sequence[bytes], *, sync: bool
    ) -> None:
        """See `write`."""

    @abstractmethod
    def _compact(self, database: Any) -> None:
        """See `compact`."""

    def _opened(self) -> Any:
        """Return the driver's handle, reopened if a failed write closed it."""
        if self._closed:
            raise IndexClosed(self._location, "used after close()")
        if self._db is None:
            self._db = self._open()
        return self._db

    def _give_back(self) -> None:
        """Close the driver's handle, if it is open."""
        database, self._db = self._db, None
        if database is not None:
            database.close()


DatabaseKind = type[Database]


def corrupt(location: str, detail: object) -> IndexCorrupt:
    """Return the error for damaged files or rows."""
    return IndexCorrupt(
        location,
        f"it is damaged ({detail}): `scrapy simhash repair --index {location}` keeps what can "
        "still be read; or restore a backup, or start over with SIMHASH_RESET = True; "
        "nothing was deleted",
    )


def locked(location: str, product: str) -> IndexLocked:
    """Return the error for a database that another process has open."""
    return IndexLocked(
        location,
        f"another process has it open ({product} allows one): wait for that crawl to end, or give "
        "this one a directory of its own with SIMHASH_DIR",
    )


def unusable(location: str, detail: str) -> StorageError:
    """Return the error for a disk that fails or is full, or for missing rights."""
    return StorageError(
        location, f"it cannot be read or written ({detail}): check disk space and rights"
    )


def _has_data(path: Path) -> bool:
    """Return True if there are files that a driver writes only once CURRENT exists."""
    return path.exists() and any(file.suffix in {".ldb", ".sst", ".log"} for file in path.iterdir())
