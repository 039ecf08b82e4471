"""A run: positions of pages, sorted by their prefix in each permuted table.

A run also has a directory for each table, which says where each bucket begins. See
`scrapy_simhash.index.runs` for what runs are for, and docs/index-format.md for their files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

_WORD_BITS = 64
# Slots of so many bits are sorted by numpy's radix sort.
_MAX_SLOT_BITS = 16
_MAX_SYNC_BYTES = 32 << 20


class Field(NamedTuple):
    """The place of a table's prefix in the words of a page: in one of 64 bits, or in two.

    :param factor: the prefix is multiplied by it, modulo 2**width.
    """

    word: int
    shift: int
    width: int
    factor: int = 1

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the prefixes of some pages, each multiplied by the factor."""
        found: NDArray[np.uint64] = rows[:, self.word] >> np.uint64(self.shift)
        if self.shift + self.width > _WORD_BITS:
            found |= rows[:, self.word + 1] << np.uint64(_WORD_BITS - self.shift)
        found *= np.uint64(self.factor)
        found &= np.uint64((1 << self.width) - 1)
        return found

    def slots(self, rows: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
        """Return the buckets of some pages in a directory that knows so many leading bits."""
        found: NDArray[np.uint64] = self.of(rows) >> np.uint64(self.width - bits)
        return found


class Prefixes:
    """The prefixes of pages in all tables, for few pages at once.

    :param fields: of the tables, all of one width; factors don't matter.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self._words = np.array([field.word for field in fields])
        self._shifts = np.array([field.shift for field in fields], np.uint64)
        self._mask = np.uint64((1 << fields[0].width) - 1)

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the prefixes by page and table."""
        found = rows.take(self._words, axis=1) >> self._shifts
        # What lies in the next word; a shift by 64 bits leaves nothing, and the mask nothing more.
        following = rows.take(self._words + 1, axis=1, mode="clip")
        found |= following << np.uint64(_WORD_BITS) - self._shifts
        found &= self._mask
        prefixes: NDArray[np.int64] = found.astype(np.int64)
        return prefixes


class Run:
    """Positions by table and prefix.

    :param words: all directories and positions. A directory has one entry for each setting of the
        leading bits, and one more: where in `words` the positions of that bucket begin.
    """

    def __init__(
        self, words: NDArray[np.uint32], bits: int, starts: Sequence[int], pages: int
    ) -> None:
        self.words = words
        self.bits = bits
        self.starts = np.array(starts, np.int64)
        self.pages = pages

    def bucket(self, table: int, slot: int, stop: int) -> NDArray[np.uint32]:
        """Return the positions in the buckets from one slot to another."""
        start = int(self.starts[table])
        return self.words[int(self.words[start + slot]) : int(self.words[start + stop])]

    def bucket_of(self, table: int, slot: int) -> list[int]:
        """Return the positions in one bucket. They are few: numpy's arrays would take longer."""
        item, at = self.words.item, int(self.starts[table]) + slot
        return [item(place) for place in range(item(at), item(at + 1))]

    def directory(self, table: int) -> NDArray[np.uint32]:
        """Return where the buckets of a table begin, and where the last one ends."""
        start = int(self.starts[table])
        return self.words[start : start + (1 << self.bits) + 1]

    def positions(self, table: int) -> NDArray[np.uint32]:
        """Return all positions of a table, in the order of its buckets."""
        return self.bucket(table, 0, 1 << self.bits)

    def table_bytes(self, table: int) -> int:
        """Return the bytes of a table, with its directory."""
        return self.positions(table).nbytes + self.directory(table).nbytes


class Lookup:
    """Several runs that are asked at once.

    :param runs: those in files first.
    :param width: bits of the prefixes.
    """

    def __init__(self, runs: Sequence[Run], width: int) -> None:
        self._runs = runs
        self._starts = np.array([run.starts for run in runs])
        self._shifts = np.array([[width - run.bits] for run in runs])

    def positions(
        self, tables: NDArray[np.int64], prefixes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[int], NDArray[np.int64]]:
        """Return the positions in some buckets: (all by run and bucket, where those of each run
        end, how many each bucket of each run has).

        :param tables: the table of each bucket.
        :param prefixes: the prefix of each bucket, multiplied by the factor of its field.
        """
        if not self._runs:
            return np.empty(0, np.uint32), [], np.empty(0, np.int64)
        at = self._starts.take(tables, axis=1)
        at += prefixes >> self._shifts
        begin, end = np.empty(at.shape, np.uint32), np.empty(at.shape, np.uint32)
        # No place is outside: `mode` spares a copy.
        for number, run in enumerate(self._runs):
            run.words.take(at[number], out=begin[number], mode="clip")
        at += 1
        for number, run in enumerate(self._runs):
            run.words.take(at[number], out=end[number], mode="clip")
        counts = np.subtract(end, begin, dtype=np.int64).ravel()
        ends = counts.cumsum()
        # Number i of all positions is in bucket b if it is in ends[b - 1] … ends[b].
        first = begin.ravel()
        first[1:] -= ends[:-1].astype(np.uint32)
        indexes = first.repeat(counts)
        indexes += np.arange(len(indexes), dtype=np.uint32)
        positions = np.empty_like(indexes)
        run_ends: list[int] = ends[len(tables) - 1 :: len(tables)].tolist()
        start = 0
        for run, stop in zip(self._runs, run_ends, strict=True):
            run.words.take(indexes[start:stop], out=positions[start:stop], mode="clip")
            start = stop
        return positions, run_ends, counts


def sorted_run(tables: Sequence[tuple[Field, NDArray[np.uint64]]], bits: int, first: int) -> Run:
    """Sort pages.

    :param tables: the field of each table, and the words that hold it, a row for each page.
    :param bits: of the directories.
    :param first: the position of the first page.
    """
    parts: list[NDArray[np.uint32]] = []
    starts = []
    at = pages = 0
    for field, rows in tables:
        pages = len(rows)
        narrow = np.uint16 if bits <= _MAX_SLOT_BITS else np.uint32
        slots = field.slots(rows, bits).astype(narrow)
        order = slots.argsort(kind="stable").astype(np.uint32)
        order += np.uint32(first)
        directory = np.empty((1 << bits) + 1, np.uint32)
        directory[0] = at
        directory[1:] = np.bincount(slots, minlength=1 << bits).cumsum() + at
        parts += [order, directory]
        starts.append(at + len(order))
        at += len(order) + len(directory)
    return Run(np.concatenate(parts), bits, starts, pages)


class RunWriter:
    """A file of 32-bit words that is whole and on the disk once it is closed, or deleted."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._file = path.open("wb", buffering=1 << 18)
        self._hash = xxh3_64()
        self._unsynced_bytes = 0
        self._whole = False
        self.words = 0
        """Number of words written."""

    def write(self, words: NDArray[np.uint32]) -> None:
        """Write some words."""
        packed = words.astype("<u4", copy=False).tobytes()
        self._hash.update(packed)
        self._file.write(packed)
        self.words += len(words)
        self._unsynced_bytes += len(packed)
        if self._durable and self._unsynced_bytes > _MAX_SYNC_BYTES:
            # Bit by bit, so that the end waits for little.
            self._unsynced_bytes = 0
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> str:
        """Return the checksum of the file."""
        self._file.flush()
        if self._durable:
            os.fsync(self._file.fileno())
        self._file.close()
        self._whole = True
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._whole:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


def map_file(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a file as a plain array that is mapped into memory; numpy is slow at others."""
    return np.asarray(np.memmap(path, kind, "r", shape=shape))


def sync_folder(folder: Path) -> None:
    """Write the names of a folder's files to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
