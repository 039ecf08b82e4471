"""Merge several runs into the file of one, in small steps, so that no page waits for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.tables.runs import HASH_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.tables.format import Writer
    from scrapy_simhash.index.tables.runs import Run

# A step merges about this many positions of one table, at about 40 ns each.
STEP_POSITIONS = 1 << 14
# A step has at most 2**16 slots, because it numbers its slots with 16 bits.
_MAX_STEP_BITS = 16


class Merge:
    """A merge of runs, which must be smaller than 2**31 rows together.

    :param hashes: returns the hashes in a table of the rows at given positions.
    :param bits: number of leading bits in a slot of the new run.
    :param dropped: positions to leave out.
    """

    def __init__(
        self,
        sources: Sequence[Run],
        hashes: Callable[[int, NDArray[np.uint32]], NDArray[np.uint64]],
        bits: int,
        dropped: NDArray[np.uint32],
    ) -> None:
        self._sources = sources
        self._hashes = hashes
        self._bits = bits
        self._dropped = dropped
        self._tables = len(sources[0].starts)
        ideal = bits - (sum(run.rows for run in sources) // STEP_POSITIONS).bit_length()
        # A step must end at the end of a slot in each source.
        fewest_bits = min(run.bits for run in sources)
        self._step_bits = min(max(ideal, bits - fewest_bits, 0), bits, _MAX_STEP_BITS)
        self.steps = self._tables << bits - self._step_bits
        """Number of steps of `write`."""
        self.starts: list[int] = []
        """For each table that is written, the index of its directory; see `Run`."""
        self.rows = 0
        """Number of rows of the new run, after the first table is written."""

    def write(self, writer: Writer) -> Iterator[None]:
        """Write the words of the new run, and yield after each step.

        :raises OSError: the disk fails.
        """
        bits, step = self._bits, 1 << self._step_bits
        for table in range(self._tables):
            directory = np.zeros((1 << bits) + 1, np.uint32)
            for slot in range(0, 1 << bits, step):
                positions, slots = self._slice(table, slot)
                if len(self._dropped):
                    kept = ~np.isin(positions, self._dropped)
                    positions, slots = positions[kept], slots[kept]
                directory[slot + 1 : slot + step + 1] = np.bincount(slots, minlength=step)
                writer.write(positions[slots.argsort(kind="stable")])
                yield
            self.rows = int(directory.sum())
            directory[0] = writer.word_count - self.rows
            self.starts.append(writer.word_count)
            # The sums of the counts are the indexes where buckets begin.
            writer.write(directory.cumsum(dtype=np.uint32))

    def _slice(self, table: int, slot: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Return (positions of all sources in the step from `slot` on, their slots - `slot`)."""
        positions, slots = [], []
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
                hashes = self._hashes(table, run_positions)
                new_slots = hashes >> np.uint64(HASH_BITS - self._bits)
                slots.append((new_slots - np.uint64(slot)).astype(np.uint16))
            positions.append(run_positions)
        return np.concatenate(positions), np.concatenate(slots)
