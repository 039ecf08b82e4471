"""RocksDB through rocksdict: the default where plyvel has no wheel, elsewhere a choice."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import rocksdict

from scrapy_simhash.errors import IndexClosed
from scrapy_simhash.index.database import Database, corrupt, locked, unusable

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

    # rocksdict raises plain `Exception`; `translated` raises errors of other types unchanged.
    _errors = (Exception,)

    def __init__(self, location: str, path: Path, remedy: str = "") -> None:
        # An iterator keeps the database open and locked, so `_close_driver` drops all of them.
        self._iterators: dict[object, Any] = {}
        self._synced_write = rocksdict.WriteOptions()
        self._synced_write.sync = True
        self._unsynced_write = rocksdict.WriteOptions()
        self._verified_read = rocksdict.ReadOptions()
        self._verified_read.set_verify_checksums(True)
        super().__init__(location, path, remedy)

    def _open(self) -> Any:
        return rocksdict.Rdict(str(self.path), _options())

    def _get_all(self, database: Any, keys: Sequence[bytes]) -> list[bytes | None]:
        values: list[bytes | None] = database.get(list(keys), read_opt=self._verified_read)
        return values

    def _rows(self, database: Any, start: bytes, stop: bytes) -> Iterator[Row]:
        iterators, reader = self._iterators, object()
        try:
            iterators[reader] = database.iter(self._verified_read)
            iterators[reader].seek(start)
            while iterators[reader].valid():
                key = iterators[reader].key()
                if key >= stop:
                    return
                yield key, iterators[reader].value()
                iterators[reader].next()
            # An iterator is also invalid at an unreadable row; then `status` raises.
            iterators[reader].status()
        except KeyError:  # `_close_driver` has dropped the iterator.
            raise IndexClosed(self.location, "it was closed while its rows were read") from None
        finally:
            iterators.pop(reader, None)

    def _write(
        self, database: Any, puts: Sequence[Row], deletes: Sequence[bytes], *, sync: bool
    ) -> None:
        options = self._synced_write if sync else self._unsynced_write
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in puts:
            batch.put(key, value)
        for key in deletes:
            batch.delete(key)
        database.write(batch, options)

    def _close_driver(self) -> None:
        self._iterators.clear()
        try:
            super()._close_driver()
        except Exception as error:  # noqa: BLE001 - compaction failed; the log holds all writes
            logger.warning("simhash: RocksDB closed %s with an error: %s", self.path, error)

    @classmethod
    def salvage(cls, location: str, path: Path) -> None:
        try:
            rocksdict.Rdict.repair(str(path), _options())
        except Exception as error:
            raise cls.translated(location, error) from error

    @staticmethod
    def translated(location: str, error: Exception, remedy: str = "") -> SimhashError:
        text = str(error)
        if isinstance(error, rocksdict.DbClosedError):
            return IndexClosed(location, "used after close()")
        if type(error) is not Exception:
            raise error
        if "LOCK: " in text and ("lock hold by" in text or "While lock file" in text):
            return locked(location)
        if text.startswith("IO error") and "No such file or directory" not in text:
            return unusable(location, text)
        return corrupt(location, text, remedy)


def _options() -> Any:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)  # noqa: FBT003 - rocksdict's
    options.set_paranoid_checks(True)
    # Fingerprints don't compress.
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_log_file_size(_MAX_LOG_FILE_BYTES)
    options.set_keep_log_file_num(1)
    # A crash may leave an incomplete record at the end of the log; other damage is an error.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    tables = rocksdict.BlockBasedOptions()
    tables.set_block_cache(rocksdict.Cache(_CACHE_BYTES))
    tables.set_bloom_filter(10, False)  # noqa: FBT003 - rocksdict's
    options.set_block_based_table_factory(tables)
    return options
