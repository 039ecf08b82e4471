"""``rebuild``: the same entries with other tables, another k or kind of database."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import progress, show
from scrapy_simhash.commands.parsers import add_index_command, whole
from scrapy_simhash.commands.scheme_options import preset_option
from scrapy_simhash.commands.upkeep import show_kept
from scrapy_simhash.parameters import MAX_BITS

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from scrapy_simhash.index.plan import TablePlan

_DESCRIPTION = """\
Makes an index anew with other tables, for another k, or in another kind of database. What is not
given stays as it is; a plain rebuild makes all buckets anew. The old index stays until the new one
is whole: interrupted, nothing has changed. An index of the release before this one (format 2) is
taken into the present format; its pages have no sketches until they are met again.

  {program} rebuild --max-distance 40
  {program} rebuild --pages 50000000
  {program} rebuild --tables 5,2
  {program} rebuild --database rocksdb

With --preset, fingerprints are made anew for another scheme, from the texts that a crawl with
SIMHASH_KEEP_TEXT has kept: the result is what a crawl of the same pages would leave.

  {program} rebuild --preset classic
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``rebuild``."""
    parser = add_index_command(
        subparsers, "rebuild", _DESCRIPTION, "make an index anew with other tables"
    )
    parser.add_argument(
        "--max-distance",
        metavar="K",
        type=whole(0, MAX_BITS - 1),
        help="the k that tables are chosen for, and that crawls without a setting of their own use",
    )
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument(
        "--pages", metavar="N", type=whole(1, 1 << 32), help="choose tables for so many pages"
    )
    tables.add_argument(
        "--tables",
        metavar="BLOCKS,CHOSEN[,INNER]",
        help="these tables, as in the setting SIMHASH_TABLES",
    )
    parser.add_argument(
        "--preset",
        type=preset_option,
        metavar="PRESET",
        help="another scheme, for texts that are kept; k is the preset's, or --max-distance",
    )
    parser.add_argument(
        "--drop-without-text",
        action="store_true",
        help="with --preset: leave out pages whose texts are not kept",
    )
    parser.add_argument("--database", choices=("leveldb", "rocksdb"), help="the kind of database")


def run(options: argparse.Namespace) -> int:
    """Rebuild."""
    from scrapy_simhash.maintenance.rebuild import rebuild

    directory = index_directory(options)
    if options.preset is not None:
        return _reindex(options, directory)
    if options.drop_without_text:
        options.wrong_usage("--drop-without-text goes with --preset")
    plan = _plan(options, directory)
    with progress("entries") as moved:
        kept = rebuild(
            directory,
            plan,
            max_distance=options.max_distance,
            database=options.database,
            moved=moved,
        )
    show_kept(options, directory, kept)
    return 0


def _reindex(options: argparse.Namespace, directory: Path) -> int:
    from scrapy_simhash.commands.project import page_scope, scheme_settings
    from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
    from scrapy_simhash.index.offline import read_manifest
    from scrapy_simhash.maintenance.reindex import reindex

    if options.tables is not None or options.database is not None:
        options.wrong_usage("--preset chooses its own tables, and keeps the kind of database")
    made = read_manifest(directory, older=True)
    _, preset = choose_preset(options.preset)
    told = scheme_settings(options.settings, options.preset)
    # The texts are as they were taken.
    kept = {name: getattr(made.scheme, name) for name in ("extractor", "select", "remove")}
    with progress("pages") as moved:
        report = reindex(
            directory,
            replace(preset.scheme, **kept),
            preset.max_distance if options.max_distance is None else options.max_distance,
            confirmation=preset.confirmation,
            expected_pages=options.pages or DEFAULT_EXPECTED_PAGES,
            min_tokens=told.min_tokens,
            drop_without_text=options.drop_without_text,
            among=page_scope(options.settings),
            moved=moved,
        )
    if options.json:
        show(json.dumps({"index": str(directory), **asdict(report)}, indent=2))
        return 0
    for count, why in (
        (report.without_text, "no text of them is kept"),
        (report.too_short, "their texts are too short"),
    ):
        if count:
            show(f"left out   {count:,} pages: {why}")
    show(
        f"the index  {report.entries:,} entries, {report.near_duplicates:,} lines of the "
        f"near-duplicate log, in {directory}"
    )
    return 0


def _plan(options: argparse.Namespace, directory: Path) -> TablePlan | None:
    from scrapy_simhash.errors import PlanError
    from scrapy_simhash.index import choose_plan
    from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
    from scrapy_simhash.index.offline import read_manifest
    from scrapy_simhash.index.plan import TablePlan

    made = read_manifest(directory, older=True)
    if options.tables is not None:
        try:
            return TablePlan(made.plan.bits, *map(int, options.tables.split(",")))
        except (TypeError, ValueError, PlanError) as error:
            options.wrong_usage(f"--tables {options.tables}: {error}")
    if options.pages is None and options.max_distance is None:
        return None
    distance = made.max_distance if options.max_distance is None else options.max_distance
    try:
        return choose_plan(made.plan.bits, distance, options.pages or DEFAULT_EXPECTED_PAGES)
    except PlanError as error:
        options.wrong_usage(str(error))
        raise  # pragma: no cover - it has exited
