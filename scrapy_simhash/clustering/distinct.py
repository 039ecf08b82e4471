"""The fingerprints of an input that are different, and how to search among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from scrapy_simhash.clustering.equal import copies_in
from scrapy_simhash.clustering.found import gathered, once
from scrapy_simhash.clustering.partition import Partitioner, leading_blocks
from scrapy_simhash.clustering.plans import batch_plan
from scrapy_simhash.clustering.search import ProbedSearch, Search
from scrapy_simhash.clustering.threads import thread_count
from scrapy_simhash.clustering.words import take
from scrapy_simhash.index.plan import TablePlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.found import Found
    from scrapy_simhash.clustering.words import Columns, Positions

    Entry = TypeVar("Entry", bound=np.generic)


class Distinct:
    """Different fingerprints, in the order in which they first stood in the input.

    :param plan: the tables that bring them together; if absent, `batch_plan` chooses.
    :param certainties: of the bits of each input, a row for each; None if they are not known.
    :param threads: see `thread_count`.
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
        threads: int | None,
    ) -> None:
        self._threads = threads
        self._certainties = certainties
        self.bits = bits
        self.max_distance = max_distance
        self.input_count = len(columns[0])
        certain = certainties is not None
        chosen = plan or batch_plan(
            bits, max_distance, self.input_count, min_recall, certain=certain
        )
        prefix = chosen.tables[0] if chosen else TablePlan(bits, min(bits, 4)).tables[0]
        # The cut serves for the first table, too.
        self._partitioner = self._new_partitioner(columns)
        self.copies = copies_in(self._partitioner, leading_blocks(prefix, self.input_count))
        self._positions: Positions | None = None
        if len(self.copies.position):
            different = np.ones(self.input_count, dtype=bool)
            different[self.copies.position] = False
            self._positions = np.flatnonzero(different)
            columns = take(columns, self._positions)
            self._partitioner = self._new_partitioner(columns)
            chosen = plan or batch_plan(
                bits, max_distance, len(columns[0]), min_recall, certain=certain
            )
        self.columns = columns
        self.plan = chosen

    def __len__(self) -> int:
        return len(self.columns[0])

    def pairs(self, places: Positions | None = None) -> Iterator[Found]:
        """The same as `search`, each pair once."""
        found = self.search(places)
        if isinstance(found, ProbedSearch):
            return once(gathered(found), len(self))
        return iter(found)

    def search(
        self,
        places: Positions | None = None,
        *,
        sides: NDArray[np.bool_] | None = None,
        links: bool = False,
    ) -> Search:
        """The pairs among all, or among those at some places, counted from the first of these.

        By probed tables, some come more than once.
        """
        partitioner = self._partitioner
        if places is not None:
            partitioner = self._new_partitioner(take(self.columns, places))
        if self.plan is not None and self.plan.probes:
            assert self._certainties is not None
            rows = self._positions if places is None else self.inputs(places)
            return ProbedSearch(
                partitioner,
                self.max_distance,
                self.plan,
                self._certainties,
                rows,
                sides=sides,
                links=links,
            )
        return Search(
            partitioner, self.bits, self.max_distance, self.plan, sides=sides, links=links
        )

    def _new_partitioner(self, columns: Columns) -> Partitioner:
        return Partitioner(columns, thread_count(self._threads, len(columns[0])))

    def inputs(self, places: Positions) -> Positions:
        """Where in the input these first stood."""
        return places if self._positions is None else self._positions[places]

    def places(self, inputs: Positions) -> Positions:
        """Which of the different ones first stood there."""
        return inputs if self._positions is None else np.searchsorted(self._positions, inputs)

    def spread(self, values: NDArray[Entry], of_copies: NDArray[Entry]) -> NDArray[Entry]:
        """A value for each input, from those of the different ones and those of the copies."""
        if self._positions is None:
            return values
        spread = np.empty(self.input_count, dtype=values.dtype)
        spread[self._positions] = values
        spread[self.copies.position] = of_copies
        return spread

    def last_copies(self) -> Positions:
        """For each where its last copy stands, -1 if it has none; empty if there is no copy."""
        if self._positions is None:
            return np.empty(0, dtype=np.intp)
        last = np.full(len(self), -1)
        # Copies are in the order of the input: the last one stays.
        last[self.places(self.copies.first)] = self.copies.position
        return last
