"""How a command makes fingerprints: as the project's crawls do, unless options say otherwise."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.commands.parsers import share, whole
from scrapy_simhash.errors import SchemeError
from scrapy_simhash.parameters import MAX_BITS
from scrapy_simhash.scheme import PRESETS

if TYPE_CHECKING:
    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.scheme import Scheme

_EXTRACTORS = "readability, readability-only, text, trafilatura, resiliparse, or an import path"


PRESET_HELP = f"{', '.join(PRESETS)}, a TOML file, or the import path of a Scheme"


def preset_option(value: str) -> str:
    """The value of --preset. :raises argparse.ArgumentTypeError: there is no such preset."""
    try:
        choose_preset(value)
    except SchemeError as error:
        raise argparse.ArgumentTypeError(f"{error} ({PRESET_HELP})") from error
    return value


def preset_or_all(value: str) -> str:
    """The same, where ``all`` is allowed."""
    return value if value == "all" else preset_option(value)


class Chosen(NamedTuple):
    """A scheme, its k, what confirms a copy, and the name of the preset that they come from."""

    scheme: Scheme
    max_distance: int
    confirmation: Confirmation
    preset: str


def add_scheme_options(
    parser: argparse.ArgumentParser,
    *,
    several: bool = False,
    max_distance: bool = True,
    confirmation: bool = False,
) -> None:
    """Add options of presets and of extraction.

    :param several: whether ``--preset`` may be given again, or as ``all``.
    :param max_distance: whether there is ``--max-distance``.
    :param confirmation: whether there are ``--min-resemblance`` and ``--same-title``.
    """
    group = parser.add_argument_group(
        "fingerprints", "Where they are not given, the project's settings count, if there is one."
    )
    if several:
        group.add_argument(
            "--preset",
            action="append",
            type=preset_or_all,
            metavar="PRESET",
            help=f"{PRESET_HELP}; may be given again, or as all (default: SIMHASH_PRESET)",
        )
    else:
        group.add_argument(
            "--preset",
            type=preset_option,
            metavar="PRESET",
            help=f"{PRESET_HELP} (default: SIMHASH_PRESET)",
        )
    if max_distance:
        group.add_argument(
            "--max-distance",
            metavar="K",
            type=whole(0, MAX_BITS - 1),
            help="near-duplicates differ in so many bits at most (default: SIMHASH_MAX_DISTANCE, "
            "or the preset's)",
        )
    if confirmation:
        group.add_argument(
            "--min-resemblance",
            metavar="R",
            type=share,
            help="copies resemble each other by so much at least, from 0 to 1 (default: "
            "SIMHASH_MIN_RESEMBLANCE, or the preset's)",
        )
        group.add_argument(
            "--same-title",
            action=argparse.BooleanOptionalAction,
            help="copies of one site have titles that agree (default: SIMHASH_SAME_TITLE, or "
            "the preset's)",
        )
    group.add_argument(
        "--extractor",
        metavar="NAME",
        help=f"{_EXTRACTORS} of a function from HTML to text (default: SIMHASH_EXTRACTOR)",
    )
    for name, does in (("select", "the content"), ("remove", "not content")):
        group.add_argument(
            f"--{name}",
            action="append",
            metavar="SELECTOR",
            help=f"CSS, or an XPath that begins with / or (, of what is {does}; may be given "
            f"again (default: SIMHASH_CONTENT_{name.upper()})",
        )
    group.add_argument(
        "--min-tokens",
        metavar="N",
        type=whole(1),
        help="texts with fewer words are skipped (default: SIMHASH_MIN_TOKENS)",
    )
    # Options that cannot go together are wrong usage, too.
    parser.set_defaults(wrong_usage=parser.error)


def scheme_and_distance(options: argparse.Namespace) -> Chosen:
    """What the options and the project's settings say.

    :raises SettingsError: a setting of the project has a value that is not allowed.
    """
    preset = options.preset
    return _chosen(options, preset[0] if isinstance(preset, list) else preset)


def schemes_and_distances(options: argparse.Namespace) -> list[Chosen]:
    """The same for each preset that was asked for."""
    presets = list(dict.fromkeys(options.preset or [None]))
    if "all" in presets:
        presets = list(PRESETS)
    return [_chosen(options, preset) for preset in presets]


def detector(
    options: argparse.Namespace, scheme: Scheme | None = None, *, keep_text: bool = False
) -> Detector:
    """What makes fingerprints as a crawl would.

    :param scheme: that of the options, if absent.
    """
    from scrapy_simhash.detector import Detector

    chosen = scheme_and_distance(options).scheme if scheme is None else scheme
    return Detector(chosen, min_tokens=min_tokens(options), keep_text=keep_text)


def min_tokens(options: argparse.Namespace) -> int:
    """Of the options or settings."""
    from scrapy_simhash.commands.project import scheme_settings

    given: int | None = options.min_tokens
    return scheme_settings(options.settings).min_tokens if given is None else given


def _chosen(options: argparse.Namespace, preset: str | None) -> Chosen:
    from scrapy_simhash.commands.project import scheme_settings
    from scrapy_simhash.extraction import find_extractor

    told = scheme_settings(options.settings, preset)
    changes: dict[str, Any] = {
        name: value
        for name, value in (
            ("extractor", options.extractor),
            ("select", options.select and tuple(options.select)),
            ("remove", options.remove and tuple(options.remove)),
        )
        if value is not None
    }
    max_distance: int | None = getattr(options, "max_distance", None)
    if max_distance is None:
        max_distance = told.max_distance
    try:
        scheme = replace(told.scheme, **changes)
        find_extractor(scheme.extractor)
    except SchemeError as error:
        options.wrong_usage(str(error))
        raise  # pragma: no cover - it has exited
    if max_distance >= scheme.bits:
        options.wrong_usage(f"--max-distance {max_distance}: less than {scheme.bits}, the bits")
    given = {
        name: value
        for name, option in (("min_resemblance", "min_resemblance"), ("same_name", "same_title"))
        if (value := getattr(options, option, None)) is not None
    }
    return Chosen(scheme, max_distance, replace(told.confirmation, **given), told.preset)
