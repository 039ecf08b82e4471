"""RocksDB, by rocksdict: where LevelDB has no wheel, or if you prefer it."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Any

import rocksdict

from scrapy_simhash.errors import IndexClosed, IndexForeign
from scrapy_simhash.index.database import Database, corrupt, locked, unusable
from scrapy_simhash.index.run_files import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index.database import Row

logger = logging.getLogger(__name__)

_WRITE_BUFFER_BYTES = 16 << 20
_CACHE_BYTES = 32 << 20
_MAX_LOG_FILE_BYTES = 1 << 20


class RocksDB(Database):
    """A `Database` in RocksDB."""

    name = "rocksdb"
    # rocksdict raises bare exceptions.
    _errors = (Exception,)

    def __init__(self, location: str, path: Path) -> None:
        # An open iterator keeps the database and its lock open.
        self._iterators: dict[object, Any] = {}
        self._synced = rocksdict.WriteOptions()
        self._synced.sync = True
        self._unsynced = rocksdict.WriteOptions()
        self._verified = rocksdict.ReadOptions()
        self._verified.set_verify_checksums(True)
        self._reading = {"read_opt": self._verified}
        super().__init__(location, path)

    def _open(self) -> Any:
        return rocksdict.Rdict(str(self._path), _options())

    def _get_all(self, database: Any, keys: Sequence[bytes]) -> list[bytes | None]:
        values: list[bytes | None] = database.get(list(keys), **self._reading)
        return values

    def _rows(self, database: Any, start: bytes, stop: bytes) -> Iterator[Row]:
        iterators, me = self._iterators, object()
        try:
            iterators[me] = database.iter(self._verified)
            iterators[me].seek(start)
            while iterators[me].valid():
                key = iterators[me].key()
                if key >= stop:
                    return
                yield key, iterators[me].value()
                iterators[me].next()
            # An iterator is invalid at the end, and at an unreadable row: there, this raises.
            iterators[me].status()
        except KeyError:
            raise IndexClosed(self._location, "closed while it was read") from None
        finally:
            iterators.pop(me, None)

    def _write(
        self, database: Any, puts: Sequence[Row], deletes: Sequence[bytes], *, sync: bool
    ) -> None:
        options = self._synced if sync else self._unsynced
        if len(puts) == 1 and not deletes:
            database.put(*puts[0], write_opt=options)
            return
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in puts:
            batch.put(key, value)
        for key in deletes:
            batch.delete(key)
        database.write(batch, options)

    def _compact(self, database: Any) -> None:
        database.compact_range(None, None)

    def _give_back(self) -> None:
        self._iterators.clear()
        try:
            super()._give_back()
        except Exception as error:  # noqa: BLE001 - of merging files; the log holds all writes
            logger.warning("simhash: RocksDB closed %s with an error: %s", self._path, error)

    @classmethod
    def destroy(cls, location: str, path: Path) -> None:
        """See `Database.destroy`."""
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
            # It takes the lock, so no other process has it open.
            rocksdict.Rdict.destroy(str(path), _options())
        except Exception as error:
            raise cls.translated(location, error) from error
        shutil.rmtree(path, ignore_errors=True)

    @classmethod
    def salvage(cls, location: str, path: Path) -> None:
        """See `Database.salvage`."""
        try:
            rocksdict.Rdict.repair(str(path), _options())
        except Exception as error:
            raise cls.translated(location, error) from error

    @staticmethod
    def translated(location: str, error: Exception) -> SimhashError:
        """See `Database.translated`."""
        text = str(error)
        if isinstance(error, rocksdict.DbClosedError):
            return IndexClosed(location, "used after close()")
        if type(error) is not Exception:
            raise error
        if "LOCK: " in text and ("lock hold by" in text or "While lock file" in text):
            return locked(location, "RocksDB")
        if text.startswith("IO error") and "No such file or directory" not in text:
            return unusable(location, text)
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
    # A crash may leave a log that ends within a record; other damage is an error.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    tables = rocksdict.BlockBasedOptions()
    tables.set_block_cache(rocksdict.Cache(_CACHE_BYTES))
    tables.set_bloom_filter(10, False)  # noqa: FBT003 - rocksdict's
    options.set_block_based_table_factory(tables)
    return options


def _is_ours(file: Path) -> bool:
    """Return True if the name of a file is one of RocksDB's."""
    return (
        file.name in {"CURRENT", "IDENTITY", "LOCK", "LOG", "rocksdict-config.json", "lost"}
        or file.suffix in {".sst", ".log", ".dbtmp"}
        or file.name == FOLDER
        or file.name.startswith(("MANIFEST-", "OPTIONS-", "LOG.old."))
    )
