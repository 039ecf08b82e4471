"""``rebuild``: the same entries with other tables, another k or kind of database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import progress
from scrapy_simhash.commands.parsers import add_index_command, whole
from scrapy_simhash.commands.upkeep import show_kept
from scrapy_simhash.parameters import MAX_BITS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.plan import TablePlan

_DESCRIPTION = """\
Makes an index anew with other tables, for another k, or in another kind of database. What is not
given stays as it is; a plain rebuild makes all buckets anew. The old index stays until the new one
is whole: interrupted, nothing has changed.

  {program} rebuild --max-distance 40
  {program} rebuild --pages 50000000
  {program} rebuild --tables 5,2
  {program} rebuild --database rocksdb

The fingerprints stay as they are: another scheme (SIMHASH_PRESET) needs the texts.
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
    parser.add_argument("--database", choices=("leveldb", "rocksdb"), help="the kind of database")


def run(options: argparse.Namespace) -> int:
    """Rebuild."""
    from scrapy_simhash.index.upkeep import rebuild

    directory = index_directory(options)
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


def _plan(options: argparse.Namespace, directory: Any) -> TablePlan | None:
    from scrapy_simhash.errors import PlanError
    from scrapy_simhash.index import choose_plan
    from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES
    from scrapy_simhash.index.offline import read_manifest
    from scrapy_simhash.index.plan import TablePlan

    made = read_manifest(directory)
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
