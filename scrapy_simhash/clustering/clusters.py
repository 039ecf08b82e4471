"""Assign each fingerprint to a cluster, by leader or by connection; see `ClusterMethod`.

An *input* is the fingerprint at a position of the list. An *item* is a distinct fingerprint; items
are numbered from 0 in the order in which they first occur. A *copy* is an input that equals an
earlier one. A *leader* is an item that is a representative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import BATCH, concatenate, merge_batches, ranges
from scrapy_simhash.clustering.words import distances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.pairs import Flags, Pairs, PairSearch
    from scrapy_simhash.clustering.words import Distinct, Positions

# Upper limit for the pairs held in memory, or two for each item if that is more.
_HELD_PAIRS = 1 << 20
_HELD_PER_ITEM = 2
_MIN_CHUNK = 1 << 10
# A distance and an item are packed in one number, which sorts by distance, then item.
_ITEM_BITS = 48
_ITEM_MASK = (1 << _ITEM_BITS) - 1
_NO_LEADER = np.iinfo(np.int64).max


class Assigned(NamedTuple):
    """For each input, the position of its representative, and the distance of the two."""

    representative: Positions
    distance: NDArray[np.uint16]


def by_leader(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to its nearest earlier leader; a leader represents itself."""
    held = _collect(search)
    pairs: Iterable[Pairs]
    if held is not None:
        is_leader, pairs = leaders(len(search), held), [held]
    else:
        is_leader = _leaders_in_chunks(search)
        others = np.flatnonzero(~is_leader)
        pairs = merge_batches(search.across(np.flatnonzero(is_leader), others))
    return _assign_nearest(pairs, is_leader, distinct)


def by_connection(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to the earliest member of its component, even if it is beyond k."""
    everyone = np.arange(len(search))
    earlier = everyone.copy()
    for batch in search.pairs(links=True):
        connect(earlier, batch.first, batch.second)
    earliest = earliest_members(earlier, everyone)
    apart = distances(search.words, search.words, everyone, earliest)
    items = distinct.items
    return Assigned(distinct.first_positions[earliest][items], apart[items])


def leaders(count: int, pairs: Pairs) -> Flags:
    """Return, for each of `count` items, True for a leader, given all pairs within k."""
    is_leader = bytearray(b"\1") * count
    # In order of `second`, each `first` has been compared with all earlier items.
    order = np.lexsort((pairs.first, pairs.second))
    for part in np.split(order, range(BATCH, len(order), BATCH)):
        firsts, seconds = pairs.first[part].tolist(), pairs.second[part].tolist()
        for first, second in zip(firsts, seconds, strict=True):
            if is_leader[first]:
                is_leader[second] = False
    return np.frombuffer(is_leader, dtype=bool)


def _collect(search: PairSearch) -> Pairs | None:
    """Return all pairs of a search, or None if there are too many to hold in memory."""
    held = []
    count = 0
    for batch in search.pairs():
        held.append(batch)
        count += len(batch.first)
        if count > max(_HELD_PAIRS, _HELD_PER_ITEM * len(search)) and len(search) > _MIN_CHUNK:
            return None
    return concatenate(held)


def _leaders_in_chunks(search: PairSearch) -> Flags:
    """Return the same as `leaders`, without all pairs in memory.

    In each half, items within k of earlier leaders are left out first. A half whose other items
    still have too many pairs is halved again.
    """
    count = len(search)
    is_leader = np.zeros(count, dtype=bool)
    for half in np.array_split(np.arange(count), 2):
        is_covered = np.zeros(count, dtype=bool)
        for batch in search.across(np.flatnonzero(is_leader), half):
            is_covered[batch.second] = True
        uncovered = half[~is_covered[half]]
        part = search.among(uncovered)
        held = _collect(part)
        is_leader[uncovered] = (
            _leaders_in_chunks(part) if held is None else leaders(len(part), held)
        )
    return is_leader


def _assign_nearest(pairs: Iterable[Pairs], is_leader: Flags, distinct: Distinct) -> Assigned:
    """Assign each input to its nearest earlier leader.

    A copy may join a nearer leader than its item, if the leader is between the two in the input.

    :param pairs: all pairs within k of a leader and another item; others are ignored.
    """
    first_positions, items = distinct
    nearest = np.full(len(first_positions), _NO_LEADER)
    nearest[is_leader] = np.flatnonzero(is_leader)
    copies = np.flatnonzero(first_positions[items] != np.arange(len(items)))
    copies = copies[np.argsort(items[copies], kind="stable")]  # by item, then position
    sort_keys = items[copies] * len(items) + copies
    nearest_of_copies = np.full(len(copies), _NO_LEADER)
    for first, second, distance in pairs:
        packed = distance.astype(np.int64) << _ITEM_BITS
        first_leads = np.flatnonzero(is_leader[first])
        np.minimum.at(nearest, second[first_leads], packed[first_leads] | first[first_leads])
        if len(copies):
            second_leads = np.flatnonzero(is_leader[second])
            key_of_item = first[second_leads] * len(items)
            begin = np.searchsorted(sort_keys, key_of_item + first_positions[second[second_leads]])
            end = np.searchsorted(sort_keys, key_of_item + len(items))
            for pair, copy in ranges(begin, end):
                np.minimum.at(nearest_of_copies, copy, (packed | second)[second_leads[pair]])
    assigned = nearest[items]
    assigned[copies] = np.minimum(assigned[copies], nearest_of_copies)
    representative = first_positions[assigned & _ITEM_MASK]
    return Assigned(representative, (assigned >> _ITEM_BITS).astype(np.uint16))


def connect(earlier: Positions, first: Positions, second: Positions) -> None:
    """Join the components of the two items of each pair.

    :param earlier: for each item, an earlier member of its component, or the item itself if it is
        the earliest. Updated in place.
    """
    while len(first):
        ones, others = earliest_members(earlier, first), earliest_members(earlier, second)
        are_apart = np.flatnonzero(ones != others)
        first, second = ones[are_apart], others[are_apart]
        np.minimum.at(earlier, np.maximum(first, second), np.minimum(first, second))


def earliest_members(earlier: Positions, members: Positions) -> Positions:
    """Return the earliest member of each item's component, and shorten the paths in `earlier`."""
    reached = earlier[members]
    while not np.array_equal(further := earlier[reached], reached):
        earlier[members] = reached = further
    return reached
