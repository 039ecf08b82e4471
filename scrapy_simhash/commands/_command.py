"""Declare subcommands: name, help, arguments and the function that runs them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._settings import REDIS_OPTIONS, add_settings

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Command:
    """A subcommand.

    :param summary: a line for the list of subcommands.
    :param description: text of ``--help``; ``{program}`` stands for the name of the program.
    :param run: takes the parsed options and returns the exit code (None for 0), or raises
        SimhashError, OSError or WrongUsage. None if there are `commands`.
    :param add_arguments: adds the arguments to a parser that has those of `index` and `json`.
    :param index: add the options that name an index, see `index_location`.
    :param settings: options that set a setting, see `add_settings`.
    :param json: add ``--json``.
    :param commands: subcommands.
    """

    name: str
    summary: str
    description: str
    run: Callable[[argparse.Namespace], int | None] | None
    add_arguments: Callable[[argparse.ArgumentParser], object] = lambda _: None
    index: bool = False
    json: bool = True
    settings: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()

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
        parser.add_argument(
            "-s",
            dest="set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="set a setting for this run; may be repeated",
        )
        if self.index:
            group = parser.add_mutually_exclusive_group()
            group.add_argument(
                "--index",
                metavar="LOCATION",
                help="the index: a directory, or redis://host:6379/0#name (default: the only index "
                "of pages in SIMHASH_DIR, or with SIMHASH_INDEX = 'redis' that in Redis; outside a "
                "project, SIMHASH_DIR is .scrapy/simhash of the working directory)",
            )
            group.add_argument("--spider", metavar="NAME", help="the index of this spider's pages")
        add_settings(parser, (*self.settings, *(REDIS_OPTIONS if self.index else ())))
        if self.json:
            parser.add_argument("--json", action="store_true", help="show the result as JSON")
        self.add_arguments(parser)
        if self.commands:
            commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
            for command in self.commands:
                command.add_parser(commands)
