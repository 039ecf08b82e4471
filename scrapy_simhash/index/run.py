"""A run: for each probed table, the positions of pages, sorted by the leading bits of the prefix.

The *position* of a page is its number in `scrapy_simhash.index.pages`. A *slot* is a value of the
leading bits; a *bucket* is the positions in one slot. A *directory* says where each bucket of a
table begins. `scrapy_simhash.index.runs` uses runs; docs/index-format.md describes their files.
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
# numpy sorts integers of up to this many bits by radix sort, which is faster.
_RADIX_BITS = 16
_MAX_SYNC_BYTES = 32 << 20


class Field(NamedTuple):
    """The place of a table's prefix in the 64-bit words of a page. It may extend to the next word.

    :param shift: number of the prefix's lowest bit in that word; 0 is the least significant.
    :param factor: odd; each prefix is multiplied by it, modulo 2**width, to spread them over slots.
    """

    word: int
    shift: int
    width: int
    factor: int = 1

    def read(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the prefix of each page, multiplied by the factor."""
        prefixes: NDArray[np.uint64] = rows[:, self.word] >> np.uint64(self.shift)
        if self.shift + self.width > _WORD_BITS:
            prefixes |= rows[:, self.word + 1] << np.uint64(_WORD_BITS - self.shift)
        prefixes *= np.uint64(self.factor)
        prefixes &= np.uint64((1 << self.width) - 1)
        return prefixes

    def slots(self, rows: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
        """Return the slot of each page in a directory of `bits` leading bits."""
        slots: NDArray[np.uint64] = self.read(rows) >> np.uint64(self.width - bits)
        return slots


class PrefixReader:
    """Reads the prefixes of all tables at once, which takes less time for few pages.

    :param fields: those of the tables, all of the same width. Their factors are not used.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self._words = np.array([field.word for field in fields])
        self._shifts = np.array([field.shift for field in fields], np.uint64)
        self._mask = np.uint64((1 << fields[0].width) - 1)

    def read(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the prefixes by page and table."""
        words = rows.take(self._words, axis=1) >> self._shifts
        # If a prefix extends to the next word, the rest of it; else only bits outside the mask.
        following = rows.take(self._words + 1, axis=1, mode="clip")
        words |= following << np.uint64(_WORD_BITS) - self._shifts
        words &= self._mask
        prefixes: NDArray[np.int64] = words.astype(np.int64)
        return prefixes


class Run:
    """Positions by table and slot.

    :param words: for each table, the positions, and then the directory: for each slot, the index in
        `words` where its bucket begins, and at last where the last bucket ends.
    :param bits: number of leading bits in a slot.
    :param starts: index in `words` of each table's directory.
    :param pages: number of pages, each of which is in every table.
    """

    def __init__(
        self, words: NDArray[np.uint32], bits: int, starts: Sequence[int], pages: int
    ) -> None:
        self.words = words
        self.bits = bits
        self.starts = np.array(starts, np.int64)
        self.pages = pages

    def buckets(self, table: int, slot: int, stop: int) -> NDArray[np.uint32]:
        """Return the positions in the slots from `slot` on, and before `stop`."""
        start = int(self.starts[table])
        return self.words[int(self.words[start + slot]) : int(self.words[start + stop])]

    def bucket(self, table: int, slot: int) -> list[int]:
        """Return the positions in one slot. For so few, a numpy array would take longer."""
        item, at = self.words.item, int(self.starts[table]) + slot
        return [item(index) for index in range(item(at), item(at + 1))]

    def directory(self, table: int) -> NDArray[np.uint32]:
        """Return where the buckets of a table begin, and where the last one ends."""
        start = int(self.starts[table])
        return self.words[start : start + (1 << self.bits) + 1]

    def positions(self, table: int) -> NDArray[np.uint32]:
        """Return all positions of a table, in the order of its slots."""
        return self.buckets(table, 0, 1 << self.bits)

    def table_bytes(self, table: int) -> int:
        """Return the bytes of a table, with its directory."""
        return self.positions(table).nbytes + self.directory(table).nbytes


class Lookup:
    """Looks up buckets in several runs at once.

    :param width: number of bits of a prefix.
    """

    def __init__(self, runs: Sequence[Run], width: int) -> None:
        self._runs = runs
        self._starts = np.array([run.starts for run in runs])
        self._shifts = np.array([[width - run.bits] for run in runs])

    def positions(
        self, tables: NDArray[np.int64], prefixes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[int], NDArray[np.int64]]:
        """Return (the positions in these buckets, by run and then bucket; where those of each run
        end; the number of positions by run and bucket).

        :param tables: the table of each bucket.
        :param prefixes: the prefix of each bucket, multiplied by the factor of its field.
        """
        if not self._runs:
            return np.empty(0, np.uint32), [], np.empty(0, np.int64)
        at = self._starts.take(tables, axis=1)
        at += prefixes >> self._shifts
        begin, end = np.empty(at.shape, np.uint32), np.empty(at.shape, np.uint32)
        # No index is out of range. With "clip", numpy writes to `out` without a buffer.
        for number, run in enumerate(self._runs):
            run.words.take(at[number], out=begin[number], mode="clip")
        at += 1
        for number, run in enumerate(self._runs):
            run.words.take(at[number], out=end[number], mode="clip")
        counts = np.subtract(end, begin, dtype=np.int64).ravel()
        ends = counts.cumsum()
        # Result i is in bucket b if ends[b - 1] <= i < ends[b], at begin[b] + i - ends[b - 1].
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
    """Return a run of pages in memory, which have successive positions.

    :param tables: for each table, its field and the words with the field, a row for each page.
    :param bits: number of leading bits in a slot.
    :param first: the position of the first page.
    """
    parts: list[NDArray[np.uint32]] = []
    starts = []
    at = pages = 0
    for field, rows in tables:
        pages = len(rows)
        slots = field.slots(rows, bits).astype(np.uint16 if bits <= _RADIX_BITS else np.uint32)
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
    """Writes a file of 32-bit words, and deletes it if it is not closed when the context ends."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._file = path.open("wb", buffering=1 << 18)
        self._hash = xxh3_64()
        self._unsynced_bytes = 0
        self._closed = False
        self.word_count = 0
        """Number of words written."""

    def write(self, words: NDArray[np.uint32]) -> None:
        """Append words."""
        packed = words.astype("<u4", copy=False).tobytes()
        self._hash.update(packed)
        self._file.write(packed)
        self.word_count += len(words)
        self._unsynced_bytes += len(packed)
        if self._durable and self._unsynced_bytes > _MAX_SYNC_BYTES:
            # Synced in parts, so that no page waits long for `close`.
            self._unsynced_bytes = 0
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> str:
        """Close the file, synced if `durable`, and return its checksum (XXH3-64)."""
        self._file.flush()
        if self._durable:
            os.fsync(self._file.fileno())
        self._file.close()
        self._closed = True
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._closed:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


def map_file(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a file into memory, and return it as an array. Numpy is slower at a `memmap`."""
    return np.asarray(np.memmap(path, dtype, "r", shape=shape))


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that files created in it are found after a power loss."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
