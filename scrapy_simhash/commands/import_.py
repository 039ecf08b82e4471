"""``import``: make a new index from records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command, location_of
from scrapy_simhash.commands._output import progress, show_result
from scrapy_simhash.commands._pages import existing_paths
from scrapy_simhash.commands._settings import FINGERPRINT_OPTIONS

if TYPE_CHECKING:
    import argparse


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.index.manifest import IndexSpec
    from scrapy_simhash.maintenance.importing import STANDARD_STREAM, import_entries, read_records

    read, chosen = options.settings, options.settings.preset
    where = location_of(options.new, options)
    kind, pages = read("SIMHASH_INDEX"), read("SIMHASH_EXPECTED_PAGES")
    is_directory = isinstance(where, Path)
    if is_directory == (kind == "redis"):
        kind = None if is_directory else "redis"
    manifest = IndexSpec(
        kind, chosen.scheme, chosen.max_distance, expected_pages=pages
    ).to_manifest()
    if options.file != STANDARD_STREAM:
        existing_paths([options.file])  # later, the error would name the index, not the file
    count = import_entries(where, manifest, progress(read_records(options.file), "records"))
    show_result(options, {"index": str(where), "file": options.file, "entries": count})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a file, or - for JSON lines on standard input"
    )
    parser.add_argument(
        "new",
        metavar="NEW",
        help="a directory that does not exist yet, or is empty; or redis://host:6379/0#name",
    )


COMMAND = Command(
    "import",
    "make a new index from records",
    """\
Makes a new index, in a directory or in Redis, from records that `export` or another program wrote:
JSON lines, also compressed by gzip. A record needs key and fingerprint; other fields of
`export` are optional. If a record is invalid, nothing is imported.

  %(prog)s entries.jsonl.gz new/
  %(prog)s --preset classic entries.jsonl new/
  %(prog)s entries.jsonl.gz redis://host:6379/0#shop:simhash

If records name a scheme, it must be that of the settings.
""",
    _run,
    _arguments,
    settings=(*FINGERPRINT_OPTIONS, "max-distance", "pages"),
)
