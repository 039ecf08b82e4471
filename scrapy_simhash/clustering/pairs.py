"""Find all pairs of fingerprints within a distance by sorting, once for each table.

A table brings together the fingerprints with the same prefix. A 32-bit hash of the prefix and the
position of the fingerprint make one number; when these are sorted, equal prefixes are neighbours.
In each run of equal ones, each fingerprint is compared with the next one, the one after that, and
so on. Runs longer than chance explains are searched by their other bits.
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

# Pairs are yielded in batches of about this size.
BATCH = 1 << 16
_PLACE = np.uint64((1 << 32) - 1)
_PIECE = 40_000
_LONG_RUN = 1 << 10
# For links, a run is long above this size if it is also four times as long as by chance.
_LONG_RUN_OF_LINKS = 1 << 6
# If at least one fingerprint in this many shares its run, it is faster to compare all neighbours.
_DENSE = 6
_MOST_DEPTH = 3
# Smaller sets are compared each with each.
_FEW = 1 << 12
_SAMPLE = 64
_TILE_PAIRS = 1 << 17
_TILE_WIDTH = 1 << 12


class Pairs(NamedTuple):
    """Pairs of fingerprints by their positions, `first` < `second`, and their distances."""

    first: Positions
    second: Positions
    distance: Distances

    def at(self, ones: Positions, others: Positions) -> Pairs:
        """Return the pairs with positions looked up, the earlier one first."""
        return Pairs(ones[self.first], others[self.second], self.distance).earlier_first()

    def earlier_first(self) -> Pairs:
        """Return the pairs with the earlier one of each as the first."""
        earlier, later = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return Pairs(earlier, later, self.distance)

    def where(self, chosen: NDArray[Any]) -> Pairs:
        """Return the chosen pairs."""
        return Pairs(self.first[chosen], self.second[chosen], self.distance[chosen])


class PairSearch:
    """A search for the pairs of distinct fingerprints within a distance.

    :param plan: None compares all with all.
    :param certainties: certainty of all bits, a row for each fingerprint. A plan with probes needs
        them.
    :param depth: number of searches that this one is a part of.
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
        """Return the search among some of the fingerprints. It numbers them as this list does."""
        certainties = None if self._certainties is None else self._certainties[places]
        columns = take(self.columns, places)
        return PairSearch(columns, self._bits, self.max_distance, self.plan, certainties)

    def pairs(self) -> Iterator[Pairs]:
        """Yield the pairs within the distance, each once."""
        found = self._found(links=False)
        return _each_once(found, len(self)) if self.plan and self.plan.probes else found

    def links(self) -> Iterator[Pairs]:
        """Yield enough of the pairs to connect what all pairs connect; some are repeated."""
        return self._found(links=True)

    def across(self, ones: Positions, others: Positions) -> Iterator[Pairs]:
        """Yield the pairs of one of `ones` with one of `others`; some are repeated."""
        if not len(ones) or not len(others):
            return
        k = self.max_distance
        if self.plan is None:
            sides = take(self.columns, ones), take(self.columns, others)
            yield from (found.at(ones, others) for found in _all_near(*sides, k))
            return
        for number in range(len(self.plan.tables)):
            prefixes = self._prefixes(number)
            theirs = np.concatenate([prefix[others] for prefix in prefixes])
            order = theirs.argsort(kind="stable")
            theirs = theirs[order]
            for prefix in prefixes:
                begin = np.searchsorted(theirs, prefix[ones])
                end = np.searchsorted(theirs, prefix[ones], side="right")
                for one, at in ranges(begin, end):
                    other = order[at] % len(others)
                    found = _near(self.columns, self.columns, ones[one], others[other], k)
                    yield found.earlier_first()

    def _found(self, *, links: bool) -> Iterator[Pairs]:
        if self.plan is None:
            yield from gathered(self._of_set(np.arange(len(self)), links=links))
            return
        for number in range(len(self.plan.tables)):
            yield from gathered(self._of_table(number, links=links))

    def _prefixes(self, number: int) -> list[Prefixes]:
        """Return, for each probe, a hash of the table's prefix of each fingerprint."""
        assert self.plan is not None
        if not self.plan.probes:
            return [hashed(self.columns, self.plan.tables[number])]
        assert self._certainties is not None
        return probed_prefixes(self.columns, self._certainties, self.plan, number)

    def _of_table(self, number: int, *, links: bool) -> Iterator[Pairs]:
        """Yield the pairs that share the prefix of this table, but of no earlier table."""
        assert self.plan is not None
        longest = _LONG_RUN
        if links:
            by_chance = 4 * len(self) >> self.plan.prefix_widths_bits[number]
            longest = min(max(_LONG_RUN_OF_LINKS, by_chance), _LONG_RUN)
        for places, same in _equal_prefixes(np.concatenate(self._prefixes(number))):
            members = places % len(self)
            ends = np.flatnonzero(~same) + 1
            starts = np.append(0, ends[:-1])
            for run in np.flatnonzero(ends - starts > longest).tolist():
                same[starts[run] : ends[run] - 1] = False
                found = self._of_set(members[starts[run] : ends[run]], links=links)
                # Links must not be filtered: an earlier table may have found other links.
                yield from found if links else self._new_pairs(found, number)
            yield from self._new_pairs(self._neighbours(members, same), number)

    def _neighbours(self, members: Positions, same: Flags) -> Iterator[Pairs]:
        """Yield the pairs in runs of equal prefixes.

        :param same: True where the next member is in the same run.
        """
        columns = take(self.columns, members)
        telling = telling_words(len(columns), self.max_distance)
        chained, step = same[:-1], 1
        while len(at := np.flatnonzero(chained)):
            if len(at) * _DENSE > len(same):
                # A pass over neighbours in memory is faster than looking some of them up.
                total = _bit_count(one[step:] ^ one[:-step] for one in columns[:telling])
                at = np.flatnonzero((total <= self.max_distance) & chained)
            found = _near(columns, columns, at, at + step, self.max_distance)
            yield found.at(members, members)
            chained = chained[:-1] & same[step:-1]
            step += 1

    def _new_pairs(self, pairs: Iterable[Pairs], number: int) -> Iterator[Pairs]:
        """Yield the pairs that share the prefix of this table, but of no earlier table."""
        assert self.plan is not None
        if self.plan.probes:
            yield from pairs
            return
        masks = self._masks[:, : number + 1, None]
        for found in gathered(pairs):
            outside = np.zeros((number + 1, len(found.first)), dtype=bool)
            for mask, column in zip(masks, self.columns, strict=True):
                outside |= (column[found.first] ^ column[found.second]) & mask != 0
            outside[number] ^= True
            yield found.where(np.flatnonzero(outside.all(axis=0)))

    @cached_property
    def _masks(self) -> NDArray[np.uint64]:
        """Return the bits of each table's prefix, by word and table."""
        assert self.plan is not None
        masks = [word_masks(table, len(self.columns)) for table in self.plan.tables]
        by_word: NDArray[np.uint64] = np.array(masks, dtype=np.uint64).T
        return by_word

    def _of_set(self, members: Positions, *, links: bool) -> Iterator[Pairs]:
        """Yield all pairs of a set, or links: by other tables, or comparing each with each."""
        columns = take(self.columns, members)
        pairs: Iterable[Pairs]
        if links and (len(members) <= _FEW or self._is_dense(columns)):
            pairs = links_of_all(columns, self.max_distance)
        elif deeper := self._deeper(columns):
            pairs = deeper.links() if links else deeper.pairs()
        else:
            pairs = pairs_of_all(columns, self.max_distance)
        for found in pairs:
            yield found.at(members, members)

    def _is_dense(self, columns: Columns) -> bool:
        """Return True if a sample of the fingerprints has many others within the distance."""
        sample = [column[:: len(column) // _SAMPLE] for column in columns]
        found = sum(len(near.first) for near in _all_near(sample, columns, self.max_distance))
        return found > _SAMPLE * len(sample[0])

    def _deeper(self, columns: Columns) -> PairSearch | None:
        """Return a search by other tables, or None if comparing all with all is faster."""
        if self.plan is None or self._depth >= _MOST_DEPTH or len(columns[0]) <= _FEW:
            return None
        columns, bits = varying(columns, self._bits)
        plan = batch_plan(bits, self.max_distance, len(columns[0]), 1.0)
        if plan is None:
            return None
        return PairSearch(columns, bits, self.max_distance, plan, depth=self._depth + 1)


def _each_once(pairs: Iterable[Pairs], count: int) -> Iterator[Pairs]:
    """Yield each pair of `count` fingerprints once."""
    known = np.empty(0, dtype=np.intp)
    for found in pairs:
        numbers, at = np.unique(found.first * count + found.second, return_index=True)
        new = ~np.isin(numbers, known, assume_unique=True)
        known = np.concatenate([known, numbers[new]])
        yield found.where(at[new])


def _equal_prefixes(prefixes: Prefixes) -> Iterator[tuple[Positions, Flags]]:
    """Yield (places of prefixes that occur more than once, True where the next prefix is equal).

    Places are sorted by prefix, and come in pieces that fit the cache of a processor.
    """
    keys = prefixes.astype(np.uint64)
    keys <<= np.uint64(HASH_BITS)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    same = np.zeros(len(keys), dtype=bool)
    np.less_equal(keys[1:] ^ keys[:-1], _PLACE, out=same[:-1])
    in_run = same.copy()
    in_run[1:] |= same[:-1]
    places, same = (keys[in_run] & _PLACE).astype(np.intp), same[in_run]
    ends = np.flatnonzero(~same) + 1
    at = np.searchsorted(ends, np.arange(_PIECE, len(places), _PIECE))
    cuts = np.unique([0, *ends[at].tolist(), len(places)]).tolist()
    for start, end in pairwise(cuts):
        yield places[start:end], same[start:end]


def pairs_of_all(columns: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield all pairs within the distance, comparing each fingerprint with each."""
    for near in _all_near(columns, columns, max_distance, later=True):
        yield near.where(np.flatnonzero(near.first < near.second))


def links_of_all(columns: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield pairs that connect what all pairs within the distance connect: a spanning forest.

    Connected fingerprints are compared only with those that are not yet connected. So a dense set
    takes time in proportion to its size, not to its number of pairs.
    """
    left = np.arange(len(columns[0]))
    reached = left[:0]
    while len(left):
        if not len(reached):
            reached, left = left[:1], left[1:]
        height = max(_TILE_PAIRS // max(len(left), 1), 1)
        batch, reached = reached[:height], reached[height:]
        linked = np.zeros(len(left), dtype=bool)
        for near in _all_near(take(columns, batch), take(columns, left), max_distance):
            # The whole batch is connected already, so one link to each is enough.
            _, one_each = np.unique(near.second, return_index=True)
            linked[near.second] = True
            yield near.where(one_each).at(batch, left)
        reached = np.concatenate([reached, left[linked]])
        left = left[~linked]


def gathered(pairs: Iterable[Pairs]) -> Iterator[Pairs]:
    """Yield the same pairs in larger batches."""
    held: list[Pairs] = []
    count = 0
    for found in pairs:
        held.append(found)
        count += len(found.first)
        if count >= BATCH:
            yield together(held)
            held, count = [], 0
    if count:
        yield together(held)


def together(pairs: list[Pairs]) -> Pairs:
    """Return batches of pairs as one."""
    if not pairs:
        none = np.empty(0, dtype=np.intp)
        return Pairs(none, none, np.empty(0, dtype=np.uint16))
    return Pairs(*(np.concatenate(part) for part in zip(*pairs, strict=True)))


def _all_near(
    rows: Columns, others: Columns, max_distance: int, *, later: bool = False
) -> Iterator[Pairs]:
    """Yield the pairs of each of `rows` with each of `others`, by tiles.

    :param later: leave out tiles in which all of `others` come before all of `rows`.
    """
    telling = telling_words(len(rows), max_distance)
    height = max(_TILE_PAIRS // max(min(len(others[0]), _TILE_WIDTH), 1), 1)
    for top in range(0, len(rows[0]), height):
        tile = [column[top : top + height, None] for column in rows[:telling]]
        for left in range(top if later else 0, len(others[0]), _TILE_WIDTH):
            parts = [column[left : left + _TILE_WIDTH] for column in others[:telling]]
            total = _bit_count(one ^ other for one, other in zip(tile, parts, strict=True))
            row, other = np.divmod(np.flatnonzero(total <= max_distance), len(parts[0]))
            if len(row):
                yield _near(rows, others, row + top, other + left, max_distance)


def _near(
    ones: Columns, others: Columns, first: Positions, second: Positions, max_distance: int
) -> Pairs:
    """Return the pairs that are within the distance."""
    pairs = Pairs(first, second, distances(ones, others, first, second))
    return pairs.where(np.flatnonzero(pairs.distance <= max_distance))


def _bit_count(differing: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint16]:
    """Return the number of set bits in all words of each fingerprint."""
    total: NDArray[np.uint16] = sum(map(np.bitwise_count, differing), start=np.uint16(0))
    return total


def ranges(begin: Positions, end: Positions) -> Iterator[tuple[Positions, Positions]]:
    """Yield (number of the range, position in it) of all positions in ranges, in batches."""
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
