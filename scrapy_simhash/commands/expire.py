"""``expire``: remove pages that no crawl has seen for some time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import progress
from scrapy_simhash.commands.parsers import add_index_command
from scrapy_simhash.commands.times import point_in_time, shown_time
from scrapy_simhash.commands.upkeep import show_kept

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Removes the entries of pages that no crawl has seen since a given time. The index is rewritten
atomically: if the command is interrupted, nothing has changed.

  {program} expire --not-seen-for 90d
  {program} expire --not-seen-since 2026-01-31 --log
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``expire``."""
    parser = add_index_command(
        subparsers, "expire", _DESCRIPTION, "remove pages that were not seen for some time"
    )
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument(
        "--not-seen-for",
        dest="before_s",
        metavar="AGE",
        type=point_in_time,
        help="such as 36h, 30d or 8w (s, m, h, d, w)",
    )
    when.add_argument(
        "--not-seen-since",
        dest="before_s",
        metavar="DATE",
        type=point_in_time,
        help="such as 2026-01-31 or 2026-01-31T18:00 (UTC, or with an offset)",
    )
    parser.add_argument(
        "--log",
        action="store_true",
        help="also remove older lines of the near-duplicate log; report and explain lose them",
    )


def run(options: argparse.Namespace) -> int:
    """Remove old pages, and return the exit code."""
    from scrapy_simhash.maintenance.remove import expire

    directory = index_directory(options)
    with progress("entries") as moved:
        kept = expire(directory, options.before_s, log=options.log, moved=moved)
    show_kept(options, directory, kept, not_seen_since=shown_time(options.before_s))
    return 0
