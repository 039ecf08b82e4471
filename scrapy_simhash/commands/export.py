"""``export``: write entries or the near-duplicate log as records for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import index_location
from scrapy_simhash.commands._output import progress, show_result, writable

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Writes the entries of an index, oldest first, as JSON lines. Fields: key, fingerprint (hexadecimal
digits), scheme, first_seen_s, last_seen_s (Unix times), near_duplicates (a count), gave_items (the
page gave items), and evidence (hexadecimal digits: what confirms copies). `import` reads them.

  {program} export entries.jsonl.gz
  {program} export --near-duplicates - | jq -r 'select(.action == "dropped") | .key'
  {program} export - | jq -r 'select(.first_seen_s >= 1767225600) | .key'

With --near-duplicates, the fields are key, representative, distance, fingerprint, scheme,
seen_at_s, similarity_percent (null if unknown) and action: what the crawl did with the page
(dropped, tagged or followed; else empty). Pages that are only similar are not among them.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a file, compressed if its name ends in .gz; - is standard output",
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
    if not to_standard_output and writable(options.file).exists() and not options.overwrite:
        raise SimhashError(f"{options.file} exists already: --overwrite replaces it")
    read = export.near_duplicate_records if options.near_duplicates else export.entry_records
    with progress("records") as on_progress:
        count = write_records(options.file, _with_progress(read(where), on_progress))
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
