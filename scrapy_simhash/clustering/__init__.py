"""Find the clusters of a list of fingerprints.

A crawl looks up one fingerprint at a time in an index. If all fingerprints are known beforehand, it
takes a hundredth of the time to sort them by their prefixes in each table. numpy is imported
lazily. k is `max_distance`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index.plan import require_distance
from scrapy_simhash.scheme import MAX_BITS, MIN_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.clusters import Clustering

__all__ = ["ClusterMethod", "cluster"]

ClusterMethod = Literal["leader", "connected"]
"""The rule that forms clusters. ``leader``, as in a crawl without confirmation: in input order,
each fingerprint joins the nearest earlier representative within k (the earliest of equally near
ones), or becomes a representative. ``connected``: fingerprints that a chain of pairs within k
connects are a cluster; the earliest is its representative.
"""


def cluster(
    fingerprints: Sequence[int] | NDArray[Any],
    *,
    bits: int,
    max_distance: int,
    method: ClusterMethod = "leader",
) -> Clustering:
    """Return the clusters of fingerprints, each with a representative.

    If there are very many, tables may miss pairs, see `Clustering.recall`. The time grows with the
    number of pairs within k, and of pairs that share a prefix.

    :param fingerprints: a sequence of ints; or an array: of unsigned integers and shape (n,) for 64
        bits or fewer, of uint8 and shape (n, bits / 8), or of uint64 and shape (n, bits / 64), with
        the most significant byte or word first.
    :param bits: width of the fingerprints, a multiple of 8 from 8 to 512.
    :param max_distance: k, inclusive.
    :raises SchemeError: `fingerprints`, `bits` or `method` is invalid.
    :raises PlanError: `max_distance` is invalid.
    """
    from scrapy_simhash.clustering.clusters import Clustering, by_connection, by_leader, distinct
    from scrapy_simhash.clustering.pairs import fastest_plan, find_pairs, words_of

    if not MIN_BITS <= bits <= MAX_BITS or bits % 8:
        raise SchemeError(f"bits = {bits}: a multiple of 8 from {MIN_BITS} to {MAX_BITS} is needed")
    if method not in ("leader", "connected"):
        raise SchemeError(f"method = {method!r}: leader or connected is needed")
    require_distance(max_distance, bits)
    words = words_of(fingerprints, bits)
    first_positions, items = distinct(words)
    words = words.take(first_positions, 1)
    plan = fastest_plan(bits, max_distance, words.shape[1])
    search = partial(find_pairs, max_distance=max_distance, plan=plan)
    assign = by_leader if method == "leader" else by_connection
    recall = 1.0 if plan is None else plan.expected_recall(max_distance)
    return Clustering(*assign(words, search, first_positions, items), recall)
