"""Declare subcommands: name, help, arguments and the function that runs them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_redis_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.dedupe.summary import DedupeSummary


@dataclass(frozen=True)
class DedupeEngine:
    """A value of ``dedupe --engine``, of a slice.

    :param check: raises WrongUsage for options that are wrong with this engine, or without it.
    :param run: takes the parsed options and those of the run.
    """

    name: str
    summary: str
    add_options: Callable[[argparse._ArgumentGroup], object]
    check: Callable[[argparse.Namespace], None]
    run: Callable[[argparse.Namespace, DedupeOptions], DedupeSummary]


@dataclass(frozen=True)
class Command:
    """A subcommand.

    :param summary: a line for the list of subcommands.
    :param description: text of ``--help``; ``{program}`` stands for the name of the program.
    :param run: takes the parsed options and returns the exit code (None for 0), or raises
        SimhashError, OSError or WrongUsage. None if the arguments are subcommands, which have a
        `run` of their own.
    :param add_arguments: adds the arguments to a parser that has those of `index` and `json`.
    :param index: add the options that name an index, see `index_location`.
    :param json: add ``--json``.
    """

    name: str
    summary: str
    description: str
    run: Callable[[argparse.Namespace], int | None] | None
    add_arguments: Callable[[argparse.ArgumentParser], object] = lambda _: None
    index: bool = False
    json: bool = True

    def add_parser(self, subparsers: argparse._SubParsersAction[Any]) -> None:
        """Add the parser. It puts two functions into the parsed options: `run`, and `error`, which
        shows a message about wrong usage and exits.
        """
        parser: argparse.ArgumentParser = subparsers.add_parser(
            self.name, help=self.summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        program = parser.prog.rpartition(" ")[0]
        parser.description = self.description.replace("{program}", program)
        parser.set_defaults(run=self.run, error=parser.error)
        if self.index:
            group = parser.add_mutually_exclusive_group()
            group.add_argument(
                "--index",
                metavar="DIRECTORY",
                help="directory of the index (default: the only index of pages in SIMHASH_DIR; "
                "outside a project, in .scrapy/simhash of the working directory)",
            )
            group.add_argument("--spider", metavar="NAME", help="the index of this spider's pages")
            add_redis_options(parser)
        if self.json:
            parser.add_argument("--json", action="store_true", help="show the result as JSON")
        self.add_arguments(parser)
