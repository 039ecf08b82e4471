"""``export``: write entries or the near-duplicate log as records for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import index_location
from scrapy_simhash.commands._output import progress, show_result, writable

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Writes the entries of an index, oldest first. The file name chooses the format: JSON lines, Parquet
or CSV. Fields: key, fingerprint (hexadecimal digits), scheme, first_seen_s, last_seen_s (Unix
times), near_duplicates (a count), gave_items (the page gave items), and evidence (hexadecimal
digits: what confirms copies). `import` reads JSON lines and Parquet. CSV is for spreadsheets: a
text that a spreadsheet would take for a formula gets a ' before it.

  {program} export entries.jsonl.gz
  {program} export entries.parquet
  {program} export --near-duplicates copies.csv
  {program} export --near-duplicates - | jq -r 'select(.action == "dropped") | .key'

With --near-duplicates, the fields are key, representative, distance, fingerprint, scheme,
seen_at_s, similarity_percent (null if unknown) and action: what the crawl did with the page
(dropped, tagged or followed; else empty). Pages that are only similar are not among them.
"""
_SPREADSHEETS = (".xls", ".xlsx", ".ods")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a name that ends in .jsonl, .csv (or either with .gz) or .parquet; - writes JSON "
        "lines to standard output",
    )
    parser.add_argument(
        "--near-duplicates",
        action="store_true",
        help="write the near-duplicate log instead of the entries",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.maintenance import export
    from scrapy_simhash.maintenance.record_files import STANDARD_STREAM, write_records

    where = index_location(options)
    to_standard_output = options.file == STANDARD_STREAM
    if not to_standard_output:
        if Path(options.file).suffix.lower() in _SPREADSHEETS:
            raise SimhashError(f"{options.file}: spreadsheets open CSV: name a file .csv")
        if writable(options.file).exists() and not options.overwrite:
            raise SimhashError(f"{options.file} exists already: --overwrite replaces it")
    records: Any = export.entry_records(where)
    types = export.ENTRY_TYPES
    if options.near_duplicates:
        records, types = export.near_duplicate_records(where), export.NEAR_DUPLICATE_TYPES
    with progress("records") as on_progress:
        count = write_records(options.file, _with_progress(records, on_progress), types)
    if not to_standard_output:
        result = {"index": str(where), "file": options.file, "records": count}
        show_result(options, result, f"{count:,} records of {where} written to {options.file}")


def _with_progress(records: Any, on_progress: Any) -> Any:
    for record in records:
        yield record
        on_progress()


COMMAND = Command(
    "export",
    "write entries or the near-duplicate log to a file",
    _DESCRIPTION,
    _run,
    _add_arguments,
    index=True,
)
