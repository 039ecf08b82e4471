"""The rows of the tables by *position*: the fingerprint, the id and the mark of each page.

The upper half of an *id* (64 bits) is a hash of the page's key, the lower half the number of its
entry. For marks see `scrapy_simhash.index.marks`. The first rows are in three files, mapped into
memory. The others are in arrays until a merge writes them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.index.marks import KEY_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1
# The arrays have so many rows at first, and grow by half.
_MIN_ROWS = 8192
# The bit counts of four words, a byte each, are added by one multiplication.
_WORDS_SUMMED_AT_ONCE = 4
_ONE_IN_EACH_BYTE = np.uint32(0x01010101)
_UPPER_BYTE = np.uint32(24)


class Near(NamedTuple):
    """Rows within the distance of queries, one for each pair.

    :param owners: numbers of the queries.
    :param fingerprints: in words.
    """

    owners: NDArray[np.int64]
    fingerprints: Words
    ids: Words
    marks: Words

    def where(self, rows: NDArray[Any]) -> Near:
        """Return the rows at some indices, or where a mask is True."""
        return Near(*(column[rows] for column in self))


class Columns(NamedTuple):
    """Arrays with an element, or a row of words, for each row of the tables."""

    fingerprints: Words
    ids: Words
    marks: Words

    def part(self, start: int, stop: int) -> Columns:
        """Return a range of rows, without a copy."""
        return Columns(*(column[start:stop] for column in self))


def empty_columns(words: int, rows: int = 0) -> Columns:
    """Return arrays without content; a fingerprint has so many words."""
    return Columns(np.empty((rows, words), np.uint64), *np.empty((2, rows), np.uint64))


class Rows:
    """All rows: those in files, then those in memory.

    :param words: number of words of a fingerprint.
    """

    def __init__(self, words: int) -> None:
        self._words = words
        self.stored = empty_columns(words)
        """The rows in files."""
        self._waiting = empty_columns(words, _MIN_ROWS)
        self._gone = np.zeros(_MIN_ROWS, np.bool_)
        self._has_gone = False
        self.waiting_count = 0
        """Number of rows in memory."""

    def __len__(self) -> int:
        return len(self.stored.ids) + self.waiting_count

    @property
    def stored_count(self) -> int:
        """Number of rows in files."""
        return len(self.stored.ids)

    def waiting(self, first: int = 0) -> Columns:
        """Return the rows in memory, from one of them on."""
        return self._waiting.part(first, self.waiting_count)

    def append(self, fingerprint: Words, row_id: int, mark: int) -> None:
        """Append a row in memory."""
        at = self.waiting_count
        if at == len(self._gone):
            self._grow(at + 1)
        fingerprints, ids, marks = self._waiting
        fingerprints[at], ids[at], marks[at] = fingerprint, row_id, mark
        self.waiting_count += 1

    def extend(self, fingerprints: Words, ids: Words, marks: Words) -> None:
        """Append rows in memory."""
        start, stop = self.waiting_count, self.waiting_count + len(ids)
        if stop > len(self._gone):
            self._grow(stop)
        for column, added in zip(self._waiting, (fingerprints, ids, marks), strict=True):
            column[start:stop] = added
        self.waiting_count = stop

    def _grow(self, rows: int) -> None:
        capacity, start = rows + rows // 2, self.waiting_count
        old, self._waiting = self._waiting, empty_columns(self._words, capacity)
        for column, old_column in zip(self._waiting, old, strict=True):
            column[:start] = old_column[:start]
        self._gone = np.concatenate([self._gone, np.zeros(capacity - len(self._gone), np.bool_)])

    def forget(self, number: int) -> None:
        """Let no search return the row with this number, if it is in memory."""
        numbers = self._waiting.ids[: self.waiting_count] & np.uint64(NUMBER_MASK)
        at = int(numbers.searchsorted(np.uint64(number)))
        if at < len(numbers) and int(numbers[at]) == number:
            self._gone[at] = self._has_gone = True

    def gone(self, count: int) -> NDArray[np.uint32]:
        """Return the positions of forgotten rows among the first `count` rows in memory."""
        gone = np.flatnonzero(self._gone[:count]) + self.stored_count
        return gone.astype(np.uint32)

    def moved(self, count: int, stored: Columns) -> None:
        """Replace the rows in files, which now end with the first `count` rows in memory."""
        kept, gone = self.waiting(count), self._gone[count : self.waiting_count]
        self.stored = stored
        self._waiting, self.waiting_count = empty_columns(self._words, _MIN_ROWS), 0
        self._gone = np.zeros(_MIN_ROWS, np.bool_)
        self.extend(*kept)
        self._gone[: len(gone)] = gone
        self._has_gone = bool(gone.any())

    def id(self, position: int) -> int:
        """Return the id of a row; -1 if it was forgotten."""
        stored = len(self.stored.ids)
        if position < stored:
            return self.stored.ids.item(position)
        if self._has_gone and self._gone[position - stored]:
            return -1
        return self._waiting.ids.item(position - stored)

    def fingerprints(self, positions: NDArray[np.uint32]) -> Words:
        """Return the fingerprints of rows, which must all be in files, or all in memory."""
        return self._taken(self.stored.fingerprints, self._waiting.fingerprints, positions)

    def ids(self, positions: NDArray[np.uint32]) -> Words:
        """Return the ids of rows; see `fingerprints`."""
        return self._taken(self.stored.ids, self._waiting.ids, positions)

    def marks(self, positions: NDArray[np.uint32]) -> Words:
        """Return the marks of rows; see `fingerprints`."""
        return self._taken(self.stored.marks, self._waiting.marks, positions)

    def names(self, positions: NDArray[np.uint32]) -> Words:
        """Return the result of `names_of` for rows; see `fingerprints`."""
        return names_of(self.marks(positions), self.ids(positions))

    def near(
        self,
        queries: Words,
        positions: NDArray[np.uint32],
        max_distance: int,
        *,
        owners: NDArray[np.int64] | None = None,
        in_files: int = 0,
        newest: int | None = None,
    ) -> Near | None:
        """Compare rows with queries. Return the rows within the distance of a query; None if there
        are none. Repeated positions give repeated rows.

        :param queries: fingerprints in words.
        :param positions: the rows to compare: `in_files` rows in files, then rows in memory.
        :param owners: for each position, the number of the query to compare the row with; None for
            a single query.
        :param newest: all queries are also compared with the rows in memory from this index on.
            None is for the positions of a crowd: compare no others, and return forgotten rows, too,
            because these have taken places of others, and the caller must know of them.
        """
        with_gone, count = newest is None, len(positions)
        newest = self.waiting_count if newest is None else newest
        newest_count = self.waiting_count - newest
        stored, waiting = positions[:in_files], positions[in_files:] - np.uint32(self.stored_count)
        differing = np.empty((count + len(queries) * newest_count, self._words), np.uint64)
        # No position is out of range. With "clip", numpy writes to `out` without a buffer.
        if in_files:
            self.stored.fingerprints.take(stored, axis=0, out=differing[:in_files], mode="clip")
        self._waiting.fingerprints.take(waiting, axis=0, out=differing[in_files:count], mode="clip")
        newest_of_each = differing[count:].reshape(len(queries), newest_count, self._words)
        newest_of_each[:] = self._waiting.fingerprints[newest : self.waiting_count]
        if owners is None:
            # As one long row: numpy takes three times as long for many short ones.
            differing.ravel()[:] ^= np.frombuffer(queries.tobytes() * len(differing), np.uint64)
        else:
            owners = np.concatenate([owners, np.arange(len(queries)).repeat(newest_count)])
            differing ^= queries.take(owners, axis=0)
        near = (row_sums(np.bitwise_count(differing)) <= max_distance).nonzero()[0]
        if not len(near):
            return None
        later = near[near >= in_files] - in_files
        of_runs = waiting.take(later[later < len(waiting)])
        of_newest = (later[later >= len(waiting)] - len(waiting)) % max(newest_count, 1) + newest
        in_memory = np.concatenate([of_runs.astype(np.int64), of_newest])
        rows_in_files = stored.take(near[near < in_files])
        near_owners = np.zeros(len(near), np.int64) if owners is None else owners.take(near)
        found = Near(
            near_owners,
            differing[near] ^ queries.take(near_owners, axis=0),
            *(
                np.concatenate([stored.take(rows_in_files), waiting.take(in_memory)])
                for stored, waiting in zip(self.stored[1:], self._waiting[1:], strict=True)
            ),
        )
        if with_gone or not self._has_gone:
            return found
        is_there = np.ones(len(near), np.bool_)
        is_there[len(rows_in_files) :] = ~self._gone[in_memory]
        return found.where(is_there)

    def _taken(
        self, stored: NDArray[Any], waiting: NDArray[Any], positions: NDArray[np.uint32]
    ) -> Words:
        rows = stored
        if len(positions) and positions[0] >= self.stored_count:
            rows, positions = waiting, positions - np.uint32(self.stored_count)
        taken: Words = rows.take(positions, axis=0)
        return taken


def names_of(marks: Words, ids: Words) -> Words:
    """Return what the table of names sorts: the mark of a row, or its id if its name is unknown.

    Rows without names would all be in one bucket.
    """
    names: Words = np.where(marks >> np.uint64(64 - KEY_BITS) > 0, marks, ids)
    return names


def row_sums(counts: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the sum of each row of counts, which are 0 to 64. In rows of four counts, a sum of 256
    overflows to 0, which is harmless: callers compare the fingerprints once more.
    """
    words = counts.shape[1]
    if words == 1:
        return counts.ravel()
    if words == _WORDS_SUMMED_AT_ONCE:
        # The upper byte of the product is the sum of all bytes (Warren, Hacker's Delight, 5-1).
        product: NDArray[np.uint32] = counts.view(np.uint32).ravel() * _ONE_IN_EACH_BYTE
        product >>= _UPPER_BYTE
        return product
    sums = counts[:, 0].astype(np.uint16)
    for word in range(1, words):
        sums += counts[:, word]
    return sums
