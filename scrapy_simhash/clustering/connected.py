"""Clusters by connection: whatever a chain of pairs within the distance leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.clustering.found import gathered
from scrapy_simhash.clustering.leader import Assigned
from scrapy_simhash.clustering.words import distances

if TYPE_CHECKING:
    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.clustering.words import Positions


def by_connection(distinct: Distinct) -> Assigned:
    """Assign each input to the earliest member of its connected component.

    The distance is that to this member: it may be farther than the distance of a pair.
    """
    # Each points at an earlier member of its component, or at itself if it is the earliest.
    earlier = np.arange(len(distinct))
    for found in gathered(distinct.search(links=True)):
        _connect(earlier, found.first, found.second)
    everyone = np.arange(len(distinct))
    earliest = _earliest(earlier, everyone)
    apart = np.zeros(len(distinct), dtype=np.uint16)
    members = np.flatnonzero(earliest != everyone)
    apart[members] = distances(distinct.columns, members, earliest[members])
    firsts = distinct.places(distinct.copies.first)
    return Assigned(
        distinct.inputs(distinct.spread(earliest, earliest[firsts])),
        distinct.spread(apart, apart[firsts]),
    )


def _connect(earlier: Positions, first: Positions, second: Positions) -> None:
    while len(first):
        one, other = _earliest(earlier, first), _earliest(earlier, second)
        apart = np.flatnonzero(one != other)
        first, second = one[apart], other[apart]
        np.minimum.at(earlier, np.maximum(first, second), np.minimum(first, second))


def _earliest(earlier: Positions, members: Positions) -> Positions:
    """The ends of the chains that begin at these; chains get shorter by it."""
    found = earlier[members]
    while True:
        further = earlier[found]
        if np.array_equal(further, found):
            return found
        earlier[members] = further
        found = further
