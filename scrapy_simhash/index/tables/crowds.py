"""Crowds: more pages near a page than can be compared with it one by one.

Sites with one template have thousands of pages within k of each other, each with a name of its own.
An index must not read and compare them all for each further one. So a search for copies returns

- of the pages that can be copies by their marks (`scrapy_simhash.index.marks`), the `COPIES`
  nearest, those with the page's own request first;
- of the others, the `OTHERS` nearest: one of them may be the nearest similar page.

Tables may still hold pages that were removed or discarded, or that have changed. Who reads the
pages sees which are gone. These take no places, up to `GONE` of them: the search is repeated for as
many more (`extra`).

The tables themselves become long lists then. If the probed buckets have more than `CROWD` positions
together, only some are compared: all pages with the page's own name (up to `SCANNED`), and of the
buckets with the page's own prefixes, `SCANNED` positions, of which marks leave the pages that can
be copies. So in a crowd, what may be missed is a copy without the name: one on another site or
without any name, and farther away, or younger than many pages of its bucket.
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
    key_of,
    request_of,
    site_of,
)
from scrapy_simhash.index.tables.rows import NUMBER_MASK, row_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.tables.rows import Near

CROWD = 1 << 14
SCANNED = 1 << 15
COMPARED = 1 << 13
"""How many pages of a crowd that can be copies are compared by their fingerprints."""
SAMPLE = 1 << 11
"""How many pages of a crowd are compared to find a similar page."""
COPIES, OTHERS, GONE = 64, 16, 1 << 10
# A page is in the results of a search once for each table, and of a few more look-ups.
_REPEATS = 16
# In the rank of a page, from the most significant bit: another request, the distance, the ordinal.
_DISTANCE_SHIFT, _REQUEST_SHIFT = np.uint64(40), np.uint64(62)
_KEY_AT, _SITE_AT, _KIND = np.uint64(64 - KEY_BITS), np.uint64(REQUEST_BITS), np.uint64(KIND)
_SITE_MASK, _REQUEST_MASK = np.uint64((1 << SITE_BITS) - 1), np.uint64((1 << REQUEST_BITS) - 1)


def may_be_copies(mark: int, others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return False for each mark of a page that the page with `mark` cannot be a copy of."""
    key = np.uint64(key_of(mark))
    if not key:
        return np.ones(len(others), np.bool_)
    keys = others >> _KEY_AT
    possible: NDArray[np.bool_] = (keys == key) | (keys == 0) | ((keys ^ key) & _KIND > 0)
    site = np.uint64(site_of(mark))
    if site:
        sites = others >> _SITE_AT & _SITE_MASK
        possible |= (sites != site) & (sites != 0)
    return possible


def have_key(mark: int, others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return True for each mark with the key of the name in `mark`; for none if that is unknown."""
    key = np.uint64(key_of(mark))
    if not key:
        return np.zeros(len(others), np.bool_)
    is_same: NDArray[np.bool_] = others >> _KEY_AT == key
    return is_same


def have_other_requests(mark: int, others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return True for each mark of a page whose callback is called with other arguments."""
    request = request_of(mark)
    if not request:
        return np.zeros(len(others), np.bool_)
    requests = others & _REQUEST_MASK
    is_other: NDArray[np.bool_] = requests != 0
    if request != UNLIKE_ANY_REQUEST:
        is_other &= requests != np.uint64(request)
    return is_other


def nearest_copies(
    fingerprint: NDArray[np.uint64],
    mark: int,
    near: Near,
    is_probed: Callable[[NDArray[np.uint64]], NDArray[np.bool_]],
    extra: int = 0,
) -> NDArray[np.uint64]:
    """Return the ids of the pages to read, as the docstring of this module says.

    :param fingerprint: of the page, in words.
    :param is_probed: returns True for the fingerprints of pages that the search may return.
    :param extra: see `more_to_choose`.
    """
    if len(near.ids) <= OTHERS:
        return near.ids[is_probed(near.fingerprints)]
    distances = row_sums(np.bitwise_count(near.fingerprints ^ fingerprint)).astype(np.uint64)
    ranks = distances << _DISTANCE_SHIFT | near.ids & np.uint64(NUMBER_MASK)
    possible = may_be_copies(mark, near.marks)
    copies, others = np.flatnonzero(possible), np.flatnonzero(~possible)
    other_requests = have_other_requests(mark, near.marks.take(copies)).astype(np.uint64)
    ranks[copies] |= other_requests << _REQUEST_SHIFT
    chosen = []
    for rows, count in ((copies, COPIES + extra), (others, OTHERS + extra)):
        lowest = _lowest(ranks, rows, 4 * count)
        probed = lowest[is_probed(near.fingerprints.take(lowest, axis=0))]
        chosen.append(probed[:count])
    return near.ids.take(np.concatenate(chosen))


def more_to_choose(chosen: int, there: int, extra: int) -> int:
    """Return how many more pages a repeated search must choose, because pages that are gone took
    places of others; 0 if no other page can be missing.

    :param chosen: number of pages that the search returned.
    :param there: how many of them are not gone.
    :param extra: how many more the search chose already.
    """
    gone = chosen - there
    is_enough = gone <= extra or extra == GONE or chosen < OTHERS
    return 0 if is_enough else min(2 * gone, GONE)


def positions_in_crowd(
    mark: int,
    scanned: Sequence[NDArray[np.uint32]],
    named: Sequence[NDArray[np.uint32]],
    marks_of: Callable[[NDArray[np.uint32]], NDArray[np.uint64]],
    extra: int = 0,
) -> NDArray[np.uint32]:
    """Return the positions of a crowd to compare, sorted, as the docstring of this module says.

    :param mark: of the page.
    :param scanned: positions in the buckets with the page's own prefixes, in parts.
    :param named: positions of pages that may have the page's name, in parts.
    :param marks_of: returns the marks of the positions in a part.
    :param extra: see `more_to_choose`.
    """
    compared = COMPARED + _REPEATS * extra
    chosen = [np.concatenate(scanned)[: SAMPLE + _REPEATS * extra]]
    chosen += [part[may_be_copies(mark, marks_of(part))][:compared] for part in scanned]
    chosen += [with_key(mark, part, marks_of(part), compared) for part in named]
    # numpy's `unique` takes much longer.
    positions = np.concatenate(chosen)
    positions.sort()
    is_first = np.ones(len(positions), np.bool_)
    is_first[1:] = positions[1:] != positions[:-1]
    return positions[is_first]


def with_key(
    mark: int, positions: NDArray[np.uint32], marks: NDArray[np.uint64], count: int
) -> NDArray[np.uint32]:
    """Return the positions of pages whose names have the key of `mark`, at most `count`: those
    with its request first.
    """
    is_same = have_key(mark, marks)
    positions, marks = positions[is_same], marks[is_same]
    if len(positions) > count:
        order = have_other_requests(mark, marks).argsort(kind="stable")
        positions = positions[order[:count]]
    return positions


def _lowest(ranks: NDArray[np.uint64], rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the rows with the lowest ranks, sorted, each rank once, at most `count`."""
    some = count * _REPEATS
    if len(rows) > some:
        rows = rows[np.argpartition(ranks.take(rows), some)[:some]]
    rows = rows[ranks.take(rows).argsort()]
    sorted_ranks = ranks.take(rows)
    is_first = np.ones(len(rows), np.bool_)
    is_first[1:] = sorted_ranks[1:] != sorted_ranks[:-1]
    return rows[is_first][:count]
