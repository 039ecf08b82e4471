"""Declare subcommands: name, help, arguments and the function that runs them."""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy_simhash.commands._settings import REDIS_OPTIONS, add_settings
from scrapy_simhash.documents.files import file_path
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.manifest import FILE_NAME
from scrapy_simhash.setting import whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.maintenance.sources import Location


_AGE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MAX_LISTED = 10


def number(low: int, high: int = 1 << 32) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number from `low` to `high`."""
    kind = whole(low, high)

    def parse(text: str) -> int:
        try:
            return int(kind.parse(text))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {kind.words}") from None

    return parse


def add_top(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    """Add ``--top``, which is None for 0: a list is cut there, or not at all."""
    parser.add_argument(
        "--top",
        metavar="N",
        type=lambda text: number(0)(text) or None,
        default=default,
        help=f"number of {what} to show; 0 for all (default: %(default)s)",
    )


def point_in_time(text: str) -> int:
    """Return the Unix time of a date, or of now less an age such as ``30d``. For argparse."""
    age = re.fullmatch(r"(\d{1,9})([smhdw])", text)
    try:
        if age:
            return int(time.time() - timedelta(**{_AGE_UNITS[age[2]]: int(age[1])}).total_seconds())
        point = datetime.fromisoformat(text)
        if point.tzinfo is None:
            point = point.replace(tzinfo=timezone.utc)
        return int(point.timestamp())
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an age such as 36h, 30d or 8w, nor a date such as 2026-01-31 "
            "or 2026-01-31T18:00 (UTC, or with an offset)"
        ) from error


@dataclass(frozen=True)
class Command:
    """A subcommand.

    :param summary: a line for the list of subcommands.
    :param description: text of ``--help``; ``%(prog)s`` stands for the program and the subcommand.
    :param run: takes the parsed options and returns the exit code (None for 0), or raises
        SimhashError or OSError; `error` of the options exits. None if there are `commands`.
    :param add_arguments: adds the arguments beside `index`, `settings` and `json`.
    :param index: add the options that name an index, see `index_location`.
    :param settings: options that set a setting, see `add_settings`.
    :param json: add ``--json``.
    :param commands: subcommands.
    """

    name: str
    summary: str
    description: str
    run: Callable[[argparse.Namespace], int | None] | None
    add_arguments: Callable[[argparse.ArgumentParser], object] = id
    index: bool = False
    json: bool = True
    settings: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()

    def add_parser(self, subparsers: argparse._SubParsersAction[Any]) -> None:
        """Add the parser. It puts two functions into the parsed options: `run`, and `error`, which
        shows a message about wrong usage and exits.
        """
        parser: argparse.ArgumentParser = subparsers.add_parser(
            self.name,
            help=self.summary,
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
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
            _add_index(parser)
        add_settings(parser, (*self.settings, *(REDIS_OPTIONS if self.index else ())))
        if self.json:
            parser.add_argument("--json", action="store_true", help="show the result as JSON")
        self.add_arguments(parser)
        if self.commands:
            commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
            for command in self.commands:
                command.add_parser(commands)


def _add_index(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--index",
        metavar="LOCATION",
        help="the index: a directory, or redis://host:6379/0#name (default: the only index "
        "of pages in SIMHASH_DIR, or with SIMHASH_INDEX = 'redis' that in Redis; outside a "
        "project, SIMHASH_DIR is .scrapy/simhash of the working directory)",
    )
    group.add_argument("--spider", metavar="NAME", help="the index of this spider's pages")


def index_location(options: argparse.Namespace) -> Location:
    """Return the location of the index that the options or the settings name.

    :raises SystemExit: ``--index`` is combined with ``--redis`` or ``--redis-key``.
    :raises SimhashError: no index is found, or several are; a setting is invalid; or the name of an
        index in Redis needs a spider.
    """
    if options.index is None:
        return options.settings.redis_address(options.spider) or _found_index(options)
    if options.SIMHASH_REDIS_URL or options.SIMHASH_REDIS_KEY:
        options.error("--index cannot be combined with --redis or --redis-key")
    return location_of(options.index, options)


def location_of(text: str, options: argparse.Namespace) -> Location:
    """Return the location of an index: a directory, or ``redis://host:6379/0#name``.

    :raises SimhashError: the text is empty, or a URL without the name of an index.
    """
    from scrapy_simhash.index.redis import SCHEMES, masked

    if not text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        return file_path(text)
    url, _, name = text.partition("#")
    if not name:
        raise SimhashError(f"{masked(url)}: add # and the name of the index")
    address: RedisAddress = options.settings.address(url, name)
    return address


def _found_index(options: argparse.Namespace) -> Path:
    """Return the directory of the only index of pages in SIMHASH_DIR, or of that of a spider."""
    base: Path = options.settings.path("SIMHASH_DIR")
    patterns = ("shared*", "spider-items/*", "spiders/*")
    manifests = (file for pattern in patterns for file in base.glob(f"{pattern}/{FILE_NAME}"))
    found, missing = sorted(file.parent for file in manifests), "no index found"
    matching = [path for path in found if "items" not in path.relative_to(base).parts[0]]
    if options.spider is not None:
        # The last one is that of pages, if the spider does not compare only items.
        matching = [path for path in found if unquote(path.name) == options.spider][-1:]
        missing = f"the spider {options.spider} has no index"
    if len(matching) == 1:
        return matching[0]
    problem = f"{base} holds several indexes" if matching else f"{base}: {missing}"
    listed = [f"--index {path}" for path in matching or found]
    if len(listed) > _MAX_LISTED:
        listed[_MAX_LISTED:] = ["…"]
    advice = f"choose one with {', or '.join(listed)}" if listed else "name one with --index"
    raise SimhashError(f"{problem}: {advice}")
