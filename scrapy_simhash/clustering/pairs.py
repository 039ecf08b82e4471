"""Find all pairs of fingerprints within a distance by sorting, once for each table.

A table brings together the fingerprints with the same prefix. A 32-bit hash of the prefix and the
number of the fingerprint are packed in one key; sorting the keys makes equal prefixes neighbours.
In each *run* of equal prefixes, each fingerprint is compared with the next one, the one after that,
and so on. A long run is searched as a set of its own, by tables over the bits that vary in it.

*Links* are a subset of the pairs that connects the same fingerprints as all pairs do.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.clustering.plans import batch_plan
from scrapy_simhash.clustering.probed import probed_prefixes
from scrapy_simhash.clustering.words import (
    HASH_BITS,
    distances,
    hashed,
    take,
    telling_words,
    varying,
    word_masks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.probed import Prefixes
    from scrapy_simhash.clustering.words import Columns, Distances, Positions
    from scrapy_simhash.index.plan import TablePlan

    Flags = NDArray[np.bool_]

# Lower limit for the pairs in a batch, except the last one.
BATCH = 1 << 16
_PLACE_MASK = np.uint64((1 << 32) - 1)
# So many keys fit the cache of a processor.
_PIECE_KEYS = 40_000
# A run of more fingerprints is long.
_LONG_RUN = 1 << 10
# For links, a run above this size is long, too, if it is four times as long as by chance.
_LONG_RUN_OF_LINKS = 1 << 6
# If more than one fingerprint in this many is compared at a step, comparing all is faster.
_DENSE_ONE_IN = 6
_MAX_DEPTH = 3
# Sets of at most this size are compared all with all.
_SMALL_SET = 1 << 12
_SAMPLE = 64
# `_all_near` compares about so many pairs at once.
_TILE_PAIRS = 1 << 17
_TILE_WIDTH = 1 << 12


class Pairs(NamedTuple):
    """Pairs of fingerprints by their numbers (in results, `first` < `second`), and distances."""

    first: Positions
    second: Positions
    distance: Distances

    def at(self, ones: Positions, others: Positions) -> Pairs:
        """Return the pairs (ones[first], others[second]), with the lower number as `first`."""
        return Pairs(ones[self.first], others[self.second], self.distance).earlier_first()

    def earlier_first(self) -> Pairs:
        """Return the pairs with the lower number of each as `first`."""
        earlier, later = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return Pairs(earlier, later, self.distance)

    def where(self, indexes: NDArray[Any]) -> Pairs:
        """Return the pairs at some indexes."""
        return Pairs(self.first[indexes], self.second[indexes], self.distance[indexes])


class PairSearch:
    """A search for the pairs of distinct fingerprints within a distance.

    :param plan: the tables; None compares all fingerprints with all.
    :param certainties: a row for each fingerprint, with a byte for each bit; for plans with probes.
    :param depth: number of searches that this one is nested in.
    """

    def __init__(
        self,
        columns: Columns,
        bits: int,
        max_distance: int,
        plan: TablePlan | None,
        certainties: NDArray[np.uint8] | None = None,
        *,
        depth: int = 0,
    ) -> None:
        self.columns = columns
        self.max_distance = max_distance
        self.plan = plan
        self._bits = bits
        self._certainties = certainties
        self._depth = depth

    def __len__(self) -> int:
        return len(self.columns[0])

    def among(self, places: Positions) -> PairSearch:
        """Return a search among some of the fingerprints, numbered by their index in `places`."""
        certainties = None if self._certainties is None else self._certainties[places]
        columns = take(self.columns, places)
        return PairSearch(columns, self._bits, self.max_distance, self.plan, certainties)

    def pairs(self) -> Iterator[Pairs]:
        """Yield the pairs that the tables find, each once."""
        pairs = self._pairs_or_links(links=False)
        return _without_repeats(pairs, len(self)) if self.plan and self.plan.probes else pairs

    def links(self) -> Iterator[Pairs]:
        """Yield links of the pairs that the tables find; some may be repeated."""
        return self._pairs_or_links(links=True)

    def across(self, ones: Positions, others: Positions) -> Iterator[Pairs]:
        """Yield the pairs of a fingerprint of `ones` and one of `others`; some may be repeated."""
        if not len(ones) or not len(others):
            return
        k = self.max_distance
        if self.plan is None:
            sides = take(self.columns, ones), take(self.columns, others)
            yield from (near.at(ones, others) for near in _all_near(*sides, k))
            return
        for number in range(len(self.plan.tables)):
            prefixes = self._prefixes(number)
            sorted_prefixes = np.concatenate([prefix[others] for prefix in prefixes])
            order = sorted_prefixes.argsort(kind="stable")
            sorted_prefixes = sorted_prefixes[order]
            for prefix in prefixes:
                begin = np.searchsorted(sorted_prefixes, prefix[ones])
                end = np.searchsorted(sorted_prefixes, prefix[ones], side="right")
                for one, at in ranges(begin, end):
                    other = order[at] % len(others)
                    near = _near(self.columns, self.columns, ones[one], others[other], k)
                    yield near.earlier_first()

    def _pairs_or_links(self, *, links: bool) -> Iterator[Pairs]:
        if self.plan is None:
            yield from merge_batches(self._of_set(np.arange(len(self)), links=links))
            return
        for number in range(len(self.plan.tables)):
            yield from merge_batches(self._of_table(number, links=links))

    def _prefixes(self, number: int) -> list[Prefixes]:
        """Return one array of hashed prefixes in a table or, with probes, several of prefixes."""
        assert self.plan is not None
        if not self.plan.probes:
            return [hashed(self.columns, self.plan.tables[number])]
        assert self._certainties is not None
        return probed_prefixes(self.columns, self._certainties, self.plan, number)

    def _of_table(self, number: int, *, links: bool) -> Iterator[Pairs]:
        """Yield the pairs, or links, that a table brings together."""
        assert self.plan is not None
        long_above = _LONG_RUN
        if links:
            four_times_chance = 4 * len(self) >> self.plan.prefix_widths_bits[number]
            long_above = min(max(_LONG_RUN_OF_LINKS, four_times_chance), _LONG_RUN)
        for places, same in _equal_prefixes(np.concatenate(self._prefixes(number))):
            members = places % len(self)  # with probes, there are several arrays of prefixes
            ends = np.flatnonzero(~same) + 1
            starts = np.append(0, ends[:-1])
            for run in np.flatnonzero(ends - starts > long_above).tolist():
                same[starts[run] : ends[run] - 1] = False
                pairs = self._of_set(members[starts[run] : ends[run]], links=links)
                # Links must not be filtered: an earlier table may have found other links.
                yield from pairs if links else self._new_pairs(pairs, number)
            yield from self._new_pairs(self._of_runs(members, same), number)

    def _of_runs(self, members: Positions, same: Flags) -> Iterator[Pairs]:
        """Yield the pairs within the distance in runs of equal prefixes.

        :param same: True where the next member is in the same run.
        """
        columns = take(self.columns, members)
        telling = telling_words(len(columns), self.max_distance)
        chained, step = same[:-1], 1
        while len(at := np.flatnonzero(chained)):
            if len(at) * _DENSE_ONE_IN > len(same):
                # Comparing all in order is faster than looking up many.
                total = _bit_count(one[step:] ^ one[:-step] for one in columns[:telling])
                at = np.flatnonzero((total <= self.max_distance) & chained)
            near = _near(columns, columns, at, at + step, self.max_distance)
            yield near.at(members, members)
            chained = chained[:-1] & same[step:-1]
            step += 1

    def _new_pairs(self, pairs: Iterable[Pairs], number: int) -> Iterator[Pairs]:
        """Yield the pairs with equal prefixes here, but in no earlier table; all if probed."""
        assert self.plan is not None
        if self.plan.probes:
            yield from pairs
            return
        masks = self._masks[:, : number + 1, None]
        for batch in merge_batches(pairs):
            differs = np.zeros((number + 1, len(batch.first)), dtype=bool)
            for mask, column in zip(masks, self.columns, strict=True):
                differs |= (column[batch.first] ^ column[batch.second]) & mask != 0
            is_new = differs[:number].all(axis=0) & ~differs[number]
            yield batch.where(np.flatnonzero(is_new))

    @cached_property
    def _masks(self) -> NDArray[np.uint64]:
        """Return, by column and table, a mask of the bits that the prefix has in the column."""
        assert self.plan is not None
        masks = [word_masks(table, len(self.columns)) for table in self.plan.tables]
        by_column: NDArray[np.uint64] = np.array(masks, dtype=np.uint64).T
        return by_column

    def _of_set(self, members: Positions, *, links: bool) -> Iterator[Pairs]:
        """Yield all pairs of a set, or links, by a nested search or by comparing all with all."""
        columns = take(self.columns, members)
        pairs: Iterable[Pairs]
        if links and (len(members) <= _SMALL_SET or self._is_dense(columns)):
            pairs = links_of_all(columns, self.max_distance)
        elif nested := self._nested(columns):
            pairs = nested.links() if links else nested.pairs()
        else:
            pairs = pairs_of_all(columns, self.max_distance)
        for batch in pairs:
            yield batch.at(members, members)

    def _is_dense(self, columns: Columns) -> bool:
        """Return True if sampled fingerprints are in more than 64 pairs each, on average."""
        sample = [column[:: len(column) // _SAMPLE] for column in columns]
        count = sum(len(near.first) for near in _all_near(sample, columns, self.max_distance))
        return count > _SAMPLE * len(sample[0])

    def _nested(self, columns: Columns) -> PairSearch | None:
        """Return a search by tables over the varying bits; None to compare all with all."""
        if self.plan is None or self._depth >= _MAX_DEPTH or len(columns[0]) <= _SMALL_SET:
            return None
        columns, bits = varying(columns, self._bits)
        plan = batch_plan(bits, self.max_distance, len(columns[0]), 1.0)
        if plan is None:
            return None
        return PairSearch(columns, bits, self.max_distance, plan, depth=self._depth + 1)


def _without_repeats(pairs: Iterable[Pairs], count: int) -> Iterator[Pairs]:
    """Yield each pair of `count` fingerprints once."""
    yielded = np.empty(0, dtype=np.intp)
    for batch in pairs:
        keys, at = np.unique(batch.first * count + batch.second, return_index=True)
        is_new = ~np.isin(keys, yielded, assume_unique=True)
        yielded = np.concatenate([yielded, keys[is_new]])
        yield batch.where(at[is_new])


def _equal_prefixes(prefixes: Prefixes) -> Iterator[tuple[Positions, Flags]]:
    """Yield pieces of (places of repeated prefixes, True where the next prefix is equal).

    Places are indexes in `prefixes`, sorted by prefix. No run is split between two pieces.
    """
    keys = prefixes.astype(np.uint64)
    keys <<= np.uint64(HASH_BITS)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    same = np.zeros(len(keys), dtype=bool)
    np.less_equal(keys[1:] ^ keys[:-1], _PLACE_MASK, out=same[:-1])
    in_run = same.copy()
    in_run[1:] |= same[:-1]
    places, same = (keys[in_run] & _PLACE_MASK).astype(np.intp), same[in_run]
    ends = np.flatnonzero(~same) + 1
    at = np.searchsorted(ends, np.arange(_PIECE_KEYS, len(places), _PIECE_KEYS))
    cuts = np.unique([0, *ends[at].tolist(), len(places)]).tolist()
    for start, end in pairwise(cuts):
        yield places[start:end], same[start:end]


def pairs_of_all(columns: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield all pairs within the distance, comparing all fingerprints with all."""
    for near in _all_near(columns, columns, max_distance, is_same_set=True):
        yield near.where(np.flatnonzero(near.first < near.second))


def links_of_all(columns: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield links, comparing connected fingerprints only with those that are not yet connected.

    So the time for a dense set is in proportion to its size, not to its number of pairs.
    """
    unconnected = np.arange(len(columns[0]))
    queue = unconnected[:0]
    while len(unconnected):
        if not len(queue):
            queue, unconnected = unconnected[:1], unconnected[1:]
        height = max(_TILE_PAIRS // max(len(unconnected), 1), 1)
        rows, queue = queue[:height], queue[height:]
        is_linked = np.zeros(len(unconnected), dtype=bool)
        for near in _all_near(take(columns, rows), take(columns, unconnected), max_distance):
            # All rows belong to one component, so one link to each other fingerprint is enough.
            _, first_links = np.unique(near.second, return_index=True)
            is_linked[near.second] = True
            yield near.where(first_links).at(rows, unconnected)
        queue = np.concatenate([queue, unconnected[is_linked]])
        unconnected = unconnected[~is_linked]


def merge_batches(batches: Iterable[Pairs]) -> Iterator[Pairs]:
    """Yield the same pairs in batches of at least `BATCH` pairs, except the last."""
    held: list[Pairs] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += len(batch.first)
        if count >= BATCH:
            yield concatenate(held)
            held, count = [], 0
    if count:
        yield concatenate(held)


def concatenate(batches: list[Pairs]) -> Pairs:
    """Return the pairs of some batches as one batch."""
    if not batches:
        none = np.empty(0, dtype=np.intp)
        return Pairs(none, none, np.empty(0, dtype=np.uint16))
    return Pairs(*(np.concatenate(part) for part in zip(*batches, strict=True)))


def _all_near(
    rows: Columns, others: Columns, max_distance: int, *, is_same_set: bool = False
) -> Iterator[Pairs]:
    """Yield the pairs of `rows` and `others` within the distance, by tiles of their matrix.

    :param is_same_set: `others` are `rows`; most pairs with `first` > `second` are left out.
    """
    telling = telling_words(len(rows), max_distance)
    height = max(_TILE_PAIRS // max(min(len(others[0]), _TILE_WIDTH), 1), 1)
    for top in range(0, len(rows[0]), height):
        tile = [column[top : top + height, None] for column in rows[:telling]]
        for left in range(top if is_same_set else 0, len(others[0]), _TILE_WIDTH):
            parts = [column[left : left + _TILE_WIDTH] for column in others[:telling]]
            total = _bit_count(one ^ other for one, other in zip(tile, parts, strict=True))
            row, other = np.divmod(np.flatnonzero(total <= max_distance), len(parts[0]))
            if len(row):
                yield _near(rows, others, row + top, other + left, max_distance)


def _near(
    ones: Columns, others: Columns, first: Positions, second: Positions, max_distance: int
) -> Pairs:
    """Return the pairs (ones[first], others[second]) that are within the distance."""
    pairs = Pairs(first, second, distances(ones, others, first, second))
    return pairs.where(np.flatnonzero(pairs.distance <= max_distance))


def _bit_count(differing: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint16]:
    """Return, for each pair, the number of set bits in the arrays of `differing`."""
    total: NDArray[np.uint16] = sum(map(np.bitwise_count, differing), start=np.uint16(0))
    return total


def ranges(begin: Positions, end: Positions) -> Iterator[tuple[Positions, Positions]]:
    """Yield batches of (i, position), for each position of each range begin[i]:end[i]."""
    total = np.cumsum(end - begin)
    start = 0
    while start < len(begin):
        before = int(total[start - 1]) if start else 0
        stop = max(int(np.searchsorted(total, before + BATCH, side="right")), start + 1)
        counts = (end - begin)[start:stop]
        first = begin[start:stop] - (total[start:stop] - counts - before)
        position = np.repeat(first, counts) + np.arange(int(counts.sum()))
        if len(position):
            yield np.repeat(np.arange(start, stop), counts), position
        start = stop
