"""``import``: an index of records."""

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
Makes a new index of records that {program} export wrote, or another program: JSON lines (also
compressed by gzip) or Parquet, with key and fingerprint, and if known scheme, first_seen_s and
last_seen_s. The first one wins where pages are equally near. All of them are imported, or none.

  {program} import entries.jsonl.gz new/
  {program} import --preset classic entries.parquet new/

Records that name their scheme must have that of the options or settings. To add records to an
index that is there, import them to a new one, and merge that into it.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``import``."""
    parser = add_command(subparsers, "import", _DESCRIPTION, "make an index of records")
    parser.add_argument("file", metavar="FILE", help="or - for JSON lines on standard input")
    parser.add_argument(
        "new_directory", metavar="NEW_DIRECTORY", help="not there yet, or an empty directory"
    )
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    parser.add_argument(
        "--pages",
        metavar="N",
        type=whole(1, 1 << 32),
        help="choose tables for so many pages (default: a million)",
    )
    parser.add_argument(
        "--database",
        choices=("leveldb", "rocksdb"),
        help="the kind of database (default: leveldb, where it is installed)",
    )
    add_scheme_options(parser)


def run(options: argparse.Namespace) -> int:
    """Import."""
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
    with progress("records") as moved:
        count = import_entries(
            Path(options.new_directory), manifest, read_records(options.file), on_progress=moved
        )
    if options.json:
        result = {"index": options.new_directory, "file": options.file, "entries": count}
        show(json.dumps(result, indent=2))
    else:
        show(f"{count:,} entries imported to {options.new_directory}")
    return 0
