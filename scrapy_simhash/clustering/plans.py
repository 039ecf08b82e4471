"""Which tables find all pairs fastest, or whether to compare all with all.

For an index, a table costs a record that is kept; here, it costs another pass of sorting, and each
candidate a comparison. The constants are of one machine, in nanoseconds of CPU time for 64-bit
words; what matters is how they relate.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import comb

import numpy as np

from scrapy_simhash.clustering.every import telling_words
from scrapy_simhash.clustering.probed import probed_plan, typical_recall
from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.plan import MAX_TABLES, MIN_RECALL, TablePlan

# A table: to start it, to order a fingerprint by its prefix, and to move each word of it.
TABLE_NS = 200_000.0
ORDER_NS = 11.0
WORD_NS = 4.0
# A prefix that a fingerprint stands under in a probed table: to make it, and to sort it.
KEY_NS = 30.0
# A candidate of a table, and a pair if all are compared, for each word of it.
COMPARED_NS = 1.3
PAIR_NS = 3.5
# What finds all pairs is chosen, if it does not take longer than this.
EXACT_S = 2.0
_MAX_CHOSEN = 4


def cost_s(plan: TablePlan | None, words: int, max_distance: int, count: int) -> float:
    """CPU time to find all pairs among so many random fingerprints; no plan compares all."""
    telling = telling_words(words, max_distance)
    pairs = count * (count - 1) / 2
    if plan is None:
        return pairs * telling * COMPARED_NS / 1e9
    candidates = sum(pairs / (1 << width) for width in plan.prefix_widths_bits)
    entry_ns = ORDER_NS + WORD_NS * words
    if plan.probes:
        stands = plan.probes // plan.blocks
        candidates *= stands**2
        entry_ns = KEY_NS * stands
    tables_ns = len(plan.tables) * (TABLE_NS + count * entry_ns)
    return (tables_ns + candidates * telling * PAIR_NS) / 1e9


@lru_cache(maxsize=256)
def batch_plan(
    bits: int,
    max_distance: int,
    count: int,
    min_recall: float = MIN_RECALL,
    *,
    certain: bool = False,
) -> TablePlan | None:
    """The fastest way to find all pairs among so many fingerprints; None is to compare all.

    What finds all of them is preferred while it takes at most two seconds; else tables that find
    at least `min_recall` of the pairs at `max_distance`, if they are faster; or so much of real
    near-duplicates within it, by probed tables.

    :param certain: the certainty of the fingerprints' bits is known, so tables may be probed.

    :raises PlanError: `max_distance` or `min_recall` cannot be.
    """
    check_distance(bits, max_distance)
    if not isinstance(min_recall, (int, float, np.number)) or not 0 < min_recall <= 1:
        raise PlanError(f"min_recall = {min_recall!r}: more than 0 and at most 1 is needed")
    words = -(-bits // 64)

    def cost(plan: TablePlan | None) -> float:
        return cost_s(plan, words, max_distance, count)

    exact = min([None, *_plans(bits, max_distance, 1.0)], key=cost)
    if cost(exact) <= EXACT_S or min_recall == 1:
        return exact
    plans = [exact, *_plans(bits, max_distance, min_recall)]
    probed = probed_plan(bits, max_distance) if certain else None
    if probed is not None and typical_recall(probed, max_distance) >= min_recall:
        plans.append(probed)
    return min(plans, key=cost)


def exact_plan(bits: int, max_distance: int, count: int, pairs: float) -> TablePlan | None:
    """The fastest tables that find all pairs among so many; None if it is faster to compare all
    the `pairs` that there are.
    """
    words = -(-bits // 64)
    compared_s = pairs * COMPARED_NS * telling_words(words, max_distance) / 1e9
    plans = [
        (cost_s(plan, words, max_distance, count), plan) for plan in _guaranteed(bits, max_distance)
    ]
    faster = [found for found in plans if found[0] < compared_s]
    return min(faster, key=lambda found: found[0])[1] if faster else None


def check_distance(bits: int, max_distance: int) -> None:
    """Raise PlanError for a distance that is not one of these fingerprints."""
    if isinstance(max_distance, bool) or not isinstance(max_distance, (int, np.integer)):
        raise PlanError(f"max_distance = {max_distance!r}: a whole number is needed")
    if not 0 <= max_distance < bits:
        raise PlanError(f"distance {max_distance} of {bits} bits: 0 to {bits - 1}")


@lru_cache(maxsize=1024)
def _guaranteed(bits: int, max_distance: int) -> tuple[TablePlan, ...]:
    return tuple(
        TablePlan(bits, max_distance + chosen, chosen)
        for chosen in range(1, min(_MAX_CHOSEN, bits - max_distance) + 1)
        if comb(max_distance + chosen, chosen) <= MAX_TABLES
    )


@lru_cache(maxsize=256)
def _plans(bits: int, max_distance: int, min_recall: float) -> tuple[TablePlan, ...]:
    """For each number of chosen blocks the fewest tables: more have shorter prefixes, too."""
    if min_recall == 1:
        return _guaranteed(bits, max_distance)
    found: list[TablePlan] = []
    for chosen in range(1, _MAX_CHOSEN + 1):
        most = min(bits, max_distance + chosen)
        while comb(most, chosen) > MAX_TABLES:
            most -= 1
        choices = range(chosen, most + 1)

        def finds_enough(blocks: int, chosen: int = chosen) -> bool:
            return TablePlan(bits, blocks, chosen).expected_recall(max_distance) >= min_recall

        position = bisect_left(choices, True, key=finds_enough)  # noqa: FBT003 - looked for
        if position < len(choices):
            found.append(TablePlan(bits, choices[position], chosen))
    return tuple(found)
