"""The interface of the key-value databases that store an index, and their common errors."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_simhash.documents.files import sync_file
from scrapy_simhash.errors import IndexClosed, IndexCorrupt, IndexForeign, IndexLocked, StorageError
from scrapy_simhash.index.tables import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.errors import SimhashError

Row = tuple[bytes, bytes]

REDIS_REMEDY = (
    "restore a backup of the server, or delete the index with `scrapy simhash index remove --all "
    "--index redis://host:6379/0#name`, and crawl again"
)
"""What `corrupt` advises for an index in Redis, which `check --repair` does not take."""

_OUR_NAMES = {"CURRENT", "IDENTITY", "LOCK", "LOG", "rocksdict-config.json", "lost", "runs", FOLDER}


class Database(ABC):
    """A key-value database in a directory, which one process at a time can open.

    Rows are sorted by the bytes of their keys. Reads verify checksums. The constructor and all
    methods raise StorageError if the disk fails or rights are missing, and IndexCorrupt if files
    are damaged. After `close`, all methods but `sync` and `close` raise IndexClosed. Only `sync`
    may be called while another call is running.

    A subclass adapts a driver. The public methods translate the errors of its private methods.

    :param location: location of the index, for errors.
    :param path: directory of the database; created if it is missing and its parent exists.
    :param remedy: see `corrupt`.
    :raises IndexLocked: the database is open already.
    """

    _errors: ClassVar[tuple[type[Exception], ...]]
    """The exceptions to pass to `translated`."""

    def __init__(self, location: str, path: Path, remedy: str = "") -> None:
        self.location = location
        self.path = path
        self._remedy = remedy
        self._closed = self._write_failed = False
        try:
            if not (path / "CURRENT").exists() and _has_data(path):
                # Without CURRENT, the driver would create a new database, and might delete files.
                raise corrupt(location, f"{path / 'CURRENT'} is missing", remedy)
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unusable(location, str(error)) from error
        try:
            self._db: Any = self._open()
        except self._errors as error:
            raise self._translated(error) from error

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row; None if there is no such row."""
        return self.get_all([key])[0]

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, in the order of the keys; None for missing rows."""
        try:
            return self._get_all(self._opened(), keys)
        except self._errors as error:
            raise self._translated(error) from error

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Yield the rows with start <= key < stop, sorted, as they are when the first is read."""
        try:
            yield from self._rows(self._opened(), start, stop)
        except self._errors as error:
            raise self._translated(error) from error

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        """Carry out all puts and then all deletes, or nothing.

        A write survives a crash of the process. With `sync`, this and all earlier writes are on
        disk when the call returns.
        """
        try:
            if self._write_failed:
                # Reopening cuts off an incomplete batch at the end of the log. Rows written behind
                # it would be lost.
                self._close_driver()
            database = self._opened()
            self._write_failed = False
            self._write(database, puts, deletes, sync=sync)
        except self._errors as error:
            self._write_failed = not self._closed
            raise self._translated(error) from error

    def sync(self) -> None:
        """Sync earlier writes to disk, without blocking other threads."""
        try:
            # The oldest first: after a power loss, no row may be there without those before it.
            for log in sorted(self.path.glob("*.log")):
                # If a log is gone, the driver has synced its rows in a table file.
                with suppress(FileNotFoundError):
                    sync_file(log)
        except OSError as error:
            raise StorageError(self.location, f"it cannot be synced ({error})") from error

    def close(self) -> None:
        """Close the database. May be called repeatedly."""
        self._closed = True
        self._close_driver()

    @classmethod
    @abstractmethod
    def salvage(cls, location: str, path: Path) -> None:
        """Let the driver repair a closed database.

        Damaged files are moved to ``lost/``. LevelDB keeps their readable blocks, RocksDB nothing.
        """

    @staticmethod
    @abstractmethod
    def translated(location: str, error: Exception, remedy: str = "") -> SimhashError:
        """Return the StorageError for an error of the driver; raise any other error unchanged.

        :param remedy: see `corrupt`.
        """

    @abstractmethod
    def _open(self) -> Any:
        """Open or create the database, and return the driver's handle."""

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

    def _translated(self, error: Exception) -> SimhashError:
        return self.translated(self.location, error, self._remedy)

    def _opened(self) -> Any:
        """Return the driver's handle, which is reopened if a failed write closed it."""
        if self._closed:
            raise IndexClosed(self.location, "used after close()")
        if self._db is None:
            self._db = self._open()
        return self._db

    def _close_driver(self) -> None:
        database, self._db = self._db, None
        if database is not None:
            database.close()


class MemoryDatabase:
    """The rows of a ``memory:`` index, as a dictionary. See `Database` for the methods."""

    location = "memory"
    path = None

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        return self._rows.get(key)

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, None for missing ones."""
        return [self._rows.get(key) for key in keys]

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Yield the rows with start <= key < stop, sorted."""
        found = sorted(key for key in self._rows if start <= key < stop)
        yield from [(key, self._rows[key]) for key in found]

    def write(
        self,
        puts: Sequence[Row],
        deletes: Sequence[bytes] = (),
        *,
        sync: bool = False,  # noqa: ARG002 - there is no disk
    ) -> None:
        """Carry out all puts and then all deletes."""
        self._rows.update(puts)
        for key in deletes:
            self._rows.pop(key, None)

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing: all rows are lost with the object."""


@contextmanager
def locking(location: str, path: Path) -> Iterator[None]:
    """Keep other processes from opening a closed database, which this process must not open either.

    :raises IndexLocked: another process has it open.
    :raises OSError: the folder is missing, or cannot be written.
    """
    import fcntl  # Windows has none

    with (path / "LOCK").open("a") as lock:  # as both drivers do
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise locked(location) from error
        yield


def destroy_database(location: str, path: Path) -> None:
    """Delete a closed database and its folder, but no foreign files.

    :raises IndexLocked: another process has it open.
    :raises IndexForeign: the folder has foreign files.
    :raises OSError: it cannot be deleted.
    """
    if not path.exists():
        return
    foreign = [file.name for file in path.iterdir() if not _is_ours(file)]
    if foreign:
        raise IndexForeign(
            location,
            f"{path} holds files that no database wrote ({', '.join(sorted(foreign))}): move "
            "them away; nothing was deleted there",
        )
    with locking(location, path):
        shutil.rmtree(path)


def corrupt(location: str, detail: object, remedy: str = "") -> IndexCorrupt:
    """Return the error for damaged files or rows.

    :param remedy: what to do; by default, repair the index in the directory `location`.
    """
    remedy = remedy or (
        f"`scrapy simhash index check --repair --index {location}` keeps what can still be read; "
        "or restore a backup, or start over with SIMHASH_RESET = True"
    )
    return IndexCorrupt(location, f"it is damaged ({detail})", f"{remedy}; nothing was deleted")


def locked(location: str) -> IndexLocked:
    """Return the error for a database that another process has open."""
    return IndexLocked(
        location,
        "another process has it open, and only one can: wait for that crawl to end, or use another "
        "directory (SIMHASH_DIR or --index)",
    )


def unusable(location: str, detail: str) -> StorageError:
    """Return the error for a path, a disk or rights that do not allow an access."""
    return StorageError(
        location,
        f"it cannot be created, read or written ({detail}): check the path, disk space and rights",
    )


def _is_ours(file: Path) -> bool:
    """Return True if a driver or this package writes files with such a name."""
    return (
        file.name in _OUR_NAMES
        or file.suffix in {".ldb", ".sst", ".log", ".dbtmp"}
        or file.name.startswith(("MANIFEST-", "OPTIONS-", "LOG.old"))
    )


def _has_data(path: Path) -> bool:
    """Return True if a directory holds files that a driver writes only after the file CURRENT."""
    return path.exists() and any(file.suffix in {".ldb", ".sst", ".log"} for file in path.iterdir())
