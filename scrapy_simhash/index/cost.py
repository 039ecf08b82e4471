"""Estimate the cost of table plans, and choose the cheapest that finds enough pairs.

``python benchmarks/index.py --cost-model --sizes …`` measures plans and fits the constants. These
are rounded and from one machine, but only their ratios decide which plan is chosen. Where most
records are in rows, estimates are within a fifth of the measurements: 4 and 19 tables at a million
pages and more, 10 and 12 tables with long prefixes at 200,000.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan, fewest_tables

DEFAULT_EXPECTED_PAGES = 1_000_000
# To query and insert a page: for the page, each table, and each 32 bits of a candidate's record.
PAGE_US = 5.0
TABLE_US = 12.0
CANDIDATE_WORD_US = 0.026
# In probed tables: for the page, each probe and each candidate; within a third of measurements.
PROBED_PAGE_US = 130.0
PROBE_US = 0.25
PROBED_CANDIDATE_US = 0.042
# Probed tables are chosen for this multiple of the expected pages, as an index may outgrow them.
HEADROOM = 10
# Upper limit for the share of unrelated candidates whose check is within k by chance.
_MAX_CHANCE = 1e-5
# With shorter prefixes, a bucket would hold more than a thousandth of all pages.
_MIN_PREFIX_BITS = 10
_MAX_CHOSEN = 3
# Upper limit for the share of differing bits. Unrelated English texts differ in 0.38 of their bits
# on average, so pairs beyond the limit are hardly ever copies.
_MAX_SHARE = 3 / 8
# The probed tables with the fewest and shortest prefixes, 8 of 16 bits, need this many.
_MIN_PROBED_BITS = 128
# (bits of a prefix, tables, probes): the fewest probes that find enough real near-duplicates.
_PROBING = ((16, 8, 112), (18, 10, 128), (20, 12, 256), (21, 12, 384))
MIN_TYPICAL_RECALL = 0.985


def check_bits(bits: int, max_distance: int) -> int:
    """Return the width of the checks in records (`records.fold`): the least multiple of 32 at which
    at most one unrelated candidate in 100,000 passes; if there is none, `bits` rounded up to one.
    """
    widest = -(-bits // 32) * 32
    for width in range(32, widest, 32):
        near = sum(comb(width, differing) for differing in range(min(max_distance, width) + 1))
        if near / 2**width <= _MAX_CHANCE:
            return width
    return widest


def cost_us(plan: TablePlan, max_distance: int, pages: int) -> float:
    """Return the CPU time in µs to query and insert a page in an index of `pages` pages."""
    if plan.prefix_bits:
        comparing_us = PROBED_CANDIDATE_US * met_candidates(plan, pages)
        return PROBED_PAGE_US + PROBE_US * plan.probes + comparing_us
    words = check_bits(plan.bits, max_distance) // 32 + 1
    candidates = plan.expected_candidates(pages)
    return PAGE_US + TABLE_US * len(plan.tables) + CANDIDATE_WORD_US * words * candidates


def met_candidates(plan: TablePlan, pages: int) -> float:
    """Return the expected candidates of a query of probed tables."""
    # Directories of few pages have fewer bits than prefixes.
    bits = min(plan.prefix_bits, pages.bit_length() - 1)
    return plan.probes * pages / (1 << bits)


def bytes_per_page(plan: TablePlan, max_distance: int) -> int:
    """Return the bytes on disk of a page's entry and records, without its key and evidence, and
    without the overhead of the database.
    """
    entry = 5 + 18 + plan.bits // 8
    if plan.prefix_bits:
        # In the files of pages: the fingerprint and the id, in words of 64 bits.
        row = 8 * (-(-plan.bits // 64) + 1)
        # In each table and for the page key: a position of 4 bytes, and 4 bytes of directory for
        # each bucket of one to two pages.
        return entry + row + (len(plan.tables) + 1) * 7
    record, key_record = check_bits(plan.bits, max_distance) // 8 + 4, 8
    return len(plan.tables) * record + key_record + entry


def require_plan(bits: int, max_distance: int) -> None:
    """Raise the error of `choose_plan`, if any, but simulate no probed tables if others suffice."""
    if not _unprobed_plans(bits, max_distance):
        choose_plan(bits, max_distance)


@lru_cache(maxsize=256)
def choose_plan(
    bits: int,
    max_distance: int,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    *,
    probing: bool = True,
) -> TablePlan:
    """Return the cheapest tables that find at least 95 % of the pairs at `max_distance`.

    For fingerprints of 128 bits and more, probed tables are considered, too, if they find 98.5 % of
    the real near-duplicates within `max_distance`, by the model of `scrapy_simhash.index.probing`.

    :param probing: whether pages come with the certainty of their bits.
    :raises PlanError: the distance is not one of `bits` bits, or too large for prefixes of 10 bits.
    """
    plans = _unprobed_plans(bits, max_distance)
    if probing and bits >= _MIN_PROBED_BITS and max_distance <= _MAX_SHARE * bits:
        plans += [
            TablePlan(bits, tables, prefix_bits=width, probes=probes)
            for width, tables, probes in _PROBING
            if width * tables <= bits
        ]

    def cost(plan: TablePlan) -> float:
        pages = expected_pages * HEADROOM if plan.prefix_bits else expected_pages
        return cost_us(plan, max_distance, pages)

    for plan in sorted(plans, key=cost):
        # To simulate the recall of a probed plan takes 20 ms, so this stops at the first that fits.
        if not plan.prefix_bits or plan.recall(max_distance) >= MIN_TYPICAL_RECALL:
            return plan
    raise PlanError(
        f"no tables with prefixes of {_MIN_PREFIX_BITS} bits or more find {MIN_RECALL:.0%} of "
        f"the pairs at distance {max_distance} of {bits} bits: lower the distance, or take "
        "more bits"
    )


def _unprobed_plans(bits: int, max_distance: int) -> list[TablePlan]:
    """Return the plan with the fewest tables that find enough, for each number of chosen blocks."""
    if not 0 <= max_distance < bits:
        raise PlanError(
            f"max_distance is {max_distance}: use 0 to {bits - 1} for fingerprints of {bits} bits"
        )
    plans = (
        fewest_tables(bits, max_distance, chosen, min_prefix_bits=_MIN_PREFIX_BITS)
        for chosen in range(1, _MAX_CHOSEN + 1)
    )
    return [plan for plan in plans if plan is not None]
