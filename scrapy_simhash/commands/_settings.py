"""Read the settings of the Scrapy project that a command runs in, if any, and options for them.

Scrapy is imported late: ``--help`` needs none of it.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.setting import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import Settings

    from scrapy_simhash.crawl.settings import SettingsReader

# Options of which the names are not those of their settings.
_SETTINGS = {
    "select": "CONTENT_SELECT",
    "remove": "CONTENT_REMOVE",
    "pages": "EXPECTED_PAGES",
    "redis": "REDIS_URL",
}
FINGERPRINT_OPTIONS = ("preset", "extractor", "select", "remove", "min-tokens")
REDIS_OPTIONS = ("redis", "redis-key")
COPY_OPTIONS = ("max-distance", "min-resemblance", "same-title")


def project_settings() -> Settings:
    """Return the project's settings, or Scrapy's defaults outside a project. Logging is off unless
    the project sets LOG_ENABLED.
    """
    from scrapy.utils.project import get_project_settings

    settings = get_project_settings()
    settings.set("LOG_ENABLED", value=False, priority="command")
    return settings


def add_settings(parser: argparse.ArgumentParser, options: Iterable[str]) -> None:
    """Add options that set a setting for a run, beside ``-s NAME=VALUE``: see `command_settings`.

    An option stands for the setting of its name, such as ``min-tokens`` for SIMHASH_MIN_TOKENS.
    Those of lists may be repeated, and those of booleans have a ``--no-…``.
    """
    from scrapy_simhash.crawl.settings_table import all_settings

    for option in options:
        name = "SIMHASH_" + _SETTINGS.get(option, option.replace("-", "_").upper())
        setting = all_settings()[name]
        meaning = re.sub(r"\[([^]]+)\]\([^)]+\)|`", r"\1", setting.meaning).replace("%", "%%")
        kind: dict[str, Any] = {"metavar": "VALUE"}
        if setting.kind is BOOLEAN:
            kind = {"action": argparse.BooleanOptionalAction}
        elif isinstance(setting.default, list):
            kind["action"] = "append"
        parser.add_argument(f"--{option}", dest=name, help=f"{name}: {meaning}", **kind)


def command_settings(settings: Settings | None, options: argparse.Namespace) -> SettingsReader:
    """Return a reader of settings with those of ``-s NAME=VALUE``, and of options that stand for a
    setting. An index in Redis is used if its server or its name is given.

    :param settings: with ``scrapy simhash``, Scrapy has put those of ``-s`` in; None stands for
        those of the project.
    :raises SimhashError: a pair has no ``=``, or there is no such setting.
    """
    from scrapy.utils.conf import arglist_to_dict

    from scrapy_simhash.crawl.settings import SettingsReader, require_known

    changed = (project_settings() if settings is None else settings).copy()
    try:
        given = arglist_to_dict(options.set)
    except ValueError:
        raise SimhashError(f"-s {' -s '.join(options.set)}: give NAME=VALUE") from None
    given |= {
        name: value
        for name, value in vars(options).items()
        if name.startswith("SIMHASH_") and value is not None
    }
    if {"SIMHASH_REDIS_URL", "SIMHASH_REDIS_KEY"} & given.keys():
        given["SIMHASH_INDEX"] = "redis"
    changed.setdict(given, priority="cmdline")
    require_known(changed)
    return SettingsReader(changed)
