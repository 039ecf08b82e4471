"""Parse the command line, run a subcommand, and turn its errors into messages and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from scrapy_simhash.commands import (
    _output,
    calibrate,
    changes,
    clusters,
    compare,
    dedupe,
    explain,
    export,
    extract,
    import_,
    passages,
    plan,
    query,
    report,
    rules,
    stats,
)
from scrapy_simhash.commands.maintenance import MAINTENANCE_COMMANDS
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import Settings

OK = 0
ERROR = 1
USAGE = 2
INTERRUPTED = 130

_DESCRIPTION = """\
Finds near-duplicate pages and texts; queries and maintains the indexes that crawls make.

exit codes: 0 success, also when nothing was found; 1 an error, which is on standard error, or a
negative answer (a check found problems, a page is not known); 2 wrong usage; 130 interrupted.
"""


class Subcommand(Protocol):
    """A module or object that is one subcommand."""

    def add_parser(self, subparsers: argparse._SubParsersAction[Any]) -> None:
        """Add the subcommand and its options to the parser."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the subcommand and return its exit code.

        :param options: `options.settings` are Scrapy's settings if Scrapy runs it, else None.
        :raises SimhashError, OSError: it failed; `main` shows the message.
        """


# In the order of --help.
SUBCOMMANDS: dict[str, Subcommand] = {
    "report": report,
    "stats": stats,
    "clusters": clusters,
    "query": query,
    "explain": explain,
    "changes": changes,
    "extract": extract,
    "compare": compare,
    "calibrate": calibrate,
    "plan": plan,
    "dedupe": dedupe,
    "passages": passages,
    "rules": rules,
    **MAINTENANCE_COMMANDS,
    "export": export,
    "import": import_,
}


def build_parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
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
    """Run a subcommand and return its exit code.

    :raises SystemExit: after --help, and for wrong usage.
    """
    _output.never_fail_on_a_character()
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
            _output.flush()
    except BrokenPipeError:
        # As with `| head`. Python must not complain about the pipe at exit, either.
        _silence()
        return OK
    except KeyboardInterrupt:
        _output.note("interrupted")
        return INTERRUPTED
    except SimhashError as error:
        _output.note(f"error: {error}")
        return ERROR
    except OSError as error:
        what = error.filename or "the output"
        _output.note(f"error: {what} cannot be read or written: {error.strerror or error}")
        if error.filename is None:  # else Python flushes again at exit, and exits with 120
            _silence()
        return ERROR
    return code


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or not a file
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
