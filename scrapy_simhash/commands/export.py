"""``export``: show entries, the near-duplicate log or changes as records for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import (
    Command,
    index_location,
    point_in_time,
)
from scrapy_simhash.commands._output import progress, show, shown_time

if TYPE_CHECKING:
    import argparse


_TIMES = ("at", "first_seen", "last_seen")


def _run(options: argparse.Namespace) -> None:
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


def _arguments(parser: argparse.ArgumentParser) -> None:
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


COMMAND = Command(
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
    _run,
    _arguments,
    index=True,
    json=False,
)
