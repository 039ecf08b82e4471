"""Assign each fingerprint to a cluster, by leader or by connection; see `ClusterMethod`.

An *input* is the fingerprint at a position of the list. An *item* is a distinct fingerprint; items
are numbered from 0 in the order in which they first occur. A *copy* is an input that equals an
earlier one. A *leader* is an item that is a representative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from scrapy_simhash.clustering.pairs import concatenate, distances, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.pairs import Distances, Pairs, Positions, Words

    Flags: TypeAlias = NDArray[np.bool_]
    Search: TypeAlias = Callable[[Words], Iterator[Pairs]]

# Upper limit for the pairs held in memory, or two for each item if that is more.
_HELD_PAIRS, _HELD_PER_ITEM = 1 << 20, 2
# A distance and an item are packed in one number, which sorts by distance, then item.
_ITEM_BITS = 48
_ITEM_MASK = (1 << _ITEM_BITS) - 1
_NO_LEADER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a list of fingerprints, given by their positions from 0.

    :param representative: for each fingerprint, the position of its representative.
    :param distance: for each fingerprint, the distance to its representative; with ``connected``,
        it may be above `max_distance`.
    :param recall: expected share of the pairs at `max_distance` that the tables find, if all bits
        are equally likely to differ; 1.0 if all are found. Nearer pairs are found more often.
    """

    representative: Positions
    distance: Distances
    recall: float

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(np.unique(self.representative))

    def clusters(self, smallest: int = 1) -> Iterator[Positions]:
        """Yield the positions of the members of each cluster of `smallest` or more: ascending, so
        that the representative comes first; large clusters first, then early ones.
        """
        members = np.argsort(self.representative, kind="stable")
        sizes = np.bincount(self.representative)
        ends = np.cumsum(sizes)
        largest = np.argsort(-sizes, kind="stable")
        for number in largest[: np.count_nonzero(sizes >= max(smallest, 1))].tolist():
            yield members[ends[number] - sizes[number] : ends[number]]


def distinct(words: Words) -> tuple[Positions, Positions]:
    """Return (for each item, the position in the input where it first occurs; for each position,
    the number of its item). Equal fingerprints would make useless pairs.
    """
    positions = np.arange(words.shape[1])
    # In this order, equal fingerprints form a run. The sort is stable: the earliest comes first.
    order = np.lexsort(words)
    is_new = positions == 0
    for word in words:
        is_new[1:] |= word[order[1:]] != word[order[:-1]]
    firsts = order[is_new]
    items = np.empty_like(positions)
    # All positions of a run have the number of its first one among all first ones.
    items[order] = firsts.argsort().argsort()[np.cumsum(is_new) - 1]
    return np.sort(firsts), items


def by_connection(
    words: Words, search: Search, first_positions: Positions, items: Positions
) -> tuple[Positions, Distances]:
    """Return, for each input, the position of the earliest member of its component, even if it is
    beyond k, and the distance to it.
    """
    everyone = np.arange(words.shape[1])
    earlier = everyone.copy()
    for pairs in search(words):
        connect(earlier, pairs.first, pairs.second)
    earliest = earliest_members(earlier, everyone)
    apart = distances(words, everyone, earliest)
    return first_positions[earliest][items], apart[items]


def by_leader(
    words: Words, search: Search, first_positions: Positions, items: Positions
) -> tuple[Positions, Distances]:
    """Return, for each input, the position of its nearest earlier leader, and the distance to it.

    A copy may join a nearer leader than its item, if the leader is between the two in the input.
    """
    held = _collect(words, search)
    is_leader = _leaders(words, search, held)
    nearest = np.full(len(is_leader), _NO_LEADER)
    nearest[is_leader] = np.flatnonzero(is_leader)
    copies = np.flatnonzero(first_positions[items] != np.arange(len(items)))
    copies = copies[np.argsort(items[copies], kind="stable")]  # by item, then position
    sort_keys = items[copies] * len(items) + copies
    nearest_of_copies = np.full(len(copies), _NO_LEADER)
    for first, second, distance in search(words) if held is None else [held]:
        packed = distance.astype(np.int64) << _ITEM_BITS
        first_leads = np.flatnonzero(is_leader[first])
        np.minimum.at(nearest, second[first_leads], packed[first_leads] | first[first_leads])
        second_leads = np.flatnonzero(is_leader[second])
        key_of_item = first[second_leads] * len(items)
        begin = np.searchsorted(sort_keys, key_of_item + first_positions[second[second_leads]])
        end = np.searchsorted(sort_keys, key_of_item + len(items))
        for pair, copy in ranges(begin, end):
            np.minimum.at(nearest_of_copies, copy, (packed | second)[second_leads[pair]])
    assigned = nearest[items]
    assigned[copies] = np.minimum(assigned[copies], nearest_of_copies)
    return first_positions[assigned & _ITEM_MASK], (assigned >> _ITEM_BITS).astype(np.uint16)


def _collect(words: Words, search: Search) -> Pairs | None:
    """Return all pairs of some fingerprints, or None if there are too many to hold in memory."""
    held = []
    count = 0
    for batch in search(words):
        held.append(batch)
        count += len(batch.first)
        if count > max(_HELD_PAIRS, _HELD_PER_ITEM * words.shape[1]):
            return None
    return concatenate(held)


def _leaders(words: Words, search: Search, held: Pairs | None) -> Flags:
    """Return True for each leader: an item that is in no pair with an earlier leader.

    :param held: all pairs; None if there are too many. Then items without earlier neighbours are
        leaders, and cover their neighbours. The others are decided among themselves.
    """
    is_leader = np.ones(words.shape[1], dtype=bool)
    undecided = np.arange(words.shape[1])
    while held is None:
        among = words.take(undecided, 1)
        leads = np.ones(len(undecided), dtype=bool)
        for pairs in search(among):
            leads[pairs.second] = False
        is_covered = np.zeros(len(undecided), dtype=bool)
        for pairs in search(among):
            is_covered[pairs.second[leads[pairs.first]]] = True
        is_leader[undecided[is_covered]] = False
        undecided = undecided[~leads & ~is_covered]
        held = _collect(words.take(undecided, 1), search)
    # In order of `second`, each `first` has been compared with all earlier items.
    order = np.lexsort((held.first, held.second))
    leading = bytearray(b"\1") * len(undecided)
    in_order = held.first[order].tolist(), held.second[order].tolist()
    for first, second in zip(*in_order, strict=True):
        if leading[first]:
            leading[second] = False
    is_leader[undecided] = np.frombuffer(leading, dtype=bool)
    return is_leader


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
