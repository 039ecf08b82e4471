"""``export``: write entries, the near-duplicate log or changes as records for other programs;
``import``: make a new index from records.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import (
    Command,
    argument,
    index_location,
    location_of,
    point_in_time,
)
from scrapy_simhash.commands._output import progress, show_result, shown_time, writable
from scrapy_simhash.commands._pages import existing_paths
from scrapy_simhash.commands._settings import FINGERPRINT_OPTIONS, REDIS_OPTIONS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.maintenance.sources import Location


_TIMES = ("at", "first_seen", "last_seen")


def _export(options: argparse.Namespace) -> None:
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.maintenance import export
    from scrapy_simhash.maintenance.changes import changes
    from scrapy_simhash.maintenance.export import STANDARD_STREAM, write_records

    where = index_location(options)
    to_standard_output = options.file == STANDARD_STREAM
    if not to_standard_output and writable(options.file).exists() and not options.overwrite:
        raise SimhashError(f"{options.file} exists already: --overwrite replaces it")
    if options.changes_since is not None:
        records: Any = (
            {
                "key": one.key,
                "change": one.kind,
                **{name: shown_time(getattr(one, f"{name}_s"), "T") for name in _TIMES},
                "copy_of": one.copy_of or "",
            }
            for one in changes(where, options.changes_since)
        )
    elif options.near_duplicates:
        records = export.near_duplicate_records(where)
    else:
        records = export.entry_records(where)
    count = write_records(options.file, progress(records, "records"))
    if not to_standard_output:
        result = {"index": str(where), "file": options.file, "records": count}
        show_result(options, result)


EXPORT = Command(
    "export",
    "write entries, the near-duplicate log or changes to a file",
    """\
Writes the entries of an index, oldest first, as JSON lines. Fields: key, fingerprint (hexadecimal
digits), scheme, first_seen_s, last_seen_s (Unix times), near_duplicates (a count), gave_items (the
page gave items), and evidence (hexadecimal digits: what confirms copies). `import` reads them.

  {program} export entries.jsonl.gz
  {program} export --near-duplicates - | jq -r 'select(.action == "dropped") | .key'
  {program} export --changes-since 24h -
  {program} export --changes-since 2026-01-31T18:00 --spider news changes.jsonl

With --near-duplicates, the fields are key, representative, distance, fingerprint, scheme,
seen_at_s, similarity_percent (null if unknown) and action: what the crawl did with the page
(dropped, tagged or followed; else empty). Pages that are only similar are not among them.

With --changes-since, the records are the pages that are new, changed or gone since then, the
earliest change first: key, change, at, first_seen, last_seen, and copy_of (for a changed page that
is a copy now; else empty). A page is gone if a crawl that ended by itself saw other pages of the
site, but not this page.
""",
    _export,
    (
        argument(
            "file",
            metavar="FILE",
            help="a file, compressed if its name ends in .gz; - is standard output",
        ),
        argument(
            "--near-duplicates",
            action="store_true",
            help="write the near-duplicate log instead of the entries",
            instead="instead",
        ),
        argument(
            "--changes-since",
            metavar="WHEN",
            type=point_in_time,
            help="write new, changed and gone pages instead: an age such as 36h or 7d (s, m, h, "
            "d, w), or a date such as 2026-01-31 or 2026-01-31T18:00 (UTC, or with an offset)",
            instead="instead",
        ),
        argument("--overwrite", action="store_true", help="replace an existing file"),
    ),
    index=True,
)


def _import(options: argparse.Namespace) -> None:
    from scrapy_simhash.index import IndexSpec
    from scrapy_simhash.maintenance.export import STANDARD_STREAM, import_entries, read_records

    read, chosen = options.settings, options.settings.preset
    where: Location | None = (
        read.redis_address(None) if options.new is None else location_of(options.new, options)
    )
    if where is None:
        raise options.error("give NEW, or --redis and --redis-key")  # it exits
    kind, pages = read("SIMHASH_INDEX"), read("SIMHASH_EXPECTED_PAGES")
    is_directory = isinstance(where, Path)
    if is_directory == (kind == "redis"):
        kind = None if is_directory else "redis"
    manifest = IndexSpec(
        kind, chosen.scheme, chosen.max_distance, expected_pages=pages
    ).to_manifest()
    if options.file != STANDARD_STREAM:
        existing_paths([options.file])  # later, the error would name the index, not the file
    records = progress(read_records(options.file), "records")
    count = import_entries(where, manifest, records)
    show_result(options, {"index": str(where), "file": options.file, "entries": count})


IMPORT = Command(
    "import",
    "make a new index from records",
    """\
Makes a new index, in a directory or in Redis, from records that `export` or another program wrote:
JSON lines, also compressed by gzip. A record needs key and fingerprint; other fields of
`export` are optional. If a record is invalid, nothing is imported.

  {program} import entries.jsonl.gz new/
  {program} import --preset classic entries.jsonl new/
  {program} import entries.jsonl.gz --redis redis://host:6379/0 --redis-key shop:simhash

If records name a scheme, it must be that of the settings.
""",
    _import,
    (
        argument("file", metavar="FILE", help="a file, or - for JSON lines on standard input"),
        argument(
            "new",
            metavar="NEW",
            nargs="?",
            help="a directory that does not exist yet, or is empty; or redis://host:6379/0#name "
            "(default: the index in Redis of --redis, --redis-key and the settings)",
        ),
    ),
    settings=(*FINGERPRINT_OPTIONS, "max-distance", "pages", *REDIS_OPTIONS),
)
