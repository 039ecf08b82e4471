"""Read the settings of the Scrapy project that a command runs in, if any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.utils.project import get_project_settings

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.crawl.identity import Identity, Scope
from scrapy_simhash.crawl.settings import SettingsReader
from scrapy_simhash.dedupe.options import DEFAULT_TAGS
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import Settings

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.policy import Policy
    from scrapy_simhash.scheme import Scheme


class SchemeSettings(NamedTuple):
    """The settings with which a crawl makes fingerprints and recognizes copies.

    :param preset: name of the preset for messages, such as ``wide, changed``.
    :param preset_choice: value of SIMHASH_PRESET or ``--preset`` that chooses the preset.
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
    settings = get_project_settings()
    settings.set("LOG_ENABLED", value=False, priority="command")
    return settings


def settings_reader(settings: Settings | None) -> SettingsReader:
    """Return a reader of settings; None stands for the settings of the project."""
    return SettingsReader(project_settings() if settings is None else settings)


def scheme_settings(settings: Settings | None, preset: str | None = None) -> SchemeSettings:
    """Return the settings of fingerprints.

    :param preset: replaces SIMHASH_PRESET. If it is another preset, its k replaces
        SIMHASH_MAX_DISTANCE; all other settings apply.
    :raises SettingsError: a setting has a value that is not allowed.
    :raises SchemeError: `choose_preset` does not accept the argument `preset`.
    """
    settings = project_settings() if settings is None else settings
    read = settings_reader(settings)
    name, chosen = read("SIMHASH_PRESET")
    if preset is not None and preset != name:
        name, chosen = choose_preset(preset)
        max_distance, choice = chosen.max_distance, preset
    else:
        max_distance = read.max_distance(chosen.scheme.bits, chosen.max_distance)
        choice = settings.get("SIMHASH_PRESET", name)
    return SchemeSettings(
        name,
        read.scheme(chosen.scheme),
        max_distance,
        read.confirmation(chosen.confirmation),
        read("SIMHASH_MIN_TOKENS"),
        choice,
        tuple(name for name in read("SIMHASH_DISTINCT_BY") if not name.isidentifier()),
    )


def query_settings(settings: Settings | None, manifest: Manifest) -> tuple[Policy, SchemeSettings]:
    """Return the policy and the other settings of a crawl that uses an index.

    The index decides about the scheme, and about settings that are not set.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    read, project, k = settings_reader(settings), scheme_settings(settings), manifest.max_distance
    if project.scheme == manifest.scheme:  # otherwise, the setting is for other fingerprints
        k = read.max_distance(manifest.scheme.bits, k)
    confirmation = read.confirmation(manifest.confirmation)
    chosen = project._replace(scheme=manifest.scheme, max_distance=k, confirmation=confirmation)
    return read.policy(), chosen


def redis_address(options: argparse.Namespace) -> RedisAddress | None:
    """Return the address of the index in Redis that options or settings name.

    Options override settings, which are read as in a crawl. Return None if no option is given and
    SIMHASH_INDEX is not ``redis``.

    :raises SimhashError: a setting is invalid, or the name of the index needs a spider.
    """
    settings = (project_settings() if options.settings is None else options.settings).copy()
    has_option = options.redis or options.redis_key or options.redis_cluster
    if not has_option and settings.get("SIMHASH_INDEX") != "redis":
        return None
    overrides: dict[str, Any] = {
        "SIMHASH_INDEX": "redis",
        "SIMHASH_REDIS_URL": options.redis,
        "SIMHASH_REDIS_KEY": options.redis_key,
        "SIMHASH_REDIS_CLUSTER": options.redis_cluster or None,
    }
    for name, value in overrides.items():
        if value is not None:
            settings.set(name, value, priority=100)
    read = SettingsReader(settings)
    spider: str | None = getattr(options, "spider", None)
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
    scope: Scope = settings_reader(settings)("SIMHASH_SCOPE")
    return Identity(lambda _request: b"", scope).scope_filter


def dedupe_settings(settings: Settings | None) -> dict[str, Any]:
    """Return the parameters of `DedupeOptions` that the settings determine, by name.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    read = settings_reader(settings)
    scope = read("SIMHASH_SCOPE")
    return {
        "action": read("SIMHASH_ACTION"),
        "tags": dict(read("SIMHASH_ITEM_TAGS", unset=DEFAULT_TAGS)),
        "incremental": read("SIMHASH_INCREMENTAL"),
        "scope_name": scope,
        "scope": None if scope == "all" else page_scope(settings),
        "max_bytes": read("SIMHASH_MAX_BYTES"),
        "expected_records": read("SIMHASH_EXPECTED_PAGES"),
        "timeout_ms": read("SIMHASH_TIMEOUT_MS"),
    }
