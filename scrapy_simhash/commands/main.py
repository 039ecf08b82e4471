"""Parse the command line, run a subcommand, and turn its errors into messages and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import cache, cached_property
from io import RawIOBase, TextIOWrapper
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from scrapy_simhash.commands import (
    _output,
    calibrate,
    compare,
    dedupe,
    export,
    extract,
    query,
    report,
    stats,
)
from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._settings import command_settings
from scrapy_simhash.commands.maintenance import MAINTENANCE_COMMANDS
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.slices import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import Settings

    from scrapy_simhash.crawl.settings import SettingsReader


COMMANDS = (
    report.COMMAND,
    Command(
        "index",
        "query and maintain an index",
        """\
Queries and maintains an index that crawls have made.

  %(prog)s stats --spider news
  %(prog)s query 'https://example.com/article?print=1'
  %(prog)s check --help
""",
        None,
        json=False,
        commands=(
            stats.STATS,
            stats.CLUSTERS,
            query.COMMAND,
            *MAINTENANCE_COMMANDS,
            export.EXPORT,
            export.IMPORT,
        ),
    ),
    extract.COMMAND,
    compare.COMMAND,
    calibrate.COMMAND,
    dedupe.COMMAND,
)


@cache
def subcommands() -> dict[str, Command]:
    """Return all subcommands by name, those of slices last. ``--help`` lists them in this order."""
    of_slices = [resolve_name(slice_.command) for slice_ in slices() if slice_.command]
    return {command.name: command for command in (*COMMANDS, *of_slices)}


def build_parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="""\
Finds near-duplicate pages and texts; queries and maintains the indexes that crawls make.
SUBCOMMAND --help explains a subcommand, with examples. There, k is the largest number of bits in
which the fingerprints of near-duplicates differ (SIMHASH_MAX_DISTANCE).

exit codes: 0 success, even if nothing was found; 1 an error, explained on standard error, such as a
wrong value of a setting, or a negative answer (problems were found, a page is unknown); 2 other
wrong usage; 130 interrupted (Ctrl-C).
""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(metavar="SUBCOMMAND", title="subcommands", required=True)
    for subcommand in subcommands().values():
        subcommand.add_parser(subparsers)
    return parser


class Options(argparse.Namespace):
    """The parsed options of a subcommand, with `project`: the settings that `main` takes."""

    @cached_property
    def settings(self) -> SettingsReader:
        """Return `command_settings`. It imports Scrapy, which not every subcommand needs."""
        return command_settings(self.project, self)


def main(
    arguments: Sequence[str] | None = None,
    *,
    program: str = "python -m scrapy_simhash",
    settings: Settings | None = None,
) -> int:
    """Run a subcommand and return the exit code.

    :param arguments: None for those of the command line. Without any, show the help and return 2.
    :param settings: Scrapy's settings; None to let the subcommand load those of the project.
    :raises SystemExit: after --help, with code 0; for wrong usage, with code 2.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape characters that the encoding lacks
            stream.reconfigure(errors="backslashreplace")
    _buffer_output()
    try:
        try:
            parser = build_parser(program)
            if not (sys.argv[1:] if arguments is None else arguments):
                parser.print_help(sys.stderr)
                return 2
            options = parser.parse_args(arguments, Options(project=settings))
            if options.set or settings is not None:
                options.settings  # noqa: B018 - an unknown one is an error of any command
            code: int = options.run(options) or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does. Python's flush at exit would fail.
        _discard_output()
        return 0
    except KeyboardInterrupt:
        _output.note("interrupted")
        return 130
    except SimhashError as error:
        _output.note(f"error: {error}")
        return 1
    except OSError as error:
        name = error.filename or "the output"
        _output.note(f"error: {name} cannot be read or written: {error.strerror or error}")
        if error.filename is None:  # Python's flush at exit would fail, and exit with 120
            _discard_output()
        return 1
    return code


def _buffer_output() -> None:
    """Buffer standard output by line if PYTHONUNBUFFERED has made it a raw stream.

    If a full disk cuts a write short, a raw stream reports no error, and the rest would be lost.
    """
    stream = sys.stdout
    if isinstance(stream, TextIOWrapper) and isinstance(stream.buffer, RawIOBase):
        sys.stdout = os.fdopen(
            stream.fileno(),
            "w",
            buffering=1,
            encoding=stream.encoding,
            errors=stream.errors,
            closefd=False,
        )


def _discard_output() -> None:
    null_device = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # missing, closed, or no descriptor
            os.dup2(null_device, stream.fileno())
    os.close(null_device)
