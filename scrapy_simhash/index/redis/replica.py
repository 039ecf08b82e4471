"""Replica: the journal of an index in Redis, as tables in the memory of one process.

The *journal* is a list in Redis with a row for each page that was admitted. A process reads the new
rows of all processes whenever it asks for a page, and searches its own tables. So no search waits
for the network, and the server needs no tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.redis.layout import DIGEST_BYTES, FINGERPRINT_AT, MARK_AT
from scrapy_simhash.index.tables.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.index.plan import TablePlan


class Replica(Tables):
    """A copy of the journal: tables whose numbers are those of its rows. Besides, a row takes 8
    bytes for its digest.
    """

    def __init__(self, plan: TablePlan) -> None:
        super().__init__(plan)
        self._last = b""
        self._width_bytes, self._words = plan.bits // 8, -(-plan.bits // 64)
        self._digests = bytearray()

    @property
    def end(self) -> tuple[int, bytes]:
        """The number of its rows, and the last of them, or b""."""
        return len(self), self._last

    def append(self, rows: Sequence[bytes], row_bytes: int, location: str) -> None:
        """Append rows of the journal.

        :param location: of the index, for errors.
        :raises IndexCorrupt: a row has another length than `row_bytes`.
        """
        if not rows:
            return
        if any(len(row) != row_bytes for row in rows):
            raise corrupt(location, "its journal has a damaged row", REDIS_REMEDY)
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, row_bytes)
        digests = table[:, :DIGEST_BYTES].copy()
        self._digests += digests.tobytes()
        marks = table[:, MARK_AT:FINGERPRINT_AT].copy().view("<u8").ravel()
        padded = np.zeros((len(rows), 8 * self._words), np.uint8)
        fingerprints = table[:, FINGERPRINT_AT : FINGERPRINT_AT + self._width_bytes]
        padded[:, : self._width_bytes] = fingerprints[:, ::-1]
        # The server finds the entries of keys. These hashes only spread rows in the table of keys.
        hashes = digests.view(np.uint64).ravel() >> np.uint64(32)
        self.extend(len(self), padded.view("<u8"), hashes, marks)
        self._last = rows[-1]

    def pages(self, rows: Sequence[int]) -> Iterator[tuple[bytes, int]]:
        """Yield the digest and the fingerprint of rows."""
        for row, packed in zip(rows, self.fingerprints(rows), strict=True):
            digest = self._digests[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]
            yield bytes(digest), int.from_bytes(packed.tobytes(), "little")
