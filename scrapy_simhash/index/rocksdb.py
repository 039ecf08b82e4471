"""RocksDB, by rocksdict: where LevelDB has no wheel, or if you prefer it."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Any

import rocksdict

from scrapy_simhash.errors import (
    IndexClosed,
    IndexForeign,
    IndexLocked,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index.database import corrupt, sync_logs
from scrapy_simhash.index.run_files import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.index.database import DatabaseKind, Row

logger = logging.getLogger(__name__)

_WRITE_BUFFER_BYTES = 16 << 20
_CACHE_BYTES = 32 << 20
_MAX_LOG_FILE_BYTES = 1 << 20


class RocksDB:
    """A `Database` in RocksDB; see `DatabaseKind` for its parameters."""

    name = "rocksdb"

    def __init__(self, location: str, path: Path) -> None:
        self._location = location
        self._path = path
        self._closed = self._write_failed = False
        # An iterator holds the database open, and its lock.
        self._iterators: dict[object, Any] = {}
        self._synced = rocksdict.WriteOptions()
        self._synced.sync = True
        self._unsynced = rocksdict.WriteOptions()
        self._reading = rocksdict.ReadOptions()
        self._reading.set_verify_checksums(True)
        if not (path / "CURRENT").exists() and _has_data(path):
            # RocksDB would take it for an empty database.
            raise corrupt(location, f"{path / 'CURRENT'} is missing")
        path.mkdir(mode=0o700, exist_ok=True)
        self._db = self._open()

    def _open(self) -> Any:
        try:
            return rocksdict.Rdict(str(self._path), _options())
        except Exception as error:  # rocksdict raises bare ones
            raise translated(self._location, error) from error

    def get(self, key: bytes) -> bytes | None:
        """See `Database.get`."""
        try:
            value: bytes | None = self._database().get(key, read_opt=self._reading)
        except Exception as error:
            raise translated(self._location, error) from error
        return value

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """See `Database.get_all`."""
        try:
            values: list[bytes | None] = self._database().get(list(keys), read_opt=self._reading)
        except Exception as error:
            raise translated(self._location, error) from error
        return values

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """See `Database.rows`."""
        iterators, me = self._iterators, object()
        try:
            iterators[me] = self._database().iter(self._reading)
            iterators[me].seek(start)
            while iterators[me].valid():
                key = iterators[me].key()
                if key >= stop:
                    return
                yield key, iterators[me].value()
                iterators[me].next()
            # The end, or a row that cannot be read, which raises.
            iterators[me].status()
        except KeyError:
            raise IndexClosed(self._location, "closed while it was read") from None
        except Exception as error:
            raise translated(self._location, error) from error
        finally:
            iterators.pop(me, None)

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        """See `Database.write`."""
        options = self._synced if sync else self._unsynced
        try:
            if self._write_failed:
                # What is written behind a batch that was cut short would be lost.
                self._give_back()
            database = self._database()
            self._write_failed = False
            if len(puts) == 1 and not deletes:
                database.put(*puts[0], write_opt=options)
                return
            batch = rocksdict.WriteBatch(raw_mode=True)
            for key, value in puts:
                batch.put(key, value)
            for key in deletes:
                batch.delete(key)
            database.write(batch, options)
        except Exception as error:
            self._write_failed = not self._closed
            raise translated(self._location, error) from error

    def sync(self) -> None:
        """See `Database.sync`."""
        try:
            sync_logs(self._path)
        except OSError as error:
            raise StorageError(self._location, f"it cannot be synced ({error})") from error

    def compact(self) -> None:
        """See `Database.compact`."""
        try:
            self._database().compact_range(None, None)
        except Exception as error:
            raise translated(self._location, error) from error

    def close(self) -> None:
        """See `Database.close`."""
        self._closed = True
        self._give_back()

    def _give_back(self) -> None:
        self._iterators.clear()
        database, self._db = self._db, None
        if database is not None:
            try:
                database.close()
            except Exception as error:  # noqa: BLE001 - of merging files; the log has it all
                logger.warning("simhash: RocksDB closed %s with an error: %s", self._path, error)

    def _database(self) -> Any:
        if self._closed:
            raise rocksdict.DbClosedError("closed")
        if self._db is None:
            self._db = self._open()
        return self._db


class _RocksDBKind:
    name = RocksDB.name

    def __call__(self, location: str, path: Path) -> RocksDB:
        return RocksDB(location, path)

    def destroy(self, location: str, path: Path) -> None:
        if not path.exists():
            return
        strangers = [file.name for file in path.iterdir() if not _is_ours(file)]
        if strangers:
            raise IndexForeign(
                location,
                f"{path} holds files that RocksDB did not write ({', '.join(sorted(strangers))}): "
                "move them away; nothing was deleted",
            )
        try:
            # Takes the lock: nobody else has it open.
            rocksdict.Rdict.destroy(str(path), _options())
        except Exception as error:
            raise translated(location, error) from error
        shutil.rmtree(path, ignore_errors=True)

    def salvage(self, location: str, path: Path) -> None:
        try:
            rocksdict.Rdict.repair(str(path), _options())
        except Exception as error:
            raise translated(location, error) from error


ROCKSDB: DatabaseKind = _RocksDBKind()


def translated(location: str, error: Exception) -> SimhashError:
    """Return our error for one of rocksdict's, with what to do; raise other kinds as they are."""
    if isinstance(error, SimhashError):
        return error
    text = str(error)
    if isinstance(error, rocksdict.DbClosedError):
        return IndexClosed(location, "used after close()")
    if type(error) is not Exception:
        raise error
    if "LOCK: " in text and ("lock hold by" in text or "While lock file" in text):
        return IndexLocked(
            location,
            "another process has it open (RocksDB allows one): wait for that crawl to end, or give "
            "this one a directory of its own with SIMHASH_DIR",
        )
    if text.startswith("IO error") and "No such file or directory" not in text:
        return StorageError(
            location, f"it cannot be read or written ({text}): check disk space and rights"
        )
    return corrupt(location, text)


def _options() -> Any:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003 - rocksdict's
    options.set_paranoid_checks(True)
    # Fingerprints don't compress.
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_log_file_size(_MAX_LOG_FILE_BYTES)
    options.set_keep_log_file_num(1)
    # A log that ends in the middle of a record is what a crash leaves; other damage is an error.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    tables = rocksdict.BlockBasedOptions()
    tables.set_block_cache(rocksdict.Cache(_CACHE_BYTES))
    tables.set_bloom_filter(10, False)  # noqa: FBT003 - rocksdict's
    options.set_block_based_table_factory(tables)
    return options


def _has_data(path: Path) -> bool:
    """Return True if there are files that RocksDB writes only once CURRENT exists."""
    return path.exists() and any(file.suffix in {".sst", ".log"} for file in path.iterdir())


def _is_ours(file: Path) -> bool:
    """Return True if RocksDB names a file so."""
    return (
        file.name in {"CURRENT", "IDENTITY", "LOCK", "LOG", "rocksdict-config.json", "lost"}
        or file.suffix in {".sst", ".log", ".dbtmp"}
        or file.name == FOLDER
        or file.name.startswith(("MANIFEST-", "OPTIONS-", "LOG.old."))
    )
