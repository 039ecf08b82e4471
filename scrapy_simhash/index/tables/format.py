"""The files of tables, in a folder that can be deleted at any time: entries make them again.

``fingerprints``, ``ids`` and ``marks`` have a row for each position, in words of 64 bits; rows are
only ever appended. ``NUMBER.run`` is a run in words of 32 bits, followed by a footer: JSON, its
length in bytes (4), the XXH3-64 of all bytes before (8), and `MAGIC` (8). The footer of the newest
run says what belongs together. docs/index-format.md describes them. All is little-endian.
"""

from __future__ import annotations

import json
import os
import struct
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64, xxh3_64_intdigest

from scrapy_simhash.documents.files import sync_file
from scrapy_simhash.index.tables import COLUMNS, NEW_RUN, is_run
from scrapy_simhash.index.tables.rows import Columns, empty_columns
from scrapy_simhash.index.tables.runs import Run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

MAGIC = b"simhash6"
_TRAILER = struct.Struct("<IQ8s")
# A file is synced whenever this many bytes are unsynced, so that no page waits long at its end.
_MAX_UNSYNCED_BYTES = 32 << 20


class Unfit(Exception):
    """The files cannot be used, and why."""


@dataclass(frozen=True)
class Footer:
    """The footer of a run's file.

    :param made_for: identity of the index, its plan, and the version of the format.
    :param bits: for `bits`, `starts` and `rows`, see `Run`.
    :param stop: all numbers in the files are lower.
    :param stored: number of rows in the files of columns.
    :param checksums: the XXH3-64 of these files, by name.
    :param beside: the checksums of older runs that still count, by the names of their files.
    """

    made_for: str
    bits: int
    starts: list[int]
    rows: int
    stop: int
    stored: int
    checksums: dict[str, int]
    beside: dict[str, int]


class Stored(NamedTuple):
    """The content of the files of tables.

    :param runs: by the name of the file; the newest is the last.
    :param checksums: of the runs' files, by name.
    :param hashers: the XXH3-64 states of the files of columns, by name.
    """

    columns: Columns
    runs: dict[str, Run]
    checksums: dict[str, int]
    hashers: dict[str, xxh3_64]
    stop: int


def nothing_stored(words: int) -> Stored:
    """Return the content of an empty folder; a fingerprint has so many words."""
    return Stored(empty_columns(words), {}, {}, {name: xxh3_64() for name in COLUMNS}, 0)


def read(folder: Path, made_for: str, words: int) -> Stored:
    """Return the content of a folder, and delete files that do not belong to it.

    :raises Unfit: the files were made for something else, or are damaged or incomplete.
    :raises OSError: they cannot be read or deleted.
    """
    paths = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    numbers = [int(path.stem) for path in paths.values() if is_run(path)]
    if not numbers:
        if any(name in paths for name in COLUMNS):
            raise Unfit("no run is complete")
        return nothing_stored(words)
    try:
        newest = run_name(max(numbers))
        words_of_run, footer, checksum = _read_run(folder / newest)
        if footer.made_for != made_for:
            raise Unfit("they were made for another index or by another release")
        runs, checksums = {}, {}
        for name, expected in footer.beside.items():
            older_words, older, checksums[name] = _read_run(folder / name)
            if checksums[name] != expected:
                raise Unfit(f"{name} is another file than {newest} names")
            runs[name] = Run(older_words, older.bits, older.starts, older.rows)
        runs[newest] = Run(words_of_run, footer.bits, footer.starts, footer.rows)
        checksums[newest] = checksum
        columns, hashers = _read_columns(folder, footer, words)
    except FileNotFoundError as error:
        raise Unfit(f"{error.filename} is missing") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unfit(f"a file is damaged: {error}") from error
    for name, path in paths.items():
        if name == NEW_RUN or (is_run(path) and name not in runs):
            path.unlink()
    return Stored(columns, runs, checksums, hashers, footer.stop)


def run_name(number: int) -> str:
    """Return the name of a run's file. The newest run has the highest number."""
    return f"{number}.run"


def next_number(stored: Stored) -> int:
    """Return the number for the next run's file."""
    return max((int(name.partition(".")[0]) for name in stored.runs), default=0) + 1


def unlink(folder: Path, names: Iterable[str]) -> None:
    """Delete files of runs that were merged, where that is possible."""
    for name in names:
        with suppress(OSError):  # the next opening deletes it
            (folder / name).unlink()


def append(folder: Path, stored: Stored, added: Columns) -> dict[str, xxh3_64]:
    """Append rows to the files of columns, and return the states of their checksums.

    The rows count only after the footer of a run names them. :raises OSError: the disk fails.
    """
    hashers = {}
    for name, old, rows in zip(COLUMNS, stored.columns, added, strict=True):
        packed = np.ascontiguousarray(rows, "<u8").tobytes()
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            file.truncate(old.nbytes)  # cuts off the rows of an interrupted merge
            file.seek(old.nbytes)
            file.write(packed)
            file.flush()
            os.fsync(descriptor)
        hashers[name] = stored.hashers[name].copy()
        hashers[name].update(packed)
    return hashers


def map_columns(folder: Path, rows: int, words: int) -> Columns:
    """Map the files of columns into memory. :raises ValueError: a file is too short."""
    shapes = ((rows, words), (rows,), (rows,))
    return Columns(
        *(_mapped(folder / name, "<u8", shape) for name, shape in zip(COLUMNS, shapes, strict=True))
    )


def map_run(path: Path, footer: Footer) -> Run:
    """Map the file of a run that was just written into memory."""
    count = footer.starts[-1] + (1 << footer.bits) + 1
    return Run(_mapped(path, "<u4", (count,)), footer.bits, footer.starts, footer.rows)


class Writer:
    """A writer of the file of a run. Before `finish`, it has a temporary name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / NEW_RUN
        self._file = self._path.open("wb", buffering=1 << 18)
        self._hash = xxh3_64()
        self._unsynced_bytes = 0
        self.word_count = 0
        """Number of words written."""

    def write(self, words: NDArray[np.uint32]) -> None:
        """Append words."""
        self._append(words.astype("<u4", copy=False).tobytes())
        self.word_count += len(words)

    def finish(self, name: str, footer: Footer) -> int:
        """Append the footer, sync the file, give it its name, and return its checksum."""
        content = json.dumps(asdict(footer), separators=(",", ":")).encode()
        self._append(content)
        checksum = self._hash.intdigest()
        self._append(_TRAILER.pack(len(content), checksum, MAGIC))
        self._sync()
        self._file.close()
        sync_file(self._folder)  # the names of the files of columns, too
        self._path.rename(self._folder / name)
        sync_file(self._folder)
        return checksum

    def _append(self, packed: bytes) -> None:
        self._hash.update(packed)
        self._file.write(packed)
        self._unsynced_bytes += len(packed)
        if self._unsynced_bytes > _MAX_UNSYNCED_BYTES:
            self._sync()

    def _sync(self) -> None:
        self._unsynced_bytes = 0
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


def _read_run(path: Path) -> tuple[NDArray[np.uint32], Footer, int]:
    """Return (words, footer, checksum) of a file. :raises ValueError: it is damaged."""
    size_bytes = path.stat().st_size
    if size_bytes < _TRAILER.size:
        raise ValueError(f"{path.name} is cut short")
    content = _mapped(path, "u1", (size_bytes,))
    footer_bytes, checksum, magic = _TRAILER.unpack(content[-_TRAILER.size :].tobytes())
    checked, word_bytes = content[: -_TRAILER.size], size_bytes - _TRAILER.size - footer_bytes
    if magic != MAGIC or word_bytes < 0 or xxh3_64_intdigest(checked.data) != checksum:
        raise ValueError(f"the checksum of {path.name} is wrong")
    footer = Footer(**json.loads(checked[word_bytes:].tobytes()))
    return content[:word_bytes].view("<u4"), footer, checksum


def _read_columns(folder: Path, footer: Footer, words: int) -> tuple[Columns, dict[str, xxh3_64]]:
    columns, hashers = map_columns(folder, footer.stored, words), {}
    for name, column in zip(COLUMNS, columns, strict=True):
        hashers[name] = xxh3_64(column.data)
        if hashers[name].intdigest() != footer.checksums[name]:
            raise ValueError(f"the checksum of {name} is wrong")
    return columns, hashers


def _mapped(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a file into memory. Return an array, because numpy is slower with a `memmap`."""
    return np.asarray(np.memmap(path, dtype, "r", shape=shape))
