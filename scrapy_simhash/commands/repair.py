"""``repair``: rebuild a damaged index from what can be read."""

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
Keeps every readable entry of a damaged index and rebuilds its buckets. The database sets aside
files that it cannot read. Pages whose entries are lost count as new in the next crawl. Copy the
directory first if it matters. If the command is interrupted, start it again.

  {program} repair --index .scrapy/simhash/spiders/news
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``repair``."""
    add_index_command(subparsers, "repair", _DESCRIPTION, "rebuild a damaged index")


def run(options: argparse.Namespace) -> int:
    """Repair an index, and return the exit code."""
    from scrapy_simhash.maintenance.repair import repair

    directory = index_directory(options)
    with progress("entries") as moved:
        report = repair(directory, moved=moved)
    if options.json:
        show(json.dumps({"index": str(directory), **asdict(report)}, indent=2))
        return 0
    if report.salvaged:
        show("some files could not be read: the database kept the readable rows")
    show(
        f"{report.entries:,} entries and {report.near_duplicates:,} lines of the near-duplicate "
        f"log kept, {report.dropped:,} rows dropped, all buckets rebuilt"
    )
    return 0
