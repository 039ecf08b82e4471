"""``compact``: give disk space back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import show
from scrapy_simhash.commands.parsers import add_index_command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Lets the database drop what was overwritten and deleted, which it does by itself in time. Takes as
long as copying the index, and as much disk meanwhile. Can be interrupted.

  {program} compact --index .scrapy/simhash/spiders/news
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compact``."""
    add_index_command(subparsers, "compact", _DESCRIPTION, "give disk space back")


def run(options: argparse.Namespace) -> int:
    """Compact."""
    from scrapy_simhash.index.upkeep import compact

    directory = index_directory(options)
    before_bytes, after_bytes = compact(directory)
    if options.json:
        sizes = {"before_bytes": before_bytes, "after_bytes": after_bytes}
        show(json.dumps({"index": str(directory), **sizes}, indent=2))
    else:
        show(f"{before_bytes:,} bytes before, {after_bytes:,} bytes now, in {directory}")
    return 0
