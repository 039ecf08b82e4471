"""``changes``: list new, changed and gone pages of an index as JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import index_location, point_in_time
from scrapy_simhash.commands._output import show, shown_time

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Lists the pages of an index that are new, changed or gone since a given time, as JSON lines, the
earliest change first.

  {program} changes --since 24h
  {program} changes --since 2026-01-31T18:00 --spider news > changes.jsonl

A page is gone if a crawl that ended by itself saw other pages of the site, but not this page.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        metavar="WHEN",
        type=point_in_time,
        required=True,
        help="an age such as 36h or 7d (s, m, h, d, w), or a date such as 2026-01-31 or "
        "2026-01-31T18:00 (UTC, or with an offset)",
    )


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.changes import changes

    for change in changes(index_location(options), options.since):
        values = {"url": change.key, "change": change.kind}
        for name in ("at", "first_seen", "last_seen"):
            values[name] = shown_time(getattr(change, f"{name}_s"), "T")
        if change.copy_of is not None:
            values["copy_of"] = change.copy_of
        show(json.dumps(values))


COMMAND = Command(
    "changes",
    "list new, changed and gone pages as JSON lines",
    _DESCRIPTION,
    _run,
    _add_arguments,
    index=True,
    json=False,
)
