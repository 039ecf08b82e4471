"""``check``: check the consistency of an index."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import progress, show
from scrapy_simhash.commands.parsers import add_index_command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Reads all rows of an index and compares them with each other. Nothing is changed.

  {program} check --index .scrapy/simhash/spiders/news

The exit code is 1 if there are problems; {program} repair fixes them.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``check``."""
    add_index_command(subparsers, "check", _DESCRIPTION, "check the consistency of an index")


def run(options: argparse.Namespace) -> int:
    """Check an index, and return the exit code: 1 if there are problems."""
    from scrapy_simhash.maintenance.check import check

    directory = index_directory(options)
    with progress("entries") as moved:
        report = check(directory, moved=moved)
    if options.json:
        show(json.dumps({"index": str(directory), **asdict(report)}, indent=2))
        return 1 if report.problems else 0
    show(
        f"{report.entries:,} entries, {report.records:,} records in buckets, "
        f"{report.near_duplicates:,} lines in the near-duplicate log"
    )
    if report.buffered:
        show(f"{report.buffered:,} entries get their records at the next opening")
    for problem in report.problems:
        show(f"problem: {problem}")
    show("problems were found: repair the index" if report.problems else "no problem was found")
    return 1 if report.problems else 0
