"""Assign each fingerprint to a cluster, by leader or by connection.

By leader: in input order, each fingerprint joins the nearest earlier representative within the
distance (the oldest of equally near ones), or becomes a representative. By connection: chains of
pairs within the distance form a cluster.

An item is a distinct fingerprint, and its place is its number; a position is one in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import gathered, together
from scrapy_simhash.clustering.words import distances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.clustering.pairs import Pairs
    from scrapy_simhash.clustering.words import Positions

# The most pairs held in memory: this many, or two for each fingerprint if that is more.
_HELD_PAIRS = 1 << 20
_HELD_PER_INPUT = 2
_SMALLEST_CHUNK = 1 << 10
# After so many rounds, the remaining pairs are taken one by one.
_MOST_ROUNDS = 32
# A distance and a position are packed in one number, which sorts by distance, then position.
_PLACE_BITS = 48
_PLACE = (1 << _PLACE_BITS) - 1
_NO_LEADER = np.iinfo(np.int64).max


class Assigned(NamedTuple):
    """The position of each input's representative, and the distance to it."""

    representative: Positions
    distance: NDArray[np.uint16]


def by_leader(distinct: Distinct) -> Assigned:
    """Assign each input to its leader."""
    count = len(distinct)
    held = _held(distinct.pairs(), max(_HELD_PAIRS, _HELD_PER_INPUT * count))
    pairs: Iterable[Pairs]
    if held is not None:
        leads = leaders(count, held)
        pairs = [held]
    else:
        leads = _leaders_in_chunks(distinct)
        pairs = gathered(distinct.pairs_across(np.flatnonzero(leads), np.flatnonzero(~leads)))
    nearest = np.full(count, _NO_LEADER)
    nearest[leads] = np.flatnonzero(leads)
    nearer = _enter_nearest(distinct, pairs, leads, nearest)
    return _with_copies(distinct, nearest, nearer)


def by_connection(distinct: Distinct) -> Assigned:
    """Assign each input to the earliest member of its connected component.

    The distance to it may exceed the one within which pairs are.
    """
    earlier = np.arange(len(distinct))
    for found in gathered(distinct.pairs(links=True)):
        connect(earlier, found.first, found.second)
    everyone = np.arange(len(distinct))
    earliest = earliest_members(earlier, everyone)
    apart = distances(distinct.columns, distinct.columns, everyone, earliest)
    firsts = distinct.places(distinct.copies.first)
    return Assigned(
        distinct.inputs(distinct.spread(earliest, earliest[firsts])),
        distinct.spread(apart, apart[firsts]),
    )


def leaders(count: int, pairs: Pairs) -> NDArray[np.bool_]:
    """Return True for each of `count` items that is a leader, given all pairs.

    In rounds: an item without an earlier neighbour that may lead is a leader, and its neighbours
    are not.
    """
    leads = np.ones(count, dtype=bool)
    first, second = pairs.first, pairs.second
    for _ in range(_MOST_ROUNDS):
        if not len(first):
            return leads
        has_earlier = np.zeros(count, dtype=bool)
        has_earlier[second] = True
        leads[second[~has_earlier[first]]] = False
        left = leads[first] & leads[second]
        first, second = first[left], second[left]
    order = np.lexsort((first, second))
    for one, other in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if leads[one]:
            leads[other] = False
    return leads


def _held(pairs: Iterable[Pairs], most: int) -> Pairs | None:
    """Return all pairs, or None if there are more than `most`."""
    held = []
    count = 0
    for found in pairs:
        held.append(found)
        count += len(found.first)
        if count > most:
            return None
    return together(held)


def _leaders_in_chunks(distinct: Distinct) -> NDArray[np.bool_]:
    """Do the same as `leaders` where not all pairs fit in memory.

    In each chunk, items near earlier leaders are left out first. A chunk that still has too many
    pairs is halved.
    """
    count = len(distinct)
    leads = np.zeros(count, dtype=bool)
    start, size = 0, max(count // 2, _SMALLEST_CHUNK)
    while start < count:
        chunk = np.arange(start, min(start + size, count))
        covered = np.zeros(count, dtype=bool)
        for found in distinct.pairs_across(np.flatnonzero(leads), chunk):
            covered[found.second] = True
        uncovered = chunk[~covered[chunk]]
        most = _HELD_PAIRS if size > _SMALLEST_CHUNK else size * size  # the smallest chunk fits
        held = _held(distinct.pairs(uncovered), most)
        if held is None:
            size = max(size // 2, _SMALLEST_CHUNK)
            continue
        leads[uncovered] = leaders(len(uncovered), held)
        start, size = start + size, size * 2
    return leads


def _enter_nearest(
    distinct: Distinct,
    pairs: Iterable[Pairs],
    leads: NDArray[np.bool_],
    nearest: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Enter the distance and place of each item's leader in `nearest`.

    A repeat of an item may follow a leader that is nearer than that of its first occurrence.

    :return: two rows: items with such repeats, and the packed distance and place of that leader.
    """
    nearer = [np.empty((2, 0), dtype=np.int64)]
    last_repeat = distinct.last_copies()
    for first, second, distance in pairs:
        numbers = distance.astype(np.int64) << _PLACE_BITS
        leading = np.flatnonzero(leads[first])
        np.minimum.at(nearest, second[leading], numbers[leading] | first[leading])
        if len(last_repeat):
            following = np.flatnonzero(
                leads[second] & (last_repeat[first] > distinct.inputs(second))
            )
            nearer.append(np.stack([first[following], numbers[following] | second[following]]))
    found = np.concatenate(nearer, axis=1)
    return found[:, found[1] < nearest[found[0]]]


def _with_copies(
    distinct: Distinct, nearest: NDArray[np.int64], nearer: NDArray[np.int64]
) -> Assigned:
    """Return the leader of each input. About repeats, see `_enter_nearest`."""
    firsts = distinct.places(distinct.copies.first)
    of_copies = nearest[firsts]
    if nearer.shape[1]:
        member, number = nearer[:, np.lexsort((nearer[1] & _PLACE, nearer[0]))]
        best = _running_minimum(member, number)
        inputs = distinct.input_count
        sort_keys = member * inputs + distinct.inputs(number & _PLACE)
        candidate = np.searchsorted(sort_keys, firsts * inputs + distinct.copies.position) - 1
        has_nearer = np.flatnonzero((candidate >= 0) & (member[candidate] == firsts))
        of_copies[has_nearer] = np.minimum(of_copies[has_nearer], best[candidate[has_nearer]])
    return Assigned(
        distinct.inputs(distinct.spread(nearest & _PLACE, of_copies & _PLACE)),
        distinct.spread(nearest >> _PLACE_BITS, of_copies >> _PLACE_BITS).astype(np.uint16),
    )


def _running_minimum(group: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the running minimum within each group; groups are contiguous."""
    in_order = np.sort(numbers)
    ranks = np.searchsorted(in_order, numbers)
    # Subtract more from each next group, so that no minimum carries over.
    offset = np.cumsum(np.append(0, group[1:] != group[:-1])) * len(numbers)
    least: NDArray[np.int64] = in_order[np.minimum.accumulate(ranks - offset) + offset]
    return least


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
    """Return, for each member, the earliest of its component. Paths are compressed."""
    found = earlier[members]
    while True:
        further = earlier[found]
        if np.array_equal(further, found):
            return found
        earlier[members] = further
        found = further
