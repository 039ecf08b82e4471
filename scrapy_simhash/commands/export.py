"""``export``: entries or the near-duplicate log as records that other programs read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_index_command, index_directory
from scrapy_simhash.commands._output import progress, show

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Writes the entries of an index, oldest first, as JSON lines, Parquet or CSV (by the file's name),
with key, fingerprint in hexadecimal digits, scheme, first_seen_s, last_seen_s (Unix times),
near_duplicates, and what confirms copies: sketch, site, title_hashes and heading_hashes.
{program} import makes an index of JSON lines and Parquet again. CSV is for spreadsheets: a text
that would begin a formula gets a ' before it.

  {program} export entries.jsonl.gz
  {program} export entries.parquet
  {program} export --near-duplicates copies.csv
  {program} export --near-duplicates - | jq -r 'select(.action == "dropped") | .key'

Near-duplicates have key, representative, distance, fingerprint, scheme, seen_at_s,
similarity_percent (null if it is not known), confirmed (false for a page that is only similar, and
passed) and action: what was done with the page, dropped, tagged, followed or passed, or empty.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``export``."""
    parser = add_index_command(
        subparsers, "export", _DESCRIPTION, "write entries as JSON lines, Parquet or CSV"
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="ends in .jsonl, .csv (or either with .gz) or .parquet; - is standard output, as JSON "
        "lines",
    )
    parser.add_argument(
        "--near-duplicates",
        action="store_true",
        help="the lines of the near-duplicate log instead of entries",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def run(options: argparse.Namespace) -> int:
    """Export."""
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.maintenance import export as exchange
    from scrapy_simhash.maintenance.record_files import STANDARD, write_records

    directory = index_directory(options)
    to_standard = options.file == STANDARD
    if not options.file or (not to_standard and Path(options.file).is_dir()):
        raise SimhashError(f"{options.file or 'a file without a name'}: name a file to write")
    if not to_standard and Path(options.file).exists() and not options.force:
        raise SimhashError(f"{options.file} is there already: --force overwrites it")
    if options.near_duplicates:
        records: Any = exchange.near_duplicate_records(directory)
        types = exchange.NEAR_DUPLICATE_TYPES
    else:
        records = exchange.entry_records(directory)
        types = exchange.ENTRY_TYPES
    with progress("records") as move:
        count = write_records(options.file, _moving(records, move), types)
    if to_standard:
        return 0
    if options.json:
        result = {"index": str(directory), "file": options.file, "records": count}
        show(json.dumps(result, indent=2))
    else:
        show(f"{count:,} records of {directory} written to {options.file}")
    return 0


def _moving(records: Any, move: Any) -> Any:
    for record in records:
        yield record
        move()
