"""The SIMHASH_* settings: read once, validated, and constant from then on."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.floods import DEFAULT_CLUSTER_LIMIT
from scrapy_simhash.crawl.identity import Scope
from scrapy_simhash.crawl.redis_settings import REDIS_SETTINGS, RedisSettings
from scrapy_simhash.crawl.settings_reader import VERDICT_FIELDS, SettingsReader
from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.errors import PlanError, SettingsError
from scrapy_simhash.extras.passages.settings import PASSAGE_SETTINGS, PassageSettings
from scrapy_simhash.extras.url_rules.learner import DEFAULT_EXPLORE
from scrapy_simhash.index import SyncPolicy
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES, require_plan
from scrapy_simhash.index.texts import DEFAULT_MAX_BYTES
from scrapy_simhash.policy import Policy, PolicyAction
from scrapy_simhash.scheme import DEFAULT_PRESET
from scrapy_simhash.workers.pages import DEFAULT_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_simhash.maintenance.sources import Location

UrlRulesMode = Literal["learn", "apply"]

_PREFIX = "SIMHASH_"
_COMMANDS_OF_SCRAPY = ("scrapy.commands.fetch", "scrapy.commands.parse", "scrapy.commands.check")
SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_ENABLED": False,
        "SIMHASH_PAGES": True,
        "SIMHASH_ACTION": "drop",
        "SIMHASH_FOLLOW": None,
        "SIMHASH_CLUSTER_LIMIT": DEFAULT_CLUSTER_LIMIT,
        "SIMHASH_IGNORE_ARGUMENTS": [],
        "SIMHASH_SCOPE": "all",
        "SIMHASH_PREFER_CANONICAL": False,
        "SIMHASH_INCREMENTAL": False,
        "SIMHASH_RESET": False,
        "SIMHASH_PRESET": DEFAULT_PRESET,
        "SIMHASH_MAX_DISTANCE": None,
        "SIMHASH_MIN_RESEMBLANCE": None,
        "SIMHASH_SAME_TITLE": None,
        "SIMHASH_EXTRACTOR": None,
        "SIMHASH_CONTENT_SELECT": [],
        "SIMHASH_CONTENT_REMOVE": [],
        "SIMHASH_DISTINCT_BY": [],
        "SIMHASH_WORKERS": 1,
        "SIMHASH_TIMEOUT_MS": DEFAULT_TIMEOUT_MS,
        "SIMHASH_DIR": "simhash",
        "SIMHASH_INDEX": None,
        "SIMHASH_EXPECTED_PAGES": DEFAULT_EXPECTED_PAGES,
        "SIMHASH_TABLES": None,
        "SIMHASH_SYNC": "everysec",
        "SIMHASH_SHARED": False,
        "SIMHASH_MIN_TOKENS": DEFAULT_MIN_TOKENS,
        "SIMHASH_MAX_BYTES": 8_000_000,
        "SIMHASH_ITEM_TAGS": None,
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
        **REDIS_SETTINGS,
        **PASSAGE_SETTINGS,
    }
)


class SimhashSettings:
    """The validated settings, read once. Most fields are named as their settings.

    The index directory is made, unless the index is in Redis.

    :raises SettingsError: a setting is invalid.
    """

    def __init__(self, settings: BaseSettings, spider_name: str) -> None:  # noqa: PLR0915 - a line each
        require_known(settings)
        read = SettingsReader(settings, SETTINGS)
        self.policy: Final = read_policy(read)
        self.ignore_arguments: Final = read.names("SIMHASH_IGNORE_ARGUMENTS")
        self.cluster_limit: Final = read.whole("SIMHASH_CLUSTER_LIMIT", 0, 1 << 32)
        self.scope: Final[Scope] = read.choice("SIMHASH_SCOPE", get_args(Scope))
        self.prefer_canonical: Final = read.boolean("SIMHASH_PREFER_CANONICAL")

        self.item_fields: Final = read.names("SIMHASH_ITEM_FIELDS")
        action: PolicyAction = read.choice(
            "SIMHASH_ITEM_ACTION", ("drop", "tag"), unset=self.policy.action
        )
        self.item_policy: Final = Policy(
            action=action,
            follow=action == "tag",  # items have no links, so `PASS` or `DROP` results
            incremental=self.policy.incremental,
        )
        self.item_tags: Final = read.tags("SIMHASH_ITEM_TAGS", VERDICT_FIELDS)
        self.has_own_tags: Final = read.is_set("SIMHASH_ITEM_TAGS")
        """Items of a crawl that drops copies are tagged only if this is True."""
        self.pages: Final = read.boolean("SIMHASH_PAGES")

        preset_name, preset = read.preset("SIMHASH_PRESET")
        self.preset: Final = preset_name
        self.scheme: Final = read.scheme(preset.scheme)
        weights = read.field_weights("SIMHASH_ITEM_FIELDS")
        self.item_scheme: Final = replace(
            self.scheme, field_weights=weights or self.scheme.field_weights
        )
        distinct = read.distinct_by()
        self.distinct_selectors: Final = tuple(name for name in distinct if not name.isidentifier())
        self.distinct_fields: Final = tuple(name for name in distinct if name.isidentifier())
        if self.distinct_fields and not self.item_fields:
            raise SettingsError(
                "SIMHASH_DISTINCT_BY",
                list(self.distinct_fields),
                "are fields of items, and items are judged only with SIMHASH_ITEM_FIELDS: set it, "
                "or write selectors that match on the page, such as '.sku' or '//h1'",
            )
        self.max_distance: Final = read.whole(
            "SIMHASH_MAX_DISTANCE", 0, preset.scheme.bits - 1, unset=preset.max_distance
        )
        self.confirmation: Final = read_confirmation(read, preset.confirmation)
        self.expected_pages: Final = read.whole("SIMHASH_EXPECTED_PAGES", 1, 1 << 32)
        self.plan: Final = read.plan(preset.scheme.bits)
        """Tables of a new index; None chooses them by `expected_pages`."""
        if self.plan is None:
            self._require_tables(preset.max_distance)
        self.min_tokens: Final = read.whole("SIMHASH_MIN_TOKENS", 1, 1_000_000)
        self.max_bytes: Final = read.whole("SIMHASH_MAX_BYTES", 1, 1 << 40)
        self.workers: Final = read.whole("SIMHASH_WORKERS", 0, 256)
        self.timeout_ms: Final = read.whole("SIMHASH_TIMEOUT_MS", 1, 3_600_000)

        self.redis: Final = RedisSettings.read(read, settings, spider_name)
        """None if SIMHASH_INDEX is not "redis"."""
        self.index_kind: Final = read.index_kind()
        """Kind of database; None for the kind of an existing index, or else the default."""
        self.sync: Final[SyncPolicy] = read.choice("SIMHASH_SYNC", get_args(SyncPolicy))
        self.reset: Final = read.boolean("SIMHASH_RESET")
        max_text_bytes = read.whole("SIMHASH_KEEP_TEXT_BYTES", 1, 1 << 50)
        self.keep_text_bytes: Final = max_text_bytes * read.boolean("SIMHASH_KEEP_TEXT")
        """Upper limit for stored main texts, compressed; 0 stores none."""

        self.url_rules: Final[UrlRulesMode | None] = (
            None
            if read.is_off("SIMHASH_URL_RULES")
            else read.choice("SIMHASH_URL_RULES", get_args(UrlRulesMode))
        )
        self.url_explore: Final = read.share("SIMHASH_URL_EXPLORE")
        self.probe_errors: Final = read.boolean("SIMHASH_PROBE_ERRORS")
        self.error_action: Final[PolicyAction] = read.choice(
            "SIMHASH_ERROR_ACTION", ("drop", "tag")
        )
        self._require_pages()

        self.report: Final = read.file("SIMHASH_REPORT", spider_name)
        self.debug: Final = read.boolean("SIMHASH_DEBUG")
        self.passages: Final = PassageSettings(read) if read.boolean("SIMHASH_PASSAGES") else None
        """None if SIMHASH_PASSAGES is off."""
        directory, item_directory = read.directories(
            spider_name, pages=self.pages, make=self.redis is None
        )
        self.directory: Final = directory
        self.item_directory: Final = item_directory

    def _require_tables(self, preset_distance: int) -> None:
        try:
            require_plan(self.scheme.bits, self.max_distance)
        except PlanError as error:
            if self.max_distance == preset_distance:
                raise SettingsError(
                    "SIMHASH_PRESET",
                    self.preset,
                    "has no tables, and crawls need tables: choose another preset, or set "
                    f"SIMHASH_TABLES ({error})",
                ) from error
            raise SettingsError("SIMHASH_MAX_DISTANCE", self.max_distance, str(error)) from error

    def _require_pages(self) -> None:
        """Raise SettingsError if a setting is on, but not the settings that it needs."""
        if not self.pages and not self.item_fields:
            raise SettingsError(
                "SIMHASH_PAGES", self.pages, "leaves nothing to judge without SIMHASH_ITEM_FIELDS"
            )
        for name, value in (
            ("SIMHASH_URL_RULES", self.url_rules),
            ("SIMHASH_PROBE_ERRORS", self.probe_errors),
        ):
            if value and not self.pages:
                raise SettingsError(
                    name, value, "cannot be used with SIMHASH_PAGES = False: it needs pages"
                )

    def index_location(self, what: Literal["page", "item"]) -> Location:
        """Return the directory or the Redis address of the index of pages or of items."""
        if self.redis is not None:
            return self.redis.address(what)
        return self.directory if what == "page" else self.item_directory


def read_policy(read: SettingsReader) -> Policy:
    """Return the policy for pages. :raises SettingsError: a setting is invalid."""
    action = read.choice("SIMHASH_ACTION", ("drop", "tag"))
    return Policy(
        action=action,
        follow=read.boolean("SIMHASH_FOLLOW", unset=action == "tag"),
        follow_unchanged=read.boolean("SIMHASH_FOLLOW", unset=True),
        incremental=read.boolean("SIMHASH_INCREMENTAL"),
    )


def read_confirmation(read: SettingsReader, preset: Confirmation) -> Confirmation:
    """Return the conditions for a page within k bits to be a copy.

    :param preset: the conditions that apply if a setting is not set.
    :raises SettingsError: a setting is invalid.
    """
    return Confirmation(
        min_resemblance=read.share("SIMHASH_MIN_RESEMBLANCE", unset=preset.min_resemblance),
        same_name=read.boolean("SIMHASH_SAME_TITLE", unset=preset.same_name),
    )


def unknown_settings(settings: BaseSettings) -> dict[str, str]:
    """Return {unknown setting with the prefix SIMHASH_: the most similar setting, or ""}."""
    known = [name.removeprefix(_PREFIX) for name in SETTINGS]
    found = {}
    for name in sorted(map(str, settings)):
        if name.startswith(_PREFIX) and name not in SETTINGS and settings[name] is not None:
            # Compared without the prefix, which makes any two names similar.
            similar = get_close_matches(name.removeprefix(_PREFIX), known, n=1)
            found[name] = f"{_PREFIX}{similar[0]}" if similar else ""
    return found


def require_known(settings: BaseSettings) -> None:
    """Raise SettingsError for the first unknown setting with the prefix SIMHASH_."""
    for name, similar in unknown_settings(settings).items():
        hint = f": did you mean {similar}?" if similar else ""
        raise SettingsError(name, settings[name], f"there is no such setting{hint}")


def conflicts(settings: BaseSettings, action: PolicyAction) -> list[str]:
    """Return messages about settings of Scrapy that a crawl which drops copies may trip over."""
    names = ("CLOSESPIDER_PAGECOUNT_NO_ITEM", "CLOSESPIDER_TIMEOUT_NO_ITEM")
    return [
        f"{name} = {settings[name]} closes the spider in a run of copies, because dropped pages "
        "give no items: raise it, or set SIMHASH_ACTION = 'tag'"
        for name in names
        if action == "drop" and settings.getfloat(name)
    ]


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
