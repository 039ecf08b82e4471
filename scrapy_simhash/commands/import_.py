"""``import``: make an index from records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import (
    add_command,
    add_scheme_options,
    scheme_and_distance,
    whole,
)
from scrapy_simhash.commands._output import progress, show

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Makes a new index from records that {program} export or another program wrote: JSON lines (also
compressed by gzip) or Parquet. A record needs key and fingerprint; scheme, first_seen_s and
last_seen_s are optional. Earlier records win where pages are equally near. If a record is invalid,
nothing is imported.

  {program} import entries.jsonl.gz new/
  {program} import --preset classic entries.parquet new/

If records name a scheme, it must be that of the options or settings. To add records to an existing
index, import them to a new index, and merge the new one into the old one.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``import``."""
    parser = add_command(subparsers, "import", _DESCRIPTION, "make an index from records")
    parser.add_argument(
        "file", metavar="FILE", help="a file, or - for JSON lines on standard input"
    )
    parser.add_argument(
        "new_directory",
        metavar="NEW_DIRECTORY",
        help="a directory that does not exist yet, or is empty",
    )
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    parser.add_argument(
        "--pages",
        metavar="N",
        type=whole(1, 1 << 32),
        help="choose tables for N pages (default: a million)",
    )
    parser.add_argument(
        "--database",
        choices=("leveldb", "rocksdb"),
        help="kind of database (default: leveldb if it is installed)",
    )
    add_scheme_options(parser)


def run(options: argparse.Namespace) -> int:
    """Import the records, and return the exit code."""
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index import new_manifest
    from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
    from scrapy_simhash.maintenance.export import import_entries
    from scrapy_simhash.maintenance.record_files import read_records

    if not options.new_directory or not options.file:
        raise SimhashError("a file or directory without a name: an empty variable of the shell?")
    chosen = scheme_and_distance(options)
    manifest = new_manifest(
        chosen.scheme,
        chosen.max_distance,
        options.pages or DEFAULT_EXPECTED_PAGES,
        options.database,
    )
    with progress("records") as on_progress:
        count = import_entries(
            Path(options.new_directory),
            manifest,
            read_records(options.file),
            on_progress=on_progress,
        )
    if options.json:
        result = {"index": options.new_directory, "file": options.file, "entries": count}
        show(json.dumps(result, indent=2))
    else:
        show(f"{count:,} entries imported to {options.new_directory}")
    return 0
