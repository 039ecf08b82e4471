"""Replica: the journal of an index in Redis, as permuted tables in the memory of one process.

The *journal* is a list in Redis with a row for each page that was admitted. A process reads the new
rows of all processes whenever it asks for a page, and searches its own copy of the tables. So no
search waits for the network, and the server needs no tables.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.redis.layout import DIGEST_BYTES, FINGERPRINT_AT, MARK_AT
from scrapy_simhash.index.tables.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.redis.layout import Layout

_MIN_ROWS = 8192


class End(NamedTuple):
    """The end of a replica: the part of the journal that the replica has.

    :param load: how often the replica was emptied.
    :param rows: number of rows.
    :param last: the last of them, or b"".
    """

    load: int
    rows: int
    last: bytes


class Replica:
    """A copy of the journal, which may be used from several threads.

    In memory, a row takes 8 bytes for its digest, 8 for its mark, the bytes of its fingerprint, and
    6 to 8 bytes for each table. A sort takes the bytes of the tables once more.
    """

    def __init__(self, layout: Layout, location: str) -> None:
        self._layout = layout
        self._location = location
        self._words = -(-layout.plan.bits // 64)
        self._lock = Lock()
        self._end = End(0, 0, b"")
        self._clear(0)

    @property
    def end(self) -> End:
        """The end of the replica now, for `extend`."""
        with self._lock:
            return self._end

    def extend(self, end: End, start: int, rows: Sequence[bytes]) -> End | None:
        """Append rows of the journal, and return the new end. Return None if the rows do not
        continue the replica, because another thread has changed it: then ask for the rows after the
        present `end`.

        :param end: `end` when the rows were asked for.
        :param start: number of the first row in the journal: `end.rows`, or 0 if the journal does
            not begin as the replica does, because it was compacted or lost rows.
        :raises IndexCorrupt: a row is damaged.
        """
        with self._lock:
            now = self._end
            if end.load != now.load:
                return None
            if start != end.rows:
                self._clear(now.load + 1)
                now = self._end
            known = now.rows - start
            # Another thread has read the first rows. Its last row must be among these.
            if known and (known > len(rows) or rows[known - 1] != now.last):
                return None
            if len(rows) > known:
                self._append(rows[known:])
                self._end = End(now.load, start + len(rows), rows[-1])
            return self._end

    def near(
        self,
        queries: Sequence[tuple[int, bytes]],
        max_distance: int,
        after: End | None = None,
        marks: Sequence[int] | None = None,
        extra: int = 0,
    ) -> tuple[End, list[dict[int, bytes]]]:
        """Return (the end of the replica that was searched; for each query, the digests of the rows
        in it that are within the distance and in a probed bucket, by the number of the row).

        :param queries: (fingerprint, certainty). All certainties are known, or none is.
        :param after: an earlier end: rows before it may be left out.
        :param marks: of the queried pages. With them, rows are left out as
            `scrapy_simhash.index.tables.crowds` says.
        :param extra: see `scrapy_simhash.index.tables.crowds.more_to_choose`.
        """
        with self._lock:
            end, digests = self._end, self._digests
            first = after.rows if after is not None and after.load == end.load else 0
            found = self._tables.near(queries, max_distance, marks, extra=extra, after=first)
        return end, [{row: digests[row].tobytes() for row in rows} for rows in found]

    def _clear(self, load: int) -> None:
        self._end = End(load, 0, b"")
        self._digests = np.empty(_MIN_ROWS, np.uint64)
        self._tables = Tables(self._layout.plan)

    def _append(self, rows: Sequence[bytes]) -> None:
        count, stop = self._end.rows, self._end.rows + len(rows)
        size = self._layout.journal_row_bytes
        if any(len(row) != size for row in rows):
            raise corrupt(self._location, "its journal has a damaged row", REDIS_REMEDY)
        packed = np.frombuffer(b"".join(rows), np.uint8)
        if stop > len(self._digests):
            # Other threads may read the old array. Rows that are not written take no memory.
            old, self._digests = self._digests, np.empty(stop + count // 2, np.uint64)
            self._digests[:count] = old[:count]
        table = packed.reshape(-1, size)
        self._digests[count:stop] = table[:, :DIGEST_BYTES].copy().view(np.uint64).ravel()
        marks = table[:, MARK_AT:FINGERPRINT_AT].copy().view("<u8").ravel()
        padded = np.zeros((len(rows), 8 * self._words), np.uint8)
        width = self._layout.width_bytes
        padded[:, :width] = table[:, FINGERPRINT_AT : FINGERPRINT_AT + width][:, ::-1]
        # Redis finds the entries of keys. The hashes spread rows in the table of keys.
        hashes = self._digests[count:stop] >> np.uint64(32)
        self._tables.extend(count, padded.view("<u8"), hashes, marks)
