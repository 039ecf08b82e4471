"""Find near-duplicate pairs or clusters of a list of fingerprints.

A crawl looks up one fingerprint at a time in an index. If all fingerprints are known beforehand, it
takes a hundredth of the time to sort them by their prefixes in each table (`TablePlan`). numpy is
imported lazily. k is `max_distance`.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.errors import PlanError, SchemeError
from scrapy_simhash.index.cost import require_distance
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan
from scrapy_simhash.parameters import MAX_BITS, MIN_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.pairs import PairSearch
    from scrapy_simhash.clustering.result import Clustering, NearPairs
    from scrapy_simhash.clustering.words import Distinct
    from scrapy_simhash.fingerprint import Fingerprint

__all__ = ["ClusterMethod", "cluster", "near_pairs"]

ClusterMethod = Literal["leader", "connected"]
"""The rule that forms clusters. ``leader``, as in a crawl without confirmation: in input order,
each fingerprint joins the nearest earlier representative within k (the earliest of equally near
ones), or becomes a representative. ``connected``: fingerprints that a chain of pairs within k
connects are a cluster; the earliest is its representative.
"""
_METHODS = ("leader", "connected")


def cluster(
    fingerprints: Sequence[int | Fingerprint] | NDArray[Any],
    *,
    bits: int,
    max_distance: int,
    method: ClusterMethod = "leader",
    plan: TablePlan | None = None,
    certainties: Sequence[bytes] | NDArray[Any] | None = None,
    min_recall: float = MIN_RECALL,
) -> Clustering:
    """Return the clusters of fingerprints, each with a representative.

    Tables may miss pairs farther apart than ``plan.guaranteed_distance``, see `Clustering.recall`.
    Memory is at most about ten times that of the fingerprints as an array, or fifty times if many
    fingerprints are within `max_distance` of many others; certainties need more.

    :param fingerprints: a sequence of ints; a list or tuple of `Fingerprint`; or an array: of any
        integer type and shape (n,) for 64 bits or fewer, of uint8 and shape (n, bits / 8), or of
        uint64 and shape (n, bits / 64), with the most significant byte or word first.
    :param bits: width of the fingerprints, a multiple of 8 from 8 to 512.
    :param max_distance: k, inclusive.
    :param plan: the tables that find pairs; None chooses the fastest tables, or compares all
        fingerprints with all if that is faster.
    :param certainties: a uint8 array of shape (n, bits), or a sequence with the ``bytes`` of each
        fingerprint, see `Fingerprint.certainty`; None takes those of `Fingerprint` objects. With
        certainties, a search among many wide fingerprints takes less than half the time. They are
        ignored if another search is faster, if `plan` has no probes, or if a fingerprint has none.
    :param min_recall: lower limit for `Clustering.recall` if `plan` is None; 1.0 finds all pairs,
        even if the search is slow.
    :raises SchemeError: `fingerprints`, `bits`, `method` or `certainties` is invalid.
    :raises PlanError: `max_distance`, `min_recall` or `plan` is invalid, the plan is for another
        width, or it has probes and a fingerprint has no certainties.
    """
    from scrapy_simhash.clustering.clusters import by_connection, by_leader
    from scrapy_simhash.clustering.result import Clustering

    if method not in _METHODS:
        raise SchemeError(f"method = {method!r}: leader or connected is needed")
    search, distinct = _search(fingerprints, bits, max_distance, plan, certainties, min_recall)
    assign = by_leader if method == "leader" else by_connection
    clusters = assign(search, distinct)
    return Clustering(*clusters, method, bits, max_distance, search.plan, search.recall)


def near_pairs(
    fingerprints: Sequence[int | Fingerprint] | NDArray[Any],
    *,
    bits: int,
    max_distance: int,
    plan: TablePlan | None = None,
    certainties: Sequence[bytes] | NDArray[Any] | None = None,
    min_recall: float = MIN_RECALL,
) -> NearPairs:
    """Return the pairs of different fingerprints within k. For parameters see `cluster`."""
    from scrapy_simhash.clustering.result import NearPairs

    search, distinct = _search(fingerprints, bits, max_distance, plan, certainties, min_recall)
    return NearPairs(search, distinct)


def _search(  # noqa: PLR0917 - the arguments of `cluster`
    fingerprints: Any,
    bits: int,
    max_distance: int,
    plan: TablePlan | None,
    certainties: Any,
    min_recall: float,
) -> tuple[PairSearch, Distinct]:
    """Return a search among the distinct fingerprints, and their places in the input."""
    import numpy as np

    from scrapy_simhash.clustering.pairs import PairSearch
    from scrapy_simhash.clustering.plans import batch_plan
    from scrapy_simhash.clustering.words import certainty_rows, distinct, split, words_of

    bits = _whole_number("bits", bits, SchemeError)
    if not MIN_BITS <= bits <= MAX_BITS or bits % 8:
        raise SchemeError(f"bits = {bits}: a multiple of 8 from {MIN_BITS} to {MAX_BITS} is needed")
    max_distance = _whole_number("max_distance", max_distance, PlanError)
    require_distance(max_distance, bits)
    if plan is not None and not isinstance(plan, TablePlan):
        raise PlanError(f"plan = {plan!r}: a TablePlan, or None, is needed")
    if plan is not None and plan.bits != bits:
        raise PlanError(f"a plan for {plan.bits} bits does not fit fingerprints of {bits}")
    values, certainties = split(fingerprints, certainties)
    words = words_of(values, bits)
    count = words.shape[1]
    rows = certainty_rows(certainties, count, bits)
    if plan is not None and plan.probes and rows is None:
        raise PlanError(f"{plan}: the certainties of all fingerprints are needed")
    unique = distinct(words)
    if len(unique.first_positions) < count:
        count = len(unique.first_positions)
        words = words.take(unique.first_positions, 1)
        rows = None if rows is None else rows[unique.first_positions]
    if plan is None:
        numbers = (int, float, np.integer, np.floating)
        if not isinstance(min_recall, numbers) or not 0 < min_recall <= 1:
            raise PlanError(f"min_recall = {min_recall!r}: more than 0 and at most 1 is needed")
        plan = batch_plan(bits, max_distance, count, min_recall, certain=rows is not None)
    return PairSearch(words, bits, max_distance, plan, rows), unique


def _whole_number(name: str, value: Any, error: type[SchemeError | PlanError]) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise error(f"{name} = {value!r}: a whole number is needed")
    return index(value)
