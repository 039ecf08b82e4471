"""Build the parsers of subcommands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.index_options import add_index_options

if TYPE_CHECKING:
    from collections.abc import Callable

Subparsers = argparse._SubParsersAction  # noqa: SLF001 - argparse has no public name for it


def add_command(
    subparsers: Subparsers[Any], name: str, description: str, explained: str
) -> argparse.ArgumentParser:
    """Return a parser; ``{program}`` in its description becomes the name of the program."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=explained, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    program = parser.prog.rpartition(" ")[0]
    parser.description = description.replace("{program}", program)
    # Commands report options that exclude each other as wrong usage.
    parser.set_defaults(wrong_usage=parser.error)
    return parser


def add_index_command(
    subparsers: Subparsers[Any], name: str, description: str, explained: str
) -> argparse.ArgumentParser:
    """Return a parser for a command on an index, with the option ``--json``."""
    parser = add_command(subparsers, name, description, explained)
    add_index_options(parser)
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    return parser


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return an argparse type for whole numbers in a range."""

    def convert(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            expected = f"from {least} to {most}" if most is not None else f"{least} or more"
            raise argparse.ArgumentTypeError(f"{number}: {expected}")
        return number

    convert.__name__ = "number"  # argparse says: invalid number value
    return convert


def share(text: str) -> float:
    """Convert the text of an option to a number from 0 to 1."""
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text}: from 0 to 1")
    return number
