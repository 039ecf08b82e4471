"""Estimate the cost of table plans, and choose the cheapest plan that finds enough pairs.

The constants are rounded measurements of one machine, but only their ratios decide which plan is
chosen.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan, fewest_tables

DEFAULT_EXPECTED_PAGES = 1_000_000
# CPU time in µs to query and insert a page: for the page, for each table, and for each candidate.
PAGE_US = 5.0
TABLE_US = 12.0
CANDIDATE_US = 0.052
# In probed tables: for the page, for each probe, and for each candidate.
PROBED_PAGE_US = 130.0
PROBE_US = 0.25
PROBED_CANDIDATE_US = 0.042
# Probed tables are chosen for this multiple of the expected pages: an index may grow beyond these.
HEADROOM = 10
# With shorter prefixes, a bucket would hold more than a thousandth of all pages.
_MIN_PREFIX_BITS = 10
# Upper limit for the blocks in a prefix.
_MAX_CHOSEN = 3
# Upper limit for k in probed tables, as a share of the bits. Unrelated English texts differ in 0.38
# of their bits on average, so pairs beyond the limit are hardly ever copies.
_MAX_SHARE = 3 / 8
# The smallest probed tables, 8 with prefixes of 16 bits, need fingerprints with this many bits.
_MIN_PROBED_BITS = 128
# (bits of a prefix, tables, probes), with the fewest probes that find `PROBED_RECALL` of the real
# near-duplicates, by the simulation of tests/index/probing_model.py.
PROBING = ((16, 8, 112), (18, 10, 128), (20, 12, 292), (21, 12, 432))


def require_distance(max_distance: int, bits: int) -> None:
    """Raise PlanError unless a distance is 0 to `bits` - 1."""
    if not 0 <= max_distance < bits:
        raise PlanError(
            f"max_distance is {max_distance}: use 0 to {bits - 1} for fingerprints of {bits} bits"
        )


@lru_cache(maxsize=256)
def choose_plan(
    bits: int,
    max_distance: int,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
) -> TablePlan:
    """Return the cheapest tables that find enough pairs: 95 % of those at `max_distance`.

    With 128 bits or more, and k of at most 3/8 of the bits, probed tables need only find 98.5 % of
    the real near-duplicates (`PROBED_RECALL`).

    :raises PlanError: the distance is not 0 to `bits` - 1, or too large for prefixes of 10 bits.
    """
    require_distance(max_distance, bits)
    plans = [
        fewest_tables(bits, max_distance, chosen, min_prefix_bits=_MIN_PREFIX_BITS)
        for chosen in range(1, _MAX_CHOSEN + 1)
    ]
    if bits >= _MIN_PROBED_BITS and max_distance <= _MAX_SHARE * bits:
        plans += [
            TablePlan(bits, tables, prefix_bits=width, probes=probes)
            for width, tables, probes in PROBING
            if width * tables <= bits
        ]

    def cost_us(plan: TablePlan) -> float:
        if plan.prefix_bits:
            candidates = plan.expected_candidates(expected_pages * HEADROOM)
            return PROBED_PAGE_US + PROBE_US * plan.probes + PROBED_CANDIDATE_US * candidates
        candidates = plan.expected_candidates(expected_pages)
        return PAGE_US + TABLE_US * len(plan.tables) + CANDIDATE_US * candidates

    if cheapest := min(filter(None, plans), key=cost_us, default=None):
        return cheapest
    raise PlanError(
        f"no tables with prefixes of {_MIN_PREFIX_BITS} bits or more find {MIN_RECALL:.0%} of the "
        f"pairs at distance {max_distance} of {bits} bits: lower the distance, or take more bits"
    )
