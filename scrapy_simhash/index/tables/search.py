"""Search the tables: look up the buckets of fingerprints, and compare the rows in them.

Tables of blocks look up one bucket each. Probed tables look up hundreds; a few numpy passes over
arrays read all of them. The rows that are not sorted yet are compared with each query. Results do
not depend on which rows are sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.marks import KEY_BITS
from scrapy_simhash.index.tables.buckets import Buckets, Prefixes
from scrapy_simhash.index.tables.crowds import (
    COMPARED,
    CROWD,
    OTHERS,
    SAMPLE,
    SCANNED,
    keys_of,
    may_be_copies,
    nearest_copies,
    with_name,
)
from scrapy_simhash.index.tables.rows import FINGERPRINTS, IDS, MARKS, NUMBER_MASK, Rows
from scrapy_simhash.index.tables.runs import HASH_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import Query
    from scrapy_simhash.index.tables.rows import Columns
    from scrapy_simhash.index.tables.runs import Run

    Numbers = NDArray[np.int64]
    Positions = NDArray[np.uint32]
    Words = NDArray[np.uint64]

# As many queries are answered at once as have arrays that fit in the caches of a processor.
_QUERIES_AT_ONCE = 32
_FEW_BUCKETS = 16
_NOTHING, _NOBODY = np.empty(0, np.uint32), np.empty(0, np.int64)


class Search:
    """The part of `scrapy_simhash.index.tables.tables.Tables` that finds fingerprints."""

    def __init__(self, prefixes: Prefixes, stored: Columns) -> None:
        self._prefixes, self._rows = prefixes, Rows(stored)

    def _show(self, runs: Sequence[Run], unsorted_from: int) -> None:
        """Search these runs from now on, and all rows from a position on."""
        self._runs, self._unsorted_from = runs, unsorted_from
        self._starts = np.array([run.starts for run in runs])
        self._shifts = np.array([[HASH_BITS - run.bits] for run in runs], np.uint64)

    def near(self, queries: Sequence[Query], max_distance: int) -> list[list[int]]:
        """Return, for each query, the numbers of the rows that are within the distance and in one
        of the buckets that the plan looks up, each once. Several queries take less time together.

        :param queries: all have a mark, or none.
        """
        # Probing uses the certainties of all queries or of none.
        is_alike = len({len(query.certainty) for query in queries}) == 1
        at_once = _QUERIES_AT_ONCE if is_alike else 1
        if not 0 < len(queries) <= at_once:
            starts = range(0, len(queries), at_once)
            parts = [self.near(queries[at : at + at_once], max_distance) for at in starts]
            return [numbers for part in parts for numbers in part]
        count, rows = len(queries), self._prefixes.packed([query.fingerprint for query in queries])
        # Without runs, all rows are compared, and most queries need no probes.
        buckets = self._prefixes.buckets(queries, rows) if self._runs else None
        first, end = self._unsorted_from, len(self._rows)
        newest = self._rows.newest(first)
        positions, owners = _NOTHING, _NOBODY
        if buckets is not None:
            positions, owners = self._candidates(buckets, rows, queries)
        stored = self._rows.take(FINGERPRINTS, positions)
        differing = np.concatenate([stored, *[newest] * count])
        if count == 1:
            # As one long row: numpy takes longer for many short ones.
            differing.ravel()[:] ^= np.frombuffer(rows.tobytes() * len(differing), np.uint64)
        else:
            owners = np.concatenate([owners, np.arange(count).repeat(len(newest))])
            differing ^= rows.take(owners, axis=0)
        near = (_distances(differing) <= max_distance).nonzero()[0]
        found: list[list[int]] = [[] for _ in queries]
        if not len(near):
            return found
        buckets = buckets or self._prefixes.buckets(queries, rows)
        positions = np.concatenate([positions, *[np.arange(first, end, dtype=np.uint32)] * count])
        positions = positions[near]
        owners = owners[near] if count > 1 else np.zeros_like(near)
        for owner in {*owners.tolist()}:
            own = np.sort(positions[owners == owner])
            # Each row once. numpy's `unique` takes longer, and imports a module.
            own = own[np.concatenate([[True], own[1:] != own[:-1]])]
            is_own, mark = buckets.owners == owner, queries[owner].mark
            own_buckets = Buckets(*[column[is_own] for column in buckets])
            found[owner] = self._chosen(rows[owner], self._rows.still_there(own), mark, own_buckets)
        return found

    def _candidates(
        self, buckets: Buckets, rows: Words, queries: Sequence[Query]
    ) -> tuple[Positions, Numbers]:
        """Return the sorted rows to compare, by position, those in files first, and the query of
        each; for a single query without these.
        """
        finds_all = queries[0].mark is None
        if len(rows) == 1 and len(buckets.tables) * len(self._runs) <= _FEW_BUCKETS:
            # numpy takes longer for so few at once.
            places = [*zip(buckets.tables.tolist(), buckets.hashes.tolist(), strict=True)]
            read = [run.bucket(*place) for run in self._runs for place in places]
            few = np.concatenate(read)
            if finds_all or len(few) <= CROWD:
                return few, _NOBODY
        begins, counts = self._extents(buckets)
        if finds_all or counts.sum() <= CROWD:
            positions = self._read(begins, counts)
            if len(rows) == 1:
                return positions, _NOBODY
            return positions, np.concatenate([buckets.owners] * len(begins)).repeat(counts.ravel())
        crowds = self._cut(buckets, begins, counts, rows, queries)
        positions = np.concatenate([self._read(begins, counts), *(part for part, _ in crowds)])
        owners = np.concatenate([buckets.owners] * len(begins)).repeat(counts.ravel())
        owners = np.concatenate([owners, *(part for _, part in crowds)])
        order = positions.argsort(kind="stable")
        return positions[order], owners[order]

    def _cut(
        self,
        buckets: Buckets,
        begins: Positions,
        counts: Numbers,
        rows: Words,
        queries: Sequence[Query],
    ) -> list[tuple[Positions, Numbers]]:
        """Lower the counts of positions to read for queries in a crowd, and return (the positions
        of rows that can be copies of such a query, or have its name; the query of each); see
        `scrapy_simhash.index.tables.crowds`.
        """
        found: list[tuple[Positions, int]] = []
        totals = np.bincount(buckets.owners, counts.sum(axis=0), len(rows))
        for owner in np.flatnonzero(totals > CROWD).tolist():
            is_own, mark = buckets.owners == owner, np.array([queries[owner].mark], np.uint64)
            own = self._prefixes.hashes_in_all(rows[owner : owner + 1])[0]
            is_exact = is_own & (buckets.hashes == own.take(buckets.tables))
            counts[:, is_own & ~is_exact] = 0
            exact = counts[:, is_exact]
            parts = max(int(np.count_nonzero(exact)), 1)
            scanned = self._read(begins[:, is_exact], exact.clip(max=SCANNED // parts))
            possible = scanned[may_be_copies(mark, self._rows.take(MARKS, scanned))]
            found.append((self._rows.still_there(possible)[:COMPARED], owner))
            counts[:, is_exact] = exact.clip(max=SAMPLE // parts)
            names, key = self._prefixes.tables + 1, int(keys_of(mark)[0])
            for run in self._runs if key else ():
                bucket = run.bucket(names, key << HASH_BITS - KEY_BITS)[:SCANNED]
                found.append((bucket[with_name(mark, self._rows.take(MARKS, bucket))], owner))
        return [(positions, np.full(len(positions), owner)) for positions, owner in found]

    def _extents(self, buckets: Buckets) -> tuple[Positions, Numbers]:
        """Return where buckets begin, and the numbers of their positions; by run and bucket."""
        # Indexes in directories, by run and bucket.
        slots = self._starts.take(buckets.tables, axis=1)
        slots += (buckets.hashes >> self._shifts).view(np.int64)
        begins, ends = np.empty((2, *slots.shape), np.uint32)
        # No index is out of range. With "clip", numpy writes to `out` without a buffer.
        for number, run in enumerate(self._runs):
            run.words.take(slots[number], out=begins[number], mode="clip")
            run.words.take(slots[number] + 1, out=ends[number], mode="clip")
        return begins, np.subtract(ends, begins, dtype=np.int64)

    def _read(self, begins: Positions, counts: Numbers) -> Positions:
        """Return the positions in buckets, by run and bucket; see `_extents`."""
        ends = counts.ravel().cumsum()
        if not len(ends):
            return np.empty(0, np.uint32)
        # Result i is in bucket b if ends[b - 1] <= i < ends[b], at begins[b] + i - ends[b - 1].
        first = begins.ravel().copy()
        first[1:] -= ends[:-1].astype(np.uint32)
        indexes = first.repeat(counts.ravel())
        indexes += np.arange(len(indexes), dtype=np.uint32)
        positions: Positions = np.empty_like(indexes)
        run_ends, start = ends[counts.shape[1] - 1 :: counts.shape[1]], 0
        for run, stop in zip(self._runs, run_ends.tolist(), strict=True):
            run.words.take(indexes[start:stop], out=positions[start:stop], mode="clip")
            start = stop
        return positions

    def _chosen(
        self, row: Words, positions: Positions, mark: int | None, buckets: Buckets
    ) -> list[int]:
        """Return the numbers of the rows to return for a query.

        Unsorted rows are all compared, and a slot has rows with several prefixes. So their prefixes
        are compared with those that the query looks up.

        :param row: the fingerprint of the query, in words.
        :param positions: the rows within the distance.
        """
        fingerprints = self._rows.take(FINGERPRINTS, positions)

        def are_probed(indexes: NDArray[np.intp]) -> NDArray[np.bool_]:
            own = self._prefixes.hashes_in_all(fingerprints.take(indexes, axis=0))
            is_in = own.take(buckets.tables, axis=1) == buckets.hashes
            are: NDArray[np.bool_] = is_in.any(axis=1)
            return are

        if mark is None or len(positions) <= OTHERS:
            chosen = are_probed(np.arange(len(positions))).nonzero()[0]
        else:
            marks = self._rows.take(MARKS, positions)
            own_mark = np.array([mark], np.uint64)
            chosen = nearest_copies(own_mark, _distances(fingerprints ^ row), marks, are_probed)
        chosen.sort()
        numbers: list[int] = (self._rows.take(IDS, positions[chosen]) & NUMBER_MASK).tolist()
        return numbers


def _distances(differing: Words) -> NDArray[np.uint16]:
    """Return the count of bits in each row."""
    counts = np.bitwise_count(differing)
    # A column at a time, because numpy's `sum` takes longer for many short rows.
    distances = counts[:, 0].astype(np.uint16)
    for word in range(1, counts.shape[1]):
        distances += counts[:, word]
    return distances
