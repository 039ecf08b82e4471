"""A run: for each table, the positions of rows, sorted by the leading bits of their hashes.

Behind the tables of a plan, there are two more: page keys and names, whose hashes are the ids and
the names of rows (`scrapy_simhash.index.tables.rows`). A *slot* is a value of the leading bits. A
*bucket* is the positions in one slot. A *directory* says where each bucket of a table begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

HASH_BITS = 64
# numpy sorts integers of up to this many bits by radix sort, which is faster.
_RADIX_BITS = 16
_NO_POSITIONS = np.empty(0, np.uint32)


class Run:
    """Positions by table and slot.

    :param words: for each table, its positions and then its directory: for each slot, the index in
        `words` where its bucket begins, and at the end the index where the last bucket ends.
    :param bits: number of leading bits in a slot.
    :param starts: for each table, the index in `words` where its directory begins.
    :param rows: number of rows. Each row is in every table.
    """

    def __init__(
        self, words: NDArray[np.uint32], bits: int, starts: Sequence[int], rows: int
    ) -> None:
        self.words = words
        self.bits = bits
        self.starts = list(starts)
        self.rows = rows

    def buckets(self, table: int, slot: int, stop: int) -> NDArray[np.uint32]:
        """Return the positions in the slots from `slot` to `stop` - 1."""
        start = self.starts[table]
        return self.words[int(self.words[start + slot]) : int(self.words[start + stop])]

    def bucket(self, table: int, hashed: int) -> list[int]:
        """Return the positions in the slot of a hash, as a list: numpy is slow for so few."""
        item, start = self.words.item, self.starts[table] + (hashed >> HASH_BITS - self.bits)
        return [item(index) for index in range(item(start), item(start + 1))]

    def directory(self, table: int) -> NDArray[np.uint32]:
        """Return the directory of a table; see `words`."""
        start = self.starts[table]
        return self.words[start : start + (1 << self.bits) + 1]


class Lookup:
    """A look-up of buckets in several runs at once."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self._starts = np.array([run.starts for run in runs])
        self._shifts = np.array([[HASH_BITS - run.bits] for run in runs], np.uint64)

    def few(self, hashes: Sequence[int], first_runs: int) -> tuple[NDArray[np.uint32], int]:
        """Return (the positions in the buckets of one hash in each table, by run; how many of them
        are in the first runs). Faster than `extents` and `read` for a few tables.
        """
        parts, counted = [_NO_POSITIONS], 0
        for number, run in enumerate(self.runs):
            words, shift = run.words, HASH_BITS - run.bits
            item = words.item
            for start, hashed in zip(run.starts, hashes, strict=False):
                at = start + (hashed >> shift)
                begin, end = item(at), item(at + 1)
                if begin < end:
                    parts.append(words[begin:end])
                    if number < first_runs:
                        counted += end - begin
        return np.concatenate(parts), counted

    def extents(
        self, tables: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return where buckets begin, and the numbers of their positions; by run and bucket.

        :param tables: the table of each bucket; `hashes` likewise.
        """
        if not self.runs:
            return np.empty((0, len(tables)), np.uint32), np.empty((0, len(tables)), np.int64)
        # Indexes in directories, by run and bucket.
        slots = self._starts.take(tables, axis=1)
        slots += (hashes >> self._shifts).view(np.int64)
        begins, ends = np.empty(slots.shape, np.uint32), np.empty(slots.shape, np.uint32)
        # No index is out of range. With "clip", numpy writes to `out` without a buffer.
        for number, run in enumerate(self.runs):
            run.words.take(slots[number], out=begins[number], mode="clip")
        slots += 1
        for number, run in enumerate(self.runs):
            run.words.take(slots[number], out=ends[number], mode="clip")
        return begins, np.subtract(ends, begins, dtype=np.int64)

    def read(
        self, begins: NDArray[np.uint32], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[int]]:
        """Return (the positions in buckets, ordered by run and then bucket; for each run, the index
        where its positions end).

        :param begins: from `extents`.
        :param counts: the numbers of positions to read from the buckets.
        """
        buckets = counts.shape[1]
        if not self.runs or not buckets:
            return np.empty(0, np.uint32), [0] * len(self.runs)
        ends = counts.ravel().cumsum()
        # Result i is in bucket b if ends[b - 1] <= i < ends[b], at begins[b] + i - ends[b - 1].
        first = begins.ravel().copy()
        first[1:] -= ends[:-1].astype(np.uint32)
        indexes = first.repeat(counts.ravel())
        indexes += np.arange(len(indexes), dtype=np.uint32)
        positions = np.empty_like(indexes)
        run_ends: list[int] = ends[buckets - 1 :: buckets].tolist()
        start = 0
        for run, stop in zip(self.runs, run_ends, strict=True):
            run.words.take(indexes[start:stop], out=positions[start:stop], mode="clip")
            start = stop
        return positions, run_ends


def sorted_run(hashes_by_table: Iterable[NDArray[np.uint64]], bits: int, first: int) -> Run:
    """Return a run of rows in memory, which have successive positions.

    :param hashes_by_table: for each table, the hash of each row.
    :param bits: number of leading bits in a slot.
    :param first: position of the first row.
    """
    parts: list[NDArray[np.uint32]] = []
    starts = []
    size = rows = 0
    for hashes in hashes_by_table:
        rows = len(hashes)
        slots = (hashes >> np.uint64(HASH_BITS - bits)).astype(
            np.uint16 if bits <= _RADIX_BITS else np.uint32
        )
        positions = slots.argsort(kind="stable").astype(np.uint32)
        positions += np.uint32(first)
        directory = np.empty((1 << bits) + 1, np.uint32)
        directory[0] = size
        directory[1:] = np.bincount(slots, minlength=1 << bits).cumsum() + size
        parts += [positions, directory]
        starts.append(size + rows)
        size += rows + len(directory)
    return Run(np.concatenate(parts), bits, starts, rows)
