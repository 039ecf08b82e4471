"""Find pairs of fingerprints within a distance by sorting, once for each table.

A table brings together the fingerprints with the same prefix. The prefix or its 32-bit hash, and
the number of the fingerprint, are packed in one key; sorting the keys makes equal prefixes
neighbours. In each *run* of equal prefixes, each fingerprint is compared with those after it. A
long run is searched as a set of its own, by tables over the bits that vary in it.

*Links* are a subset of the pairs that has the same connected components as all pairs.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.clustering.plans import batch_plan
from scrapy_simhash.clustering.probed import probed_prefixes, typical_recall
from scrapy_simhash.clustering.words import (
    HASH_BITS,
    bit_counts,
    distances,
    hashed,
    telling_words,
    varying,
    word_masks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.probed import Prefixes
    from scrapy_simhash.clustering.words import Distances, Positions, Words
    from scrapy_simhash.index.plan import TablePlan

    Flags = NDArray[np.bool_]

# The approximate number of pairs in a batch.
BATCH = 1 << 16
_PLACE_MASK = np.uint64((1 << 32) - 1)
# Keys are handled in pieces of about this size, which fit in the cache of a processor.
_PIECE_KEYS = 40_000
# A run of more fingerprints is long.
_LONG_RUN = 1 << 10
# For links, a run of more fingerprints than this is long, too, if it has over four times as many as
# expected by chance.
_LONG_RUN_OF_LINKS = 1 << 6
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
        one, other = ones[self.first], others[self.second]
        return Pairs(np.minimum(one, other), np.maximum(one, other), self.distance)

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
        words: Words,
        bits: int,
        max_distance: int,
        plan: TablePlan | None,
        certainties: NDArray[np.uint8] | None = None,
        *,
        depth: int = 0,
    ) -> None:
        self.words = words
        self.max_distance = max_distance
        self.plan = plan
        self._bits = bits
        self._certainties = certainties
        self._depth = depth

    def __len__(self) -> int:
        count: int = self.words.shape[1]
        return count

    @property
    def recall(self) -> float:
        """Return the expected share of pairs that the tables find, see `Clustering.recall`."""
        if self.plan is None:
            return 1.0
        if self.plan.probes:
            return typical_recall(self.plan, self.max_distance)
        return self.plan.expected_recall(self.max_distance)

    def among(self, places: Positions) -> PairSearch:
        """Return a search among some of the fingerprints, numbered by their index in `places`."""
        certainties = None if self._certainties is None else self._certainties[places]
        words = self.words.take(places, 1)
        return PairSearch(words, self._bits, self.max_distance, self.plan, certainties)

    def pairs(self, *, links: bool = False) -> Iterator[Pairs]:
        """Yield the pairs that the tables find, each once; or links, some of them repeatedly."""
        if self.plan is None:
            search_all = links_of_all if links else pairs_of_all
            yield from merge_batches(search_all(self.words, self.max_distance))
            return
        pairs: Iterator[Pairs] = (
            batch
            for number in range(len(self.plan.tables))
            for batch in merge_batches(self._of_table(number, links=links))
        )
        if self.plan.probes and not links:
            pairs = _without_repeats(pairs, len(self))
        yield from pairs

    def across(self, ones: Positions, others: Positions) -> Iterator[Pairs]:
        """Yield the pairs of a fingerprint in `ones` and one in `others`, some repeatedly."""
        if not len(ones) or not len(others):
            return
        sides = self.words.take(ones, 1), self.words.take(others, 1)
        if self.plan is None:
            yield from (near.at(ones, others) for near in _all_near(*sides, self.max_distance))
            return
        for number in range(len(self.plan.tables)):
            prefixes = self._prefixes(number)
            other_prefixes = np.concatenate([prefix[others] for prefix in prefixes])
            order = other_prefixes.argsort(kind="stable")
            sorted_prefixes = other_prefixes[order]
            for prefix in prefixes:
                begin = np.searchsorted(sorted_prefixes, prefix[ones])
                end = np.searchsorted(sorted_prefixes, prefix[ones], side="right")
                for one, at in ranges(begin, end):
                    other = order[at] % len(others)
                    yield _near(*sides, one, other, self.max_distance).at(ones, others)

    def _prefixes(self, number: int) -> list[Prefixes]:
        """Return the prefixes of all fingerprints in a table: one array of hashes.

        For a plan with probes, return several arrays of prefixes that are not hashed.
        """
        assert self.plan is not None
        if not self.plan.probes:
            return [hashed(self.words, self.plan.tables[number])]
        assert self._certainties is not None
        return probed_prefixes(self.words, self._certainties, self.plan, number)

    def _of_table(self, number: int, *, links: bool) -> Iterator[Pairs]:
        """Yield the pairs, or links, that a table brings together."""
        assert self.plan is not None
        long_above = _LONG_RUN
        if links:
            four_times_chance = 4 * len(self) >> self.plan.prefix_widths_bits[number]
            long_above = min(max(_LONG_RUN_OF_LINKS, four_times_chance), _LONG_RUN)
        for places, sizes in _equal_prefixes(np.concatenate(self._prefixes(number))):
            members = places % len(self)  # `_prefixes` may return several arrays of this length
            ends = np.cumsum(sizes)
            for run in np.flatnonzero(sizes > long_above).tolist():
                long_run = members[ends[run] - sizes[run] : ends[run]]
                nested = self._nested(self.words.take(long_run, 1), links=links)
                pairs = (near.at(long_run, long_run) for near in nested.pairs(links=links))
                # Not filtered: links may pass through members whose hash only collides.
                yield from pairs if links else self._new_pairs(pairs, number)
            # Each member is compared with the rest of its run, unless that is long.
            ends[sizes > long_above] = 0
            yield from self._new_pairs(self._of_runs(members, np.repeat(ends, sizes)), number)

    def _of_runs(self, members: Positions, ends: Positions) -> Iterator[Pairs]:
        """Yield the pairs of each member with the next ones, up to its end in `ends`, exclusive."""
        words = self.words.take(members, 1)
        for one, other in ranges(np.arange(1, len(members) + 1), ends):
            yield _near(words, words, one, other, self.max_distance).at(members, members)

    def _new_pairs(self, pairs: Iterable[Pairs], number: int) -> Iterator[Pairs]:
        """Yield the pairs with equal prefixes in this table, but in no earlier one.

        For a plan with probes, yield all pairs.
        """
        assert self.plan is not None
        if self.plan.probes:
            yield from pairs
            return
        masks = self._masks[:, : number + 1, None]
        for batch in merge_batches(pairs):
            differs = np.zeros((number + 1, len(batch.first)), dtype=bool)
            for mask, word in zip(masks, self.words, strict=True):
                differs |= (word[batch.first] ^ word[batch.second]) & mask != 0
            is_new = differs[:number].all(axis=0) & ~differs[number]
            yield batch.where(np.flatnonzero(is_new))

    @cached_property
    def _masks(self) -> NDArray[np.uint64]:
        """Return, for each word and table, a mask of the word's bits that are in the prefix."""
        assert self.plan is not None
        masks = [word_masks(table, len(self.words)) for table in self.plan.tables]
        by_word: NDArray[np.uint64] = np.array(masks, dtype=np.uint64).T
        return by_word

    def _nested(self, words: Words, *, links: bool) -> PairSearch:
        """Return a search of a long run, by tables over the varying bits.

        It compares all with all if the run is small, is nested too deeply, or is so dense that
        `links_of_all` is faster than tables.
        """
        k, count, depth = self.max_distance, words.shape[1], self._depth + 1
        is_dense = False
        if links and count > _SMALL_SET:
            sample = words[:, :: count // _SAMPLE]
            found = sum(len(near.first) for near in _all_near(sample, words, k))
            is_dense = found > _SAMPLE * sample.shape[1]
        if is_dense or depth > _MAX_DEPTH or count <= _SMALL_SET:
            return PairSearch(words, self._bits, k, None, depth=depth)
        words, bits = varying(words, self._bits)
        plan = batch_plan(bits, k, count, 1.0)
        return PairSearch(words, bits, k, plan, depth=depth)


def _without_repeats(pairs: Iterable[Pairs], count: int) -> Iterator[Pairs]:
    """Yield each pair of `count` fingerprints once."""
    yielded = np.empty(0, dtype=np.intp)
    for batch in pairs:
        keys, at = np.unique(batch.first * count + batch.second, return_index=True)
        is_new = ~np.isin(keys, yielded, assume_unique=True)
        yielded = np.concatenate([yielded, keys[is_new]])
        yield batch.where(at[is_new])


def _equal_prefixes(prefixes: Prefixes) -> Iterator[tuple[Positions, Positions]]:
    """Yield pieces of (places of repeated prefixes, sizes of the runs of equal prefixes).

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
    for start, stop in pairwise(np.unique([0, *(at + 1), len(ends)]).tolist()):
        begin = ends[start - 1] if start else 0
        piece = ends[start:stop]
        yield places[begin : piece[-1]], np.diff(piece, prepend=begin)


def pairs_of_all(words: Words, max_distance: int) -> Iterator[Pairs]:
    """Yield all pairs within the distance, comparing all fingerprints with all."""
    for near in _all_near(words, words, max_distance, is_same_set=True):
        yield near.where(np.flatnonzero(near.first < near.second))


def links_of_all(words: Words, max_distance: int) -> Iterator[Pairs]:
    """Yield links: compare connected fingerprints only with those that are not yet connected.

    So the time for a dense set is proportional to its size, not to its number of pairs.
    """
    unconnected = np.arange(words.shape[1])
    queue = unconnected[:0]
    while len(unconnected):
        if not len(queue):
            queue, unconnected = unconnected[:1], unconnected[1:]
        height = max(_TILE_PAIRS // max(len(unconnected), 1), 1)
        rows, queue = queue[:height], queue[height:]
        is_linked = np.zeros(len(unconnected), dtype=bool)
        sides = words.take(rows, 1), words.take(unconnected, 1)
        for near in _all_near(*sides, max_distance):
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
    rows: Words, others: Words, max_distance: int, *, is_same_set: bool = False
) -> Iterator[Pairs]:
    """Yield the pairs of `rows` and `others` within the distance, by tiles of their matrix.

    :param is_same_set: `others` are `rows`; most pairs with `first` > `second` are left out.
    """
    telling = telling_words(len(rows), max_distance)
    height = max(_TILE_PAIRS // max(min(others.shape[1], _TILE_WIDTH), 1), 1)
    for top in range(0, rows.shape[1], height):
        tile = rows[:telling, top : top + height, None]
        for left in range(top if is_same_set else 0, others.shape[1], _TILE_WIDTH):
            parts = others[:telling, None, left : left + _TILE_WIDTH]
            total = bit_counts(one ^ other for one, other in zip(tile, parts, strict=True))
            # Much faster than `np.nonzero` of two dimensions.
            row, other = np.divmod(np.flatnonzero(total <= max_distance), parts.shape[-1])
            if len(row):
                yield _near(rows, others, row + top, other + left, max_distance)


def _near(
    ones: Words, others: Words, first: Positions, second: Positions, max_distance: int
) -> Pairs:
    """Return the pairs (ones[:, first], others[:, second]) without those beyond the distance."""
    telling = telling_words(len(ones), max_distance)
    if telling < len(ones):
        apart = distances(ones[:telling], others[:telling], first, second)
        near = np.flatnonzero(apart <= max_distance)
        first, second = first[near], second[near]
    pairs = Pairs(first, second, distances(ones, others, first, second))
    return pairs.where(np.flatnonzero(pairs.distance <= max_distance))


def ranges(begin: Positions, end: Positions) -> Iterator[tuple[Positions, Positions]]:
    """Yield (i, position) for each position in each range begin[i]:end[i], in batches of arrays."""
    counts = np.maximum(end - begin, 0)
    total = np.cumsum(counts)
    start = 0
    while start < len(begin):
        before = int(total[start - 1]) if start else 0
        stop = max(int(np.searchsorted(total, before + BATCH, side="right")), start + 1)
        part = slice(start, stop)
        first = begin[part] - (total[part] - counts[part] - before)
        position = np.repeat(first, counts[part]) + np.arange(int(counts[part].sum()))
        if len(position):
            yield np.repeat(np.arange(start, stop), counts[part]), position
        start = stop
