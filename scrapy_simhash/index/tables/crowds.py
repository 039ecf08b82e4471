"""Crowds: more pages near a page than can be compared with it one by one.

Sites with one template have thousands of pages within k of each other, each with a name of its own.
An index must not read and compare them all for each further one. So a search for copies returns

- of the pages that can be copies by their marks (`scrapy_simhash.index.marks`), the `COPIES`
  nearest, those with the page's own request first;
- of the others, the `OTHERS` nearest: one of them may be the nearest similar page.

Tables may still hold pages that were removed or discarded, or that have changed. Who reads the
pages sees which are gone, lets the tables forget these, and searches again.

The tables themselves become long lists then. If the probed buckets have more than `CROWD` positions
together, only some are compared: pages with the page's own name (up to `CROWD` in each run), and of
the first `SCANNED` positions in the buckets with the page's own prefixes, pages that can be copies
by their marks (up to `COMPARED`), and a `SAMPLE` of all. So in a crowd, what may be missed is a
copy without the name: one on another site or without any name, and younger than many pages of its
bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.marks import (
    KEY_BITS,
    KIND,
    REQUEST_BITS,
    SITE_BITS,
    UNLIKE_ANY_REQUEST,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Mask = NDArray[np.bool_]
    Indexes = NDArray[np.intp]

CROWD, SCANNED = 1 << 14, 1 << 15
COMPARED, SAMPLE = 1 << 13, 1 << 11
COPIES, OTHERS = 64, 16
_SITE_MASK, _REQUEST_MASK = (1 << SITE_BITS) - 1, (1 << REQUEST_BITS) - 1


def keys_of(marks: Words) -> Words:
    """Return the keys of the names in marks."""
    keys: Words = np.right_shift(marks, 64 - KEY_BITS)
    return keys


def may_be_copies(mark: Words, others: Words) -> Mask:
    """Return False for each mark of a page that the page with `mark` cannot be a copy of."""
    key, keys = keys_of(mark), keys_of(others)
    possible: Mask = (keys == key) | (keys == 0) | (key == 0) | ((keys ^ key) & KIND > 0)
    site, sites = (marks >> REQUEST_BITS & _SITE_MASK for marks in (mark, others))
    possible |= (sites != site) & (sites != 0) & (site != 0)
    return possible


def have_other_requests(mark: Words, others: Words) -> Mask:
    """Return True for each mark of a page whose callback is called with other arguments."""
    request, requests = mark & _REQUEST_MASK, others & _REQUEST_MASK
    is_other: Mask = (requests != request) | (request == UNLIKE_ANY_REQUEST)
    is_other &= (requests != 0) & (request != 0)
    return is_other


def with_name(mark: Words, others: Words) -> Indexes:
    """Return the indexes of the marks with the name of `mark`, at most `CROWD`: those with its
    request first.
    """
    same = np.flatnonzero(keys_of(others) == keys_of(mark))
    order = have_other_requests(mark, others.take(same)).argsort(kind="stable")
    return same[order[:CROWD]]


def nearest_copies(
    mark: Words, distances: NDArray[np.uint16], others: Words, are_probed: Callable[[Indexes], Mask]
) -> Indexes:
    """Return the indexes of the pages to read, as the docstring of this module says.

    :param mark: an array with one mark.
    :param distances: of pages within k, the oldest first; `others` are their marks.
    :param are_probed: returns True for the indexes of pages that the search may return.
    """
    possible = may_be_copies(mark, others)
    ranks = distances + (have_other_requests(mark, others) & possible) * 1024.0
    chosen = []
    for rows, count in ((possible, COPIES), (~possible, OTHERS)):
        indexes = np.flatnonzero(rows)
        nearest = indexes[ranks.take(indexes).argsort(kind="stable")[: 4 * count]]
        chosen.append(nearest[are_probed(nearest)][:count])
    return np.concatenate(chosen)
