"""Choose the fastest tables to find pairs in a list of fingerprints, or to compare all with all.

The list is sorted once for each table. Pairs with equal prefixes, the *candidates*, are compared.
Costs are in nanoseconds of CPU time on one machine; only their ratios matter.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

from scrapy_simhash.clustering.probed import entries_per_table, probed_plan, typical_recall
from scrapy_simhash.clustering.words import WORD_BITS, telling_words
from scrapy_simhash.index.plan import MAX_TABLES, MIN_RECALL, TablePlan, fewest_tables

# The costs of a table, and of each fingerprint under each of its prefixes in a table.
TABLE_NS = 200_000.0
ENTRY_NS = 40.0
# The costs to compare a word of a candidate, and of a pair if all are compared with all.
PAIR_NS = 3.5
COMPARED_NS = 1.3
# A search that finds all pairs is chosen if it takes no longer than this.
EXACT_S = 2.0
# The values of `TablePlan.chosen` to try.
_CHOSEN = range(1, 5)


def cost_s(plan: TablePlan | None, bits: int, max_distance: int, count: int) -> float:
    """Return the estimated CPU seconds to search `count` random fingerprints for pairs.

    :param plan: None compares all with all.
    """
    words = telling_words(-(-bits // WORD_BITS), max_distance)
    pairs = count * (count - 1) / 2
    if plan is None:
        return pairs * words * COMPARED_NS / 1e9
    entries = entries_per_table(plan)
    candidates = entries**2 * sum(pairs / (1 << width) for width in plan.prefix_widths_bits)
    tables_ns = len(plan.tables) * (TABLE_NS + count * entries * ENTRY_NS)
    return (tables_ns + candidates * words * PAIR_NS) / 1e9


@lru_cache(maxsize=256)
def batch_plan(
    bits: int,
    max_distance: int,
    count: int,
    min_recall: float = MIN_RECALL,
    *,
    certain: bool = False,
) -> TablePlan | None:
    """Return the fastest tables for `count` fingerprints; None to compare all with all.

    A search that finds all pairs is chosen if it takes at most two seconds. Otherwise it competes
    with tables that find at least `min_recall` of the pairs at `max_distance`, and with probed
    tables that find this share of the real near-duplicates within `max_distance`.

    :param certain: the certainties of the bits are known, so probed tables are possible.
    """

    def cost(plan: TablePlan | None) -> float:
        return cost_s(plan, bits, max_distance, count)

    complete = [
        TablePlan(bits, max_distance + chosen, chosen)
        for chosen in _CHOSEN
        if max_distance + chosen <= bits and comb(max_distance + chosen, chosen) <= MAX_TABLES
    ]
    exact = min([None, *complete], key=cost)
    if min_recall == 1 or cost(exact) <= EXACT_S:
        return exact
    fewest = (fewest_tables(bits, max_distance, chosen, min_recall) for chosen in _CHOSEN)
    plans = [exact, *(plan for plan in fewest if plan is not None)]
    probed = probed_plan(bits, max_distance) if certain else None
    if probed is not None and typical_recall(probed, max_distance) >= min_recall:
        plans.append(probed)
    return min(plans, key=cost)
