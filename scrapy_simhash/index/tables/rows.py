"""The rows of the tables by *position*: the fingerprint, the id and the mark of each page.

The upper half of an *id* (64 bits) is a hash of the page's key, the lower half the number of its
entry. For marks see `scrapy_simhash.index.marks`. The first rows are in three files, mapped into
memory. The others are in arrays until a merge writes them, too.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.marks import KEY_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    Words = NDArray[np.uint64]
    Positions = NDArray[np.uint32]

NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1
# The columns.
FINGERPRINTS, IDS, MARKS = 0, 1, 2
# The arrays have so many rows at first, and grow by half.
_MIN_ROWS = 8192


class Columns(NamedTuple):
    """Arrays with an element, or a row of words, for each row of the tables."""

    fingerprints: Words
    ids: Words
    marks: Words

    @classmethod
    def empty(cls, words: int, rows: int = 0) -> Self:
        """Return arrays without content; a fingerprint has so many words."""
        return cls(np.empty((rows, words), np.uint64), *np.empty((2, rows), np.uint64))

    def part(self, start: int, stop: int) -> Columns:
        """Return a range of rows, without a copy."""
        return Columns(*[column[start:stop] for column in self])


class Rows:
    """All rows: those in files, then those in memory."""

    def __init__(self, stored: Columns) -> None:
        self._stored = stored
        self.in_files = self._count = len(stored.ids)
        """Number of rows in files."""
        self._waiting = Columns.empty(stored.fingerprints.shape[1], _MIN_ROWS)
        # By position, as far as rows were forgotten; the last element is False.
        self._gone = np.zeros(1, np.bool_)

    def __len__(self) -> int:
        return self._count

    def in_memory(self, start: int, stop: int) -> Columns:
        """Return a range of rows in memory, by position."""
        return self._waiting.part(start - self.in_files, stop - self.in_files)

    def newest(self, start: int) -> Words:
        """Return the fingerprints of the rows in memory from a position on."""
        return self._waiting.fingerprints[start - self.in_files : self._count - self.in_files]

    def extend(self, count: int, fingerprints: Words, ids: Words | int, marks: Words | int) -> None:
        """Append rows."""
        start = self._count - self.in_files
        stop = start + count
        if stop > len(self._waiting.ids):
            old = self._waiting
            self._waiting = Columns.empty(old.fingerprints.shape[1], stop + stop // 2)
            for column, old_column in zip(self._waiting, old, strict=True):
                column[:start] = old_column[:start]
        for column, added in zip(self._waiting, (fingerprints, ids, marks), strict=True):
            column[start:stop] = added
        self._count += count

    def moved(self, stored: Columns) -> None:
        """Use other files, which also have the first rows that were in memory."""
        kept = self.in_memory(len(stored.ids), self._count)
        self._stored, self.in_files = stored, len(stored.ids)
        self._waiting = Columns.empty(stored.fingerprints.shape[1], _MIN_ROWS)
        self._count = self.in_files
        self.extend(len(kept.ids), *kept)

    def id(self, position: int) -> int:
        """Return the id of a row."""
        in_files = self.in_files
        if position < in_files:
            return self._stored.ids.item(position)
        return self._waiting.ids.item(position - in_files)

    def forget(self, number: int) -> None:
        """Let `still_there` leave out the row with this number, if there is one."""
        at = bisect_left(range(self._count), number, key=lambda one: self.id(one) & NUMBER_MASK)
        if at == self._count or self.id(at) & NUMBER_MASK != number:
            return
        if at >= len(self._gone) - 1:
            self._gone = np.concatenate([self._gone, np.zeros(self._count, np.bool_)])
        self._gone[at] = True

    def still_there(self, positions: Positions) -> Positions:
        """Return the positions without those of forgotten rows."""
        if len(self._gone) == 1:
            return positions
        return positions[~self._gone.take(positions, mode="clip")]

    def take(self, column: int, positions: Positions) -> Words:
        """Return a column of rows, such as `MARKS`. Of the positions, those in files come first."""
        in_files = int(np.count_nonzero(positions < self.in_files))
        stored, waiting = self._stored[column], self._waiting[column]
        taken = np.empty((len(positions), *waiting.shape[1:]), np.uint64)
        # No position is out of range. With "clip", numpy writes to `out` without a buffer.
        if in_files:
            stored.take(positions[:in_files], axis=0, out=taken[:in_files], mode="clip")
        later = positions[in_files:] - self.in_files
        waiting.take(later, axis=0, out=taken[in_files:], mode="clip")
        return taken


def names_of(marks: Words, ids: Words) -> Words:
    """Return what the table of names sorts: the mark of a row, or its id if its name is unknown.

    Rows without names would all be in one bucket.
    """
    names: Words = np.where(marks >> 64 - KEY_BITS > 0, marks, ids)
    return names
