"""A run: for each table, the positions of pages, sorted by the leading bits of the prefix.

The last two tables are those of page keys and of names, whose prefixes are hashes. The *position*
of a page is its index in `scrapy_simhash.index.pages`. A *slot* is a value of the leading bits; a
*bucket* is the positions in one slot. A *directory* says where each bucket of a table begins.
`scrapy_simhash.index.runs` uses runs; docs/index-format.md describes their files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64

from scrapy_simhash.index.run_files import RunFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

_WORD_BITS = 64
# numpy sorts integers of up to this many bits by radix sort, which is faster.
_RADIX_BITS = 16
# A file is synced whenever this many bytes are unsynced, so that no page waits long for `close`.
_MAX_UNSYNCED_BYTES = 32 << 20
# A step of a merge merges about this many positions of one table, at about 40 ns each.
STEP_RECORDS = 1 << 14
# A step has at most 2**16 slots, because it numbers its slots with 16 bits.
_MAX_STEP_BITS = 16


class Field(NamedTuple):
    """The place of a table's prefix in the 64-bit words of a page.

    :param word: index of the word with the lowest bit of the prefix, which may extend to the next
        word. `word` and `shift` may be arrays, to read the prefixes of several tables at once.
    :param shift: number of that bit in the word; 0 is the least significant.
    :param factor: odd; prefixes are multiplied by it, modulo 2**width, to spread them over slots.
    """

    word: int | NDArray[np.int64]
    shift: int | NDArray[np.uint64]
    width: int
    factor: int = 1

    def read(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the prefix of each page, multiplied by the factor; a column for each table."""
        shift = np.uint64(self.shift)
        prefixes: NDArray[np.uint64] = rows[:, self.word] >> shift
        if not isinstance(self.word, int) or self.shift + self.width > _WORD_BITS:
            # If a prefix extends to the next word, these are its upper bits; else they are masked.
            following = rows.take(self.word + 1, axis=1, mode="clip")
            prefixes |= following << np.uint64(_WORD_BITS) - shift
        prefixes *= np.uint64(self.factor)
        prefixes &= np.uint64((1 << self.width) - 1)
        return prefixes

    def slots(self, rows: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
        """Return the slot of each page in a directory of `bits` leading bits."""
        slots: NDArray[np.uint64] = self.read(rows) >> np.uint64(self.width - bits)
        return slots


class Run:
    """Positions by table and slot.

    :param words: for each table, its positions and then its directory: for each slot, the index in
        `words` where its bucket begins, and at the end the index where the last bucket ends.
    :param bits: number of leading bits in a slot.
    :param starts: for each table, the index in `words` where its directory begins.
    :param pages: number of pages. Each page is in every table.
    """

    def __init__(
        self, words: NDArray[np.uint32], bits: int, starts: Sequence[int], pages: int
    ) -> None:
        self.words = words
        self.bits = bits
        self.starts = np.array(starts, np.int64)
        self.pages = pages

    def buckets(self, table: int, slot: int, stop: int) -> NDArray[np.uint32]:
        """Return the positions in the slots from `slot` to `stop` - 1."""
        start = int(self.starts[table])
        return self.words[int(self.words[start + slot]) : int(self.words[start + stop])]

    def bucket(self, table: int, slot: int) -> list[int]:
        """Return the positions in one slot, as a list, because numpy is slow for so few."""
        item, start = self.words.item, int(self.starts[table]) + slot
        return [item(index) for index in range(item(start), item(start + 1))]

    def directory(self, table: int) -> NDArray[np.uint32]:
        """Return the directory of a table; see `words`."""
        start = int(self.starts[table])
        return self.words[start : start + (1 << self.bits) + 1]

    def positions(self, table: int) -> NDArray[np.uint32]:
        """Return all positions of a table, in the order of its slots."""
        return self.buckets(table, 0, 1 << self.bits)


class Lookup:
    """A look-up of buckets in several runs at once.

    :param width: number of bits of a prefix.
    """

    def __init__(self, runs: Sequence[Run], width: int) -> None:
        self._runs = runs
        self._starts = np.array([run.starts for run in runs])
        self._shifts = np.array([[width - run.bits] for run in runs])

    def positions(
        self, tables: NDArray[np.int64], prefixes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[int], NDArray[np.int64]]:
        """Return (the positions in these buckets, ordered by run and then bucket; for each run, the
        index where its positions end; for each run and bucket, the number of its positions).

        For the parameters see `extents`.
        """
        begins, counts = self.extents(tables, prefixes)
        positions, ends = self.read(begins, counts)
        return positions, ends, counts.ravel()

    def extents(
        self, tables: NDArray[np.int64], prefixes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return where these buckets begin, and the numbers of their positions; by run and bucket.

        :param tables: the table of each bucket.
        :param prefixes: the prefix of each bucket, multiplied by the factor of its field.
        """
        if not self._runs:
            return np.empty((0, len(tables)), np.uint32), np.empty((0, len(tables)), np.int64)
        # Indexes in directories, by run and bucket.
        slots = self._starts.take(tables, axis=1)
        slots += prefixes >> self._shifts
        begins, ends = np.empty(slots.shape, np.uint32), np.empty(slots.shape, np.uint32)
        # No index is out of range. With "clip", numpy writes to `out` without a buffer.
        for number, run in enumerate(self._runs):
            run.words.take(slots[number], out=begins[number], mode="clip")
        slots += 1
        for number, run in enumerate(self._runs):
            run.words.take(slots[number], out=ends[number], mode="clip")
        return begins, np.subtract(ends, begins, dtype=np.int64)

    def read(
        self, begins: NDArray[np.uint32], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], list[int]]:
        """Return (positions, for each run the index where its positions end); see `positions`.

        :param begins: from `extents`.
        :param counts: the numbers of positions to read from the buckets.
        """
        buckets = counts.shape[1]
        if not self._runs or not buckets:
            return np.empty(0, np.uint32), [0] * len(self._runs)
        ends = counts.ravel().cumsum()
        # Result i is in bucket b if ends[b - 1] <= i < ends[b], at begins[b] + i - ends[b - 1].
        first = begins.ravel().copy()
        first[1:] -= ends[:-1].astype(np.uint32)
        indexes = first.repeat(counts.ravel())
        indexes += np.arange(len(indexes), dtype=np.uint32)
        positions = np.empty_like(indexes)
        run_ends: list[int] = ends[buckets - 1 :: buckets].tolist()
        start = 0
        for run, stop in zip(self._runs, run_ends, strict=True):
            run.words.take(indexes[start:stop], out=positions[start:stop], mode="clip")
            start = stop
        return positions, run_ends


def sorted_run(slots_by_table: Iterable[NDArray[np.uint64]], bits: int, first: int) -> Run:
    """Return a run of pages in memory, which have successive positions.

    :param slots_by_table: for each table, the slot of each page.
    :param bits: number of leading bits in a slot.
    :param first: position of the first page.
    """
    parts: list[NDArray[np.uint32]] = []
    starts = []
    size = pages = 0
    for slots in slots_by_table:
        pages = len(slots)
        narrow = slots.astype(np.uint16 if bits <= _RADIX_BITS else np.uint32)
        positions = narrow.argsort(kind="stable").astype(np.uint32)
        positions += np.uint32(first)
        directory = np.empty((1 << bits) + 1, np.uint32)
        directory[0] = size
        directory[1:] = np.bincount(narrow, minlength=1 << bits).cumsum() + size
        parts += [positions, directory]
        starts.append(size + pages)
        size += pages + len(directory)
    return Run(np.concatenate(parts), bits, starts, pages)


class RunWriter:
    """A writer of a file of 32-bit words. Leaving its context deletes a file that is not closed."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._file = path.open("wb", buffering=1 << 18)
        self._hash = xxh3_64()
        self._unsynced_bytes = 0
        self.word_count = 0
        """Number of words written."""

    def write(self, words: NDArray[np.uint32]) -> None:
        """Append words."""
        packed = words.astype("<u4", copy=False).tobytes()
        self._hash.update(packed)
        self._file.write(packed)
        self.word_count += len(words)
        self._unsynced_bytes += len(packed)
        if self._durable and self._unsynced_bytes > _MAX_UNSYNCED_BYTES:
            self._unsynced_bytes = 0
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> str:
        """Close the file, sync it if `durable`, and return its checksum (XXH3-64, in hex)."""
        self._file.flush()
        if self._durable:
            os.fsync(self._file.fileno())
        self._file.close()
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


class Table(NamedTuple):
    """A table to merge.

    :param rows: returns the words that hold the field, for given positions of pages.
    """

    field: Field
    rows: Callable[[NDArray[np.uint32]], NDArray[np.uint64]]


class Merge:
    """A merge of several runs into one, in small steps, so that no page waits for long.

    :param bits: number of leading bits in a slot of the new run.
    :param dropped: positions to leave out.
    """

    def __init__(
        self,
        sources: Sequence[Run],
        tables: Sequence[Table],
        bits: int,
        dropped: NDArray[np.uint32],
    ) -> None:
        self._sources = sources
        self._tables = tables
        self._bits = bits
        self._dropped = dropped
        ideal = bits - (sum(run.pages for run in sources) // STEP_RECORDS).bit_length()
        # A step must end at the end of a slot in each source.
        fewest_bits = min(run.bits for run in sources)
        self._step_bits = min(max(ideal, bits - fewest_bits, 0), bits, _MAX_STEP_BITS)
        self.steps = len(tables) << bits - self._step_bits
        """Number of steps of `write`."""

    def write(
        self, path: Path, first: int, stop: int, *, durable: bool
    ) -> Iterator[RunFile | None]:
        """Write the file. Yield None after each step, and the description of the file at the end.

        :param first: lower limit of the ordinals of the sources; see `RunFile`.
        :param stop: all ordinals of the sources are lower.
        :raises OSError: the disk fails.
        """
        bits, step = self._bits, 1 << self._step_bits
        pages = 0
        with RunWriter(path, durable=durable) as writer:
            starts = []
            for table in range(len(self._tables)):
                directory = np.zeros((1 << bits) + 1, np.uint32)
                for slot in range(0, 1 << bits, step):
                    positions, slots = self._slice(table, slot)
                    if len(self._dropped):
                        kept = ~np.isin(positions, self._dropped)
                        positions, slots = positions[kept], slots[kept]
                    counts = np.bincount(slots, minlength=step)
                    directory[slot + 1 : slot + step + 1] = counts
                    writer.write(positions[slots.argsort(kind="stable")])
                    yield None
                pages = int(directory.sum())
                directory[0] = writer.word_count - pages
                starts.append(writer.word_count)
                # The sums of the counts are the indexes where buckets begin.
                writer.write(directory.cumsum(dtype=np.uint32))
            checksum = writer.close()
        yield RunFile(path.name, bits, starts, pages, first, stop, 4 * writer.word_count, checksum)

    def _slice(self, table: int, slot: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Return (positions of all sources in the step from `slot` on, their slots - `slot`)."""
        positions, slots = [], []
        field, rows = self._tables[table]
        size = 1 << self._step_bits
        stop = slot + size
        for run in self._sources:
            extra_bits = run.bits - self._bits
            if extra_bits >= 0:
                first, end = slot << extra_bits, stop << extra_bits
                run_positions = run.buckets(table, first, end)
                begins = run.directory(table)[first : end + 1 : 1 << extra_bits]
                slots.append(np.arange(size, dtype=np.uint16).repeat(np.diff(begins)))
            else:
                run_positions = run.buckets(table, slot >> -extra_bits, stop >> -extra_bits)
                new_slots = field.slots(rows(run_positions), self._bits)
                slots.append((new_slots - np.uint64(slot)).astype(np.uint16))
            positions.append(run_positions)
        return np.concatenate(positions), np.concatenate(slots)


def map_file(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a file into memory. Return an array, because numpy is slower with a `memmap`."""
    return np.asarray(np.memmap(path, dtype, "r", shape=shape))
