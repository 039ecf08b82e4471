"""The SIMHASH_* settings: read once, validated, and frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.floods import DEFAULT_CLUSTER_LIMIT
from scrapy_simhash.crawl.health import MONITOR_SETTINGS, HealthLimits
from scrapy_simhash.crawl.identity import Scope
from scrapy_simhash.crawl.passage_settings import PASSAGE_SETTINGS, PassageSettings
from scrapy_simhash.crawl.redis_settings import REDIS_SETTINGS, RedisSettings
from scrapy_simhash.crawl.retries import MAX_WAITS
from scrapy_simhash.crawl.settings_reader import TAGGED_FIELDS, VERDICT_FIELDS, SettingsReader
from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.errors import PlanError, SettingsError
from scrapy_simhash.index import SyncPolicy, TablePlan
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES, require_plan
from scrapy_simhash.index.texts import DEFAULT_MAX_BYTES
from scrapy_simhash.policy import Policy, PolicyAction
from scrapy_simhash.scheme import DEFAULT_PRESET
from scrapy_simhash.url_rules.learner import DEFAULT_EXPLORE
from scrapy_simhash.workers.pages import DEFAULT_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.scheme import Scheme

OnLocked = Literal["close", "off"]
UrlRulesMode = Literal["learn", "apply"]

_PREFIX = "SIMHASH_"
_COMMANDS_OF_SCRAPY = ("scrapy.commands.fetch", "scrapy.commands.parse", "scrapy.commands.check")
_REMOVED = {
    "SIMHASH_DROP_WEAK": (
        "SIMHASH_DROP_WEAK has no effect any more: no verdict is weak. A short text is dropped "
        "like any other that is confirmed as a copy (SIMHASH_MIN_RESEMBLANCE, SIMHASH_SAME_TITLE). "
        "Remove the setting"
    ),
}
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_ENABLED": False,
        "SIMHASH_PAGES": True,
        "SIMHASH_ACTION": "drop",
        "SIMHASH_FOLLOW": None,
        "SIMHASH_CLUSTER_LIMIT": DEFAULT_CLUSTER_LIMIT,
        "SIMHASH_SCOPE": "all",
        "SIMHASH_PREFER_CANONICAL": False,
        "SIMHASH_INCREMENTAL": False,
        "SIMHASH_CONDITIONAL": False,
        "SIMHASH_RESET": False,
        "SIMHASH_PRESET": DEFAULT_PRESET,
        "SIMHASH_MAX_DISTANCE": None,
        "SIMHASH_MIN_RESEMBLANCE": None,
        "SIMHASH_SAME_TITLE": None,
        "SIMHASH_EXTRACTOR": None,
        "SIMHASH_CONTENT_SELECT": [],
        "SIMHASH_CONTENT_REMOVE": [],
        "SIMHASH_WORKERS": 1,
        "SIMHASH_TIMEOUT_MS": DEFAULT_TIMEOUT_MS,
        "SIMHASH_DIR": "simhash",
        "SIMHASH_INDEX": None,
        "SIMHASH_EXPECTED_PAGES": DEFAULT_EXPECTED_PAGES,
        "SIMHASH_TABLES": None,
        "SIMHASH_SYNC": "everysec",
        "SIMHASH_SHARED": False,
        "SIMHASH_ON_LOCKED": "close",
        "SIMHASH_MIN_TOKENS": DEFAULT_MIN_TOKENS,
        "SIMHASH_MAX_BYTES": 8_000_000,
        "SIMHASH_ITEM_TAGS": {field: f"simhash_{field}" for field in TAGGED_FIELDS},
        "SIMHASH_ITEM_FIELDS": [],
        "SIMHASH_ITEM_ACTION": None,
        "SIMHASH_KEEP_TEXT": False,
        "SIMHASH_KEEP_TEXT_BYTES": DEFAULT_MAX_BYTES,
        "SIMHASH_URL_RULES": False,
        "SIMHASH_URL_EXPLORE": DEFAULT_EXPLORE,
        "SIMHASH_PROBE_ERRORS": False,
        "SIMHASH_ERROR_ACTION": "tag",
        "SIMHASH_REPORT": None,
        "SIMHASH_DEBUG": False,
        **MONITOR_SETTINGS,
        **REDIS_SETTINGS,
        **PASSAGE_SETTINGS,
    }
)


@dataclass(frozen=True, kw_only=True)
class SimhashSettings:
    """The validated settings. Most fields are named as their settings without ``SIMHASH_``.

    :param pages: judge pages, not items alone.
    :param cluster_limit: upper limit for the dropped pages of a cluster; 0 means no limit.
    :param scheme: the preset's scheme, with the extractor and selectors of this crawl.
    :param confirmation: conditions for a page within k bits to be a copy.
    :param directory: directory of the index of pages.
    :param item_directory: directory of the index of items.
    :param index_kind: kind of database; None uses that of an existing index, or the default.
    :param plan: tables of a new index; None chooses them by `expected_pages`.
    :param item_tags: verdict field → item field.
    :param item_scheme: the scheme of pages, with the weights of the item fields.
    :param keep_text_bytes: upper limit for stored main texts, compressed; 0 stores none.
    :param url_rules: None if SIMHASH_URL_RULES is off.
    :param probe_errors: ask sites for URLs that cannot exist, to recognize error pages.
    :param report: file to write when the spider closes, or None.
    :param redis: None if SIMHASH_INDEX is not "redis".
    :param passages: None if SIMHASH_PASSAGES is off.
    """

    pages: bool
    policy: Policy
    item_action: PolicyAction
    cluster_limit: int
    scope: Scope
    prefer_canonical: bool
    conditional: bool
    workers: int
    timeout_ms: int
    reset: bool
    preset: str
    scheme: Scheme
    max_distance: int
    confirmation: Confirmation
    directory: Path
    item_directory: Path
    on_locked: OnLocked
    index_kind: str | None
    expected_pages: int
    plan: TablePlan | None
    sync: SyncPolicy
    min_tokens: int
    max_bytes: int
    item_tags: Mapping[str, str]
    item_fields: tuple[str, ...]
    item_scheme: Scheme
    keep_text_bytes: int
    url_rules: UrlRulesMode | None
    url_explore: float
    probe_errors: bool
    error_action: PolicyAction
    report: Path | None
    debug: bool
    health_limits: HealthLimits
    redis: RedisSettings | None
    passages: PassageSettings | None

    @property
    def max_waits(self) -> int:
        """How often an idle crawl waits for other crawls that share its index."""
        return MAX_WAITS if self.redis is None else self.redis.max_waits

    def index_location(self, what: Literal["page", "item"]) -> Location:
        """Return the directory or the Redis address of the index of pages or of items."""
        directory = self.directory if what == "page" else self.item_directory
        return directory if self.redis is None else self.redis.address(what)

    @classmethod
    def from_settings(cls, settings: BaseSettings, spider_name: str) -> SimhashSettings:
        """Return the settings; make any index directory. :raises SettingsError: one is invalid."""
        read = SettingsReader(settings, SETTINGS)
        policy = read_policy(read)
        item_action = read.choice("SIMHASH_ITEM_ACTION", ("drop", "tag"), unset=policy.action)
        preset_name, preset = read.preset("SIMHASH_PRESET")
        scheme = read.scheme(preset.scheme)
        max_distance = read.whole(
            "SIMHASH_MAX_DISTANCE", 0, preset.scheme.bits - 1, unset=preset.max_distance
        )
        expected_pages = read.whole("SIMHASH_EXPECTED_PAGES", 1, 1 << 32)
        plan = read.plan(preset.scheme.bits)
        try:
            if plan is None:
                require_plan(preset.scheme.bits, max_distance)
        except PlanError as error:
            if max_distance == preset.max_distance:
                raise SettingsError(
                    "SIMHASH_PRESET",
                    preset_name,
                    "has no tables, and crawls need tables: choose another preset, or set "
                    f"SIMHASH_TABLES ({error})",
                ) from error
            raise SettingsError("SIMHASH_MAX_DISTANCE", max_distance, str(error)) from error
        pages = read.boolean("SIMHASH_PAGES", unset=True)
        item_fields = read.names("SIMHASH_ITEM_FIELDS")
        if not pages and not item_fields:
            raise SettingsError(
                "SIMHASH_PAGES", pages, "leaves nothing to judge without SIMHASH_ITEM_FIELDS"
            )
        url_rules: UrlRulesMode | None = None
        if not read.is_off("SIMHASH_URL_RULES"):
            url_rules = read.choice("SIMHASH_URL_RULES", get_args(UrlRulesMode))
        probe_errors = read.boolean("SIMHASH_PROBE_ERRORS")
        for name, value in (
            ("SIMHASH_URL_RULES", url_rules),
            ("SIMHASH_PROBE_ERRORS", probe_errors),
        ):
            if value and not pages:
                raise SettingsError(
                    name, value, "cannot be used with SIMHASH_PAGES = False: it needs pages"
                )
        conditional = read.boolean("SIMHASH_CONDITIONAL")
        if conditional and not (pages and policy.incremental):
            raise SettingsError(
                "SIMHASH_CONDITIONAL",
                conditional,
                "needs SIMHASH_INCREMENTAL = True and SIMHASH_PAGES = True: without them, "
                "unchanged pages pass, and must be downloaded",
            )
        redis = RedisSettings.read(read, settings, spider_name)
        directory, item_directory = read.directories(spider_name, pages=pages, make=redis is None)
        weights = read.field_weights("SIMHASH_ITEM_FIELDS")
        return cls(
            pages=pages,
            policy=policy,
            item_action=item_action,
            cluster_limit=read.whole("SIMHASH_CLUSTER_LIMIT", 0, 1 << 32),
            scope=read.choice("SIMHASH_SCOPE", get_args(Scope)),
            prefer_canonical=read.boolean("SIMHASH_PREFER_CANONICAL"),
            conditional=conditional,
            workers=read.whole("SIMHASH_WORKERS", 0, 256),
            timeout_ms=read.whole("SIMHASH_TIMEOUT_MS", 1, 3_600_000),
            reset=read.boolean("SIMHASH_RESET"),
            preset=preset_name,
            scheme=scheme,
            max_distance=max_distance,
            confirmation=read_confirmation(read, preset.confirmation),
            directory=directory,
            item_directory=item_directory,
            on_locked=read.choice("SIMHASH_ON_LOCKED", get_args(OnLocked)),
            index_kind=read.index_kind(),
            expected_pages=expected_pages,
            plan=plan,
            sync=read.choice("SIMHASH_SYNC", get_args(SyncPolicy)),
            min_tokens=read.whole("SIMHASH_MIN_TOKENS", 1, 1_000_000),
            max_bytes=read.whole("SIMHASH_MAX_BYTES", 1, 1 << 40),
            item_tags=read.tags("SIMHASH_ITEM_TAGS", VERDICT_FIELDS),
            item_fields=item_fields,
            item_scheme=replace(scheme, field_weights=weights) if weights else scheme,
            keep_text_bytes=read.whole("SIMHASH_KEEP_TEXT_BYTES", 1, 1 << 50)
            * read.boolean("SIMHASH_KEEP_TEXT"),
            url_rules=url_rules,
            url_explore=read.share("SIMHASH_URL_EXPLORE"),
            probe_errors=probe_errors,
            error_action=read.choice("SIMHASH_ERROR_ACTION", ("drop", "tag")),
            report=read.file("SIMHASH_REPORT", spider_name),
            debug=read.boolean("SIMHASH_DEBUG"),
            health_limits=HealthLimits.read(read),
            redis=redis,
            passages=PassageSettings.read(read),
        )


def read_policy(read: SettingsReader) -> Policy:
    """Return the policy for pages. :raises SettingsError: a setting is invalid."""
    action = read.choice("SIMHASH_ACTION", ("drop", "tag"))
    return Policy(
        action=action,
        follow=read.boolean("SIMHASH_FOLLOW", unset=action == "tag"),
        incremental=read.boolean("SIMHASH_INCREMENTAL"),
    )


def read_confirmation(read: SettingsReader, preset: Confirmation) -> Confirmation:
    """Return the conditions for a page within k bits to be a copy.

    :param preset: conditions of the preset, for settings that are not set.
    :raises SettingsError: a setting is invalid.
    """
    return Confirmation(
        min_resemblance=read.share("SIMHASH_MIN_RESEMBLANCE", unset=preset.min_resemblance),
        same_name=read.boolean("SIMHASH_SAME_TITLE", unset=preset.same_name),
    )


def unknown_settings(settings: BaseSettings) -> list[str]:
    """Return a message for each unknown or removed setting with the prefix SIMHASH_, by name."""
    unknown = (str(name) for name in settings if name not in SETTINGS)
    return [_about_unknown(name) for name in sorted(unknown) if name.startswith(_PREFIX)]


def _about_unknown(name: str) -> str:
    if name in _REMOVED:
        return _REMOVED[name]
    # Compared without the prefix, which makes any two names similar.
    settings = [setting.removeprefix(_PREFIX) for setting in SETTINGS]
    similar = get_close_matches(name.removeprefix(_PREFIX), settings, n=1)
    hint = f": did you mean {_PREFIX}{similar[0]}?" if similar else ""
    return f"there is no setting {name}{hint}"


def is_on(crawler: Crawler) -> bool:
    """Return True if the plugin is enabled, and the crawler runs a crawl of its spider.

    The crawler of `scrapy shell` never crawls; `fetch`, `parse` and `check` replace the spider's
    `start`. Pages of these commands must not reach the index of the spider's crawls.

    :raises SettingsError: SIMHASH_ENABLED is not a boolean.
    """
    if not is_enabled(crawler.settings) or not crawler.crawling:
        return False
    start = getattr(crawler.spidercls, "start", None)
    return getattr(start, "__module__", None) not in _COMMANDS_OF_SCRAPY


def is_enabled(settings: BaseSettings) -> bool:
    """Return SIMHASH_ENABLED. :raises SettingsError: it is not a boolean."""
    return SettingsReader(settings, SETTINGS).boolean("SIMHASH_ENABLED")
