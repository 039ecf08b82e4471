"""A run: for each table, the positions of rows, sorted by the leading bits of their hashes.

Behind the tables of a plan, there are two more: page keys and names, whose hashes are the ids and
the names of rows (`scrapy_simhash.index.tables.rows`). A *slot* is a value of the leading bits. A
*bucket* is the positions in one slot. A *directory* says where each bucket of a table begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Positions = NDArray[np.uint32]
    Hashes: TypeAlias = Callable[[int, Positions], NDArray[np.uint64]]
    """Returns the hashes in a table of the rows at these positions."""

HASH_BITS = 64
# numpy sorts integers of up to this many bits by radix sort, which is faster.
_RADIX_BITS = 16
# A step of a merge merges about this many positions of one table, at about 40 ns each.
STEP_POSITIONS = 1 << 14


class Run(NamedTuple):
    """Positions by table and slot.

    :param words: for each table, its positions and then its directory: for each slot, the index in
        `words` where its bucket begins, and at the end the index where the last bucket ends.
    :param bits: number of leading bits in a slot.
    :param starts: for each table, the index in `words` where its directory begins.
    :param rows: number of rows. Each row is in every table.
    """

    words: Positions
    bits: int
    starts: list[int]
    rows: int

    def buckets(self, table: int, slot: int, stop: int) -> Positions:
        """Return the positions in the slots from `slot` to `stop` - 1."""
        item, start = self.words.item, self.starts[table]
        return self.words[item(start + slot) : item(start + stop)]

    def bucket(self, table: int, hashed: int) -> Positions:
        """Return the positions in the slot of a hash."""
        item, at = self.words.item, self.starts[table] + (hashed >> HASH_BITS - self.bits)
        return self.words[item(at) : item(at + 1)]


def sorted_run(hashes: Hashes, tables: int, bits: int, positions: Positions) -> Run:
    """Return a run of the rows at successive positions.

    :param tables: number of tables, with those of keys and of names.
    :param bits: number of leading bits in a slot.
    """
    parts: list[Positions] = []
    size, starts = 0, list[int]()
    for table in range(tables):
        slots = hashes(table, positions) >> HASH_BITS - bits
        order = slots.astype(np.uint16 if bits <= _RADIX_BITS else np.uint32).argsort(kind="stable")
        counts = np.bincount(slots.view(np.int64), minlength=1 << bits)
        starts.append(size + len(positions))
        directory = np.concatenate([[0], counts.cumsum()]) + size
        parts += [positions[order], directory.astype(np.uint32)]
        size = starts[-1] + len(directory)
    return Run(np.concatenate(parts), bits, starts, len(positions))


def merge(
    sources: Sequence[Run],
    bits: int,
    hashes: Hashes,
    write: Callable[[Positions], object],
    starts: list[int],
) -> Iterator[None]:
    """Write the words of one run with the rows of several, which are fewer than 2**31, in steps: so
    no page waits for long.

    :param bits: number of leading bits in a slot of the new run, at least those of each source.
    :param write: is called with the words, part by part.
    :param starts: the `starts` of the new run are appended to it.
    :raises OSError: the disk fails.
    """
    tables, rows = len(sources[0].starts), sum(run.rows for run in sources)
    # A step ends at the end of a slot in each source. It numbers its slots with 16 bits.
    fewest_bits = min(run.bits for run in sources)
    step_bits = max(bits - (rows // STEP_POSITIONS).bit_length(), bits - fewest_bits, 0)
    step = 1 << min(step_bits, bits, _RADIX_BITS)
    size = 0
    for table in range(tables):
        directory = np.zeros((1 << bits) + 1, np.uint32)
        for slot in range(0, 1 << bits, step):
            positions, slots = [], []
            for run in sources:
                fewer = bits - run.bits
                own = run.buckets(table, slot >> fewer, slot + step >> fewer)
                if fewer:
                    own_slots = hashes(table, own) >> HASH_BITS - bits
                    slots.append((own_slots - slot).astype(np.uint16))
                else:
                    at = run.starts[table] + slot
                    sizes = np.diff(run.words[at : at + step + 1])
                    slots.append(np.arange(step, dtype=np.uint16).repeat(sizes))
                positions.append(own)
            merged = np.concatenate(slots)
            directory[slot + 1 : slot + step + 1] = np.bincount(merged, minlength=step)
            write(np.concatenate(positions)[merged.argsort(kind="stable")])
            yield
        directory[0] = size
        starts.append(size + rows)
        size += rows + len(directory)
        # The sums of the counts are the indexes where buckets begin.
        write(directory.cumsum(dtype=np.uint32))
