"""The commands that maintain an index: check, remove, rebuild, merge."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import (
    Command,
    index_location,
    location_of,
    point_in_time,
)
from scrapy_simhash.commands._output import show, show_result, shown_time
from scrapy_simhash.commands._settings import FINGERPRINT_OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def _check(options: argparse.Namespace) -> int:
    from scrapy_simhash.maintenance.check import check, repair
    from scrapy_simhash.maintenance.sources import require_directory

    where = index_location(options)
    if options.repair:
        report = repair(require_directory(where, "check --repair"))
        show_result(options, {"index": str(where), **asdict(report)})
        return 0
    found = check(where)
    show_result(options, {"index": str(where), **asdict(found)})
    if not options.json:
        advice = "copy the directory, and add --repair"
        if not isinstance(where, Path):
            advice = "restore a backup of the server, or merge the index into a new one"
        show(f"problems found: {advice}" if found.problems else "no problems found")
    return 1 if found.problems else 0


def _merge(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.merge import merge

    where = index_location(options)
    other = location_of(options.other, options)
    result = merge(where, other, scope=options.settings("SIMHASH_SCOPE"))
    show_result(options, {"index": str(where), "merged": str(other), **asdict(result)})


def _remove(options: argparse.Namespace) -> int:
    from scrapy_simhash.maintenance.remove import delete, expire, remove

    ways = (options.all, bool(options.keys), options.unseen_since is not None)
    if sum(ways) != 1:
        options.error("give keys, --unseen-since or --all")
    where = index_location(options)
    missing: list[str] = []
    if options.all:
        delete(where)
        result: dict[str, Any] = {"deleted": True}
    elif options.unseen_since is not None:
        counts = expire(where, options.unseen_since)
        result = {"unseen_since": shown_time(options.unseen_since), **asdict(counts)}
    else:
        keys = list(dict.fromkeys(_read_keys(options.keys)))
        removed = remove(where, keys)
        found = {*removed}
        missing = [key for key in keys if key not in found]
        result = {"removed": removed, "missing": missing}
    show_result(options, {"index": str(where), **result})
    return 1 if missing else 0


def _read_keys(arguments: list[str]) -> Iterator[str]:
    for key in arguments:
        lines = sys.stdin if key == "-" and sys.stdin is not None else [key]
        yield from filter(None, (line.rstrip("\r\n") for line in lines))


def _rebuild(options: argparse.Namespace) -> None:
    from scrapy_simhash.index import read_manifest
    from scrapy_simhash.index.plan import choose_plan
    from scrapy_simhash.maintenance.rebuild import rebuild, reindex
    from scrapy_simhash.maintenance.sources import require_directory

    directory = require_directory(index_location(options), "rebuild")
    read, chosen = options.settings, options.settings.preset
    pages = read("SIMHASH_EXPECTED_PAGES")
    if chosen.scheme == read_manifest(directory).scheme:
        plan = choose_plan(chosen.scheme.bits, chosen.max_distance, pages)
        counts = {"entries": rebuild(directory, plan, max_distance=chosen.max_distance)}
    else:
        report = reindex(
            directory,
            chosen.scheme,
            chosen.max_distance,
            confirmation=chosen.confirmation,
            expected_pages=pages,
            min_tokens=read("SIMHASH_MIN_TOKENS"),
            drop_without_text=options.drop_without_text,
            scope=read("SIMHASH_SCOPE"),
        )
        counts = asdict(report)
    show_result(options, {"index": str(directory), **counts})


def _rebuild_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop-without-text",
        action="store_true",
        help="for another scheme: leave out pages whose texts are not stored",
    )


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repair",
        action="store_true",
        help="rewrite an index in a directory with all rows that can be read",
    )


def _remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "keys",
        nargs="*",
        metavar="KEY",
        help="a page's URL or other key; - reads keys from standard input, one per line",
    )
    parser.add_argument(
        "--unseen-since",
        metavar="WHEN",
        type=point_in_time,
        help="remove all pages, and lines of the near-duplicate log, that no crawl has "
        "seen since then: an age such as 36h or 90d (s, m, h, d, w), or a date such as "
        "2026-01-31",
    )
    parser.add_argument("--all", action="store_true", help="delete the whole index")


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "other",
        metavar="OTHER",
        help="directory of the index of a later crawl, or redis://host:6379/0#name",
    )


MAINTENANCE_COMMANDS = (
    Command(
        "check",
        "check the consistency of an index, or repair it",
        """\
Reads all rows of an index, and checks that they are consistent.

  %(prog)s --index .scrapy/simhash/spiders/news
  %(prog)s --repair --index .scrapy/simhash/spiders/news

The exit code is 1 if there are problems. With --repair, every readable entry is written to a new
database; pages whose entries are lost count as new in the next crawl. If the command is
interrupted, start it again.
""",
        _check,
        _check_arguments,
        index=True,
    ),
    Command(
        "remove",
        "remove pages from an index",
        """\
Removes the entries of pages from an index: of given pages, or of all pages that no crawl has seen
for some time. They no longer represent other pages, and count as new when a crawl sees them again.
The near-duplicate log keeps its lines; with --unseen-since, only those that are not older.

  %(prog)s https://example.com/blocked
  grep '/search?' urls.txt | %(prog)s -
  %(prog)s --unseen-since 90d
  %(prog)s --all --index redis://host:6379/0#shop:simhash

The exit code is 1 if a given page has no entry; the entries of the others are still removed.
""",
        _remove,
        _remove_arguments,
        index=True,
    ),
    Command(
        "rebuild",
        "make an index fit other settings",
        """\
Makes an index fit the settings: new tables for SIMHASH_MAX_DISTANCE and SIMHASH_EXPECTED_PAGES. If
the settings have another scheme, new fingerprints are made from the texts that a crawl with
SIMHASH_KEEP_TEXT has stored. Then, the result is the index that a crawl of the same pages would
leave. It replaces the old one at the end: if the command is interrupted, nothing has changed.

  %(prog)s
  %(prog)s --max-distance 40 --pages 50000000
  %(prog)s --preset classic
""",
        _rebuild,
        _rebuild_arguments,
        index=True,
        settings=(*FINGERPRINT_OPTIONS, "max-distance", "pages"),
    ),
    Command(
        "merge",
        "merge another index into an index",
        """\
Merges another index, OTHER, into this one, as if the crawl of OTHER had come later. If this one is
missing, it is made first: OTHER is then copied, from a directory to Redis or back. Pages of OTHER
replace the entries of this index that are copies of them. The near-duplicate logs are joined. OTHER
does not change. This index is replaced atomically; in Redis, it is changed in place: stop its
crawls first.

  %(prog)s --index archive/ .scrapy/simhash/spiders/news
  %(prog)s --index archive/ redis://host:6379/0#news:simhash

Both indexes need the same scheme. The tables and k of this index stay. SIMHASH_SCOPE applies. Don't
merge into the index of a paused crawl (JOBDIR), which would count the merged pages as its own.
""",
        _merge,
        _merge_arguments,
        index=True,
    ),
)
