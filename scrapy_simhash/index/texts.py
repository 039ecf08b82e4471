"""Store the main texts of pages next to an index, for reports and for reindexing.

Texts are in a separate database, ``leveldb-texts/`` or ``rocksdb-texts/``. A row ``X`` plus page
key holds the compressed text of a page, row ``S`` the total size in bytes. An indexed page may have
no text, because the total size is limited, and text and entry are not written in one batch.
"""

from __future__ import annotations

import json
import zlib
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.memory import MemoryDatabase
from scrapy_simhash.index.records import decode_key, encode_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from scrapy_simhash.errors import IndexCorrupt
    from scrapy_simhash.index.database import Database, Row

DEFAULT_MAX_BYTES = 1 << 30
# A longer text is cut off here.
MAX_CHARACTERS = 200_000
_STATE = b"S"
_COMPRESSION_LEVEL = 1


class KeptText(NamedTuple):
    """The main text of a page, with its title."""

    title: str
    text: str


class Texts:
    """The stored texts of an index. The database is opened or created on first use.

    All methods but `close` raise StorageError if the database is locked, damaged or fails.

    :param path: path of the database; None stores texts in memory.
    :param max_bytes: limit for the total size of all rows: their keys and the compressed texts.
    """

    def __init__(
        self, location: str, path: Path | None, kind: str, *, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> None:
        self._location = location
        self._path = path
        self._kind = kind
        self._database: Database | MemoryDatabase | None = None
        if path is None:
            self._database = MemoryDatabase()
        self._bytes = 0
        self.max_bytes = max_bytes
        self._remedy = f"restore {path} from a backup, or delete it, which loses only stored texts"

    def keep(self, key: str, text: KeptText) -> bool:
        """Store a text, in place of an earlier one. Return False if it would exceed `max_bytes`."""
        row = b"X" + encode_key(key)
        shortened = text._replace(text=text.text[:MAX_CHARACTERS])
        content = json.dumps(shortened._asdict(), ensure_ascii=False)
        value = zlib.compress(content.encode("utf-8", "surrogatepass"), _COMPRESSION_LEVEL)
        before = self._get(row)
        if before == value:
            return True
        freed = 0 if before is None else len(row) + len(before)
        size = self._bytes - freed + len(row) + len(value)
        if size > self.max_bytes:
            return False
        self._write([(row, value)], [], size)
        return True

    def get(self, key: str) -> KeptText | None:
        """Return the text of a page; None if it is not stored."""
        value = self.compressed(key)
        if value is None:
            return None
        try:
            return KeptText(**json.loads(zlib.decompress(value).decode("utf-8", "surrogatepass")))
        except (zlib.error, ValueError, TypeError) as error:
            raise self._corrupt(f"the text of {key!r}: {error}") from error

    def compressed(self, key: str) -> bytes | None:
        """Return a stored text as zlib-compressed JSON with title and text; None without one."""
        return self._get(b"X" + encode_key(key))

    def keys(self) -> Iterator[str]:
        """Yield the keys of the pages with a stored text."""
        try:
            for row, _ in self._opened().rows(b"X", b"Y"):
                yield decode_key(row[1:])
        except ValueError as error:
            raise self._corrupt(f"a key of its texts: {error}") from error

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the texts of pages, where they are stored, in one write."""
        rows = {row: self._get(row) for row in (b"X" + encode_key(key) for key in keys)}
        stored = {row: value for row, value in rows.items() if value is not None}
        freed = sum(len(row) + len(value) for row, value in stored.items())
        if stored:
            self._write([], [*stored], self._bytes - freed)

    def close(self) -> None:
        """Close the database. A later call of another method reopens it."""
        if self._path is not None and self._database is not None:
            self._database.close()
            self._database = None

    def _corrupt(self, detail: str) -> IndexCorrupt:
        return corrupt(self._location, detail, self._remedy)

    def _get(self, row: bytes) -> bytes | None:
        return self._opened().get(row)

    def _write(self, puts: list[Row], deletes: list[bytes], size: int) -> None:
        self._opened().write([*puts, (_STATE, size.to_bytes(8, "big"))], deletes)
        self._bytes = size

    def _opened(self) -> Database | MemoryDatabase:
        """Return the database, and open it if necessary."""
        if self._database is None:
            assert self._path is not None
            self._database = database_kind(self._kind)(self._location, self._path, self._remedy)
            self._bytes = int.from_bytes(self._database.get(_STATE) or b"", "big")
        return self._database


@contextmanager
def opened_texts(directory: Path, kind: str) -> Iterator[Texts | None]:
    """Yield the stored texts of a closed index; None if it has no database of texts."""
    path = texts_path(directory, kind)
    if not path.is_dir():
        yield None
        return
    with closing(Texts(str(directory), path, kind)) as texts:
        yield texts


@contextmanager
def copying_texts(directory: Path, kind: str, to_directory: Path, to_kind: str) -> Iterator[None]:
    """Copy the stored texts of an index to another index, or to another kind of database.

    Texts that replace none are copied before the body of the ``with``, and deleted again if that
    fails. Texts that replace another one are copied after the body.
    """
    with opened_texts(directory, kind) as texts:
        if texts is None:
            yield
            return
        path = texts_path(to_directory, to_kind)
        # No limit, because `texts` were limited when they were stored.
        with closing(Texts(str(to_directory), path, to_kind, max_bytes=1 << 62)) as copies:
            added = set()
            try:
                for key in texts.keys():  # noqa: SIM118 - a method
                    if copies.compressed(key) is None:
                        added.add(key)
                        _copy_text(key, texts, copies)
                yield
            except Exception:  # not Ctrl-C, after which the other index may be in place
                with suppress(StorageError):
                    copies.forget(added)
                raise
            for key in texts.keys():  # noqa: SIM118 - a method
                if key not in added:
                    _copy_text(key, texts, copies)


def _copy_text(key: str, texts: Texts, copies: Texts) -> None:
    text = texts.get(key)
    if text is not None:
        copies.keep(key, text)


def texts_path(directory: Path, kind: str) -> Path:
    """Return the path of the database with the texts of an index."""
    return directory / f"{kind}-texts"
