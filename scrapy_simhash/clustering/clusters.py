"""Assign each fingerprint to a cluster, by leader or by connection; see `ClusterMethod`.

An *item* is a distinct fingerprint, and its number is its place in the order of first occurrence. A
*leader* is an item that is a representative. An input is a fingerprint at its position in the list,
and may equal an earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import BATCH, concatenate, merge_batches, ranges
from scrapy_simhash.clustering.words import distances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.clustering.pairs import Flags, Pairs, PairSearch
    from scrapy_simhash.clustering.words import Positions

# At most this many pairs are held in memory, or two for each item if that is more.
_HELD_PAIRS = 1 << 20
_HELD_PER_INPUT = 2
_SMALLEST_CHUNK = 1 << 10
# A distance and an item are packed in one number, which sorts by distance, then item.
_ITEM_BITS = 48
_ITEM_MASK = (1 << _ITEM_BITS) - 1
_NO_LEADER = np.iinfo(np.int64).max


class Assigned(NamedTuple):
    """The position of each input's representative, and the distance to it."""

    representative: Positions
    distance: NDArray[np.uint16]


def by_leader(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to its nearest earlier leader."""
    held = _collect(search.pairs(), max(_HELD_PAIRS, _HELD_PER_INPUT * len(search)))
    pairs: Iterable[Pairs]
    if held is not None:
        is_leader = leaders(len(search), held)
        pairs = [held]
    else:
        is_leader = _leaders_in_chunks(search)
        others = np.flatnonzero(~is_leader)
        pairs = merge_batches(search.across(np.flatnonzero(is_leader), others))
    return _assign_nearest(pairs, is_leader, distinct)


def by_connection(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to the earliest member of its component, at any distance."""
    everyone = np.arange(len(search))
    earlier = everyone.copy()
    for batch in search.links():
        connect(earlier, batch.first, batch.second)
    earliest = earliest_members(earlier, everyone)
    apart = distances(search.columns, search.columns, everyone, earliest)
    items = distinct.items
    return Assigned(distinct.first_positions[earliest][items], apart[items])


def leaders(count: int, pairs: Pairs) -> Flags:
    """Return True for each of `count` items that is a leader, given all pairs within k."""
    is_leader = bytearray(b"\1") * count
    # All pairs of an item with earlier ones come before its pairs with later ones.
    order = np.lexsort((pairs.first, pairs.second))
    for part in np.split(order, range(BATCH, len(order), BATCH)):
        firsts, seconds = pairs.first[part].tolist(), pairs.second[part].tolist()
        for first, second in zip(firsts, seconds, strict=True):
            if is_leader[first]:
                is_leader[second] = False
    return np.frombuffer(is_leader, dtype=bool)


def _collect(pairs: Iterable[Pairs], limit: int) -> Pairs | None:
    """Return all pairs, or None if there are more than `limit`."""
    held = []
    count = 0
    for batch in pairs:
        held.append(batch)
        count += len(batch.first)
        if count > limit:
            return None
    return concatenate(held)


def _leaders_in_chunks(search: PairSearch) -> Flags:
    """Return the same as `leaders`, without all pairs in memory.

    In each chunk, items near earlier leaders are left out first. A chunk that still has too many
    pairs is halved.
    """
    count = len(search)
    is_leader = np.zeros(count, dtype=bool)
    start, size = 0, max(count // 2, _SMALLEST_CHUNK)
    while start < count:
        chunk = np.arange(start, min(start + size, count))
        is_covered = np.zeros(count, dtype=bool)
        for batch in search.across(np.flatnonzero(is_leader), chunk):
            is_covered[batch.second] = True
        uncovered = chunk[~is_covered[chunk]]
        limit = _HELD_PAIRS if size > _SMALLEST_CHUNK else size * size  # more than it has
        held = _collect(search.among(uncovered).pairs(), limit)
        if held is None:
            size = max(size // 2, _SMALLEST_CHUNK)
            continue
        is_leader[uncovered] = leaders(len(uncovered), held)
        start, size = start + size, size * 2
    return is_leader


def _assign_nearest(pairs: Iterable[Pairs], is_leader: Flags, distinct: Distinct) -> Assigned:
    """Assign each input to its nearest earlier leader.

    A copy of an item may have a nearer leader, which came after the item's first occurrence.

    :param pairs: contain each pair of a leader and another item within the distance.
    """
    first_positions, items = distinct
    nearest = np.full(len(first_positions), _NO_LEADER)
    nearest[is_leader] = np.flatnonzero(is_leader)
    copies = distinct.copies()
    sort_keys = items[copies] * len(items) + copies
    nearest_of_copies = np.full(len(copies), _NO_LEADER)
    for first, second, distance in pairs:
        packed = distance.astype(np.int64) << _ITEM_BITS
        leading = np.flatnonzero(is_leader[first])
        np.minimum.at(nearest, second[leading], packed[leading] | first[leading])
        if len(copies):
            late = np.flatnonzero(is_leader[second])
            row = first[late] * len(items)
            begin = np.searchsorted(sort_keys, row + first_positions[second[late]])
            end = np.searchsorted(sort_keys, row + len(items))
            for pair, copy in ranges(begin, end):
                np.minimum.at(nearest_of_copies, copy, (packed | second)[late[pair]])
    assigned = nearest[items]
    assigned[copies] = np.minimum(assigned[copies], nearest_of_copies)
    representative = first_positions[assigned & _ITEM_MASK]
    return Assigned(representative, (assigned >> _ITEM_BITS).astype(np.uint16))


def connect(earlier: Positions, first: Positions, second: Positions) -> None:
    """Join the components of each pair.

    :param earlier: for each item an earlier member of its component, or the item itself if it is
        the earliest; updated in place.
    """
    while len(first):
        one, other = earliest_members(earlier, first), earliest_members(earlier, second)
        different = np.flatnonzero(one != other)
        first, second = one[different], other[different]
        np.minimum.at(earlier, np.maximum(first, second), np.minimum(first, second))


def earliest_members(earlier: Positions, members: Positions) -> Positions:
    """Return the earliest of each member's component, and shorten the paths in `earlier`."""
    found = earlier[members]
    while True:
        further = earlier[found]
        if np.array_equal(further, found):
            return found
        earlier[members] = further
        found = further
