"""``remove``: take pages out of an index."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import note, show
from scrapy_simhash.commands.parsers import add_index_command

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Takes the entries of pages out of an index, all in one write: they are no page's representatives
any more, and count as new when they are met again. The near-duplicate log stays.

  {program} remove https://example.com/blocked
  grep /search? urls.txt | {program} remove -

Exit code 1 if a page has no entry; the others are removed all the same.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``remove``."""
    parser = add_index_command(subparsers, "remove", _DESCRIPTION, "take pages out of an index")
    parser.add_argument(
        "keys",
        nargs="+",
        metavar="KEY",
        help="the page's URL, or what was given as its identity; - reads them from standard "
        "input, one a line",
    )


def run(options: argparse.Namespace) -> int:
    """Remove. 1 if one was not there."""
    from scrapy_simhash.maintenance.remove import remove

    directory = index_directory(options)
    keys = list(dict.fromkeys(_keys(options.keys)))
    removed = remove(directory, keys)
    there = set(removed)
    missing = [key for key in keys if key not in there]
    if options.json:
        result = {"index": str(directory), "removed": removed, "missing": missing}
        show(json.dumps(result, indent=2))
    else:
        for key in missing:
            note(f"no entry: {key}")
        show(f"removed {len(removed):,} of {len(keys):,} entries from {directory}")
    return 1 if missing else 0


def _keys(given: list[str]) -> list[str]:
    keys: list[str] = []
    for key in given:
        if key == "-" and sys.stdin is not None:
            keys += [line.rstrip("\r\n") for line in sys.stdin]
        else:
            keys.append(key)
    return [key for key in keys if key]
