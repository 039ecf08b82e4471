"""The results of `cluster` and `near_pairs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.pairs import Pairs, concatenate, merge_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.pairs import PairSearch
    from scrapy_simhash.clustering.words import Distinct
    from scrapy_simhash.index.plan import TablePlan


class Cluster(NamedTuple):
    """A cluster: the positions of its representative and, ascending, of all members with it."""

    representative: int
    members: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a list of fingerprints. Fingerprints are given by their positions, from 0.

    Iteration yields the clusters as `clusters` does; ``len()`` is their number.

    :param representative: for each fingerprint, the position of its representative.
    :param distance: for each fingerprint, the distance to its representative; with ``connected``,
        it may be above `max_distance`.
    :param method: ``leader`` or ``connected``.
    :param plan: the tables that found the pairs; None if all were compared with all.
    :param recall: expected share of the pairs at `max_distance` that the tables find, if all bits
        are equally likely to differ; 1.0 if all are found. The tables find more of the nearer
        pairs, and all up to ``plan.guaranteed_distance``. If the plan has probes, `recall` is the
        expected share of real near-duplicates within `max_distance` instead.
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
        """Return the positions of all representatives, ascending."""
        return np.flatnonzero(self.representative == np.arange(len(self.representative)))

    @property
    def near_duplicate_count(self) -> int:
        """Return the number of fingerprints that are not representatives."""
        return len(self.representative) - len(self)

    def sizes(self) -> NDArray[np.intp]:
        """Return the number of members of each cluster, in the order of `representatives`."""
        counts = np.bincount(self.representative, minlength=len(self.representative))
        return counts[counts > 0]

    def clusters(self, smallest: int = 1) -> Iterator[Cluster]:
        """Yield clusters of `smallest` or more members, largest first, then by representative."""
        members = np.argsort(self.representative, kind="stable")
        representatives, sizes = self.representatives, self.sizes()
        ends = np.cumsum(sizes)
        largest_first = np.argsort(-sizes, kind="stable")
        for at in largest_first[: np.count_nonzero(sizes >= smallest)].tolist():
            end = int(ends[at])
            yield Cluster(int(representatives[at]), members[end - int(sizes[at]) : end])

    def __iter__(self) -> Iterator[Cluster]:
        return self.clusters()

    def __len__(self) -> int:
        return len(self.representatives)


class NearPairs:
    """The pairs of different fingerprints within a distance; tables may miss some, see `recall`.

    Iteration yields batches of pairs in any order, with the arrays ``first``, ``second`` and
    ``distance``. Positions in the input count from 0, and ``first < second``. Each iteration
    searches again. Pairs contain only the first of several equal fingerprints; `first_of` maps
    every input to it.

    `Clustering` defines `plan` and `recall`.
    """

    def __init__(self, search: PairSearch, distinct: Distinct) -> None:
        self._search = search
        self._distinct = distinct
        self.max_distance = search.max_distance
        self.plan: TablePlan | None = search.plan
        self.recall = search.recall

    @property
    def first_of(self) -> NDArray[np.intp]:
        """Return, for each input, the position of the first fingerprint that equals it."""
        return self._distinct.first_positions[self._distinct.items]

    def __iter__(self) -> Iterator[Pairs]:
        positions = self._distinct.first_positions
        for batch in merge_batches(self._search.pairs()):
            yield Pairs(positions[batch.first], positions[batch.second], batch.distance)

    def arrays(self) -> Pairs:
        """Return all pairs in one batch, sorted by `first`, then `second`."""
        pairs = concatenate(list(self))
        return pairs.where(np.lexsort((pairs.second, pairs.first)))
