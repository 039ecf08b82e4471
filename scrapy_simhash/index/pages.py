"""The pages of a probed index by *position*: fingerprint, *id* and mark of each page.

An id has 64 bits: the upper half is a hash of the page's key, the lower half the ordinal of its
entry. For marks see `scrapy_simhash.index.marks`. The first pages are in three files, mapped into
memory. The others are in arrays until a merge
writes them, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64_hexdigest

from scrapy_simhash.documents.files import sync_file
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.marks import KEY_BITS
from scrapy_simhash.index.run import map_file
from scrapy_simhash.index.run_files import FINGERPRINTS, IDS, KEY_HASH_BITS, MARKS, PagePart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_WORD_BYTES = 8
_ORDINAL_BITS = 64 - KEY_HASH_BITS
ORDINAL_MASK = (1 << _ORDINAL_BITS) - 1
# The arrays have this many rows at first, and grow by at least as many.
_MIN_ROWS = 8192
# The bit counts of this many words, a byte each, are added by one multiplication.
_WORDS_SUMMED_AT_ONCE = 4
_ONE_IN_EACH_BYTE = np.uint32(0x01010101)
_UPPER_BYTE = np.uint32(24)


class Near(NamedTuple):
    """Pages within the distance of queries, a row for each pair.

    :param owners: numbers of the queries.
    :param fingerprints: of the pages, in words.
    """

    owners: NDArray[np.int64]
    fingerprints: NDArray[np.uint64]
    ids: NDArray[np.uint64]
    marks: NDArray[np.uint64]

    def of(self, owner: int) -> Near:
        """Return the rows of one query."""
        return self.take(np.flatnonzero(self.owners == owner))

    def take(self, rows: NDArray[np.int64]) -> Near:
        """Return some of the rows."""
        owners, fingerprints, ids, marks = self
        return Near(
            owners.take(rows), fingerprints.take(rows, axis=0), ids.take(rows), marks.take(rows)
        )


class Pages:
    """The fingerprints of pages, in rows of 64-bit words, their ids and their marks.

    :param words: number of words of a fingerprint.
    :param durable: sync files before `write` returns.
    """

    def __init__(self, folder: Path, location: str, words: int, *, durable: bool) -> None:
        self._folder = folder
        self._location = location
        self._words = words
        self._durable = durable
        self._stored = np.empty((0, words), np.uint64)
        self._stored_ids = np.empty(0, np.uint64)
        self._stored_marks = np.empty(0, np.uint64)
        self._waiting = np.empty((_MIN_ROWS, words), np.uint64)
        self._waiting_ids = np.empty(_MIN_ROWS, np.uint64)
        self._waiting_marks = np.empty(_MIN_ROWS, np.uint64)
        self.waiting = 0
        """Number of pages in memory."""

    @property
    def stored(self) -> int:
        """Number of pages in files, including removed ones."""
        return len(self._stored)

    @property
    def page_bytes(self) -> int:
        """Bytes of a page in the files."""
        return _WORD_BYTES * (self._words + 2)

    def add(self, fingerprint: int, key_hash: int, ordinal: int, mark: int) -> None:
        """Append a page to the pages in memory."""
        if self.waiting == len(self._waiting):
            rows = self.waiting // 2 + _MIN_ROWS
            unused = np.empty((rows, self._words), np.uint64)
            self._waiting = np.concatenate([self._waiting, unused])
            self._waiting_ids = np.concatenate([self._waiting_ids, unused[:, 0]])
            self._waiting_marks = np.concatenate([self._waiting_marks, unused[:, 0]])
        self._waiting[self.waiting] = self.packed([fingerprint])
        self._waiting_ids[self.waiting] = key_hash << _ORDINAL_BITS | ordinal
        self._waiting_marks[self.waiting] = mark
        self.waiting += 1

    def packed(self, fingerprints: Sequence[int]) -> NDArray[np.uint64]:
        """Return fingerprints as rows of words, the least significant word first."""
        size = _WORD_BYTES * self._words
        packed = b"".join([fingerprint.to_bytes(size, "little") for fingerprint in fingerprints])
        return np.frombuffer(packed, "<u8").reshape(-1, self._words)

    def near(
        self,
        queries: NDArray[np.uint64],
        positions: NDArray[np.uint32],
        owners: NDArray[np.int64],
        max_distance: int,
        *,
        in_files: int,
        newest: int,
    ) -> Near | None:
        """Compare pages with queries. Return the pages within the distance of a query; None if
        there are none. Repeated positions give repeated rows.

        :param queries: a fingerprint in each row, in words.
        :param positions: the pages to compare: `in_files` pages in files, then pages in memory.
        :param owners: for each position, the number of the query to compare the page with.
        :param newest: all queries are also compared with the pages in memory from this index on.
        """
        count, newest_count = len(positions), self.waiting - newest
        stored, waiting = positions[:in_files], positions[in_files:] - np.uint32(self.stored)
        differing = np.empty((count + len(queries) * newest_count, self._words), np.uint64)
        # No position is out of range. With "clip", numpy writes to `out` without a buffer.
        self._stored.take(stored, axis=0, out=differing[:in_files], mode="clip")
        self._waiting.take(waiting, axis=0, out=differing[in_files:count], mode="clip")
        newest_of_each = differing[count:].reshape(len(queries), newest_count, self._words)
        newest_of_each[:] = self.newest(newest)[0]
        if len(queries) == 1:
            # As one long row: numpy takes three times as long for many short ones.
            differing.ravel()[:] ^= np.frombuffer(queries.tobytes() * len(differing), np.uint64)
        else:
            owners = np.concatenate([owners, np.arange(len(queries)).repeat(newest_count)])
            differing ^= queries.take(owners, axis=0)
        near = np.flatnonzero(row_sums(np.bitwise_count(differing)) <= max_distance)
        if not len(near):
            return None
        near_stored = near[near < in_files]
        near_waiting = near[(near >= in_files) & (near < count)] - in_files
        near_newest = (near[near >= count] - count) % max(newest_count, 1)
        places = stored[near_stored], waiting[near_waiting], near_newest + newest
        near_owners = np.zeros(len(near), np.int64) if len(queries) == 1 else owners.take(near)
        return Near(
            near_owners,
            differing[near] ^ queries.take(near_owners, axis=0),
            _joined(self._stored_ids, self._waiting_ids, *places),
            _joined(self._stored_marks, self._waiting_marks, *places),
        )

    def fingerprints(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the fingerprints of pages, which must all be in files, or all in memory."""
        return self._taken(self._stored, self._waiting, positions)

    def ids(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the ids of pages as rows of one word; see `fingerprints`."""
        return self._taken(self._stored_ids, self._waiting_ids, positions).reshape(-1, 1)

    def marks(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the marks of pages as rows of one word; see `fingerprints`."""
        return self._taken(self._stored_marks, self._waiting_marks, positions).reshape(-1, 1)

    def names(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the result of `names_of` for pages; see `fingerprints`."""
        return names_of(self.marks(positions), self.ids(positions))

    def id(self, position: int) -> int:
        """Return the id of a page."""
        stored = self.stored
        if position < stored:
            return self._stored_ids.item(position)
        return self._waiting_ids.item(position - stored)

    def ordinal(self, position: int) -> int:
        """Return the ordinal of a page."""
        return ordinal_of(self.id(position))

    def page(self, position: int) -> tuple[int, int]:
        """Return (fingerprint, hash of the key) of a page in files."""
        fingerprint = int.from_bytes(self._stored[position].tobytes(), "little")
        return fingerprint, key_hash_of(self.id(position))

    def newest(
        self, first: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return (fingerprints, ids, marks) of the pages in memory from `first` on; ids and marks
        as rows of one word.
        """
        ids = self._waiting_ids[first : self.waiting].reshape(-1, 1)
        marks = self._waiting_marks[first : self.waiting].reshape(-1, 1)
        return self._waiting[first : self.waiting], ids, marks

    def write(self, count: int) -> PagePart:
        """Append the first `count` pages in memory, at least one, to the files.

        The pages stay in memory until `moved` is called. Without that, the next `write` overwrites
        them in the files. :raises OSError: the disk fails.
        """
        checksums = []
        for name, rows in (
            (FINGERPRINTS, self._waiting),
            (IDS, self._waiting_ids),
            (MARKS, self._waiting_marks),
        ):
            packed = rows[:count].astype("<u8").tobytes()
            self._append(name, packed, self.stored * (len(packed) // count))
            checksums.append(xxh3_64_hexdigest(packed))
        if self._durable:
            sync_file(self._folder)
        return PagePart(count, *checksums)

    def moved(self, count: int, parts: Sequence[PagePart]) -> None:
        """Map the files into memory, and remove the pages of the last part from the arrays.

        :param count: number of these pages.
        :param parts: all parts of the files.
        """
        self.open(parts)
        self._waiting = self._waiting[count:].copy()
        self._waiting_ids = self._waiting_ids[count:].copy()
        self._waiting_marks = self._waiting_marks[count:].copy()
        self.waiting -= count

    def open(self, parts: Sequence[PagePart], *, check: bool = False) -> None:
        """Map the files into memory.

        :raises IndexCorrupt: a file is too short; with `check`, also if a checksum is wrong.
        :raises OSError: a file is missing or cannot be read.
        """
        count = sum(part.rows for part in parts)
        if not count:
            return
        self._stored = self._mapped(FINGERPRINTS, (count, self._words))
        self._stored_ids = self._mapped(IDS, (count,))
        self._stored_marks = self._mapped(MARKS, (count,))
        first = 0
        for part in parts if check else ():
            stop = first + part.rows
            for name, rows, checksum in (
                (FINGERPRINTS, self._stored, part.fingerprints_checksum),
                (IDS, self._stored_ids, part.ids_checksum),
                (MARKS, self._stored_marks, part.marks_checksum),
            ):
                if xxh3_64_hexdigest(rows[first:stop].data) != checksum:
                    raise corrupt(self._location, f"the checksum of {self._folder / name} is wrong")
            first = stop

    def close(self) -> None:
        """Unmap the files."""
        self._stored = self._stored[:0].copy()
        self._stored_ids, self._stored_marks = np.empty((2, 0), np.uint64)

    def _taken(
        self, stored: NDArray[Any], waiting: NDArray[Any], positions: NDArray[np.uint32]
    ) -> NDArray[np.uint64]:
        """Return the rows of pages that are all in one of these arrays."""
        rows = stored
        if len(positions) and positions[0] >= self.stored:
            rows, positions = waiting, positions - np.uint32(self.stored)
        taken: NDArray[np.uint64] = rows.take(positions, axis=0)
        return taken

    def _append(self, name: str, packed: bytes, at: int) -> None:
        descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            file.truncate(at)  # cuts off the rows of an interrupted merge
            file.seek(at)
            file.write(packed)
            file.flush()
            if self._durable:
                os.fsync(descriptor)

    def _mapped(self, name: str, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        path = self._folder / name
        size_bytes, used_bytes = path.stat().st_size, _WORD_BYTES * int(np.prod(shape))
        if size_bytes < used_bytes:
            raise corrupt(self._location, f"{path} has {size_bytes} bytes instead of {used_bytes}")
        return map_file(path, "<u8", shape)


def _joined(
    stored: NDArray[np.uint64],
    waiting: NDArray[np.uint64],
    in_stored: NDArray[Any],
    in_waiting: NDArray[Any],
    in_newest: NDArray[Any],
) -> NDArray[np.uint64]:
    parts = stored.take(in_stored), waiting.take(in_waiting), waiting.take(in_newest)
    return np.concatenate(parts)


def names_of(marks: NDArray[np.uint64], ids: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return what the table of names sorts: the mark of a page, or its id if its name is unknown.

    Pages without names would all be in one bucket.
    """
    names: NDArray[np.uint64] = np.where(marks >> np.uint64(64 - KEY_BITS) > 0, marks, ids)
    return names


def key_hash_of(page_id: int) -> int:
    """Return the hash of the key in the id of a page."""
    return page_id >> _ORDINAL_BITS


def ordinal_of(page_id: int) -> int:
    """Return the ordinal in the id of a page."""
    return page_id & ORDINAL_MASK


def row_sums(counts: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the sum of each row of counts, which are 0 to 64. In rows of four counts, a sum of 256
    overflows to 0, which is harmless: callers compare the fingerprints once more.
    """
    words = counts.shape[1]
    if words == _WORDS_SUMMED_AT_ONCE:
        # The upper byte of the product is the sum of all bytes (Warren, Hacker's Delight, 5-1).
        product: NDArray[np.uint32] = counts.view(np.uint32).ravel() * _ONE_IN_EACH_BYTE
        product >>= _UPPER_BYTE
        return product
    sums = counts[:, 0].astype(np.uint16)
    for word in range(1, words):
        sums += counts[:, word]
    return sums
