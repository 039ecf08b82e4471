"""LevelDBStore: permuted tables in LevelDB (plyvel), the embedded default.

A page's entry, its key row and one row per table are one WriteBatch: after a crash the index
holds all of them or none. The rows are described in `scrapy_simhash.index.records`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import IndexClosed, IndexCorrupt, IndexLocked, StorageError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.plan import TablePlan

_Row = TypeVar("_Row")

DIRECTORY_NAME = "leveldb"
_WRITE_BUFFER_BYTES = 16 << 20
_CACHE_BYTES = 64 << 20


@contextmanager
def translated_errors(location: str) -> Iterator[None]:
    """Errors of plyvel as ours, each with what to do."""
    import plyvel

    try:
        yield
    except plyvel.CorruptionError as error:
        raise _corrupt(location, _text(error)) from error
    except plyvel.IOError as error:
        text = _text(error)
        if text.startswith("IO error: lock "):
            raise IndexLocked(
                location,
                "another process has it open (LevelDB allows one): wait for that crawl to end, "
                "or give this one a directory of its own with SIMHASH_DIR",
            ) from error
        if text.endswith(("No such file or directory", "Invalid argument")):
            # A file of the database is gone, or ends before what it is said to hold.
            raise _corrupt(location, text) from error
        raise StorageError(
            location, f"it cannot be read or written ({text}): check disk space and rights"
        ) from error
    except plyvel.Error as error:
        raise _corrupt(location, _text(error)) from error
    except RuntimeError as error:
        if "closed" not in str(error).lower():
            raise
        raise IndexClosed(location, "used after close()") from error


def _text(error: Exception) -> str:
    """What LevelDB said; plyvel passes it on as bytes."""
    detail = error.args[0] if error.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)


def _corrupt(location: str, detail: object) -> IndexCorrupt:
    return IndexCorrupt(
        location,
        f"its files are damaged ({detail}): restore them from a backup, or start anew with "
        "SIMHASH_RESET = True; nothing was deleted",
    )


class LevelDBStore:
    """A `Store` in a directory, for one process at a time.

    :param directory: of the index; the database lies in ``leveldb/`` in it and is made if absent.
    :raises IndexLocked: another process has it.
    :raises IndexCorrupt: it cannot be opened or read.
    """

    def __init__(self, directory: Path, plan: TablePlan) -> None:
        self._location = str(directory)
        self._plan = plan
        self._width_bytes = plan.bits // 8
        path = directory / DIRECTORY_NAME
        if not (path / "CURRENT").exists() and _has_data(path):
            # LevelDB would take it for an empty database, and delete what it does not know.
            raise _corrupt(self._location, f"{path / 'CURRENT'} is missing")
        with translated_errors(self._location):
            path.mkdir(mode=0o700, exist_ok=True)
            self._path = path
            self._closed = self._write_failed = False
            self._db = self._open()
            self._next_sequence, self._entries = self._state()

    def _open(self) -> Any:
        import plyvel

        return plyvel.DB(
            str(self._path),
            create_if_missing=True,
            # A damaged block is an error, and no compaction writes it out again as sound.
            paranoid_checks=True,
            # Fingerprints don't compress, and plyvel's small cache with snappy costs a factor
            # of three.
            compression=None,
            lru_cache_size=_CACHE_BYTES,
            write_buffer_size=_WRITE_BUFFER_BYTES,
            bloom_filter_bits=10,
        )

    @property
    def next_sequence(self) -> int:
        """See `Store.next_sequence`."""
        return self._next_sequence

    def entry(self, key: str) -> Entry | None:
        """See `Store.entry`."""
        with self._translated():
            number = self._get(records.key_row(key))
            if number is None:
                return None
            entry = self._entry(int.from_bytes(number, "big"))
            return entry if entry.key == key else None

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """See `Store.within`."""
        distances: dict[int, int] = {}
        from_bytes = int.from_bytes
        with self._translated():
            for prefix in records.table_prefixes(self._plan, fingerprint):
                with self._database().iterator(prefix=prefix, verify_checksums=True) as rows:
                    for row, value in rows:
                        distance = hamming_distance(fingerprint, from_bytes(value, "big"))
                        if distance <= max_distance:
                            distances[from_bytes(row[-8:], "big")] = distance
            return [(distance, self._entry(number)) for number, distance in distances.items()]

    def write(self, put: Entry, remove: Iterable[Entry], next_sequence: int) -> None:
        """See `Store.write`."""
        with self._translated():
            replaced = self.entry(put.key)
            entries = self._entries + (replaced is None)
            with self._batch() as batch:
                if replaced is not None and replaced.fingerprint != put.fingerprint:
                    self._delete_rows(batch, replaced)
                for entry in remove:
                    self._delete_rows(batch, entry)
                    batch.delete(records.key_row(entry.key))
                    entries -= 1
                if replaced is None or replaced.fingerprint != put.fingerprint:
                    number = records.number_bytes(put.number)
                    value = put.fingerprint.to_bytes(self._width_bytes, "big")
                    for prefix in records.table_prefixes(self._plan, put.fingerprint):
                        batch.put(prefix + number, value)
                    batch.put(records.key_row(put.key), number)
                batch.put(
                    records.entry_row(put.number), records.encode_entry(put, self._width_bytes)
                )
                batch.put(records.STATE_KEY, records.encode_state(next_sequence, entries))
            self._next_sequence, self._entries = next_sequence, entries

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """See `Store.log`."""
        value = records.encode_near_duplicate(near_duplicate, self._width_bytes)
        with self._translated(), self._batch() as batch:
            batch.put(records.log_row(near_duplicate.sequence), value)
            batch.put(records.STATE_KEY, records.encode_state(next_sequence, self._entries))
        self._next_sequence = next_sequence

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        """See `Store.near_duplicates`; as the log stands at the first line."""
        start, stop = records.log_row(since_sequence), records.log_row((1 << 64) - 1)
        with (
            self._translated(),
            self._database().iterator(
                start=start, stop=stop, include_stop=True, verify_checksums=True
            ) as rows,
        ):
            for row, value in rows:
                sequence = int.from_bytes(row[1:], "big")
                yield self._decoded(records.decode_near_duplicate, sequence, value)

    def close(self) -> None:
        """See `Store.close`."""
        self._closed = True
        self._db.close()

    def __len__(self) -> int:
        return self._entries

    def _get(self, row: bytes) -> bytes | None:
        value: bytes | None = self._database().get(row, verify_checksums=True)
        return value

    @contextmanager
    def _batch(self) -> Iterator[Any]:
        """One WriteBatch: written whole when the block ends without an error."""
        import plyvel

        if self._write_failed:
            # Part of a batch may stand in LevelDB's log, and what is written behind it would be
            # lost: opening anew cuts it off.
            self._db.close()
        database = self._database()
        self._write_failed = False
        try:
            with database.write_batch(transaction=True) as batch:
                yield batch
        except plyvel.Error:
            self._write_failed = True
            raise

    def _database(self) -> Any:
        if self._db.closed and not self._closed:
            self._db = self._open()
        return self._db

    def _delete_rows(self, batch: Any, entry: Entry) -> None:
        number = records.number_bytes(entry.number)
        for prefix in records.table_prefixes(self._plan, entry.fingerprint):
            batch.delete(prefix + number)
        batch.delete(records.entry_row(entry.number))

    def _entry(self, number: int) -> Entry:
        value = self._get(records.entry_row(number))
        if value is None:
            raise _corrupt(self._location, f"entry {number} is missing")
        return self._decoded(records.decode_entry, number, value)

    def _decoded(
        self, decode: Callable[[int, bytes, int], _Row], number: int, value: bytes
    ) -> _Row:
        try:
            return decode(number, value, self._width_bytes)
        except ValueError as error:
            raise _corrupt(self._location, error) from error

    def _state(self) -> tuple[int, int]:
        value = self._get(records.STATE_KEY)
        if value is None:
            with self._db.iterator(include_value=False) as rows:
                if next(rows, None) is not None:
                    raise _corrupt(self._location, "its state row is missing")
            return 1, 0
        try:
            return records.decode_state(value)
        except ValueError as error:
            raise _corrupt(self._location, error) from error

    def _translated(self) -> Any:
        return translated_errors(self._location)


def _has_data(path: Path) -> bool:
    """Whether files are there that LevelDB writes only once CURRENT exists."""
    return path.exists() and any(file.suffix in {".ldb", ".sst", ".log"} for file in path.iterdir())


def destroy(directory: Path) -> None:
    """Delete the database of an index, and nothing that LevelDB did not write.

    :raises IndexLocked: a process has it open.
    """
    import plyvel

    with translated_errors(str(directory)):
        plyvel.destroy_db(str(directory / DIRECTORY_NAME))
