"""Find equal fingerprints: only the first of them is searched for pairs.

100,000 equal fingerprints would make five billion useless pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scrapy_simhash.clustering.words import Columns, Positions


class Distinct(NamedTuple):
    """The distinct fingerprints of an input, numbered in the order in which they first occur.

    :param inputs: position in the input of the first occurrence of each.
    :param numbers: for each position in the input, the number of its fingerprint.
    """

    inputs: Positions
    numbers: Positions

    def copies(self) -> Positions:
        """Return the positions of fingerprints that occurred before, sorted by their number."""
        copies = np.flatnonzero(self.inputs[self.numbers] != np.arange(len(self.numbers)))
        return copies[np.argsort(self.numbers[copies], kind="stable")]


def distinct(columns: Columns) -> Distinct:
    """Return the distinct fingerprints."""
    count = len(columns[0])
    order = np.lexsort(columns)  # stable: the first of equal ones is the earliest
    is_new = np.ones(count, dtype=bool)
    if count:
        is_new[1:] = False
    for column in columns:
        is_new[1:] |= column[order[1:]] != column[order[:-1]]
    if is_new.all():
        everyone = np.arange(count)
        return Distinct(everyone, everyone)
    is_first = np.zeros(count, dtype=bool)
    is_first[order[is_new]] = True
    numbers = np.cumsum(is_first) - 1
    numbers[order] = numbers[order[is_new]][np.cumsum(is_new) - 1]
    return Distinct(np.flatnonzero(is_first), numbers)
