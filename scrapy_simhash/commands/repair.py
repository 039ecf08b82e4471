"""``repair``: an index that is damaged is made anew from what can be read."""

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
Keeps every entry of a damaged index that can still be read, and makes its buckets anew. Files that
cannot be read are set aside by the database. Pages whose entries are lost count as new when they
are met again. Make a copy of the directory before, if it matters. Interrupted, start it again.

  {program} repair --index .scrapy/simhash/spiders/news
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``repair``."""
    add_index_command(subparsers, "repair", _DESCRIPTION, "keep what a damaged index still holds")


def run(options: argparse.Namespace) -> int:
    """Repair."""
    from scrapy_simhash.index.repair import repair

    directory = index_directory(options)
    with progress("entries") as moved:
        report = repair(directory, moved=moved)
    if options.json:
        show(json.dumps({"index": str(directory), **asdict(report)}, indent=2))
        return 0
    if report.salvaged:
        show("files could not be read: the database kept the rows that can be")
    show(
        f"{report.entries:,} entries and {report.near_duplicates:,} lines of the near-duplicate "
        f"log kept, {report.dropped:,} rows dropped, all buckets made anew"
    )
    return 0
