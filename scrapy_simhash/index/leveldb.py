"""LevelDB, by plyvel: the embedded default."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import plyvel

from scrapy_simhash.errors import IndexClosed, IndexLocked, StorageError
from scrapy_simhash.index.database import corrupt, sync_logs
from scrapy_simhash.index.run_files import destroy_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index.database import DatabaseKind, Row

_OPTIONS = {
    # A damaged block is an error, and no compaction writes it out again as sound.
    "paranoid_checks": True,
    # Fingerprints don't compress, and plyvel's small cache with snappy costs a factor of three.
    "compression": None,
    "lru_cache_size": 32 << 20,
    "write_buffer_size": 16 << 20,
    # Each read of a bucket checks and searches one block.
    "block_size": 1024,
    "bloom_filter_bits": 10,
}
# Also what a closed database raises, as RuntimeError.
_ERRORS = (plyvel.Error, RuntimeError)


class LevelDB:
    """A `Database` in LevelDB; see `DatabaseKind` for its parameters."""

    name = "leveldb"

    def __init__(self, location: str, path: Path) -> None:
        self._location = location
        self._path = path
        self._closed = self._write_failed = self._unsynced = False
        if not (path / "CURRENT").exists() and _has_data(path):
            # LevelDB would take it for an empty database, and delete what it does not know.
            raise corrupt(location, f"{path / 'CURRENT'} is missing")
        path.mkdir(mode=0o700, exist_ok=True)
        try:
            self._db = self._open()
        except plyvel.Error as error:
            raise translated(location, error) from error

    def _open(self) -> Any:
        return plyvel.DB(str(self._path), create_if_missing=True, **_OPTIONS)

    def get(self, key: bytes) -> bytes | None:
        """See `Database.get`."""
        try:
            value: bytes | None = self._database().get(key, verify_checksums=True)
        except _ERRORS as error:
            raise translated(self._location, error) from error
        return value

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """See `Database.get_all`."""
        try:
            get = self._database().get
            return [get(key, verify_checksums=True) for key in keys]
        except _ERRORS as error:
            raise translated(self._location, error) from error

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """See `Database.rows`."""
        try:
            with self._database().iterator(start=start, stop=stop, verify_checksums=True) as rows:
                yield from rows
        except _ERRORS as error:
            raise translated(self._location, error) from error

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        """See `Database.write`."""
        try:
            if self._write_failed:
                # Part of a batch may stand in LevelDB's log, and what is written behind it
                # would be lost: opening again cuts it off.
                self._db.close()
            database = self._database()
            self._write_failed = False
            if sync and self._unsynced:
                # LevelDB syncs the log that it writes to; what was written before it began that
                # one may stand in an earlier one.
                sync_logs(self._path)
            self._unsynced = not sync
            if len(puts) == 1 and not deletes:
                database.put(*puts[0], sync=sync)
                return
            with database.write_batch(transaction=True, sync=sync) as batch:
                for key, value in puts:
                    batch.put(key, value)
                for key in deletes:
                    batch.delete(key)
        except _ERRORS as error:
            self._write_failed = True
            raise translated(self._location, error) from error
        except OSError as error:
            raise StorageError(self._location, f"it cannot be synced ({error})") from error

    def sync(self) -> None:
        """See `Database.sync`."""
        try:
            sync_logs(self._path)
        except OSError as error:
            raise StorageError(self._location, f"it cannot be synced ({error})") from error

    def compact(self) -> None:
        """See `Database.compact`."""
        try:
            self._database().compact_range()
        except _ERRORS as error:
            raise translated(self._location, error) from error

    def close(self) -> None:
        """See `Database.close`."""
        self._closed = True
        self._db.close()

    def _database(self) -> Any:
        if self._db.closed and not self._closed:
            self._db = self._open()
        return self._db


class _LevelDBKind:
    name = LevelDB.name

    def __call__(self, location: str, path: Path) -> LevelDB:
        return LevelDB(location, path)

    def destroy(self, location: str, path: Path) -> None:
        try:
            plyvel.destroy_db(str(path))
        except plyvel.Error as error:
            raise translated(location, error) from error
        destroy_runs(path)
        lost = path / "lost"
        for file in lost.iterdir() if lost.is_dir() else ():
            if file.suffix in {".ldb", ".sst", ".log"} or file.name.startswith("MANIFEST-"):
                file.unlink()
        for emptied in (lost, path):
            with suppress(OSError):  # it holds other things
                emptied.rmdir()

    def salvage(self, location: str, path: Path) -> None:
        try:
            # Opening it reads the log with its checksums; the repair reads it without.
            plyvel.DB(str(path), **{**_OPTIONS, "paranoid_checks": False}).close()
        except plyvel.Error as error:
            if _text(error).startswith("IO error: lock "):
                raise _locked(location) from error
        try:
            # It takes no lock.
            with (path / "LOCK").open("a") as lock:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                plyvel.repair_db(str(path), **_OPTIONS)
        except BlockingIOError as error:
            raise _locked(location) from error
        except plyvel.Error as error:
            raise translated(location, error) from error


LEVELDB: DatabaseKind = _LevelDBKind()


def translated(location: str, error: Exception) -> SimhashError:
    """Return our error for one of plyvel's, with what to do; raise anything else as it is."""
    text = _text(error)
    if isinstance(error, plyvel.CorruptionError):
        return corrupt(location, text)
    if isinstance(error, plyvel.IOError):
        if text.startswith("IO error: lock "):
            return _locked(location)
        if text.endswith(("No such file or directory", "Invalid argument")):
            # A file of the database is gone, or ends before what it is said to hold.
            return corrupt(location, text)
        return StorageError(
            location, f"it cannot be read or written ({text}): check disk space and rights"
        )
    if isinstance(error, plyvel.Error):
        return corrupt(location, text)
    if "closed" not in text.lower():
        raise error
    return IndexClosed(location, "used after close()")


def _locked(location: str) -> IndexLocked:
    return IndexLocked(
        location,
        "another process has it open (LevelDB allows one): wait for that crawl to end, or give "
        "this one a directory of its own with SIMHASH_DIR",
    )


def _text(error: Exception) -> str:
    """Return LevelDB's message; plyvel passes it on as bytes."""
    detail = error.args[0] if error.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)


def _has_data(path: Path) -> bool:
    """Return True if there are files that LevelDB writes only once CURRENT exists."""
    return path.exists() and any(file.suffix in {".ldb", ".sst", ".log"} for file in path.iterdir())
