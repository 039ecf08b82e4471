"""``upgrade``: an index of an older format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import show
from scrapy_simhash.commands.parsers import add_index_command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Copies an index of an older format to a new directory, in the format of this release. The old one
stays as it is.

  {program} upgrade --index old/ new/
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``upgrade``."""
    parser = add_index_command(
        subparsers, "upgrade", _DESCRIPTION, "copy an index of an older format"
    )
    parser.add_argument(
        "new_directory", metavar="NEW_DIRECTORY", help="not there yet, or an empty directory"
    )


def run(options: argparse.Namespace) -> int:
    """Upgrade."""
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index.upgrade import upgrade

    directory = index_directory(options)
    if not options.new_directory:
        raise SimhashError("a directory without a name: an empty variable of the shell?")
    entries = upgrade(directory, Path(options.new_directory))
    if options.json:
        result = {"index": options.new_directory, "upgraded": str(directory), "entries": entries}
        show(json.dumps(result, indent=2))
    else:
        show(f"{entries:,} entries copied to {options.new_directory}; the old index is as it was")
    return 0
