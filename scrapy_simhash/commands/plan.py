"""``plan``: show the recall and the cost of tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_command, choose_tables, whole_number
from scrapy_simhash.commands._output import show, show_json
from scrapy_simhash.parameters import MAX_BITS
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.plan import TablePlan

_DESCRIPTION = """\
Shows the guaranteed distance, the recall and the cost of tables, before a crawl uses them. Without
--tables, it shows the cheapest tables for k and the number of pages, which a new index would get.

  {program} plan --bits 256 --max-distance 52 --pages 5000000
  {program} plan --bits 64 --max-distance 3 --tables 5,2
"""
# The recall of probed tables (with --bits 128 or more) is simulated, which is slow: only every
# fourth distance is shown.
_PROBED_STEP = 4
_DEFAULT = PRESETS[DEFAULT_PRESET]


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``plan``."""
    parser = add_command(subparsers, "plan", _DESCRIPTION, "show the recall and the cost of tables")
    parser.add_argument(
        "--bits",
        metavar="N",
        type=whole_number(8, MAX_BITS),
        default=_DEFAULT.scheme.bits,
        help="width of fingerprints (default: %(default)s)",
    )
    parser.add_argument(
        "--max-distance",
        metavar="K",
        type=whole_number(0, MAX_BITS - 1),
        default=_DEFAULT.max_distance,
        help="k, the distance for which tables are chosen (default: %(default)s)",
    )
    parser.add_argument(
        "--pages",
        metavar="N",
        type=whole_number(1, 1 << 32),
        default=1_000_000,
        help="number of pages in the index (default: %(default)s)",
    )
    parser.add_argument(
        "--tables",
        metavar="BLOCKS,CHOSEN[,INNER]",
        help="use these tables instead of the cheapest; same format as SIMHASH_TABLES",
    )
    parser.add_argument("--json", action="store_true", help="show the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Show a plan, and return the exit code."""
    from scrapy_simhash.index.cost import bytes_per_page, cost_us

    k, pages = options.max_distance, options.pages
    plan = choose_tables(options, options.bits, k, pages)
    recalls = {distance: plan.expected_recall(distance) for distance in _distances(plan, k)}
    if options.json:
        report = {
            "plan": asdict(plan),
            "tables": len(plan.tables),
            "guaranteed_distance": plan.guaranteed_distance,
            "recall": plan.recall(k),
            "expected_recall": {str(distance): recall for distance, recall in recalls.items()},
            "candidates_per_query": plan.expected_candidates(pages),
            "bytes_per_page": bytes_per_page(plan, k),
            "cost_us": cost_us(plan, k, pages),
        }
        show_json(report)
        return 0
    show(f"{plan}, for fingerprints of {plan.bits} bits: {plan!r}")
    show(f"guaranteed distance: {plan.guaranteed_distance}")
    if plan.probes:
        show(f"expected recall of real near-duplicates within {k} bits: {plan.recall(k):.3f}")
    for distance, recall in recalls.items():
        show(f"expected recall at distance {distance}: {recall:.3f}")
    show(f"candidates per query at {pages:,} pages: {plan.expected_candidates(pages):,.1f}")
    size_bytes = bytes_per_page(plan, k)
    show(f"bytes on disk per page, without key, evidence and database overhead: {size_bytes}")
    show(f"estimated CPU time to query and insert a page: {cost_us(plan, k, pages):,.0f} µs")
    return 0


def _distances(plan: TablePlan, k: int) -> list[int]:
    """Return the distances to show, all above the guaranteed one.

    The last one is at least k, and less than half of the pairs at this distance are found. For
    probed tables, the list may skip k itself.
    """
    distances = []
    step = _PROBED_STEP if plan.probes else 1
    for distance in range(plan.guaranteed_distance + 1, plan.bits + 1, step):
        distances.append(distance)
        if distance >= k and plan.expected_recall(distance) < 0.5:  # noqa: PLR2004 - half
            break
    return distances
