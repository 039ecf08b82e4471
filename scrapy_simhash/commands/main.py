"""The parser of all subcommands, and what becomes of their errors."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from scrapy_simhash.commands import (
    calibrate,
    check,
    clusters,
    compact,
    compare,
    dedupe,
    expire,
    explain,
    export,
    extract,
    import_,
    merge,
    output,
    passages,
    plan,
    query,
    rebuild,
    remove,
    repair,
    report,
    stats,
)
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import Settings

OK = 0
ERROR = 1
USAGE = 2
INTERRUPTED = 130

_DESCRIPTION = """\
Finds pages and texts that were there before, by their content; asks the indexes that crawls made,
and looks after them.

exit codes: 0 it was done (also when nothing was found); 1 it could not be, and why is said on
standard error, or what was asked for is not so (a check found problems, a page is not known);
2 wrong usage; 130 interrupted.
"""


class Subcommand(Protocol):
    """A module that is one subcommand."""

    def add_parser(self, subparsers: argparse._SubParsersAction[Any]) -> None:
        """Add what it takes. Its `options` are told from others' by their name."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it. `options.settings` are Scrapy's, if Scrapy runs it, else None.

        :return: the exit code.
        :raises SimhashError, OSError: it cannot be done; a line on standard error says why.
        """


# By the names of their parsers, in the order in which --help lists them.
SUBCOMMANDS: dict[str, Subcommand] = {
    "report": report,
    "stats": stats,
    "clusters": clusters,
    "query": query,
    "explain": explain,
    "extract": extract,
    "compare": compare,
    "calibrate": calibrate,
    "plan": plan,
    "dedupe": dedupe,
    "passages": passages,
    "check": check,
    "repair": repair,
    "expire": expire,
    "remove": remove,
    "rebuild": rebuild,
    "merge": merge,
    "export": export,
    "import": import_,
    "compact": compact,
}


def build_parser(program: str) -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(
        dest="subcommand", metavar="SUBCOMMAND", title="subcommands", required=True
    )
    for subcommand in SUBCOMMANDS.values():
        subcommand.add_parser(subparsers)
    return parser


def main(
    arguments: Sequence[str] | None = None,
    *,
    program: str = "python -m scrapy_simhash",
    settings: Settings | None = None,
) -> int:
    """Run a subcommand. Returns its exit code.

    :raises SystemExit: after --help, or by argparse for wrong usage.
    """
    output.never_fail_on_a_character()
    try:
        try:
            parser = build_parser(program)
            if not (sys.argv[1:] if arguments is None else arguments):
                parser.print_help(sys.stderr)
                return USAGE
            options = parser.parse_args(arguments)
            options.settings = settings
            code = SUBCOMMANDS[options.subcommand].run(options)
        finally:
            output.flush()
    except BrokenPipeError:
        # As with `| head`: whoever reads has read enough. Nor may Python complain at its end.
        _silence()
        return OK
    except KeyboardInterrupt:
        output.note("interrupted")
        return INTERRUPTED
    except SimhashError as error:
        output.note(f"error: {error}")
        return ERROR
    except OSError as error:
        what = error.filename or "the output"
        output.note(f"error: {what} cannot be read or written: {error.strerror or error}")
        if error.filename is None:  # Python would try the rest again, and end with 120
            _silence()
        return ERROR
    return code


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it is closed, or no file
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
