"""``python -m scrapy_simhash.index``: check, repair, upgrade and ask an index; plan its tables."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index.cost import (
    DEFAULT_EXPECTED_PAGES,
    bytes_per_page,
    choose_plan,
    cost_us,
)
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.printable import printable


def main(arguments: list[str] | None = None) -> int:
    """Run a command. 0: all is well; 1: the check found problems, or nothing is known of a page;
    2: it could not be done.
    """
    parser = argparse.ArgumentParser(prog="python -m scrapy_simhash.index", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, explained in (
        ("check", "compare all rows of an index"),
        ("repair", "rebuild an index from the entries that can be read"),
        ("statistics", "sizes, and how evenly buckets are filled"),
    ):
        commands.add_parser(name, help=explained).add_argument("directory", type=Path)
    explaining = commands.add_parser("explain", help="what is known about the page of a key")
    explaining.add_argument("directory", type=Path)
    explaining.add_argument("key", help="its URL, or what was given as its identity")
    upgrading = commands.add_parser("upgrade", help="copy an index of an older format")
    upgrading.add_argument("directory", type=Path)
    upgrading.add_argument("new_directory", type=Path)
    planning = commands.add_parser("plan", help="what tables would find and cost")
    planning.add_argument("--bits", type=int, default=64)
    planning.add_argument("--max-distance", type=int, default=3)
    planning.add_argument("--pages", type=int, default=DEFAULT_EXPECTED_PAGES)
    planning.add_argument("--blocks", type=int, help="these tables instead of the cheapest")
    planning.add_argument("--chosen", type=int, default=1)
    planning.add_argument("--inner-blocks", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        return {
            "check": _check,
            "repair": _repair,
            "statistics": _statistics,
            "explain": _explain,
            "upgrade": _upgrade,
            "plan": _plan,
        }[given.command](given)
    except SimhashError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _check(given: argparse.Namespace) -> int:
    from scrapy_simhash.index.check import check

    report = check(given.directory)
    print(
        f"{report.entries:,} entries, {report.records:,} records in buckets, "
        f"{report.near_duplicates:,} lines in the near-duplicate log"
    )
    if report.buffered:
        print(f"{report.buffered:,} entries get their records at the next opening")
    for problem in report.problems:
        print(f"problem: {problem}")
    print("problems were found: repair the index" if report.problems else "no problem was found")
    return 1 if report.problems else 0


def _repair(given: argparse.Namespace) -> int:
    from scrapy_simhash.index.repair import repair

    report = repair(given.directory)
    if report.salvaged:
        print("files could not be read: the database kept the rows that can be")
    print(
        f"{report.entries:,} entries and {report.near_duplicates:,} lines of the near-duplicate "
        f"log kept, {report.dropped:,} rows dropped, all buckets made anew"
    )
    return 0


def _statistics(given: argparse.Namespace) -> int:
    from scrapy_simhash.index.statistics import statistics

    found = statistics(given.directory)
    manifest = found.manifest
    print(f"{manifest.database}, scheme {manifest.scheme.id}, k = {manifest.max_distance}")
    print(f"{manifest.plan}, checks of {manifest.check_bits} bits")
    print(
        f"{found.entries:,} entries ({found.buffered:,} not in buckets yet), "
        f"{found.page_key_bytes:,} bytes of page keys, {found.file_bytes:,} bytes of files"
    )
    print(f"{'rows':<16}{'rows':>12}{'key bytes':>14}{'value bytes':>14}")
    for kind, rows in found.rows.items():
        print(f"{kind:<16}{rows.rows:>12,}{rows.key_bytes:>14,}{rows.value_bytes:>14,}")
    print(f"{'table':<16}{'prefix bits':>12}{'records':>14}{'used':>10}{'largest':>9}{'skew':>8}")
    for table in found.tables:
        print(
            f"{table.name:<16}{table.prefix_bits:>12}{table.records:>14,}{table.used:>10,}"
            f"{table.largest:>9,}{table.skew:>8.1f}"
        )
    return 0


def _explain(given: argparse.Namespace) -> int:
    from scrapy_simhash.index.explain import explain

    found = explain(given.directory, given.key)
    print(f"{printable(found.key)}, by scheme {found.scheme_id}, k = {found.max_distance}")
    if found.entry is not None:
        print(
            f"representative since {_time(found.entry.first_seen_s)}, last seen "
            f"{_time(found.entry.last_seen_s)}, {to_hex(found.entry.fingerprint, found.bits)}"
        )
    for line in found.near_duplicates:
        print(
            f"{_time(line.seen_at_s)} near-duplicate of {printable(line.representative)} at "
            f"distance {line.distance}{', weak' if line.weak else ''}, "
            f"{to_hex(line.fingerprint, found.bits)}"
        )
    for line in found.copies:
        print(
            f"{_time(line.seen_at_s)} {printable(line.key)} was a near-duplicate of it at "
            f"distance {line.distance}{', weak' if line.weak else ''}"
        )
    if found.entry is None and not found.near_duplicates and not found.copies:
        print("nothing is known about it")
        return 1
    return 0


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ")


def _upgrade(given: argparse.Namespace) -> int:
    from scrapy_simhash.index.upgrade import upgrade

    entries = upgrade(given.directory, given.new_directory)
    print(f"{entries:,} entries copied to {given.new_directory}; the old index is as it was")
    return 0


def _plan(given: argparse.Namespace) -> int:
    distance, pages = given.max_distance, given.pages
    if given.blocks is None:
        plan = choose_plan(given.bits, distance, pages)
    else:
        plan = TablePlan(given.bits, given.blocks, given.chosen, given.inner_blocks)
    print(f"{plan} of {plan.bits} bits: {plan!r}")
    print(f"guaranteed distance: {plan.guaranteed_distance}")
    for beyond in range(plan.guaranteed_distance + 1, plan.bits + 1):
        recall = plan.expected_recall(beyond)
        print(f"expected recall at distance {beyond}: {recall:.3f}")
        if beyond >= distance and recall < 0.5:  # noqa: PLR2004 - more often missed than found
            break
    print(f"candidates per query at {pages:,} pages: {plan.expected_candidates(pages):,.1f}")
    print(f"bytes per page besides its key: {bytes_per_page(plan, distance)}")
    print(f"modelled cost of a query and an insert: {cost_us(plan, distance, pages):,.0f} µs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
