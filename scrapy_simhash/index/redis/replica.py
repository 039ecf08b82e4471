"""Replica: the journal of an index in Redis, as tables in the memory of one process.

The *journal* is a list in Redis with a row for each page that was admitted. A process reads the new
rows of all processes whenever it asks for a page, and searches its own tables. So no search waits
for the network, and the server needs no tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.redis.layout import DIGEST_BYTES, FINGERPRINT_AT, MARK_AT
from scrapy_simhash.index.tables.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from scrapy_simhash.index.redis.layout import Layout


class End(NamedTuple):
    """The end of a replica: the number of its rows, and the last of them, or b""."""

    rows: int
    last: bytes


class Replica:
    """A copy of the journal. Callers hold a lock.

    Besides the tables, a row takes 8 bytes for its digest.
    """

    end: End

    def __init__(self, layout: Layout, location: str) -> None:
        self._layout = layout
        self._location = location
        self._words = -(-layout.plan.bits // 64)
        self._clear()

    def extend(self, start: int, rows: Sequence[bytes]) -> None:
        """Append rows of the journal.

        :param start: number of the first row in the journal: `end.rows`, or 0 if the journal does
            not begin as the replica does, because it was compacted or lost rows.
        :raises IndexCorrupt: a row is damaged.
        """
        if start != self.end.rows:
            self._clear()
        if not rows:
            return
        size, width = self._layout.journal_row_bytes, self._layout.width_bytes
        if any(len(row) != size for row in rows):
            raise corrupt(self._location, "its journal has a damaged row", REDIS_REMEDY)
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)
        digests = table[:, :DIGEST_BYTES].copy()
        self._digests += digests.tobytes()
        marks = table[:, MARK_AT:FINGERPRINT_AT].copy().view("<u8").ravel()
        padded = np.zeros((len(rows), 8 * self._words), np.uint8)
        padded[:, :width] = table[:, FINGERPRINT_AT : FINGERPRINT_AT + width][:, ::-1]
        # The server finds the entries of keys. These hashes only spread rows in the table of keys.
        hashes = digests.view(np.uint64).ravel() >> np.uint64(32)
        self._tables.extend(start, padded.view("<u8"), hashes, marks)
        self.end = End(start + len(rows), rows[-1])

    def near(
        self,
        queries: Sequence[tuple[int, bytes]],
        max_distance: int,
        marks: Sequence[int] | None = None,
    ) -> list[dict[int, bytes]]:
        """Return for each query the digests of the rows that are found, by the number of the row.
        For the parameters see `Tables.near`.
        """
        found = self._tables.near(queries, max_distance, marks)
        return [{row: self._digest(row) for row in rows} for rows in found]

    def forget_others(
        self, found: Mapping[int, bytes], pages: Collection[tuple[bytes, int]], own: bytes
    ) -> bool:
        """Find rows of pages no more that are gone, or have changed. Return False if none is.

        :param found: a result of `near`.
        :param pages: (digest, fingerprint) of the pages that are there.
        :param own: a digest whose rows are all kept.
        """
        words = self._tables.fingerprints([*found])
        gone = [
            row
            for (row, digest), packed in zip(found.items(), words, strict=True)
            if digest != own and (digest, int.from_bytes(packed.tobytes(), "little")) not in pages
        ]
        for row in gone:
            self._tables.forget(row)
        return bool(gone)

    def _digest(self, row: int) -> bytes:
        return bytes(self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES])

    def _clear(self) -> None:
        self.end = End(0, b"")
        self._digests = bytearray()
        self._tables = Tables(self._layout.plan)
