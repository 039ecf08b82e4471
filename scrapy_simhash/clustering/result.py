"""What clustering returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import Pairs, gathered, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.distinct import Distinct
    from scrapy_simhash.index.plan import TablePlan


class Cluster(NamedTuple):
    """Positions in the input: of the representative, and of all members, it among them."""

    representative: int
    members: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Clustering:
    """Clusters of fingerprints; positions count the input from 0.

    Iterating gives the clusters, the largest first and then the oldest; ``len()`` is how many.

    :param representative: for each input the position of its representative; its own, if it is one.
    :param distance: for each input the distance to its representative; 0 for one.
    :param method: ``leader`` or ``connected``.
    :param plan: the tables that brought pairs together; None if all were compared with all.
    :param recall: share of the pairs at `max_distance` that the tables find, if the differing
        bits fall anywhere alike; nearer pairs are found more often, and up to
        ``plan.guaranteed_distance`` always. 1.0 if all are found. Where certainties were used
        (``plan.probes``), share of real near-duplicates within `max_distance`.
    """

    representative: NDArray[np.intp]
    distance: NDArray[np.uint16]
    method: str
    bits: int
    max_distance: int
    plan: TablePlan | None
    recall: float

    @property
    def representatives(self) -> NDArray[np.intp]:
        """Positions of all representatives, ascending."""
        return np.flatnonzero(self.representative == np.arange(len(self.representative)))

    @property
    def near_duplicate_count(self) -> int:
        """Inputs that are not representatives: what would be dropped."""
        return len(self.representative) - len(self)

    def sizes(self) -> NDArray[np.intp]:
        """Members of each cluster, in the order of `representatives`."""
        counts = np.bincount(self.representative, minlength=len(self.representative))
        return counts[counts > 0]

    def clusters(self, smallest: int = 1) -> Iterator[Cluster]:
        """Return the clusters with at least so many members, the largest first, then the oldest."""
        members = np.argsort(self.representative, kind="stable")
        representatives, sizes = self.representatives, self.sizes()
        ends = np.cumsum(sizes)
        order = np.argsort(-sizes, kind="stable")
        for number in order[: np.count_nonzero(sizes >= smallest)].tolist():
            end = int(ends[number])
            yield Cluster(int(representatives[number]), members[end - int(sizes[number]) : end])

    def __iter__(self) -> Iterator[Cluster]:
        return self.clusters()

    def __len__(self) -> int:
        return len(self.representatives)


class NearPairs:
    """Every pair of different fingerprints within a distance.

    Iterating gives batches of pairs, ``first``, ``second`` and ``distance`` as arrays, in no
    promised order; positions count the input from 0, and ``first < second``. Each iteration
    searches again. Equal fingerprints stand in for each other: pairs name the first of them, and
    `first_of` says which are equal to it.

    :param plan: see `Clustering`, as for `recall`.
    """

    def __init__(self, distinct: Distinct, recall: float) -> None:
        self._distinct = distinct
        self.max_distance = distinct.max_distance
        self.plan: TablePlan | None = distinct.plan
        self.recall = recall

    @property
    def first_of(self) -> NDArray[np.intp]:
        """For each input the position of the first one that is equal; its own if that is it."""
        first_of = np.arange(self._distinct.input_count)
        first_of[self._distinct.copies.position] = self._distinct.copies.first
        return first_of

    def __iter__(self) -> Iterator[Pairs]:
        inputs = self._distinct.inputs
        for found in gathered(self._distinct.pairs()):
            yield found._replace(first=inputs(found.first), second=inputs(found.second))

    def arrays(self) -> Pairs:
        """Return all pairs at once, sorted by first and second; there may be very many."""
        pairs = together(list(self))
        order = np.argsort(pairs.first * self._distinct.input_count + pairs.second)
        return Pairs(pairs.first[order], pairs.second[order], pairs.distance[order])
