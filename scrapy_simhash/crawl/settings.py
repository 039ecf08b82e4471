"""The SIMHASH_* settings: read once, validated, and constant from then on."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.redis_settings import RedisSettings
from scrapy_simhash.crawl.settings_reader import VERDICT_FIELDS, SettingsReader
from scrapy_simhash.crawl.settings_table import all_settings
from scrapy_simhash.errors import PlanError, SettingsError
from scrapy_simhash.index.cost import require_plan
from scrapy_simhash.policy import Policy, PolicyAction
from scrapy_simhash.setting import is_off
from scrapy_simhash.slices import slices

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.identity import Scope
    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.slices import Slice

_PREFIX = "SIMHASH_"
_COMMANDS_OF_SCRAPY = ("scrapy.commands.fetch", "scrapy.commands.parse", "scrapy.commands.check")


class SimhashSettings:
    """The validated settings, read once. Most fields are named as their settings.

    The index directory is made, unless the index is in Redis.

    :raises SettingsError: a setting is invalid.
    """

    def __init__(self, settings: BaseSettings, spider_name: str) -> None:
        require_known(settings)
        read = SettingsReader(settings)
        self.policy: Final = read_policy(read)
        self.ignore_arguments: Final = read.names("SIMHASH_IGNORE_ARGUMENTS")
        self.cluster_limit: Final = read("SIMHASH_CLUSTER_LIMIT")
        self.scope: Final[Scope] = read("SIMHASH_SCOPE")
        self.prefer_canonical: Final = read("SIMHASH_PREFER_CANONICAL")

        self.item_fields: Final = read.names("SIMHASH_ITEM_FIELDS")
        action: PolicyAction = read("SIMHASH_ITEM_ACTION", unset=self.policy.action)
        self.item_policy: Final = Policy(
            action=action,
            follow=action == "tag",  # items have no links, so `PASS` or `DROP` results
            incremental=self.policy.incremental,
        )
        self.item_tags: Final = read.tags("SIMHASH_ITEM_TAGS", VERDICT_FIELDS)
        self.has_own_tags: Final = read.value("SIMHASH_ITEM_TAGS") is not None
        """Items of a crawl that drops copies are tagged only if this is True."""
        self.pages: Final = read("SIMHASH_PAGES")

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
        self.max_distance: Final = read.max_distance(preset.scheme.bits, preset.max_distance)
        self.confirmation: Final = read_confirmation(read, preset.confirmation)
        self.expected_pages: Final = read("SIMHASH_EXPECTED_PAGES")
        self._require_tables(preset.max_distance)
        self.min_tokens: Final = read("SIMHASH_MIN_TOKENS")
        self.max_bytes: Final = read("SIMHASH_MAX_BYTES")
        self.workers: Final = read("SIMHASH_WORKERS")
        self.timeout_ms: Final = read("SIMHASH_TIMEOUT_MS")

        self.redis: Final = RedisSettings.read(read, settings, spider_name)
        """None if SIMHASH_INDEX is not "redis"."""
        self.index_kind: Final = read.index_kind()
        """Kind of database; None for the kind of an existing index, or else the default."""
        self.reset: Final = read("SIMHASH_RESET")
        self.keep_text_bytes: Final[int] = read("SIMHASH_KEEP_TEXT")
        """Upper limit for stored main texts, compressed; 0 stores none."""

        self._require_pages()

        self.report: Final = read.file("SIMHASH_REPORT", spider_name)
        self.debug: Final = read("SIMHASH_DEBUG")
        # With item fields, the texts that slices get are those of items.
        self.needs_page_texts: Final = not self.item_fields and any(
            slice_.needs_page_texts for slice_ in slices_in_use(settings)
        )
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
                    "has no tables, and crawls need tables: choose another preset, or a "
                    f"smaller SIMHASH_MAX_DISTANCE ({error})",
                ) from error
            raise SettingsError("SIMHASH_MAX_DISTANCE", self.max_distance, str(error)) from error

    def _require_pages(self) -> None:
        """Raise SettingsError if neither pages nor items are judged."""
        if not self.pages and not self.item_fields:
            raise SettingsError(
                "SIMHASH_PAGES", self.pages, "leaves nothing to judge without SIMHASH_ITEM_FIELDS"
            )

    def index_location(self, what: Literal["page", "item"]) -> Location:
        """Return the directory or the Redis address of the index of pages or of items."""
        if self.redis is not None:
            return self.redis.address(what)
        return self.directory if what == "page" else self.item_directory


def read_policy(read: SettingsReader) -> Policy:
    """Return the policy for pages. :raises SettingsError: a setting is invalid."""
    action = read("SIMHASH_ACTION")
    return Policy(
        action=action,
        follow=read("SIMHASH_FOLLOW", unset=action == "tag"),
        follow_unchanged=read("SIMHASH_FOLLOW", unset=True),
        follow_chains=read("SIMHASH_FOLLOW", unset=True),
        incremental=read("SIMHASH_INCREMENTAL"),
    )


def read_confirmation(read: SettingsReader, preset: Confirmation) -> Confirmation:
    """Return the conditions for a page within k bits to be a copy.

    :param preset: the conditions that apply if a setting is not set.
    :raises SettingsError: a setting is invalid.
    """
    return Confirmation(
        min_resemblance=read("SIMHASH_MIN_RESEMBLANCE", unset=preset.min_resemblance),
        same_name=read("SIMHASH_SAME_TITLE", unset=preset.same_name),
    )


def slices_in_use(settings: BaseSettings) -> list[Slice]:
    """Return the slices that settings turn on."""
    read = SettingsReader(settings)
    return [
        slice_ for slice_ in slices() if slice_.switch and not is_off(read.value(slice_.switch))
    ]


def unknown_settings(settings: BaseSettings) -> dict[str, str]:
    """Return {unknown setting with the prefix SIMHASH_: the most similar setting, or ""}."""
    table = all_settings()
    known = [name.removeprefix(_PREFIX) for name in table]
    found = {}
    for name in sorted(map(str, settings)):
        if name.startswith(_PREFIX) and name not in table and settings[name] is not None:
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
    enabled: bool = SettingsReader(settings)("SIMHASH_ENABLED")
    return enabled
