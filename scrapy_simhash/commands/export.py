"""``export`` and ``import``: show an index as records, and make a new index from records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import (
    Command,
    index_location,
    location_of,
    point_in_time,
)
from scrapy_simhash.commands._output import progress, show, show_result, shown_time
from scrapy_simhash.commands._pages import existing_paths
from scrapy_simhash.commands._settings import FINGERPRINT_OPTIONS

if TYPE_CHECKING:
    import argparse


_TIMES = ("at", "first_seen", "last_seen")


def _export(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.changes import changes
    from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records

    where = index_location(options)
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
        records = near_duplicate_records(where)
    else:
        records = entry_records(where)
    for record in progress(records, "records"):
        show(json.dumps(record))


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--near-duplicates",
        action="store_true",
        help="show the near-duplicate log instead of the entries",
    )
    group.add_argument(
        "--changes-since",
        metavar="WHEN",
        type=point_in_time,
        help="show new, changed and gone pages instead: an age such as 36h or 7d (s, m, h, "
        "d, w), or a date such as 2026-01-31 or 2026-01-31T18:00 (UTC, or with an offset)",
    )


EXPORT = Command(
    "export",
    "show entries, the near-duplicate log or changes as JSON lines",
    """\
Shows the entries of an index, oldest first, as JSON lines. Fields: key, fingerprint (hexadecimal
digits), scheme, first_seen_s, last_seen_s (Unix times), near_duplicates (a count), gave_items (the
page gave items), and evidence (hexadecimal digits: what confirms copies). `import` reads them.

  %(prog)s | gzip > entries.jsonl.gz
  %(prog)s --near-duplicates | jq -r 'select(.action == "dropped") | .key'
  %(prog)s --changes-since 24h
  %(prog)s --changes-since 2026-01-31T18:00 --spider news > changes.jsonl

With --near-duplicates, the fields are key, representative, distance, fingerprint, scheme,
seen_at_s, similarity_percent (null if unknown) and action: what the crawl did with the page
(dropped, tagged or followed; else empty). Pages that are only similar are not among them.

With --changes-since, the records are the pages that are new, changed or gone since then, the
earliest change first: key, change, at, first_seen, last_seen, and copy_of (for a changed page that
is a copy now; else empty). A page is gone if a crawl that ended by itself saw other pages of the
site, but not this page.
""",
    _export,
    _export_arguments,
    index=True,
    json=False,
)


def _import(options: argparse.Namespace) -> None:
    from scrapy_simhash.index.manifest import IndexSpec
    from scrapy_simhash.maintenance.importing import import_entries, read_records

    read, chosen = options.settings, options.settings.preset
    where = location_of(options.new, options)
    kind, pages = read("SIMHASH_INDEX"), read("SIMHASH_EXPECTED_PAGES")
    is_directory = isinstance(where, Path)
    if is_directory == (kind == "redis"):
        kind = None if is_directory else "redis"
    manifest = IndexSpec(
        kind, chosen.scheme, chosen.max_distance, expected_pages=pages
    ).to_manifest()
    if options.file != "-":
        existing_paths([options.file])  # later, the error would name the index, not the file
    count = import_entries(where, manifest, progress(read_records(options.file), "records"))
    show_result(options, {"index": str(where), "file": options.file, "entries": count})


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a file, or - for JSON lines on standard input"
    )
    parser.add_argument(
        "new",
        metavar="NEW",
        help="a directory that does not exist yet, or is empty; or redis://host:6379/0#name",
    )


IMPORT = Command(
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
    _import,
    _import_arguments,
    settings=(*FINGERPRINT_OPTIONS, "max-distance", "pages"),
)
