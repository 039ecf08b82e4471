"""All pairs that the tables of a plan bring together, within a distance.

A table brings the fingerprints with the same prefix together: here, by sorting numbers of which
the upper half are bits of the prefix and the lower half is the place of the fingerprint, so that
no other lookup is needed. In each run of equal prefixes, each fingerprint meets the next one, the
one after that, and so on. Long runs, which are not a matter of chance, are searched apart by
their other bits.

A pair counts in the first table whose prefix it shares.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from scrapy_simhash.clustering.every import (
    links_of_all,
    pairs_across,
    pairs_of_all,
    sum_of_counts,
    telling_words,
)
from scrapy_simhash.clustering.found import BATCH, Found, gathered, ordered
from scrapy_simhash.clustering.partition import Partitioner, bits_from, leading_blocks
from scrapy_simhash.clustering.plans import exact_plan
from scrapy_simhash.clustering.probed import stands
from scrapy_simhash.clustering.threads import in_threads
from scrapy_simhash.clustering.words import field, masks, take, varying

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.words import Columns, Positions
    from scrapy_simhash.index.plan import Block, TablePlan

    Sides: TypeAlias = NDArray[np.bool_]
    Keys: TypeAlias = NDArray[np.uint32] | NDArray[np.uint64]

_PLACES = np.arange(1 << 16, dtype=np.uint32)
# A run is long if it has more; where not all of its pairs are wanted, if it has more than these,
# and more than four times as many as chance gives it.
_LONG_RUN = 1 << 10
_LONG_RUN_APART = 1 << 6
# If one fingerprint in so many has a next one in its run, all are moved together; while one in so
# many has, all are compared with the next ones, and then those alone.
_WORTH_MOVING = 2
_DENSE = 6
# While one in so many has a next one, to look through all is faster than to look these up.
_SPARSE = 16
# In a run with more pairs than this for each fingerprint, links are looked for.
_MANY_PAIRS = 4
_FEW = 1 << 12
# What it may take to reach a fingerprint by links, before tables are the better way.
_COMPARISONS = 1 << 14
_MOST_DEPTH = 3
# Of a probed table: so many keys fit a processor's cache.
_PIECE = 1 << 15


class Search:
    """Iterates over the pairs within a distance among fingerprints that are all different.

    :param plan: None compares all with all.
    :param sides: if given, only pairs of one with True and one with False.
    :param links: in dense sets, pairs that connect what all pairs connect are enough.
    """

    def __init__(
        self,
        partitioner: Partitioner,
        bits: int,
        max_distance: int,
        plan: TablePlan | None,
        *,
        sides: Sides | None = None,
        links: bool = False,
        depth: int = 0,
    ) -> None:
        self._partitioner = partitioner
        self._bits = bits
        self._max_distance = max_distance
        self._plan = plan
        self._sides = sides
        self._links = links
        self._depth = depth
        self._words = len(partitioner.all_columns)
        self._telling = telling_words(self._words, max_distance)
        # For each word of a fingerprint, the bits of each table's prefix in it.
        tables = plan.tables if plan else ()
        by_table = [masks(table, self._words) for table in tables]
        self._masks = [np.array(bits, dtype=np.uint64) for bits in zip(*by_table, strict=True)]

    def __iter__(self) -> Iterator[Found]:
        columns = self._partitioner.all_columns
        count = len(columns[0])
        if self._plan is None:
            yield from self._all_of(columns, self._sides)
            return
        by_leading: dict[tuple[Block, ...], list[int]] = {}
        for number, table in enumerate(self._plan.tables):
            by_leading.setdefault(leading_blocks(table, count), []).append(number)
        for leading, numbers in by_leading.items():
            pieces = self._partitioner.cut(leading)
            jobs = [partial(self._piece, piece, numbers) for piece in pieces]
            yield from in_threads(jobs, self._partitioner.threads)

    def _piece(self, piece: int, numbers: list[int]) -> Iterator[Found]:
        columns = self._partitioner.columns(piece)
        sides = self._sides
        if sides is not None:
            sides = sides[self._partitioner.positions(piece, np.arange(len(columns[0])))]
            if sides.all() or not sides.any():
                return
        skipped = sum(width for _, width in self._partitioner.leading)
        found = (
            pairs for number in numbers for pairs in self._table(columns, sides, number, skipped)
        )
        for first, second, distance in gathered(found):
            places = self._partitioner.positions(piece, np.concatenate([first, second]))
            yield Found(places[: len(first)], places[len(first) :], distance)

    def _counted(self, columns: Columns, pairs: Iterable[Found], number: int) -> Iterator[Found]:
        """The pairs that share this table's prefix, and that of no table before."""
        for found in gathered(pairs):
            outside = np.zeros((number + 1, len(found.first)), dtype=bool)
            for column, bits in zip(columns, self._masks, strict=True):
                differing = column[found.first] ^ column[found.second]
                outside |= differing & bits[: number + 1, None] != 0
            outside[number] ^= True
            counted = np.flatnonzero(outside.all(axis=0))
            yield Found(found.first[counted], found.second[counted], found.distance[counted])

    def _table(
        self, columns: Columns, sides: Sides | None, number: int, skipped: int
    ) -> Iterator[Found]:
        """The pairs that count in a table, of fingerprints with the same bits at its beginning."""
        assert self._plan is not None
        keys = _sorted_keys(columns, bits_from(self._plan.tables[number], skipped, 32))
        yield from self._runs(columns, sides, keys, number, skipped)

    def _runs(
        self, columns: Columns, sides: Sides | None, keys: Keys, number: int, skipped: int = 0
    ) -> Iterator[Found]:
        """The pairs that count in a table, in the runs of sorted keys."""
        assert self._plan is not None
        same = np.empty(len(keys), dtype=bool)
        same[-1:] = False
        np.less(keys[1:] ^ keys[:-1], _limit(keys), out=same[:-1])
        left = self._plan.prefix_widths_bits[number] - skipped
        used = keys.dtype.itemsize * 4
        longest = _LONG_RUN
        if self._links or sides is not None:
            longest = min(max(_LONG_RUN_APART, 4 * len(keys) >> min(left, used)), _LONG_RUN)
        for members in _long_runs(keys, same, longest):
            run, of_run = take(columns, members), None if sides is None else sides[members]
            if left > used:
                pairs = self._table(run, of_run, number, skipped + used)
            else:
                pairs = self._run(run, of_run, number)
            for found in pairs:
                yield found.at(members)
        yield from self._counted(columns, self._neighbours(columns, sides, keys, same), number)

    def _neighbours(
        self, columns: Columns, sides: Sides | None, keys: Keys, same: Sides
    ) -> Iterator[Found]:
        """Pairs in runs: `same` says of each key whether the next one is in its run."""
        count, limit = len(keys), _limit(keys)
        step, chained = 1, same[:-1]
        many = np.count_nonzero(chained)
        if many * _WORTH_MOVING > count:
            # All of them in the order of the keys: the pairs of one step are neighbours in memory.
            places = _places(keys, limit)
            columns, sides = take(columns, places), None if sides is None else sides[places]
            while many * _DENSE > count:
                total = sum_of_counts(
                    column[step:] ^ column[:-step] for column in columns[: self._telling]
                )
                near = np.flatnonzero((total <= self._max_distance) & chained)
                if len(near):
                    yield self._within(columns, sides, near, near + step).at(places)
                chained = chained[:-1] & same[step:-1]
                many = np.count_nonzero(chained)
                step += 1
        else:
            places = None
        at = np.flatnonzero(chained)
        while len(at):
            ones, others = [], []
            waiting = 0
            # Few have a next one but one: what all steps find is compared at once.
            while len(at) and waiting < BATCH:
                following = at + step
                ones.append(at)
                others.append(following)
                waiting += len(at)
                if len(at) * _SPARSE > count:
                    chained = chained[:-1] & same[step:-1]
                    at = np.flatnonzero(chained)
                else:
                    at = at[same[following]]
                step += 1
            first, second = np.concatenate(ones), np.concatenate(others)
            if places is None:
                first, second = _places(keys[first], limit), _places(keys[second], limit)
                yield self._within(columns, sides, first, second)
            else:
                yield self._within(columns, sides, first, second).at(places)

    def _within(
        self, columns: Columns, sides: Sides | None, first: Positions, second: Positions
    ) -> Found:
        """Those of the pairs that are within the distance."""
        if sides is not None:
            across = np.flatnonzero(sides[first] != sides[second])
            first, second = first[across], second[across]
        distance = np.bitwise_count(columns[0][first] ^ columns[0][second]).astype(np.uint16)
        for number in range(1, self._words + 1):
            if number >= self._telling:
                near = np.flatnonzero(distance <= self._max_distance)
                first, second, distance = first[near], second[near], distance[near]
            if number < self._words:
                column = columns[number]
                distance += np.bitwise_count(column[first] ^ column[second])
        return Found(first, second, distance)

    def _run(self, columns: Columns, sides: Sides | None, number: int) -> Iterator[Found]:
        """The pairs that count, of fingerprints that share a prefix.

        Links count in any table: in the one before, others may have led to the same.
        """
        if sides is not None and (sides.all() or not sides.any()):
            return
        pairs = self._all_of(columns, sides)
        yield from pairs if self._links else self._counted(columns, pairs, number)

    def _all_of(self, columns: Columns, sides: Sides | None) -> Iterator[Found]:
        """All pairs of a set: by other tables, or each with each."""
        count = len(columns[0])
        if self._links:
            yield from self._links_of(columns)
        elif sides is None:
            search = self._deeper(columns, None, count * (count - 1) / 2)
            yield from search or pairs_of_all(columns, self._max_distance)
        else:
            split = np.flatnonzero(sides), np.flatnonzero(~sides)
            search = self._deeper(columns, sides, float(len(split[0]) * len(split[1])))
            yield from search or pairs_across(columns, *split, self._max_distance)

    def _links_of(self, columns: Columns) -> Iterator[Found]:
        """Links of a set: all pairs if they are few, else what connects them."""
        count = len(columns[0])
        if count <= _FEW:
            seen = 0
            for found in pairs_of_all(columns, self._max_distance):
                seen += len(found.first)
                if seen > _MANY_PAIRS * count:
                    break
                yield found
            else:
                return
            yield from links_of_all(columns, self._max_distance)
            return
        # What is dense is soon reached; the rest may have hardly a pair.
        left = yield from links_of_all(columns, self._max_distance, _COMPARISONS)
        rest = take(columns, left)
        search = self._deeper(rest, None, len(left) * (len(left) - 1) / 2)
        for found in search or links_of_all(rest, self._max_distance):
            yield found.at(left)

    def _deeper(self, columns: Columns, sides: Sides | None, pairs: float) -> Search | None:
        """A search among fingerprints of one run by other tables, if that is faster than to
        compare all the pairs.
        """
        if self._plan is None or self._depth >= _MOST_DEPTH or len(columns[0]) <= _FEW:
            return None
        columns, bits = varying(columns, self._bits)
        plan = exact_plan(bits, self._max_distance, len(columns[0]), pairs)
        if plan is None:
            return None
        return Search(
            Partitioner(columns),
            bits,
            self._max_distance,
            plan,
            sides=sides,
            links=self._links,
            depth=self._depth + 1,
        )


class ProbedSearch(Search):
    """Iterates over pairs as `Search` does, but over some pairs more than once.

    :param certainties: of all bits, a row for each input.
    :param rows: the row of each fingerprint.
    """

    def __init__(
        self,
        partitioner: Partitioner,
        max_distance: int,
        plan: TablePlan,
        certainties: NDArray[np.uint8],
        rows: Positions | None,
        *,
        sides: Sides | None = None,
        links: bool = False,
    ) -> None:
        super().__init__(partitioner, plan.bits, max_distance, plan, sides=sides, links=links)
        self._certainties = certainties
        self._rows = rows
        self._stands = plan.probes // plan.blocks

    def __iter__(self) -> Iterator[Found]:
        assert self._plan is not None
        jobs = [partial(self._probed, number) for number in range(len(self._plan.tables))]
        yield from in_threads(jobs, self._partitioner.threads)

    def _probed(self, number: int) -> Iterator[Found]:
        """The pairs of a table, by pieces of prefixes with the same first bits."""
        assert self._plan is not None
        width = self._plan.prefix_bits
        own = field(self._partitioner.all_columns, self._plan.tables[number]).astype(np.uint32)
        known = self._certainties[:, number * width : (number + 1) * width]
        if self._rows is not None:
            known = known[self._rows]
        prefixes = list(stands(own, known, self._stands))
        first_bits = min((len(own) * self._stands // _PIECE).bit_length(), 8, width)
        shift = np.uint32(width - first_bits)
        orders, bounds = [], []
        for prefix in prefixes:
            piece_of = (prefix >> shift).astype(np.uint8)
            orders.append(piece_of.argsort(kind="stable").astype(np.uint32))
            sizes = np.bincount(piece_of, minlength=1 << first_bits)
            bounds.append(np.append(0, np.cumsum(sizes)).tolist())
        rest = np.uint32((1 << width - first_bits) - 1)
        # Side by side, the words of one fingerprint come from memory at once.
        rows = np.stack(self._partitioner.all_columns, axis=1)
        for piece in range(1 << first_bits):
            parts = [
                order[bound[piece] : bound[piece + 1]]
                for order, bound in zip(orders, bounds, strict=True)
            ]
            members = np.concatenate(parts).astype(np.intp)
            tails = np.concatenate(
                [prefix.take(part) for prefix, part in zip(prefixes, parts, strict=True)]
            )
            columns = list(np.ascontiguousarray(rows.take(members, axis=0).T))
            sides = None if self._sides is None else self._sides[members]
            keys = _with_places(tails & rest, width - first_bits)
            for first, second, distance in self._runs(columns, sides, keys, number):
                yield ordered(members[first], members[second], distance)

    def _counted(
        self,
        columns: Columns,  # noqa: ARG002
        pairs: Iterable[Found],
        number: int,  # noqa: ARG002
    ) -> Iterator[Found]:
        """Return all pairs: which table was the first to find one is not looked up."""
        return iter(pairs)


def _sorted_keys(columns: Columns, prefix: tuple[Block, ...]) -> Keys:
    """Bits of the prefix in the upper half, the place of each fingerprint in the lower; sorted."""
    bits = 16 if len(columns[0]) <= 1 << 16 else 32
    return _with_places(field(columns, bits_from(prefix, 0, bits)), bits)


def _with_places(prefixes: NDArray[Any], bits: int) -> Keys:
    """The same of prefixes of so many bits."""
    count = len(prefixes)
    if count <= 1 << 16 and bits <= 16:  # noqa: PLR2004 - half of a key
        keys = prefixes.astype(np.uint32)
        keys <<= np.uint32(16)
        keys |= _PLACES[:count]
        keys.sort()
        return keys
    wide = prefixes.astype(np.uint64)
    wide <<= np.uint64(32)
    wide |= np.arange(count, dtype=np.uint64)
    wide.sort()
    return wide


def _long_runs(keys: Keys, same: Sides, longest: int) -> Iterator[Positions]:
    """The places of each longer run; `same` forgets it."""
    limit = _limit(keys)
    # A longer run has two of these in it, one after the other.
    sample = keys[:: max(longest // 2, 1)]
    if not ((sample[1:] ^ sample[:-1]) < limit).any():
        return
    ends = np.flatnonzero(~same) + 1
    starts = np.append(0, ends[:-1])
    for at in np.flatnonzero(ends - starts > longest).tolist():
        same[starts[at] : ends[at] - 1] = False
        yield _places(keys[starts[at] : ends[at]], limit)


def _limit(keys: Keys) -> Any:
    """One more than the largest place: keys of a run differ in less."""
    return keys.dtype.type(1 << keys.dtype.itemsize * 4)


def _places(keys: Keys, limit: Any) -> Positions:
    places: Positions = np.bitwise_and(keys, limit - limit.dtype.type(1)).astype(np.intp)
    return places
