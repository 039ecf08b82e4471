"""Search the tables: look up the buckets of a fingerprint, and compare the rows in them.

Tables of blocks look up one bucket each. Probed tables look up hundreds, and most are not empty; a
few numpy passes over arrays read all of them. The rows that are not sorted yet are compared with
each query. Results do not depend on which rows are sorted.
"""

from __future__ import annotations

from functools import partial
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.marks import KEY_BITS, key_of
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.index.tables.crowds import CROWD, SCANNED, nearest_copies, positions_in_crowd
from scrapy_simhash.index.tables.rows import NUMBER_MASK, Near
from scrapy_simhash.index.tables.runs import HASH_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.tables.prefixes import Prefixes
    from scrapy_simhash.index.tables.rows import Rows
    from scrapy_simhash.index.tables.runs import Lookup

    Query = tuple[int, bytes]  # (fingerprint, certainty)
    Positions = NDArray[np.uint32]
    Words = NDArray[np.uint64]
    IsProbed = Callable[[Words], NDArray[np.bool_]]

# As many queries are answered at once as have arrays that fit in the caches of a processor.
QUERIES_AT_ONCE = 32


class Sorted(NamedTuple):
    """The rows that are in runs.

    :param lookup: of the runs in files, of which there are `runs_in_files`, then those in memory.
    :param unsorted_from: rows in memory from this one on are in no run.
    """

    lookup: Lookup
    runs_in_files: int
    unsorted_from: int

    def in_files(self, ends: Sequence[int]) -> int:
        """Return how many positions are in files, given where the positions of each run end."""
        return ends[self.runs_in_files - 1] if self.runs_in_files else 0


class Search:
    """A search for fingerprints. For parameters and results, see `Tables.near`."""

    def __init__(self, plan: TablePlan, prefixes: Prefixes, rows: Rows) -> None:
        self._has_probes = bool(plan.prefix_bits)
        self._plan = plan
        if self._has_probes:
            self._prober = Prober(plan)
        self._prefixes = prefixes
        self._rows = rows

    def near(
        self,
        where: Sorted,
        queries: Sequence[Query],
        max_distance: int,
        marks: Sequence[int] | None,
        extra: int,
    ) -> list[list[int]]:
        """Return the numbers of rows near each query."""
        # The prober uses the certainties of all queries or of none.
        is_alike = len({len(certainty) for _, certainty in queries}) == 1
        size = QUERIES_AT_ONCE if self._has_probes and is_alike else 1
        found: list[list[int]] = []
        for start in range(0, len(queries), size):
            part = slice(start, start + size)
            batch = queries[part], max_distance, None if marks is None else marks[part], extra
            few = None if self._has_probes else self._near_one(where, *batch)
            found += self._near_batch(where, *batch) if few is None else few
        return found

    def near_newest(
        self,
        queries: Sequence[Query],
        max_distance: int,
        marks: Sequence[int] | None,
        extra: int,
        first: int,
    ) -> list[list[int]]:
        """Return the numbers of rows near each query, among the rows in memory from one on."""
        none = np.empty(0, np.uint32)
        rows = self._prefixes.packed([fingerprint for fingerprint, _ in queries])
        found: list[list[int]] = []
        for at, query in enumerate(queries):
            near = self._rows.near(rows[at : at + 1], none, max_distance, newest=first)
            if near is None:  # as nearly always: the probes need not be chosen
                found.append([])
                continue
            found.append(
                self._chosen(rows[at], near, _at(marks, at), self._is_probed(query), extra)
            )
        return found

    def _near_one(
        self,
        where: Sorted,
        queries: Sequence[Query],
        max_distance: int,
        marks: Sequence[int] | None,
        extra: int,
    ) -> list[list[int]] | None:
        """Search for one query in tables without probes. Return None for a crowd."""
        [query] = queries
        hashes = self._prefixes.hashes_of(query[0])
        positions, in_files = where.lookup.few(hashes, where.runs_in_files)
        if marks is not None and len(positions) > CROWD:
            return None
        rows = self._prefixes.packed([query[0]])
        near = self._rows.near(
            rows, positions, max_distance, in_files=in_files, newest=where.unsorted_from
        )
        return [self._chosen(rows[0], near, _at(marks, 0), self._is_probed(query), extra)]

    def _near_batch(
        self,
        where: Sorted,
        queries: Sequence[Query],
        max_distance: int,
        marks: Sequence[int] | None,
        extra: int,
    ) -> list[list[int]]:
        rows = self._prefixes.packed([fingerprint for fingerprint, _ in queries])
        tables, hashes, owners = self._buckets(queries)
        begins, counts = where.lookup.extents(tables, hashes)
        parts: list[Near] = []
        if marks is not None and int(counts.sum()) > CROWD:
            totals = np.bincount(owners, counts.sum(axis=0), len(queries))
            for owner in np.flatnonzero(totals > CROWD).tolist():
                is_own = slice(*owners.searchsorted((owner, owner + 1)))
                own = np.array(self._prefixes.hashes_of(queries[owner][0]), np.uint64)
                exact = hashes[is_own] == own.take(tables[is_own])
                extents = begins[:, is_own][:, exact], counts[:, is_own][:, exact]
                crowd = self._positions_in_crowd(where, marks[owner], *extents, extra)
                counts[:, is_own] = 0
                in_files = int(crowd.searchsorted(self._rows.stored_count))
                own_rows = rows[owner : owner + 1]
                near = self._rows.near(own_rows, crowd, max_distance, in_files=in_files)
                if near is not None:
                    parts.append(near._replace(owners=near.owners + owner))
        positions, ends = where.lookup.read(begins, counts)
        near = self._rows.near(
            rows,
            positions,
            max_distance,
            owners=None if len(queries) == 1 else np.tile(owners, len(ends)).repeat(counts.ravel()),
            in_files=where.in_files(ends),
            newest=where.unsorted_from,
        )
        if near is not None:
            parts.append(near)
        found: list[list[int]] = [[] for _ in queries]
        if not parts:
            return found
        near = parts[0] if len(parts) == 1 else Near(*map(np.concatenate, zip(*parts, strict=True)))
        for owner in {*near.owners.tolist()} if len(queries) > 1 else (0,):
            is_own = slice(*owners.searchsorted((owner, owner + 1)))
            is_probed = self._is_probed(queries[owner], (tables[is_own], hashes[is_own]))
            own_near = near if len(queries) == 1 else near.where(near.owners == owner)
            found[owner] = self._chosen(rows[owner], own_near, _at(marks, owner), is_probed, extra)
        return found

    def _buckets(
        self, queries: Sequence[Query]
    ) -> tuple[NDArray[np.int64], Words, NDArray[np.int64]]:
        """Return (tables, hashes, numbers of the queries) of the buckets to look up."""
        if self._has_probes:
            (tables, prefixes), owners = self._prober.probes(queries)
            return tables, self._prefixes.hashes(prefixes), owners
        [(fingerprint, _)] = queries
        hashes = np.array(self._prefixes.hashes_of(fingerprint), np.uint64)
        return np.arange(len(hashes)), hashes, np.zeros(len(hashes), np.int64)

    def _is_probed(
        self, query: Query, buckets: tuple[NDArray[np.int64], Words] | None = None
    ) -> IsProbed:
        """Return a function that returns True for rows in one of the buckets to look up.

        Unsorted rows are all compared, and a slot has rows with several prefixes.

        :param buckets: the tables and hashes to look up, if they are known.
        """
        if self._has_probes:
            tables, hashes = self._buckets([query])[:2] if buckets is None else buckets
            return partial(self._are_probed, tables, hashes)

        own, prefixes = self._plan.prefixes(query[0]), self._plan.prefixes

        def is_probed(rows: Words) -> NDArray[np.bool_]:
            values = (int.from_bytes(row.tobytes(), "little") for row in rows)
            return np.array([any(map(eq, own, prefixes(value))) for value in values], np.bool_)

        return is_probed

    def _are_probed(
        self, tables: NDArray[np.int64], hashes: Words, rows: Words
    ) -> NDArray[np.bool_]:
        own = self._prefixes.probed_hashes(rows)
        is_probed: NDArray[np.bool_] = (own.take(tables, axis=1) == hashes).any(axis=1)
        return is_probed

    def _positions_in_crowd(
        self, where: Sorted, mark: int, begins: Positions, counts: NDArray[np.int64], extra: int
    ) -> Positions:
        """Return the positions of a crowd to compare, sorted; see
        `scrapy_simhash.index.tables.crowds`.

        :param begins: of the buckets with the page's own prefixes; `counts` likewise.
        """
        share = SCANNED // max(int(np.count_nonzero(counts)), 1) + extra
        scanned, ends = where.lookup.read(begins, np.minimum(counts, share))
        in_files = where.in_files(ends)
        key, named = key_of(mark), []
        for run in where.lookup.runs if key else ():
            slot = key << HASH_BITS - KEY_BITS >> HASH_BITS - run.bits
            bucket = run.buckets(len(run.starts) - 1, slot, slot + 1)
            named.append(bucket[: SCANNED + extra])
        parts = scanned[:in_files], scanned[in_files:]
        return positions_in_crowd(mark, parts, named, self._rows.marks, extra)

    @staticmethod
    def _chosen(
        row: Words, near: Near | None, mark: int | None, is_probed: IsProbed, extra: int
    ) -> list[int]:
        """Return the numbers of the rows to return for a query, each once.

        :param row: the fingerprint of the query, in words.
        :param near: the rows within the distance; None for none.
        """
        if near is None:
            return []
        if mark is None:
            ids = near.ids[is_probed(near.fingerprints)]
        else:
            ids = nearest_copies(row, mark, near, is_probed, extra)
        return list(dict.fromkeys((ids & np.uint64(NUMBER_MASK)).tolist()))


def _at(marks: Sequence[int] | None, at: int) -> int | None:
    return None if marks is None else marks[at]
