"""LevelDB through plyvel: the default kind of database."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import plyvel

from scrapy_simhash.errors import IndexClosed
from scrapy_simhash.index.database import Database, corrupt, locked, unusable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index.database import Row

_OPTIONS = {
    # A damaged block must be an error, because compaction would write it out as valid.
    "paranoid_checks": True,
    # Fingerprints don't compress. Snappy with plyvel's small default cache is three times slower.
    "compression": None,
    "lru_cache_size": 32 << 20,
    "write_buffer_size": 16 << 20,
    # Low, because each read of a bucket verifies and searches a whole block.
    "block_size": 1024,
    "bloom_filter_bits": 10,
}


class LevelDB(Database):
    """A `Database` in LevelDB."""

    # plyvel raises RuntimeError for the use of a closed database.
    _errors = (plyvel.Error, RuntimeError)
    _has_unsynced_writes = False

    def _open(self) -> Any:
        return plyvel.DB(str(self.path), create_if_missing=True, **_OPTIONS)

    def _get_all(self, database: Any, keys: Sequence[bytes]) -> list[bytes | None]:
        get = database.get
        return [get(key, verify_checksums=True) for key in keys]

    def _rows(self, database: Any, start: bytes, stop: bytes) -> Iterator[Row]:
        with database.iterator(start=start, stop=stop, verify_checksums=True) as rows:
            yield from rows

    def _write(
        self, database: Any, puts: Sequence[Row], deletes: Sequence[bytes], *, sync: bool
    ) -> None:
        if sync and self._has_unsynced_writes:
            # LevelDB would sync only its current log, but earlier writes may be in an older one.
            self.sync()
        self._has_unsynced_writes = not sync
        batch = database.write_batch(sync=sync)
        for key, value in puts:
            batch.put(key, value)
        for key in deletes:
            batch.delete(key)
        batch.write()

    @classmethod
    def salvage(cls, location: str, path: Path) -> None:
        with suppress(plyvel.Error):
            # Opening drops the log's records with a wrong checksum, which `repair_db` would keep.
            plyvel.DB(str(path), **{**_OPTIONS, "paranoid_checks": False}).close()
        try:
            plyvel.repair_db(str(path), **_OPTIONS)
        except plyvel.Error as error:
            raise cls.translated(location, error) from error

    @staticmethod
    def translated(location: str, error: Exception, remedy: str = "") -> SimhashError:
        text = _text(error)
        if isinstance(error, plyvel.IOError):
            if text.startswith("IO error: lock "):
                return locked(location)
            # These are the messages for a file that is missing or too short, which is damage.
            if not text.endswith(("No such file or directory", "Invalid argument")):
                return unusable(location, text)
        if isinstance(error, plyvel.Error):
            return corrupt(location, text, remedy)
        if "closed" not in text.lower():
            raise error
        return IndexClosed(location, "used after close()")


def _text(error: Exception) -> str:
    """Return LevelDB's message; plyvel passes it on as bytes."""
    detail = error.args[0] if error.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
