"""Store documents in a passage index, and find passages of other texts in it.

The directory holds ``passages.json`` (format, scheme and kind of database) and ``documents/``, a
database with two rows for each document. All numbers are big-endian.

======  ==========  ===============================================================================
first   rest        value
======  ==========  ===============================================================================
``D``   number (4)  digest of the text (16 bytes), count of passages (4); for each passage its
                    fingerprint (32), start (4) and end (4); name of the document (UTF-8)
``T``   number (4)  text (UTF-8, zlib)
======  ==========  ===============================================================================

A document is added in one atomic write. When the index is opened, all rows ``D`` are read, and
permuted tables of all passages are made in memory (`scrapy_simhash.index.tables`), about 200 bytes
for each.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import threading
import zlib
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.errors import (
    IndexClosed,
    IndexLocked,
    IndexMismatch,
    StorageError,
)
from scrapy_simhash.extras.passages.cutting import BYTES, PLAN, SCHEME, fingerprint_of, spans_of
from scrapy_simhash.extras.passages.matching import checked
from scrapy_simhash.index import database_kind
from scrapy_simhash.index.base import Query
from scrapy_simhash.index.database import corrupt, unusable
from scrapy_simhash.index.manifest import (
    default_kind_name,
    manifest_content,
    read_manifest_file,
)
from scrapy_simhash.index.tables.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from typing_extensions import Self

    from scrapy_simhash.extras.passages.cutting import Span
    from scrapy_simhash.extras.passages.matching import PassageReport
    from scrapy_simhash.fingerprint import Fingerprint
    from scrapy_simhash.index.database import Database

FILE_NAME = "passages.json"
_FORMAT = ("scrapy-simhash passages", 2)  # with its version
_START_OVER = "delete the directory and add the documents again"
_REMEDY = f"restore a backup, or {_START_OVER}"
_HEAD = struct.Struct(">16sI")
_PASSAGE = np.dtype([("words", ">u8", (BYTES // 8,)), ("span", ">u4", (2,))])
_CACHED_TEXT_CHARACTERS = 4_000_000

# Open indexes by real path. A database can be opened only once; its users in a process share it.
_indexes: dict[str, PassageIndex] = {}
_opening = threading.Lock()


class PassageIndex:
    """An open passage index, returned by `open_passages`. Threads may share it.

    All methods raise StorageError if the disk fails, IndexCorrupt if a row is damaged, and
    IndexClosed after the last user has called `close`.
    """

    def __init__(self, database: Database, location: str, real_path: str) -> None:
        self._database = database
        self.location = location
        self._real_path = real_path
        self.users = 0
        self.lock = threading.RLock()
        self._numbers: dict[str, int] = {}
        # Number of a document, in rising order → its name, and its rows in the tables.
        self._documents: dict[int, tuple[str, range]] = {}
        self._tables = Tables(PLAN)
        # For each row of the tables: number of the document, start and end of the passage there.
        self._places = array("I")
        self._texts: dict[int, str] = {}
        for key, value in database.rows(b"D", b"E"):
            try:
                [number] = struct.unpack(">xI", key)
                _, count = _HEAD.unpack_from(value)
                passages = np.frombuffer(value, _PASSAGE, count, _HEAD.size)
                name = value[_HEAD.size + passages.nbytes :].decode("utf-8", "surrogatepass")
            except (ValueError, struct.error) as error:
                raise corrupt(location, error, _REMEDY) from error
            self._remember(number, name, passages)

    @property
    def documents(self) -> int:
        """Return the number of documents."""
        return len(self._documents)

    @property
    def passages(self) -> int:
        """Return the number of passages of all documents."""
        return sum(len(rows) for _, rows in self._documents.values())

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def document(self, number: int) -> tuple[str, str]:
        """Return the name and the text of a document."""
        if number not in self._texts:
            value = self._database.get(_key(b"T", number))
            try:
                text = zlib.decompress(value or b"").decode("utf-8", "surrogatepass")
            except (ValueError, zlib.error) as error:
                raise corrupt(self.location, error, _REMEDY) from error
            if sum(map(len, self._texts.values())) > _CACHED_TEXT_CHARACTERS:
                self._texts.clear()
            self._texts[number] = text
        return self._documents[number][0], self._texts[number]

    def add(self, name: str, text: str) -> int | None:
        """Add a document, or replace the document with this name.

        :return: number of its different passages with a fingerprint; None if the same text is
            stored already.
        """
        content = text.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if self._has(name, digest):
            return None
        found: dict[int, Span] = {}
        for span in spans_of(text):  # of a passage that is repeated, the first place counts
            if fingerprint := fingerprint_of(text[slice(*span)]):
                found.setdefault(fingerprint.value, span)
        passages = np.zeros(len(found), _PASSAGE)
        packed = b"".join(fingerprint.to_bytes(BYTES, "big") for fingerprint in found)
        passages["words"] = np.frombuffer(packed, ">u8").reshape(-1, BYTES // 8)
        passages["span"] = np.array([*found.values()], ">u4").reshape(-1, 2)
        row = _HEAD.pack(digest, len(passages)) + passages.tobytes()
        row += name.encode("utf-8", "surrogatepass")
        with self.lock:
            if self._has(name, digest):
                return None
            number, old = next(reversed(self._documents), 0) + 1, self._numbers.get(name)
            self._database.write(
                [(_key(b"D", number), row), (_key(b"T", number), zlib.compress(content))],
                [] if old is None else [_key(b"D", old), _key(b"T", old)],
            )
            if old is not None:
                _, rows = self._documents.pop(old)
                self._texts.pop(old, None)
                for gone in rows:
                    self._tables.forget(gone)
            self._remember(number, name, passages)
        return len(passages)

    def near(
        self, queries: Sequence[Fingerprint], max_distance: int, exclude: str | None = None
    ) -> list[NDArray[np.int64]]:
        """Return the passages within a distance of each query, as rows (distance in bits, number of
        the document, start, end): the nearest first, and the oldest document first among those.

        :param exclude: name of a document whose passages are left out.
        """
        results, excluded = [], exclude is not None and self._numbers.get(exclude)
        asked = [Query(*query) for query in queries]
        for query, found in zip(queries, self._tables.near(asked, max_distance), strict=True):
            rows = np.array(found, np.intp)
            words = np.frombuffer(query.value.to_bytes(BYTES, "little"), "<u8")
            differing = self._tables.fingerprints(rows) ^ words
            distances = np.bitwise_count(differing).sum(axis=1, dtype=np.int64)
            near = np.column_stack([distances, self._places_of(rows)])
            near = near[near[:, 1] != (excluded or 0)]
            results.append(near[np.lexsort((near[:, 2], near[:, 1], near[:, 0]))])
        return results

    def _places_of(self, rows: NDArray[np.intp]) -> NDArray[np.uint32]:
        # While an array shares the memory of `_places`, no passage can be added. An error's
        # traceback would keep an array of `near`.
        return np.frombuffer(self._places, np.uint32).reshape(-1, 3)[rows]

    def check(self, name: str, text: str, *, exclude: str | None = None) -> PassageReport:
        """Return a report on the passages of a text that appear in the documents.

        :param name: name of the text, for the report.
        :param exclude: name of a document that is no source, such as the text itself.
        """
        with self.lock:
            self._require_open()
            return checked(self, name, text, exclude)

    def sync(self) -> None:
        """Sync all writes to disk, as `close` does."""
        self._require_open()
        self._database.sync()

    def close(self) -> None:
        """Close the index, if this was its last user."""
        with _opening, self.lock:
            self.users -= 1
            if self.users == 0:
                del _indexes[self._real_path]
                try:
                    self._database.sync()
                finally:
                    self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _require_open(self) -> None:
        if self.users <= 0:
            raise IndexClosed(self.location, "used after close()")

    def _has(self, name: str, digest: bytes) -> bool:
        self._require_open()
        row = self._database.get(_key(b"D", self._numbers.get(name, 0)))
        return row is not None and row.startswith(digest)

    def _remember(self, number: int, name: str, passages: np.ndarray[Any, Any]) -> None:
        first, count = len(self._tables), len(passages)
        self._numbers[name] = number
        self._documents[number] = name, range(first, first + count)
        owners = np.full(count, number)
        places = np.column_stack([owners, passages["span"]]).astype(np.uint32)
        self._places.frombytes(places.tobytes())
        if count:
            words = passages["words"][:, ::-1].astype(np.uint64)
            nothing = np.zeros(count, np.uint64)  # passages have neither keys nor marks
            self._tables.extend(first, words, nothing, nothing)


def open_passages(
    directory: str | Path, *, create: bool = True, kind: str | None = None
) -> PassageIndex:
    """Open a passage index, or create it. An index that this process has open is shared.

    :param create: create the index if it is missing.
    :param kind: kind of database of a new index: ``leveldb`` or ``rocksdb``; None for the default.
    :raises IndexMismatch: the index has another format or scheme.
    :raises SchemeError: the kind of database is unknown, or its driver is not installed.
    :raises StorageError: the index is missing, locked, foreign or damaged, or cannot be read or
        written.
    """
    directory = Path(directory).absolute()
    location, real_path = str(directory), os.path.realpath(directory)
    with _opening:
        index = _indexes.get(real_path)
        if index is None:
            try:
                kind = _kind(directory, create=create, kind=kind or default_kind_name())
                database = database_kind(kind)(location, directory / "documents", _REMEDY)
                try:
                    index = _indexes[real_path] = PassageIndex(database, location, real_path)
                except BaseException:
                    database.close()
                    raise
            except IndexLocked as error:
                raise IndexLocked(
                    location,
                    "another process has it open: wait for it, or choose another directory "
                    "(--index, SIMHASH_PASSAGES)",
                ) from error
            except OSError as error:
                raise unusable(location, str(error)) from error
        index.users += 1
    return index


def _kind(directory: Path, *, create: bool, kind: str) -> str:
    """Return the kind of database of an index. If it is missing, create its manifest."""
    location, text = str(directory), read_manifest_file(directory, FILE_NAME)
    if text is None:
        if not create:
            raise StorageError(location, "there is no passage index: add documents first")
        database_kind(kind)  # raises SchemeError before anything is written
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replaced(directory / FILE_NAME) as temporary:
            content = dict(zip(("format", "format_version"), _FORMAT, strict=True))
            content |= {"scheme": SCHEME.id, "database": kind}
            temporary.write_text(json.dumps(content, indent=2) + "\n")
        return kind
    content = manifest_content(location, text, *_FORMAT, f"{_START_OVER}; nothing was changed")
    if content.get("scheme") != SCHEME.id:
        raise IndexMismatch(
            location,
            "its passages have the fingerprints of another release",
            f"use the release that made it, or {_START_OVER}; nothing was changed",
            "scheme",
        )
    return str(content.get("database"))


def _key(first: bytes, number: int) -> bytes:
    return first + number.to_bytes(4, "big")
