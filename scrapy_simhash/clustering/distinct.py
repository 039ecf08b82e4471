"""Remove equal fingerprints from an input, and search for pairs among the others.

100,000 equal fingerprints would make five billion useless pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from scrapy_simhash.clustering.pairs import PairSearch, equal_prefixes
from scrapy_simhash.clustering.plans import batch_plan
from scrapy_simhash.clustering.words import hashed, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.pairs import Pairs
    from scrapy_simhash.clustering.words import Columns, Positions
    from scrapy_simhash.index.plan import TablePlan

    Value = TypeVar("Value", bound=np.generic)


class Copies(NamedTuple):
    """Positions of repeated fingerprints, ascending, and of the first fingerprint equal to each."""

    position: Positions
    first: Positions


class Distinct:
    """The distinct fingerprints of an input, in the order in which they first occur.

    :param plan: the tables that find pairs; None to let `batch_plan` choose.
    :param certainties: certainty of all bits, a row for each input; None if unknown.
    """

    def __init__(
        self,
        columns: Columns,
        bits: int,
        max_distance: int,
        plan: TablePlan | None,
        min_recall: float,
        *,
        certainties: NDArray[np.uint8] | None,
    ) -> None:
        self.bits = bits
        self.max_distance = max_distance
        self.input_count = len(columns[0])
        self.copies = _copies(columns)
        self._certainties = certainties
        self._positions: Positions | None = None
        if len(self.copies.position):
            different = np.ones(self.input_count, dtype=bool)
            different[self.copies.position] = False
            self._positions = np.flatnonzero(different)
            columns = take(columns, self._positions)
        self.columns = columns
        certain = certainties is not None
        self.plan = plan or batch_plan(
            bits, max_distance, len(columns[0]), min_recall, certain=certain
        )

    def __len__(self) -> int:
        return len(self.columns[0])

    def pairs(self, places: Positions | None = None, *, links: bool = False) -> Iterator[Pairs]:
        """Yield the pairs within the distance, each once.

        :param places: search among these only; positions in the result then refer to this list.
        :param links: see `PairSearch`; pairs may be repeated.
        """
        search = self._search(places, links=links)
        if self.plan is not None and self.plan.probes and not links:
            return _each_once(search, len(self))
        return iter(search)

    def pairs_across(self, ones: Positions, others: Positions) -> Iterator[Pairs]:
        """Yield the pairs of one of `ones` with one of `others`; some are repeated."""
        if len(ones) and len(others):
            yield from self._search(None).across(ones, others)

    def _search(self, places: Positions | None, *, links: bool = False) -> PairSearch:
        certainties = None
        if self.plan is not None and self.plan.probes and self._certainties is not None:
            rows = self._positions if places is None else self.inputs(places)
            certainties = self._certainties if rows is None else self._certainties[rows]
        return PairSearch(
            self.columns if places is None else take(self.columns, places),
            self.bits,
            self.max_distance,
            self.plan,
            certainties=certainties,
            links=links,
        )

    def inputs(self, places: Positions) -> Positions:
        """Return the positions in the input of distinct fingerprints."""
        return places if self._positions is None else self._positions[places]

    def places(self, inputs: Positions) -> Positions:
        """Return the numbers of the fingerprints that first occur at these positions."""
        return inputs if self._positions is None else np.searchsorted(self._positions, inputs)

    def spread(self, values: NDArray[Value], of_copies: NDArray[Value]) -> NDArray[Value]:
        """Return a value for each input from the values of distinct fingerprints and of copies."""
        if self._positions is None:
            return values
        spread = np.empty(self.input_count, dtype=values.dtype)
        spread[self._positions] = values
        spread[self.copies.position] = of_copies
        return spread

    def last_copies(self) -> Positions:
        """Return the position of the last copy of each, or -1; empty without copies."""
        if self._positions is None:
            return np.empty(0, dtype=np.intp)
        last = np.full(len(self), -1)
        # Copies are in the order of the input: the last one stays.
        last[self.places(self.copies.first)] = self.copies.position
        return last


def _copies(columns: Columns) -> Copies:
    """Return the fingerprints that are equal to an earlier one."""
    found = [(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))]
    for places, _ in equal_prefixes(hashed(columns)):
        places.sort()
        candidates = take(columns, places)
        order = np.lexsort(candidates)  # stable: the first of equal ones is the earliest
        equal = np.append(False, np.ones(len(order) - 1, dtype=bool))
        for column in candidates:
            equal[1:] &= column[order[1:]] == column[order[:-1]]
        firsts = order[~equal][np.cumsum(~equal) - 1]
        found.append((places[order[equal]], places[firsts[equal]]))
    position, first = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(position)
    return Copies(position[order], first[order])


def _each_once(pairs: Iterable[Pairs], count: int) -> Iterator[Pairs]:
    """Yield each pair of `count` fingerprints once."""
    known = np.empty(0, dtype=np.intp)
    for found in pairs:
        numbers, at = np.unique(found.first * count + found.second, return_index=True)
        new = ~np.isin(numbers, known, assume_unique=True)
        known = np.concatenate([known, numbers[new]])
        yield found.where(at[new])
