"""Read the settings of the project that ``dedupe`` uses."""

from __future__ import annotations

from typing import Any, cast, get_args

from scrapy.settings import Settings

from scrapy_simhash.commands._settings import project_settings
from scrapy_simhash.crawl.identity import Identity, Scope
from scrapy_simhash.crawl.settings import SETTINGS
from scrapy_simhash.crawl.settings_reader import VERDICT_FIELDS, SettingsReader


def dedupe_settings(settings: Settings | None) -> dict[str, Any]:
    """Return the parameters of `DedupeOptions` that settings determine.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    read = _reader(settings)
    scope = cast("Scope", read.choice("SIMHASH_SCOPE", get_args(Scope)))
    return {
        "action": read.choice("SIMHASH_ACTION", ("drop", "tag")),
        "tags": dict(read.tags("SIMHASH_ITEM_TAGS", VERDICT_FIELDS)),
        "incremental": read.boolean("SIMHASH_INCREMENTAL"),
        "scope_name": scope,
        "scope": None if scope == "all" else Identity(lambda _request: b"", scope).scope_filter,
        "max_bytes": read.whole("SIMHASH_MAX_BYTES", 1, 1 << 40),
        "expected_records": read.whole("SIMHASH_EXPECTED_PAGES", 1, 1 << 32),
        "timeout_ms": read.whole("SIMHASH_TIMEOUT_MS", 1, 3_600_000),
    }


def item_fields(settings: Settings | None) -> tuple[str, ...]:
    """Return the value of SIMHASH_ITEM_FIELDS."""
    return _reader(settings).names("SIMHASH_ITEM_FIELDS")


def _reader(settings: Settings | None) -> SettingsReader:
    if not isinstance(settings, Settings):
        settings = project_settings()
    return SettingsReader(settings, SETTINGS)
