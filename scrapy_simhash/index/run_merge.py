"""Merge runs (`scrapy_simhash.index.run`) in small steps, so that no page waits for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.run import RunWriter
from scrapy_simhash.index.run_files import RunFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_simhash.index.run import Field, Run

# A step merges about this many positions of one table, at about 40 ns each.
STEP_RECORDS = 1 << 14
# A step has at most 2**16 slots, because it numbers its slots with 16 bits.
_MAX_STEP_BITS = 16


class Table(NamedTuple):
    """A table to merge.

    :param rows: returns the words that hold the field, for given positions of pages.
    """

    field: Field
    rows: Callable[[NDArray[np.uint32]], NDArray[np.uint64]]


class Merge:
    """A merge of several runs into one.

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
        """Return (positions of all sources in the step from `slot` on, their slots less `slot`)."""
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
