"""Find equal fingerprints, so that pairs are searched among the distinct ones only.

Otherwise, 100,000 equal fingerprints would make five billion useless pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scrapy_simhash.clustering.words import Columns, Positions


class Distinct(NamedTuple):
    """The distinct fingerprints of an input: the items, in the order in which they first occur.

    :param first_positions: for each item, the position in the input where it first occurs.
    :param items: for each position in the input, the number of its item.
    """

    first_positions: Positions
    items: Positions

    def copies(self) -> Positions:
        """Return the positions of inputs that equal an earlier one, by item, then position."""
        copies = np.flatnonzero(self.first_positions[self.items] != np.arange(len(self.items)))
        return copies[np.argsort(self.items[copies], kind="stable")]


def distinct(columns: Columns) -> Distinct:
    """Return the distinct fingerprints of an input."""
    count = len(columns[0])
    order = np.lexsort(columns)  # stable: equal fingerprints stay in input order
    is_new = np.arange(count) == 0
    for column in columns:
        is_new[1:] |= column[order[1:]] != column[order[:-1]]
    if is_new.all():
        everyone = np.arange(count)
        return Distinct(everyone, everyone)
    is_first = np.zeros(count, dtype=bool)
    is_first[order[is_new]] = True
    items = np.cumsum(is_first) - 1
    items[order] = items[order[is_new]][np.cumsum(is_new) - 1]
    return Distinct(np.flatnonzero(is_first), items)
