"""Find all pairs of fingerprints within a distance by sorting, once for each table.

A table brings together the fingerprints with the same prefix. A 32-bit hash of the prefix and the
position of the fingerprint make one number; when these are sorted, equal prefixes are neighbours.
In each run of equal ones, each fingerprint is compared with the next one, the one after that, and
so on. Runs longer than chance explains are searched by their other bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.clustering.plans import exact_plan
from scrapy_simhash.clustering.probed import probed_prefixes
from scrapy_simhash.clustering.words import (
    HASH_BITS,
    distances,
    hashed,
    take,
    telling_words,
    varying,
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
# A piece of this size fits the cache of a processor. At most 256 pieces, because numpy sorts bytes
# by counting.
_PIECE = 40_000
_MOST_PIECE_BITS = 8
_LONG_RUN = 1 << 10
# With `links`, a run is long above this size if it is also four times as long as by chance.
_LONG_RUN_OF_LINKS = 1 << 6
# If at least one fingerprint in this many shares its run, it is faster to compare all neighbours.
_DENSE = 6
_MOST_DEPTH = 3
# Smaller sets are compared each with each.
_FEW = 1 << 12
_SAMPLE = 64
_TILE_PAIRS = 1 << 17
_TILE_WIDTH = 1 << 12
# Up to this many words, the distance fits a byte, which is the type of `np.bitwise_count`.
_WORDS_OF_BYTE = 3


class Pairs(NamedTuple):
    """Pairs of fingerprints by their positions, `first` < `second`, and their distances."""

    first: Positions
    second: Positions
    distance: Distances

    def at(self, ones: Positions, others: Positions) -> Pairs:
        """Return the pairs with positions looked up, the earlier one first."""
        one, other = ones[self.first], others[self.second]
        return Pairs(np.minimum(one, other), np.maximum(one, other), self.distance)

    def where(self, chosen: NDArray[Any]) -> Pairs:
        """Return the chosen pairs."""
        return Pairs(self.first[chosen], self.second[chosen], self.distance[chosen])


class PairSearch:
    """A search for the pairs of distinct fingerprints within a distance.

    :param plan: None compares all with all.
    :param certainties: certainty of all bits, a row for each fingerprint. A plan with probes needs
        them; it finds some pairs more than once.
    :param links: yield only enough pairs of dense sets to connect what all pairs connect.
    """

    def __init__(
        self,
        columns: Columns,
        bits: int,
        max_distance: int,
        plan: TablePlan | None,
        *,
        certainties: NDArray[np.uint8] | None = None,
        links: bool = False,
        depth: int = 0,
    ) -> None:
        self._columns = columns
        self._bits = bits
        self._max_distance = max_distance
        self._plan = plan
        self._certainties = certainties
        self._links = links
        self._depth = depth

    def __iter__(self) -> Iterator[Pairs]:
        if self._plan is None:
            yield from gathered(self._of_set(np.arange(len(self._columns[0]))))
            return
        for number in range(len(self._plan.tables)):
            yield from gathered(self._of_table(number))

    def across(self, ones: Positions, others: Positions) -> Iterator[Pairs]:
        """Yield the pairs of one of `ones` with one of `others`; some are repeated."""
        k = self._max_distance
        if self._plan is None:
            sides = take(self._columns, ones), take(self._columns, others)
            yield from (found.at(ones, others) for found in _all_near(*sides, k))
            return
        for number in range(len(self._plan.tables)):
            prefixes = self._prefixes(number)
            theirs = np.concatenate([prefix[others] for prefix in prefixes])
            order = theirs.argsort(kind="stable")
            theirs = theirs[order]
            for prefix in prefixes:
                begin = np.searchsorted(theirs, prefix[ones])
                end = np.searchsorted(theirs, prefix[ones], side="right")
                for one, at in _ranges(begin, end):
                    other = order[at] % len(others)
                    found = _near(self._columns, self._columns, ones[one], others[other], k)
                    everyone = np.arange(len(self._columns[0]))
                    yield found.at(everyone, everyone)

    def _prefixes(self, number: int) -> list[Prefixes]:
        """Return, for each probe, a hash of the table's prefix of each fingerprint."""
        assert self._plan is not None
        if not self._plan.probes:
            return [hashed(self._columns, self._plan.tables[number])]
        assert self._certainties is not None
        return probed_prefixes(self._columns, self._certainties, self._plan, number)

    def _of_table(self, number: int) -> Iterator[Pairs]:
        """Yield the pairs that share the prefix of this table, but of no earlier table."""
        assert self._plan is not None
        count = len(self._columns[0])
        by_chance = 4 * count >> self._plan.prefix_widths_bits[number]
        longest = _LONG_RUN
        if self._links:
            longest = min(max(_LONG_RUN_OF_LINKS, by_chance), _LONG_RUN)
        for places, same in equal_prefixes(np.concatenate(self._prefixes(number))):
            members = places % count
            ends = np.flatnonzero(~same) + 1
            starts = np.append(0, ends[:-1])
            for run in np.flatnonzero(ends - starts > longest).tolist():
                same[starts[run] : ends[run] - 1] = False
                found = self._of_set(members[starts[run] : ends[run]])
                # Links must not be filtered: an earlier table may have found other links.
                yield from found if self._links else self._new_pairs(found, number)
            yield from self._new_pairs(self._neighbours(members, same), number)

    def _neighbours(self, members: Positions, same: Flags) -> Iterator[Pairs]:
        """Yield the pairs in runs of equal prefixes.

        :param same: whether the next member is in the same run.
        """
        columns = take(self._columns, members)
        telling = telling_words(len(columns), self._max_distance)
        chained, step = same[:-1], 1
        while len(at := np.flatnonzero(chained)):
            if len(at) * _DENSE > len(same):
                # A pass over neighbours in memory is faster than looking some of them up.
                total = _bit_count(one[step:] ^ one[:-step] for one in columns[:telling])
                at = np.flatnonzero((total <= self._max_distance) & chained)
            found = _near(columns, columns, at, at + step, self._max_distance)
            yield found.at(members, members)
            chained = chained[:-1] & same[step:-1]
            step += 1

    def _new_pairs(self, pairs: Iterable[Pairs], number: int) -> Iterator[Pairs]:
        """Yield the pairs that share the prefix of this table, but of no earlier table."""
        assert self._plan is not None
        if self._plan.probes:
            yield from pairs
            return
        tables = [
            sum((1 << width) - 1 << shift for shift, width in table)
            for table in self._plan.tables[: number + 1]
        ]
        for found in gathered(pairs):
            outside = np.zeros((number + 1, len(found.first)), dtype=bool)
            for word, column in enumerate(self._columns):
                bits = [table >> 64 * word & (1 << 64) - 1 for table in tables]
                differing = column[found.first] ^ column[found.second]
                outside |= differing & np.array(bits, dtype=np.uint64)[:, None] != 0
            outside[number] ^= True
            yield found.where(np.flatnonzero(outside.all(axis=0)))

    def _of_set(self, members: Positions) -> Iterator[Pairs]:
        """Yield all pairs of a set, or links: by other tables, or comparing each with each."""
        columns = take(self._columns, members)
        pairs: Iterable[Pairs]
        if self._links and (len(members) <= _FEW or self._is_dense(columns)):
            pairs = links_of_all(columns, self._max_distance)
        else:
            pairs = self._deeper(columns) or pairs_of_all(columns, self._max_distance)
        for found in pairs:
            yield found.at(members, members)

    def _is_dense(self, columns: Columns) -> bool:
        """Return True if a sample of the fingerprints has many others within the distance."""
        sample = [column[:: len(column) // _SAMPLE] for column in columns]
        found = sum(len(near.first) for near in _all_near(sample, columns, self._max_distance))
        return found > _SAMPLE * len(sample[0])

    def _deeper(self, columns: Columns) -> PairSearch | None:
        """Return a search by other tables, or None if comparing all with all is faster."""
        if self._plan is None or self._depth >= _MOST_DEPTH or len(columns[0]) <= _FEW:
            return None
        columns, bits = varying(columns, self._bits)
        plan = exact_plan(bits, self._max_distance, len(columns[0]))
        if plan is None:
            return None
        search = columns, bits, self._max_distance, plan
        return PairSearch(*search, links=self._links, depth=self._depth + 1)


def equal_prefixes(prefixes: Prefixes) -> Iterator[tuple[Positions, Flags]]:
    """Yield (places of prefixes that occur more than once, True where the next prefix is equal).

    Places are sorted by prefix and come in pieces.
    """
    bits = min((len(prefixes) // _PIECE).bit_length(), _MOST_PIECE_BITS)
    piece_of = (prefixes.astype(np.uint64) >> np.uint64(HASH_BITS - bits)).astype(np.uint8)
    ends = np.cumsum(np.bincount(piece_of, minlength=1 << bits))
    for piece in np.split(piece_of.argsort(kind="stable"), ends[:-1]):
        keys = prefixes[piece].astype(np.uint64)
        keys <<= np.uint64(HASH_BITS)
        keys |= np.arange(len(piece), dtype=np.uint64)
        keys.sort()
        same = np.zeros(len(keys), dtype=bool)
        np.less_equal(keys[1:] ^ keys[:-1], _PLACE, out=same[:-1])
        in_run = same.copy()
        in_run[1:] |= same[:-1]
        if in_run.any():
            yield piece[(keys[in_run] & _PLACE).astype(np.intp)], same[in_run]


def pairs_of_all(columns: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield all pairs within the distance, comparing each fingerprint with each."""
    count = len(columns[0])
    everyone = np.arange(count)
    height = max(_TILE_PAIRS // max(min(count, _TILE_WIDTH), 1), 1)
    for top in range(0, count, height):
        rows = [column[top : top + height] for column in columns]
        rest = [column[top:] for column in columns]
        for near in _all_near(rows, rest, max_distance):
            yield near.where(np.flatnonzero(near.first < near.second)).at(
                everyone[top:], everyone[top:]
            )


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


def _all_near(rows: Columns, others: Columns, max_distance: int) -> Iterator[Pairs]:
    """Yield the pairs of each of `rows` with each of `others`, by tiles."""
    telling = telling_words(len(rows), max_distance)
    height = max(_TILE_PAIRS // max(min(len(others[0]), _TILE_WIDTH), 1), 1)
    for top in range(0, len(rows[0]), height):
        tile = [column[top : top + height, None] for column in rows[:telling]]
        for left in range(0, len(others[0]), _TILE_WIDTH):
            parts = [column[left : left + _TILE_WIDTH] for column in others[:telling]]
            total = _bit_count(one ^ other for one, other in zip(tile, parts, strict=True))
            row, other = np.divmod(np.flatnonzero(total <= max_distance), len(parts[0]))
            if len(row):
                yield _near(rows, others, row + top, other + left, max_distance)


def _near(
    ones: Columns, others: Columns, first: Positions, second: Positions, max_distance: int
) -> Pairs:
    """Return the pairs that are within the distance."""
    telling = telling_words(len(ones), max_distance)
    if telling < len(ones):
        near = distances(ones[:telling], others[:telling], first, second) <= max_distance
        first, second = first[near], second[near]
    pairs = Pairs(first, second, distances(ones, others, first, second))
    return pairs.where(np.flatnonzero(pairs.distance <= max_distance))


def _bit_count(differing: Iterable[NDArray[np.uint64]]) -> NDArray[Any]:
    """Return the number of set bits in all words of each fingerprint."""
    total: NDArray[Any] = np.zeros(1, dtype=np.uint8)
    for number, words in enumerate(differing):
        if number == _WORDS_OF_BYTE:
            total = total.astype(np.uint16)
        total = total + np.bitwise_count(words)
    return total


def _ranges(begin: Positions, end: Positions) -> Iterator[tuple[Positions, Positions]]:
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
