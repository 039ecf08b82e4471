"""``plan``: show the recall and the cost of tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    add_max_distance,
    add_number,
    choose_tables,
)
from scrapy_simhash.commands._output import show_result
from scrapy_simhash.parameters import MAX_BITS
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.plan import TablePlan

_DESCRIPTION = """\
Shows the guaranteed distance, the recall and the cost of tables, before a crawl uses them. Without
--tables, these are the tables that a new index would get: the cheapest ones for k and the number of
pages.

  {program} plan --bits 256 --max-distance 52 --pages 5000000
  {program} plan --bits 64 --max-distance 3 --tables 5,2
"""
# The recall of probed tables (with --bits 128 or more) is simulated, which is slow: only every
# fourth distance is shown.
_PROBED_STEP = 4
_DEFAULT = PRESETS[DEFAULT_PRESET]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    scheme, k = _DEFAULT.scheme, _DEFAULT.max_distance
    add_number(parser, "--bits", "width of fingerprints", 8, MAX_BITS, default=scheme.bits)
    add_max_distance(parser, "k, the distance for which tables are chosen", default=k)
    add_number(parser, "--pages", "number of pages in the index", 1, 1 << 32, default=1_000_000)
    meaning = "use these tables instead of the cheapest; same format as SIMHASH_TABLES"
    parser.add_argument("--tables", metavar="BLOCKS,CHOSEN[,INNER]", help=meaning)


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.index.cost import bytes_per_page, cost_us

    k, pages = options.max_distance, options.pages
    plan = choose_tables(options, options.bits, k, pages)
    recalls = {distance: plan.expected_recall(distance) for distance in _distances(plan, k)}
    recall = plan.recall(k)
    candidates = plan.expected_candidates(pages)
    size_bytes, cpu_us = bytes_per_page(plan, k), cost_us(plan, k, pages)
    result = {
        "plan": asdict(plan),
        "tables": len(plan.tables),
        "guaranteed_distance": plan.guaranteed_distance,
        "recall": recall,
        "expected_recall": recalls,  # in JSON, distances become strings
        "candidates_per_query": candidates,
        "bytes_per_page": size_bytes,
        "cost_us": cpu_us,
    }
    lines = [
        f"{plan}, for fingerprints of {plan.bits} bits: {plan!r}",
        f"guaranteed distance: {plan.guaranteed_distance}",
    ]
    if plan.probes:
        lines.append(f"expected recall of real near-duplicates within {k} bits: {recall:.3f}")
    lines += [f"expected recall at distance {d}: {share:.3f}" for d, share in recalls.items()]
    lines += [
        f"candidates per query at {pages:,} pages: {candidates:,.1f}",
        f"bytes on disk per page, without key, evidence and database overhead: {size_bytes}",
        f"estimated CPU time to query and insert a page: {cpu_us:,.0f} µs",
    ]
    show_result(options, result, *lines)


def _distances(plan: TablePlan, k: int) -> list[int]:
    """Return the distances to show: from above the guaranteed one to k, and on until the recall is
    below one half. The list for probed tables may skip k itself.
    """
    distances = []
    step = _PROBED_STEP if plan.probes else 1
    for distance in range(plan.guaranteed_distance + 1, plan.bits + 1, step):
        distances.append(distance)
        if distance >= k and plan.expected_recall(distance) < 0.5:  # noqa: PLR2004 - half
            break
    return distances


COMMAND = Command(
    "plan", "show what tables of an index find and cost", _DESCRIPTION, _run, _add_arguments
)
