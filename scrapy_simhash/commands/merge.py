"""``merge``: two indexes into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import progress
from scrapy_simhash.commands.parsers import add_index_command
from scrapy_simhash.commands.upkeep import show_kept

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Takes another index into this one, as if the crawl of the other had come after this one's: what it
met is met now, and its pages take the place of those here that they are near-duplicates of. The
near-duplicate logs follow each other. The other index stays; this one is made anew beside the old
one, which stays until the new one is whole.

  {program} merge --index archive/ .scrapy/simhash/spiders/news

Both must have been made with the same scheme. Of this one, tables and k stay. SIMHASH_SCOPE
counts. Not while a crawl is paused (JOBDIR) that goes on with this index.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``merge``."""
    parser = add_index_command(subparsers, "merge", _DESCRIPTION, "take another index into one")
    parser.add_argument("other", metavar="OTHER", help="directory of the index of a later crawl")


def run(options: argparse.Namespace) -> int:
    """Merge."""
    from scrapy_simhash.commands.project import page_scope
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.maintenance.merge import merge

    directory = index_directory(options)
    if not options.other:  # Path("") is the working directory
        raise SimhashError("a directory without a name: an empty variable of the shell?")
    with progress("entries") as moved:
        kept = merge(
            directory, Path(options.other), among=page_scope(options.settings), moved=moved
        )
    show_kept(options, directory, kept, merged=options.other)
    return 0
