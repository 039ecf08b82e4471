"""Read the settings of the Scrapy project that a command runs in, if any, and options for them.

Scrapy is imported late: ``--help`` needs none of it.
"""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.errors import SettingsError, SimhashError
from scrapy_simhash.setting import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.settings import Settings

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.crawl.identity import Scope
    from scrapy_simhash.crawl.settings import SettingsReader
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.policy import Policy
    from scrapy_simhash.scheme import Scheme
    from scrapy_simhash.setting import Setting

# Options of which the names are not those of their settings.
_SETTINGS = {
    "select": "CONTENT_SELECT",
    "remove": "CONTENT_REMOVE",
    "pages": "EXPECTED_PAGES",
    "redis": "REDIS_URL",
}
FINGERPRINT_OPTIONS = ("preset", "extractor", "select", "remove", "min-tokens")
COPY_OPTIONS = ("max-distance", "min-resemblance", "same-title")
REDIS_OPTIONS = ("redis", "redis-key", "redis-cluster")


class SchemeSettings(NamedTuple):
    """The settings with which a crawl makes fingerprints and recognizes copies.

    :param preset: name of the preset for messages, such as ``wide, changed``.
    :param preset_choice: value of SIMHASH_PRESET, for settings to paste.
    :param distinct: selectors in SIMHASH_DISTINCT_BY.
    """

    preset: str
    scheme: Scheme
    max_distance: int
    confirmation: Confirmation
    min_tokens: int
    preset_choice: object
    distinct: tuple[str, ...] = ()


def project_settings() -> Settings:
    """Return the project's settings, or Scrapy's defaults outside a project. Logging is off unless
    the project sets LOG_ENABLED.
    """
    from scrapy.utils.project import get_project_settings

    settings = get_project_settings()
    settings.set("LOG_ENABLED", value=False, priority="command")
    return settings


def settings_reader(settings: Settings | None) -> SettingsReader:
    """Return a reader of settings; None stands for the settings of the project."""
    from scrapy_simhash.crawl.settings import SettingsReader

    return SettingsReader(project_settings() if settings is None else settings)


def add_settings(parser: argparse.ArgumentParser, options: Iterable[str]) -> None:
    """Add options that set a setting for a run, beside ``-s NAME=VALUE``: see `with_given`.

    An option stands for the setting of its name, such as ``min-tokens`` for SIMHASH_MIN_TOKENS.
    Those of lists may be repeated, and those of booleans have a ``--no-…``.
    """
    from scrapy_simhash.crawl.settings_table import all_settings

    for option in options:
        name = "SIMHASH_" + _SETTINGS.get(option, option.replace("-", "_").upper())
        setting = all_settings()[name]
        meaning = re.sub(r"\[([^]]+)\]\([^)]+\)|`", r"\1", setting.meaning).replace("%", "%%")
        kind: dict[str, Any] = {"type": partial(_checked, setting), "metavar": "VALUE"}
        if setting.kind is BOOLEAN:
            kind = {"action": argparse.BooleanOptionalAction}
        elif isinstance(setting.default, list):
            kind["action"] = "append"
        parser.add_argument(f"--{option}", dest=name, help=f"{name}: {meaning}", **kind)


def _checked(setting: Setting, text: str) -> str:
    try:
        setting.parse([text] if isinstance(setting.default, list) else text)
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def with_given(settings: Settings | None, options: argparse.Namespace) -> Settings | None:
    """Return settings with those of ``-s NAME=VALUE``, and of options that stand for a setting; see
    `settings_reader`. An index in Redis is used if its server or its name is given.

    :param settings: with ``scrapy simhash``, Scrapy has put those of ``-s`` in.
    :raises SimhashError: a pair has no ``=``, or there is no such setting.
    """
    given = {
        name: value
        for name, value in vars(options).items()
        if name.startswith("SIMHASH_") and value is not None
    }
    if settings is None and not options.set and not given:
        return None
    from scrapy_simhash.crawl.settings import require_known

    changed = (project_settings() if settings is None else settings).copy()
    for pair in options.set:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SimhashError(f"-s {pair}: give NAME=VALUE")
        changed.set(name, value, priority="cmdline")
    if {"SIMHASH_REDIS_URL", "SIMHASH_REDIS_KEY"} & given.keys():
        given["SIMHASH_INDEX"] = "redis"
    changed.update(given, priority="cmdline")
    require_known(changed)
    return changed


def scheme_settings(settings: Settings | None) -> SchemeSettings:
    """Return the settings of fingerprints.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    read = settings_reader(settings)
    name, chosen = read("SIMHASH_PRESET")
    return SchemeSettings(
        name,
        read.scheme(chosen.scheme),
        read.max_distance(chosen.scheme.bits, chosen.max_distance),
        read.confirmation(chosen.confirmation),
        read("SIMHASH_MIN_TOKENS"),
        read.given.get("SIMHASH_PRESET", name),
        tuple(name for name in read("SIMHASH_DISTINCT_BY") if not name.isidentifier()),
    )


def query_settings(settings: Settings | None, manifest: Manifest) -> tuple[Policy, SchemeSettings]:
    """Return the policy and the other settings of a crawl that uses an index.

    The index decides about the scheme, and about settings that are not set. A k of the project is
    for fingerprints of its scheme, and that of the command line for this index.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    from scrapy.settings import SETTINGS_PRIORITIES

    read, project, k = settings_reader(settings), scheme_settings(settings), manifest.max_distance
    priority = read.given.getpriority("SIMHASH_MAX_DISTANCE") or 0
    if project.scheme == manifest.scheme or priority >= SETTINGS_PRIORITIES["cmdline"]:
        k = read.max_distance(manifest.scheme.bits, k)
    confirmation = read.confirmation(manifest.confirmation)
    chosen = project._replace(scheme=manifest.scheme, max_distance=k, confirmation=confirmation)
    return read.policy(), chosen


def redis_address(settings: Settings | None, spider: str | None) -> RedisAddress | None:
    """Return the address of the index in Redis that settings name, as in a crawl of a spider; None
    if SIMHASH_INDEX is not ``redis``.

    :raises SimhashError: a setting is invalid, or the name of the index needs a spider.
    """
    read = settings_reader(settings)
    address = read.redis_address(spider or "any-spider")
    if not spider and address != read.redis_address("other-spider"):
        raise SimhashError(
            "the index in Redis is named after a spider: give --spider or --redis-key"
        )
    return address


def page_scope(settings: Settings | None) -> Callable[[str], Callable[[str], bool] | None]:
    """Return SIMHASH_SCOPE as a function from the key of a page to a filter.

    The filter accepts the keys that a representative of the page may have. It is None if all keys
    are accepted.

    :raises SettingsError: SIMHASH_SCOPE has a value that is not allowed.
    """
    from scrapy_simhash.crawl.identity import Identity

    scope: Scope = settings_reader(settings)("SIMHASH_SCOPE")
    return Identity(lambda _request: b"", scope).scope_filter
