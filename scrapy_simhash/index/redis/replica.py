"""Replica: the journal of an index in Redis, as permuted tables in the memory of one process.

The *journal* is a list in Redis with a row for each page that was admitted. A process reads the new
rows of all processes whenever it asks for a page, and searches its own copy of the tables. So no
search waits for the network, and the server needs no tables.

The tables are sorted arrays (`scrapy_simhash.index.run`). New rows are compared one by one until
there are `YOUNG_ROWS`, and are then sorted into a run. A run is merged with the next older one if
that has fewer than twice as many rows, so there are few runs, and each row is sorted rarely.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.index.crowds import (
    CROWD,
    SCANNED,
    have_key,
    nearest_copies,
    positions_in_crowd,
)
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.pages import Near, row_sums
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.index.redis.layout import DIGEST_BYTES, FINGERPRINT_AT, MARK_AT
from scrapy_simhash.index.run import Field, Lookup, Run, sorted_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.redis.layout import Layout

    Words = NDArray[np.uint64]

YOUNG_ROWS = 2048
_MIN_ROWS = 8192
_WORD_BITS = 64
_WORD_MASK = (1 << _WORD_BITS) - 1
_HASH_BITS = np.uint64(32)
# Spreads prefixes evenly over hashes (Knuth, The Art of Computer Programming, volume 3, section
# 6.4): 2**64 divided by the golden ratio.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


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
        plan = layout.plan
        self._layout = layout
        self._location = location
        self._prober = Prober(plan) if plan.prefix_bits else None
        self._tables = [
            [Field(*divmod(shift, _WORD_BITS), min(width, _WORD_BITS)) for shift, width in table]
            for table in plan.tables
        ]
        self._words = -(-plan.bits // _WORD_BITS)
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
            `scrapy_simhash.index.crowds` says.
        :param extra: see `scrapy_simhash.index.crowds.more_to_choose`.
        """
        wanted = self._packed([fingerprint for fingerprint, _ in queries])
        probes = None
        with self._lock:
            end, fingerprints, digests = self._end, self._fingerprints, self._digests
            all_marks = self._marks
            if end.rows - self._sorted >= YOUNG_ROWS:
                self._sort()
            first_young, lookup = self._sorted, self._lookup
        positions, position_owners = np.empty(0, np.uint32), np.empty(0, np.int64)
        if after is not None and after.load == end.load and after.rows >= first_young:
            first_young = after.rows
        else:
            probes = self._probes(queries)
            positions, position_owners = self._looked_up(
                lookup,
                probes,
                wanted,
                None if marks is None else (marks, all_marks[:first_young]),
                extra,
            )
        young = np.arange(first_young, end.rows, dtype=np.uint32)
        positions = np.concatenate([positions, np.tile(young, len(queries))])
        young_owners = np.arange(len(queries)).repeat(len(young))
        position_owners = np.concatenate([position_owners, young_owners])
        differing = fingerprints.take(positions, axis=0)
        differing ^= wanted.take(position_owners, axis=0)
        near = np.flatnonzero(row_sums(np.bitwise_count(differing)) <= max_distance)
        found: list[dict[int, bytes]] = [{} for _ in queries]
        if not len(near):
            return end, found
        # Leave out rows that have no probed prefix: results must not depend on what is sorted.
        tables, hashes, owners = probes or self._probes(queries)
        positions, near_owners = positions[near], position_owners[near]
        for owner in np.unique(near_owners).tolist():
            rows = positions[near_owners == owner]
            is_own = slice(*owners.searchsorted((owner, owner + 1)))
            is_probed = partial(self._is_probed, tables[is_own], hashes[is_own])
            one = fingerprints.take(rows, axis=0)
            if marks is None:
                rows = rows[is_probed(one)]
            else:
                ids = rows.astype(np.uint64)
                pages = Near(near_owners, one, ids, all_marks.take(rows))
                rows = nearest_copies(wanted[owner], marks[owner], pages, is_probed, extra)
            numbers = rows.astype(np.int64)
            found[owner] = {
                row: digest.tobytes()
                for row, digest in zip(numbers.tolist(), digests.take(numbers), strict=True)
            }
        return end, found

    def _looked_up(
        self,
        lookup: Lookup,
        probes: tuple[NDArray[np.int64], Words, NDArray[np.int64]],
        wanted: Words,
        marks: tuple[Sequence[int], Words] | None,
        extra: int,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return (the positions of rows to compare, for each the number of its query).

        :param probes: from `_probes`.
        :param wanted: the queries, in words.
        :param marks: (those of the queries, those of the rows in the look-up); None for all rows.
        """
        tables, hashes, owners = probes
        begins, counts = lookup.extents(tables, (hashes >> _HASH_BITS).astype(np.int64))
        crowds: dict[int, NDArray[np.uint32]] = {}
        if marks is not None and int(counts.sum()) > CROWD:
            own_marks, row_marks = marks
            totals = np.bincount(owners, counts.sum(axis=0), len(wanted))
            for owner in np.flatnonzero(totals > CROWD).tolist():
                is_own = owners == owner
                own_hashes = self._hashes(wanted[owner : owner + 1])[0]
                is_exact = is_own & (hashes == own_hashes.take(tables))
                exact = counts[:, is_exact]
                share = SCANNED // max(int(np.count_nonzero(exact)), 1) + extra
                scanned, _ = lookup.read(begins[:, is_exact], np.minimum(exact, share))
                mark = own_marks[owner]
                named = np.flatnonzero(have_key(mark, row_marks)).astype(np.uint32)
                crowds[owner] = positions_in_crowd(mark, [scanned], [named], row_marks.take, extra)
                counts[:, is_own] = 0
        positions, ends = lookup.read(begins, counts)
        position_owners = np.tile(owners, len(ends)).repeat(counts.ravel())
        for owner, crowd in crowds.items():
            positions = np.concatenate([positions, crowd])
            position_owners = np.concatenate([position_owners, np.full(len(crowd), owner)])
        return positions, position_owners

    def _is_probed(self, tables: NDArray[np.int64], hashes: Words, fingerprints: Words) -> Any:
        """Return True for each fingerprint that has one of the probed prefixes in its table."""
        return (self._hashes(fingerprints).take(tables, axis=1) == hashes).any(axis=1)

    def _packed(self, fingerprints: Sequence[int]) -> Words:
        """Return fingerprints as rows of words, the least significant word first."""
        size = 8 * self._words
        packed = b"".join([fingerprint.to_bytes(size, "little") for fingerprint in fingerprints])
        return np.frombuffer(packed, "<u8").reshape(-1, self._words)

    def _probes(
        self, queries: Sequence[tuple[int, bytes]]
    ) -> tuple[NDArray[np.int64], Words, NDArray[np.int64]]:
        """Return (tables, hashes, numbers of the queries) of the buckets to look up."""
        if self._prober is not None:
            (tables, prefixes), owners = self._prober.probes_of_many(queries)
            return tables, prefixes.astype(np.uint64) * _FACTOR, owners
        own = [self._layout.plan.prefixes(fingerprint) for fingerprint, _ in queries]
        hashes = np.array([prefix & _WORD_MASK for one in own for prefix in one], np.uint64)
        tables, numbers = np.arange(len(self._tables)), np.arange(len(queries))
        return np.tile(tables, len(queries)), hashes * _FACTOR, numbers.repeat(len(tables))

    def _clear(self, load: int) -> None:
        self._end = End(load, 0, b"")
        self._fingerprints = np.empty((_MIN_ROWS, self._words), np.uint64)
        self._digests, self._marks = np.empty((2, _MIN_ROWS), np.uint64)
        self._runs: list[Run] = []
        self._sorted = 0
        self._lookup = Lookup([], int(_HASH_BITS))

    def _append(self, rows: Sequence[bytes]) -> None:
        count, stop = self._end.rows, self._end.rows + len(rows)
        size = self._layout.journal_row_bytes
        if any(len(row) != size for row in rows):
            raise corrupt(self._location, "its journal has a damaged row", REDIS_REMEDY)
        packed = np.frombuffer(b"".join(rows), np.uint8)
        if stop > len(self._digests):
            # Other threads may read the old arrays. Rows that are not written take no memory.
            capacity = stop + count // 2
            old_fingerprints, old_digests = self._fingerprints, self._digests
            old_marks = self._marks
            self._fingerprints = np.empty((capacity, self._words), np.uint64)
            self._digests, self._marks = np.empty((2, capacity), np.uint64)
            self._fingerprints[:count] = old_fingerprints[:count]
            self._digests[:count] = old_digests[:count]
            self._marks[:count] = old_marks[:count]
        table = packed.reshape(-1, size)
        self._digests[count:stop] = table[:, :DIGEST_BYTES].copy().view(np.uint64).ravel()
        self._marks[count:stop] = table[:, MARK_AT:FINGERPRINT_AT].copy().view("<u8").ravel()
        padded = np.zeros((len(rows), 8 * self._words), np.uint8)
        width = self._layout.width_bytes
        padded[:, :width] = table[:, FINGERPRINT_AT : FINGERPRINT_AT + width][:, ::-1]
        self._fingerprints[count:stop] = padded.view("<u8")

    def _hashes(self, fingerprints: Words) -> Words:
        """Return the hash of the prefix in each table, a row for each fingerprint."""
        return np.stack([self._hashes_in(table, fingerprints) for table in self._tables], axis=1)

    @staticmethod
    def _hashes_in(table: Sequence[Field], fingerprints: Words) -> Words:
        """Return the hash of each fingerprint's prefix in a table. Only the lowest 64 bits of a
        prefix count.
        """
        prefixes = table[0].read(fingerprints)
        for block in table[1:]:
            # numpy does not define a shift by 64 bits.
            prefixes <<= np.uint64(block.width // 2)
            prefixes <<= np.uint64(block.width - block.width // 2)
            prefixes |= block.read(fingerprints)
        prefixes *= _FACTOR
        return prefixes

    def _sort(self) -> None:
        """Sort the new rows into a run, together with runs that are not much larger."""
        count, first = self._end.rows, self._sorted
        runs = [*self._runs]  # a copy: other threads may be searching the old list
        while runs and runs[-1].pages < 2 * (count - first):
            first -= runs.pop().pages
        bits = max((count - first).bit_length() - 1, 1)
        shift, rows = np.uint64(_WORD_BITS - bits), self._fingerprints[first:count]
        slots = (self._hashes_in(table, rows) >> shift for table in self._tables)
        self._runs = [*runs, sorted_run(slots, bits, first)]
        self._sorted = count
        self._lookup = Lookup(self._runs, int(_HASH_BITS))
