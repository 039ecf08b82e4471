"""``import``: make a new index from records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    WrongUsage,
    add_number,
    add_redis_options,
    add_scheme_options,
    chosen_settings,
)
from scrapy_simhash.commands._output import progress, show_result
from scrapy_simhash.commands._pages import existing_paths

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.maintenance.sources import Location

_DESCRIPTION = """\
Makes a new index, in a directory or in Redis, from records that `export` or another program wrote:
JSON lines, also compressed by gzip. A record needs key and fingerprint; other fields of
`export` are optional. If a record is invalid, nothing is imported.

  {program} import entries.jsonl.gz new/
  {program} import --preset classic entries.jsonl new/
  {program} import --redis redis://host:6379/0 --redis-key shop:simhash entries.jsonl.gz

If records name a scheme, it must be that of the options or settings.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a file, or - for JSON lines on standard input"
    )
    parser.add_argument(
        "new_directory",
        metavar="NEW_DIRECTORY",
        nargs="?",
        help="a directory that does not exist yet, or is empty",
    )
    add_number(parser, "--pages", "choose tables for N pages (default: a million)", 1, 1 << 32)
    kinds = ("leveldb", "rocksdb")
    parser.add_argument(
        "--database", choices=kinds, help="kind of database (default: leveldb if it is installed)"
    )
    add_redis_options(parser)
    add_scheme_options(parser)


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.commands._settings import redis_address
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.index import IndexSpec
    from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
    from scrapy_simhash.maintenance.export import import_entries
    from scrapy_simhash.maintenance.record_files import STANDARD_STREAM, read_records

    if options.new_directory == "" or not options.file:
        raise SimhashError("a file or directory name is empty: is a shell variable unset?")
    chosen, pages = chosen_settings(options), options.pages or DEFAULT_EXPECTED_PAGES
    scheme, max_distance = chosen.scheme, chosen.max_distance
    where: Location
    if options.new_directory is not None:
        if options.redis or options.redis_key or options.redis_cluster:
            raise WrongUsage(
                "NEW_DIRECTORY cannot be combined with --redis, --redis-key or --redis-cluster"
            )
        where = Path(options.new_directory)
    else:
        if options.database is not None:
            raise WrongUsage("--database needs NEW_DIRECTORY: an index in Redis has no database")
        address = redis_address(options)
        if address is None:
            raise WrongUsage("give NEW_DIRECTORY, or --redis and --redis-key")
        where = address
    kind = options.database if isinstance(where, Path) else "redis"
    manifest = IndexSpec(kind, scheme, max_distance, expected_pages=pages).to_manifest()
    if options.file != STANDARD_STREAM:
        existing_paths([options.file])  # later, the error would name the index, not the file
    with progress("records") as on_progress:
        records = read_records(options.file)
        count = import_entries(where, manifest, records, on_progress=on_progress)
    result = {"index": str(where), "file": options.file, "entries": count}
    show_result(options, result, f"{count:,} entries imported to {where}")


COMMAND = Command("import", "make a new index from records", _DESCRIPTION, _run, _add_arguments)
