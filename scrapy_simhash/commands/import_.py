"""``import``: make a new index from records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command, WrongUsage, location_of
from scrapy_simhash.commands._output import progress, show_result
from scrapy_simhash.commands._pages import existing_paths
from scrapy_simhash.commands._settings import (
    FINGERPRINT_OPTIONS,
    REDIS_OPTIONS,
    redis_address,
    scheme_settings,
    settings_reader,
)

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.maintenance.sources import Location

_DESCRIPTION = """\
Makes a new index, in a directory or in Redis, from records that `export` or another program wrote:
JSON lines, also compressed by gzip. A record needs key and fingerprint; other fields of
`export` are optional. If a record is invalid, nothing is imported.

  {program} import entries.jsonl.gz new/
  {program} import --preset classic entries.jsonl new/
  {program} import entries.jsonl.gz --redis redis://host:6379/0 --redis-key shop:simhash

If records name a scheme, it must be that of the settings.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a file, or - for JSON lines on standard input"
    )
    parser.add_argument(
        "new",
        metavar="NEW",
        nargs="?",
        help="a directory that does not exist yet, or is empty; or redis://host:6379/0#name "
        "(default: the index in Redis of --redis, --redis-key and the settings)",
    )


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.index import IndexSpec
    from scrapy_simhash.maintenance.export import STANDARD_STREAM, import_entries, read_records

    if options.new is None:
        where: Location | None = redis_address(options.settings, None)
    else:
        where = location_of(options.new, options)
    if where is None:
        raise WrongUsage("give NEW, or --redis and --redis-key")
    chosen, read = scheme_settings(options.settings), settings_reader(options.settings)
    kind: str | None = "redis"
    if isinstance(where, Path):
        kind = None if read("SIMHASH_INDEX") == "redis" else read("SIMHASH_INDEX")
    pages = read("SIMHASH_EXPECTED_PAGES")
    manifest = IndexSpec(
        kind, chosen.scheme, chosen.max_distance, expected_pages=pages
    ).to_manifest()
    if options.file != STANDARD_STREAM:
        existing_paths([options.file])  # later, the error would name the index, not the file
    records = progress(read_records(options.file), "records")
    count = import_entries(where, manifest, records)
    show_result(options, {"index": str(where), "file": options.file, "entries": count})


COMMAND = Command(
    "import",
    "make a new index from records",
    _DESCRIPTION,
    _run,
    _add_arguments,
    settings=(*FINGERPRINT_OPTIONS, "max-distance", "pages", *REDIS_OPTIONS),
)
