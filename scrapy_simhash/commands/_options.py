"""Define the options that several commands share, and read them."""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.errors import SchemeError, SimhashError
from scrapy_simhash.index.manifest import FILE_NAME
from scrapy_simhash.parameters import MAX_BITS
from scrapy_simhash.scheme import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.commands._settings import SchemeSettings
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.maintenance.sources import Location


# Parameters of a scheme that choose the text of a page. `rebuild --preset` makes new fingerprints
# from stored texts, so it cannot change these.
EXTRACTION = ("extractor", "select", "remove")
_EXTRACTORS = "readability, readability-only, segments, text, trafilatura, resiliparse"
_PRESETS = f"{', '.join(PRESETS)}, a TOML file, or the import path of a Scheme"
_MAX_LISTED = 10
_AGE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class WrongUsage(Exception):
    """The options are wrong in a way that argparse does not find. The exit code is 2."""


def add_number(
    parser: argparse._ActionsContainer,
    option: str,
    meaning: str,
    low: float,
    high: float = inf,
    *,
    default: float | None = None,
    metavar: str = "N",
    kind: Callable[[str], float] = int,
) -> None:
    """Add an option whose value is a number from `low` to `high`.

    :param meaning: text of ``--help``. If there is a default, it is appended.
    :param kind: int or float; it converts the text.
    """

    def number(text: str) -> float:  # argparse shows this name: "invalid number value"
        value = kind(text)
        if not low <= value <= high:
            allowed = f"{low} or more" if high == inf else f"from {low} to {high}"
            raise argparse.ArgumentTypeError(f"{text}: must be {allowed}")
        return value

    shown_default = "" if default is None else " (default: %(default)s)"
    parser.add_argument(
        option, metavar=metavar, type=number, default=default, help=f"{meaning}{shown_default}"
    )


def add_share(
    parser: argparse._ActionsContainer,
    option: str,
    meaning: str,
    low: float = 0,
    *,
    default: float | None = None,
    metavar: str = "R",
) -> None:
    """Add an option whose value is a number from `low` to 1, see `add_number`."""
    add_number(parser, option, meaning, low, 1, default=default, metavar=metavar, kind=float)


def add_max_distance(
    parser: argparse._ActionsContainer, meaning: str, default: int | None = None
) -> None:
    """Add ``--max-distance``."""
    add_number(parser, "--max-distance", meaning, 0, MAX_BITS - 1, default=default, metavar="K")


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that have a value, by name."""
    return {name: value for name in names if (value := getattr(options, name, None)) is not None}


def add_redis_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--redis``, ``--redis-key`` and ``--redis-cluster``."""
    group = parser.add_argument_group(
        "index in Redis", "The default if the project's settings have SIMHASH_INDEX = 'redis'."
    )
    group.add_argument(
        "--redis",
        metavar="URL",
        help="server of the index, such as redis://user:password@host:6379/0 (default: "
        "SIMHASH_REDIS_URL or REDIS_URL; put a password there, because ps shows options)",
    )
    group.add_argument(
        "--redis-key",
        metavar="NAME",
        help="name of the index (default: SIMHASH_REDIS_KEY, for the spider that --spider names)",
    )
    group.add_argument(
        "--redis-cluster",
        action="store_true",
        help="the server is one of a cluster (default: SIMHASH_REDIS_CLUSTER)",
    )


def index_location(options: argparse.Namespace) -> Location:
    """Return the location of the index that the options or the settings name.

    :raises WrongUsage: the options exclude each other.
    :raises SimhashError: the directory is missing; no index is found, or several are; a setting is
        invalid; or the name of an index in Redis needs a spider.
    """
    if options.index is not None:
        # --redis-cluster is allowed: in `merge`, it may belong to the other index.
        if options.redis or options.redis_key:
            raise WrongUsage("--index cannot be combined with --redis or --redis-key")
        return _index_directory(options)
    from scrapy_simhash.commands._settings import redis_address

    return redis_address(options) or _index_directory(options)


def other_location(text: str, options: argparse.Namespace) -> Location:
    """Return the location of another index: a directory, or ``redis://host:6379/0#name``.

    :raises SimhashError: the text is empty, or a URL without the name of an index.
    """
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.index.redis.urls import SCHEMES, masked

    if not text:  # Path("") is the working directory
        raise SimhashError("the name of the other index is empty: is a shell variable unset?")
    if not text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        return Path(text)
    url, _, name = text.partition("#")
    if not name:
        raise SimhashError(f"{masked(url)}: add # and the name of the index")
    return RedisAddress(url, name, options.redis_cluster)


def _index_directory(options: argparse.Namespace) -> Path:
    if options.index is not None:
        directory = Path(options.index)
        if not options.index or not directory.is_dir():
            raise SimhashError(f"index {options.index}: no such directory")
        return directory
    from scrapy_simhash.commands._settings import settings_reader

    base = settings_reader(options.settings).path("SIMHASH_DIR")
    matching, missing = page_indexes(base), "no index found"
    if options.spider is not None:
        # A spider that compares only items has no index of pages.
        own = [path for path in all_indexes(base) if unquote(path.name) == options.spider]
        matching = [path for path in own if path.parent.name == "spiders"] or own
        missing = f"the spider {options.spider} has no index"
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise SimhashError(f"{base} holds several indexes: choose one with {_listed(matching)}")
    existing = _listed(all_indexes(base))
    raise SimhashError(
        f"{base}: {missing}; "
        + (f"choose one with {existing}" if existing else "name a directory with --index")
    )


def page_indexes(base: Path) -> list[Path]:
    """Return the directories of the indexes of pages in a SIMHASH_DIR, sorted."""
    return [path for path in all_indexes(base) if "items" not in path.relative_to(base).parts[0]]


def all_indexes(base: Path) -> list[Path]:
    """Return the directories of the indexes of pages and items in a SIMHASH_DIR, sorted."""
    return sorted(
        manifest.parent
        for pattern in ("shared*", "spiders/*", "spider-items/*")
        for manifest in base.glob(f"{pattern}/{FILE_NAME}")
    )


def _listed(directories: list[Path]) -> str:
    listed = ", or ".join(f"--index {path}" for path in directories[:_MAX_LISTED])
    more = len(directories) - _MAX_LISTED
    return f"{listed}, or {more} more" if more > 0 else listed


def preset_option(value: str) -> str:
    """Return the value of ``--preset`` unchanged, if `choose_preset` accepts it. For argparse."""
    try:
        choose_preset(value)
    except SchemeError as error:
        raise argparse.ArgumentTypeError(f"{error} ({_PRESETS})") from error
    return value


def add_scheme_options(
    parser: argparse.ArgumentParser,
    *,
    max_distance: bool = True,
    confirmation: bool = False,
) -> None:
    """Add ``--preset``, ``--min-tokens`` and the options of extraction.

    :param max_distance: also add ``--max-distance``.
    :param confirmation: also add ``--min-resemblance`` and ``--same-title``.
    """
    group = parser.add_argument_group(
        "fingerprints", "The defaults are the settings of the project, if there is one."
    )
    group.add_argument(
        "--preset",
        type=preset_option,
        metavar="PRESET",
        help=f"{_PRESETS} (default: SIMHASH_PRESET)",
    )
    if max_distance:
        add_max_distance(
            group,
            "largest number of bits in which near-duplicates differ (default: "
            "SIMHASH_MAX_DISTANCE, or the preset's)",
        )
    if confirmation:
        meaning = (
            "least similarity of copies, from 0 to 1 (default: SIMHASH_MIN_RESEMBLANCE, or the "
            "preset's)"
        )
        add_share(group, "--min-resemblance", meaning)
        group.add_argument(
            "--same-title",
            dest="same_name",
            action=argparse.BooleanOptionalAction,
            help="require that titles or headings of copies on one site agree (default: "
            "SIMHASH_SAME_TITLE, or the preset's)",
        )
    group.add_argument(
        "--extractor",
        metavar="NAME",
        help=f"{_EXTRACTORS}, or the import path of a function that takes HTML and returns text "
        "(default: SIMHASH_EXTRACTOR)",
    )
    for name, target in (("select", "the content"), ("remove", "parts to remove")):
        group.add_argument(
            f"--{name}",
            action="append",
            metavar="SELECTOR",
            help=f"selector of {target}: CSS, or an XPath that begins with / or (; may be repeated "
            f"(default: SIMHASH_CONTENT_{name.upper()})",
        )
    meaning = "skip texts with fewer tokens (default: SIMHASH_MIN_TOKENS)"
    add_number(group, "--min-tokens", meaning, 1)


def chosen_settings(options: argparse.Namespace) -> SchemeSettings:
    """Return the project's settings for fingerprints and copies. Options override them.

    :raises WrongUsage: an option has a value that is not allowed.
    :raises SettingsError: a setting has a value that is not allowed.
    """
    from scrapy_simhash.commands._settings import scheme_settings
    from scrapy_simhash.extraction import find_extractor

    project = scheme_settings(options.settings, options.preset)
    extraction: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given(options, *EXTRACTION).items()
    }
    try:
        scheme = replace(project.scheme, **extraction)
        find_extractor(scheme.extractor)
    except SchemeError as error:
        raise WrongUsage(str(error)) from error
    chosen = project._replace(
        scheme=scheme,
        confirmation=replace(
            project.confirmation, **given(options, "min_resemblance", "same_name")
        ),
        **given(options, "max_distance", "min_tokens"),
    )
    require_distance_below(scheme.bits, chosen.max_distance)
    return chosen


def require_distance_below(bits: int, max_distance: int) -> None:
    """Raise WrongUsage unless k is less than the number of bits of a fingerprint."""
    if max_distance >= bits:
        raise WrongUsage(
            f"--max-distance {max_distance}: must be less than {bits}, the bits of a fingerprint"
        )


def choose_tables(
    options: argparse.Namespace, bits: int, max_distance: int, pages: int
) -> TablePlan:
    """Return the tables of ``--tables``, else the cheapest for this k and number of pages.

    :raises WrongUsage: ``--tables`` is invalid, or no tables support this k.
    """
    from scrapy_simhash.errors import PlanError
    from scrapy_simhash.index import choose_plan
    from scrapy_simhash.index.plan import TablePlan

    try:
        if options.tables is None:
            return choose_plan(bits, max_distance, pages)
        return TablePlan(bits, *map(int, options.tables.split(",")))
    except (TypeError, ValueError, PlanError) as error:
        prefix = "" if options.tables is None else f"--tables {options.tables}: "
        raise WrongUsage(f"{prefix}{error}") from error


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
