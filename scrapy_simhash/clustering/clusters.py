"""Assign each fingerprint to a cluster, by leader or by connection.

By leader: in input order, each fingerprint joins the nearest earlier representative within the
distance (the oldest of equally near ones), or becomes a representative. By connection: chains of
pairs within the distance form a cluster.

An item is a distinct fingerprint, and its place is its number; a position is one in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import BATCH, gathered, ranges, together
from scrapy_simhash.clustering.words import distances

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.clustering.pairs import Pairs, PairSearch
    from scrapy_simhash.clustering.words import Positions

# The most pairs held in memory: this many, or two for each fingerprint if that is more.
_HELD_PAIRS = 1 << 20
_HELD_PER_INPUT = 2
_SMALLEST_CHUNK = 1 << 10
# A distance and a position are packed in one number, which sorts by distance, then position.
_PLACE_BITS = 48
_PLACE = (1 << _PLACE_BITS) - 1
_NO_LEADER = np.iinfo(np.int64).max


class Assigned(NamedTuple):
    """The position of each input's representative, and the distance to it."""

    representative: Positions
    distance: NDArray[np.uint16]


def by_leader(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to its leader."""
    held = _held(search.pairs(), max(_HELD_PAIRS, _HELD_PER_INPUT * len(search)))
    pairs: Iterable[Pairs]
    if held is not None:
        leads = leaders(len(search), held)
        pairs = [held]
    else:
        leads = _leaders_in_chunks(search)
        pairs = gathered(search.across(np.flatnonzero(leads), np.flatnonzero(~leads)))
    return _nearest(pairs, leads, distinct)


def by_connection(search: PairSearch, distinct: Distinct) -> Assigned:
    """Assign each input to the earliest member of its connected component.

    The distance to it may exceed the one within which pairs are.
    """
    everyone = np.arange(len(search))
    earlier = everyone.copy()
    for found in search.links():
        connect(earlier, found.first, found.second)
    earliest = earliest_members(earlier, everyone)
    apart = distances(search.columns, search.columns, everyone, earliest)
    numbers = distinct.numbers
    return Assigned(distinct.inputs[earliest][numbers], apart[numbers])


def leaders(count: int, pairs: Pairs) -> NDArray[np.bool_]:
    """Return True for each of `count` items that is a leader, given all pairs."""
    leads = bytearray(b"\1") * count
    order = np.lexsort((pairs.first, pairs.second))
    for part in np.split(order, range(BATCH, len(order), BATCH)):
        firsts, seconds = pairs.first[part].tolist(), pairs.second[part].tolist()
        for one, other in zip(firsts, seconds, strict=True):
            if leads[one]:
                leads[other] = False
    return np.frombuffer(leads, dtype=bool)


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


def _leaders_in_chunks(search: PairSearch) -> NDArray[np.bool_]:
    """Do the same as `leaders` where not all pairs fit in memory.

    In each chunk, items near earlier leaders are left out first. A chunk that still has too many
    pairs is halved.
    """
    count = len(search)
    leads = np.zeros(count, dtype=bool)
    start, size = 0, max(count // 2, _SMALLEST_CHUNK)
    while start < count:
        chunk = np.arange(start, min(start + size, count))
        covered = np.zeros(count, dtype=bool)
        for found in search.across(np.flatnonzero(leads), chunk):
            covered[found.second] = True
        uncovered = chunk[~covered[chunk]]
        most = _HELD_PAIRS if size > _SMALLEST_CHUNK else size * size  # the smallest chunk fits
        held = _held(search.among(uncovered).pairs(), most)
        if held is None:
            size = max(size // 2, _SMALLEST_CHUNK)
            continue
        leads[uncovered] = leaders(len(uncovered), held)
        start, size = start + size, size * 2
    return leads


def _nearest(pairs: Iterable[Pairs], leads: NDArray[np.bool_], distinct: Distinct) -> Assigned:
    """Return the nearest earlier leader of each input.

    A copy of an item may follow a leader that is nearer than that of its first occurrence.

    :param pairs: contain each pair of a leader and another item within the distance.
    """
    inputs, numbers = distinct
    nearest = np.full(len(inputs), _NO_LEADER)
    nearest[leads] = np.flatnonzero(leads)
    copies = distinct.copies()
    sort_keys = numbers[copies] * len(numbers) + copies
    of_copies = np.full(len(copies), _NO_LEADER)
    for first, second, distance in pairs:
        packed = distance.astype(np.int64) << _PLACE_BITS
        leading = np.flatnonzero(leads[first])
        np.minimum.at(nearest, second[leading], packed[leading] | first[leading])
        if len(copies):
            late = np.flatnonzero(leads[second])
            begin = np.searchsorted(sort_keys, first[late] * len(numbers) + inputs[second[late]])
            end = np.searchsorted(sort_keys, (first[late] + 1) * len(numbers))
            for one, at in ranges(begin, end):
                np.minimum.at(of_copies, at, (packed | second)[late[one]])
    found = nearest[numbers]
    found[copies] = np.minimum(found[copies], of_copies)
    return Assigned(inputs[found & _PLACE], (found >> _PLACE_BITS).astype(np.uint16))


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
