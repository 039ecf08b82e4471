"""``compact``: free disk space."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import show
from scrapy_simhash.commands.parsers import add_index_command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Makes the database free the space of overwritten and deleted rows now; it also does so by itself
over time. Takes as much time and temporary disk space as a copy of the index. Can be interrupted.

  {program} compact --index .scrapy/simhash/spiders/news
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compact``."""
    add_index_command(subparsers, "compact", _DESCRIPTION, "free disk space")


def run(options: argparse.Namespace) -> int:
    """Compact an index, and return the exit code."""
    from scrapy_simhash.maintenance.rebuild import compact

    directory = index_directory(options)
    before_bytes, after_bytes = compact(directory)
    if options.json:
        sizes = {"before_bytes": before_bytes, "after_bytes": after_bytes}
        show(json.dumps({"index": str(directory), **sizes}, indent=2))
    else:
        show(f"{before_bytes:,} bytes before, {after_bytes:,} bytes now, in {directory}")
    return 0
