"""Clusters by leader: in the order of the input, what an index would say of each.

A fingerprint is a near-duplicate of the nearest earlier representative within the distance, the
oldest of those that are equally near, or becomes a representative. So representatives are farther
from each other than the distance, and members of a cluster are within it of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.found import gathered, together

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.clustering.found import Found
    from scrapy_simhash.clustering.words import Positions

# Pairs are held at once if there are not more than these, or than two for each fingerprint.
_HELD_PAIRS = 1 << 20
_HELD_PER_INPUT = 2
# So few have not more pairs than are held.
_SMALLEST_CHUNK = 1 << 10
# Chains of near-duplicates that are longer are followed one by one.
_MOST_ROUNDS = 32
# A distance and a position in one number that sorts as they do.
_PLACE_BITS = 48
_PLACE = (1 << _PLACE_BITS) - 1
_NOTHING = np.iinfo(np.int64).max


class Assigned(NamedTuple):
    """For each input its representative's position, and the distance to it."""

    representative: Positions
    distance: NDArray[np.uint16]


def by_leader(distinct: Distinct) -> Assigned:
    """Assign each input to its leader."""
    count = len(distinct)
    held = _held(distinct.pairs(), max(_HELD_PAIRS, _HELD_PER_INPUT * count))
    near: Iterable[Found]
    if held is not None:
        leads = leaders(count, held)
        near = [held]
    else:
        leads = _leaders_in_chunks(distinct)
        near = gathered(distinct.search(sides=leads))
    nearest = np.full(count, _NOTHING)
    nearest[leads] = np.flatnonzero(leads)
    later = _nearest(distinct, near, leads, nearest)
    return _with_copies(distinct, nearest, later)


def leaders(count: int, pairs: Found) -> NDArray[np.bool_]:
    """Which of so many are representatives, given all pairs.

    In rounds: who has no earlier one near that may still become a representative is one, and
    those near it are not.
    """
    leads = np.ones(count, dtype=bool)
    first, second = pairs.first, pairs.second
    decided = np.zeros(count, dtype=bool)
    for _ in range(_MOST_ROUNDS):
        if not len(first):
            return leads
        has_earlier = np.zeros(count, dtype=bool)
        has_earlier[second] = True
        decided[first[~has_earlier[first]]] = True
        covered = second[~has_earlier[first]]
        leads[covered] = False
        decided[covered] = True
        # Pairs of a decided first one have done their part; so have those of a decided second.
        left = np.flatnonzero(~(decided[first] | decided[second]))
        first, second = first[left], second[left]
    order = np.lexsort((first, second))
    for one, other in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if leads[one]:
            leads[other] = False
    return leads


def _held(search: Iterable[Found], most: int) -> Found | None:
    """All pairs, unless there are more than that."""
    pairs = []
    count = 0
    for found in search:
        pairs.append(found)
        count += len(found.first)
        if count > most:
            return None
    return together(pairs)


def _leaders_in_chunks(distinct: Distinct) -> NDArray[np.bool_]:
    """The same where there are too many pairs: chunk by chunk, leaving out what is near earlier
    representatives. A chunk that has too many pairs is halved.
    """
    count = len(distinct)
    leads = np.zeros(count, dtype=bool)
    start, size = 0, max(count // 2, _SMALLEST_CHUNK)
    while start < count:
        chunk = np.arange(start, min(start + size, count))
        open_ones = chunk[~_covered(distinct, np.flatnonzero(leads), chunk)]
        most = _HELD_PAIRS if size > _SMALLEST_CHUNK else size * size
        held = _held(distinct.pairs(open_ones), most)
        if held is None:
            size = max(size // 2, _SMALLEST_CHUNK)
            continue
        leads[open_ones] = leaders(len(open_ones), held)
        start, size = start + size, size * 2
    return leads


def _covered(distinct: Distinct, earlier: Positions, chunk: Positions) -> NDArray[np.bool_]:
    """Which of the chunk are near one of the earlier ones."""
    covered = np.zeros(len(chunk), dtype=bool)
    if len(earlier):
        both = np.concatenate([earlier, chunk])
        sides = np.arange(len(both)) < len(earlier)
        for found in distinct.search(both, sides=sides):
            covered[found.second - len(earlier)] = True
    return covered


def _nearest(
    distinct: Distinct,
    near: Iterable[Found],
    leads: NDArray[np.bool_],
    nearest: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Enter for each the distance and place of its leader; return what copies may need.

    That is, by rows: who has copies, and the distance and place of a representative that came
    after it and is nearer than its own.
    """
    later = [np.empty((2, 0), dtype=np.int64)]
    last = distinct.last_copies()
    for first, second, distance in near:
        numbers = distance.astype(np.int64) << _PLACE_BITS
        leading = np.flatnonzero(leads[first])
        np.minimum.at(nearest, second[leading], numbers[leading] | first[leading])
        if len(last):
            following = np.flatnonzero(leads[second] & (last[first] > distinct.inputs(second)))
            candidates = first[following], numbers[following] | second[following]
            later.append(np.stack(candidates))
    found = np.concatenate(later, axis=1)
    return found[:, found[1] < nearest[found[0]]]


def _with_copies(
    distinct: Distinct, nearest: NDArray[np.int64], later: NDArray[np.int64]
) -> Assigned:
    """The leaders of all inputs: a copy may have a nearer one than the first of its kind."""
    firsts = distinct.places(distinct.copies.first)
    of_copies = nearest[firsts]
    if later.shape[1]:
        member, number = later[:, np.lexsort((later[1] & _PLACE, later[0]))]
        best = _running_minimum(member, number)
        inputs = distinct.input_count
        came = member * inputs + distinct.inputs(number & _PLACE)
        before = np.searchsorted(came, firsts * inputs + distinct.copies.position) - 1
        some = np.flatnonzero((before >= 0) & (member[before] == firsts))
        of_copies[some] = np.minimum(of_copies[some], best[before[some]])
    return Assigned(
        distinct.inputs(distinct.spread(nearest & _PLACE, of_copies & _PLACE)),
        distinct.spread(nearest >> _PLACE_BITS, of_copies >> _PLACE_BITS).astype(np.uint16),
    )


def _running_minimum(group: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number the least one so far in its group; groups stand together."""
    in_order = np.sort(numbers)
    ranks = np.searchsorted(in_order, numbers)
    # Each group starts lower than the one before, so that nothing of that one is less.
    fall = np.cumsum(np.append(0, group[1:] != group[:-1])) * len(numbers)
    least: NDArray[np.int64] = in_order[np.minimum.accumulate(ranks - fall) + fall]
    return least
