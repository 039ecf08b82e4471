"""Read the settings of the Scrapy project that a command runs in, if any.

Scrapy is imported late: ``--help`` needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.dedupe.options import DEFAULT_TAGS
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.settings import Settings

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.crawl.identity import Scope
    from scrapy_simhash.crawl.settings import SettingsReader
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.policy import Policy
    from scrapy_simhash.scheme import Scheme


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


def with_given(settings: Settings | None, pairs: Sequence[str]) -> Settings | None:
    """Return settings with those of ``-s NAME=VALUE``; see `settings_reader`.

    :param settings: with ``scrapy simhash``, Scrapy has put those of ``-s`` in.
    :raises SimhashError: a pair has no ``=``, or there is no such setting.
    """
    if settings is None and not pairs:
        return None
    from scrapy_simhash.crawl.settings import require_known

    changed = (project_settings() if settings is None else settings).copy()
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise SimhashError(f"-s {pair}: give NAME=VALUE")
        changed.set(name, value, priority="cmdline")
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

    The index decides about the scheme, and about settings that are not set.

    :raises SettingsError: a setting has a value that is not allowed.
    """
    read, project, k = settings_reader(settings), scheme_settings(settings), manifest.max_distance
    if project.scheme == manifest.scheme:  # otherwise, the setting is for other fingerprints
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
            "the index in Redis is named after a spider: give --spider, or --index "
            "redis://host:6379/0#name"
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
