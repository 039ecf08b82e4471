"""The SIMHASH_* settings: read once by their table, validated, and constant from then on."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.settings_table import all_settings
from scrapy_simhash.errors import PlanError, SchemeError, SettingsError, SimhashError
from scrapy_simhash.index.plan import choose_plan
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.policy import Policy
from scrapy_simhash.setting import is_off, whole
from scrapy_simhash.slices import slices
from scrapy_simhash.verdict import TAGGED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.policy import PolicyAction
    from scrapy_simhash.scheme import Preset
    from scrapy_simhash.slices import Slice

logger = logging.getLogger(__name__)

_PREFIX = "SIMHASH_"
_COMMANDS_OF_SCRAPY = ("scrapy.commands.fetch", "scrapy.commands.parse", "scrapy.commands.check")


class SettingsReader:
    """The settings in `all_settings`, each parsed when it is asked for.

    :raises SettingsError: a value is invalid.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self.given = settings

    def __call__(self, name: str, *, unset: Any = None) -> Any:
        """Return the value of a setting in its type.

        :param unset: returned if the setting is not set, and has no default.
        """
        value = all_settings()[name].parse(self.given.get(name))
        return unset if value is None else value

    def error(self, name: str, reason: str) -> SettingsError:
        """Return the error that a setting has a wrong value, as it was given."""
        value = self.given.get(name)
        return SettingsError(name, all_settings()[name].default if value is None else value, reason)

    @cached_property
    def preset(self) -> Preset:
        """SIMHASH_PRESET with all that other settings change in it."""
        preset: Preset = self("SIMHASH_PRESET")[1]
        scheme = replace(
            preset.scheme,
            extractor=self("SIMHASH_EXTRACTOR", unset=preset.scheme.extractor),
            select=self("SIMHASH_CONTENT_SELECT"),
            remove=self("SIMHASH_CONTENT_REMOVE"),
        )
        k, own = all_settings()["SIMHASH_MAX_DISTANCE"], preset.confirmation
        k = replace(k, kind=whole(0, scheme.bits - 1), default=preset.max_distance)
        return replace(
            preset,
            scheme=scheme,
            max_distance=k.parse(self.given.get(k.name)),
            confirmation=Confirmation(
                min_resemblance=self("SIMHASH_MIN_RESEMBLANCE", unset=own.min_resemblance),
                same_name=self("SIMHASH_SAME_TITLE", unset=own.same_name),
            ),
        )

    @cached_property
    def policy(self) -> Policy:
        """The policy for pages."""
        return Policy(
            action=self("SIMHASH_ACTION"),
            follow=self("SIMHASH_FOLLOW"),
            incremental=self("SIMHASH_INCREMENTAL"),
        )

    @cached_property
    def distinct_selectors(self) -> tuple[str, ...]:
        """The selectors in SIMHASH_DISTINCT_BY; the others are fields of items."""
        return tuple(name for name in self("SIMHASH_DISTINCT_BY") if not name.isidentifier())

    def path(self, name: str) -> Path:
        """Return an absolute path. A relative path is in Scrapy's data directory."""
        value = self(name)
        try:
            return Path(data_path(value)).absolute()
        except NotConfigured:
            # Under Scrapyd, there is no scrapy.cfg to find the project.
            return Path(".scrapy", value).absolute()

    def file(self, name: str, spider_name: str) -> Path | None:
        """Return the absolute path of a file in an existing directory; None if it is not set.

        ``%(name)s`` is replaced by the name of the spider, ``%(time)s`` by the time in UTC.
        """
        value = self(name)
        if value is None:
            return None
        time = f"{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%S}"
        path = Path(value % {"name": _file_name(spider_name), "time": time}).absolute()
        try:
            if path.is_dir() or not path.parent.is_dir():
                raise OSError
            path.exists()  # raises OSError for a name that is too long
        except OSError:
            raise self.error(name, f"must be {all_settings()[name].kind.words}") from None
        return path

    def redis_address(self, spider_name: str | None) -> RedisAddress | None:
        """Return the address of the index of pages; None if SIMHASH_INDEX is not "redis".

        :raises SimhashError: the name of the index needs that of a spider, which is None.
        """
        if self.given.get("SIMHASH_INDEX") != "redis":
            return None
        url = self("SIMHASH_REDIS_URL") or self.given.get("REDIS_URL")
        if not url:
            reason = "must be the URL of a server, such as redis://user:password@host:6379/0"
            raise self.error("SIMHASH_REDIS_URL", reason)
        owner = "shared" if self("SIMHASH_SHARED") else spider_name
        name = self("SIMHASH_REDIS_KEY")
        if owner is None and "%(spider)" in name:
            raise SimhashError(
                "the index in Redis is named after a spider: give --spider or --index"
            )
        try:
            return self.address(str(url), name % {"spider": owner})
        except SchemeError as error:  # without the URL, which may hold a password
            raise SettingsError("SIMHASH_REDIS_URL", "…", str(error)) from error

    def address(self, url: str, name: str) -> RedisAddress:
        """Return the address of an index on a server. :raises SchemeError: the URL is invalid."""
        parameters = dict(self.given.getdict("REDIS_PARAMS"))
        # Only scrapy-redis uses these, or `scrapy_simhash.index.redis` sets them itself.
        for own in ("redis_cls", "url", "decode_responses", "encoding"):
            parameters.pop(own, None)
        return RedisAddress(url, name, self("SIMHASH_REDIS_CLUSTER"), parameters)


class SimhashSettings(SettingsReader):
    """The validated settings of a crawl. Those that depend on others are attributes.

    :raises SettingsError: a setting is invalid.
    """

    def __init__(self, settings: BaseSettings, spider_name: str) -> None:
        require_known(settings)
        super().__init__(settings)
        self.report: Final = self.file("SIMHASH_REPORT", spider_name)
        self.pages: Final[bool] = self("SIMHASH_PAGES")
        fields = self("SIMHASH_ITEM_FIELDS")
        self.item_fields: Final[tuple[str, ...]] = tuple(fields)
        action: PolicyAction = self("SIMHASH_ITEM_ACTION", unset=self.policy.action)
        # Items have no links, so `PASS` or `DROP` results.
        self.item_policy: Final = replace(self.policy, action=action, follow=action == "tag")
        tags = self("SIMHASH_ITEM_TAGS")
        self.has_own_tags: Final = tags is not None
        """Items of a crawl that drops copies are tagged only if this is True."""
        self.item_tags: Final[Mapping[str, str]] = (
            {field: f"simhash_{field}" for field in TAGGED_FIELDS} if tags is None else tags
        )
        scheme = self.preset.scheme
        weights = tuple(fields.items()) if isinstance(fields, dict) else scheme.field_weights
        self.item_scheme: Final = replace(scheme, field_weights=weights)
        self.distinct_fields: Final = tuple(filter(str.isidentifier, self("SIMHASH_DISTINCT_BY")))
        self.redis: Final = self.redis_address(spider_name)
        """Address of the index of pages; None if SIMHASH_INDEX is not "redis"."""
        for name in all_settings():
            self(name)
        self._check()
        # With item fields, the texts that slices get are those of items.
        self.needs_page_texts: Final = not fields and any(
            slice_.needs_page_texts for slice_ in slices_in_use(settings)
        )
        self._owner: Final = None if self("SIMHASH_SHARED") else _file_name(spider_name)

    def _check(self) -> None:
        """Raise SettingsError if settings do not fit together."""
        in_redis = "cannot be used with an index in Redis: "
        rules = (
            (
                "SIMHASH_PAGES",
                not (self.pages or self.item_fields),
                "leaves nothing to judge without SIMHASH_ITEM_FIELDS",
            ),
            (
                "SIMHASH_DISTINCT_BY",
                self.distinct_fields and not self.item_fields,
                (
                    "has fields of items, and items are judged only with SIMHASH_ITEM_FIELDS: set "
                    "it, or write selectors that match on the page, such as '.sku' or '//h1'"
                ),
            ),
            *(
                (one.switch, not self.pages, "needs pages, and SIMHASH_PAGES is False")
                for one in slices_in_use(self.given)
                if one.needs_pages
            ),
            (
                "SIMHASH_RESET",
                self.redis and self("SIMHASH_RESET"),
                in_redis + "others may use it: `scrapy simhash index remove --all` deletes it",
            ),
            (
                "SIMHASH_KEEP_TEXT",
                self.redis and self("SIMHASH_KEEP_TEXT"),
                in_redis + "it stores no texts",
            ),
        )
        for name, is_wrong, reason in rules:
            if is_wrong:
                raise self.error(name, reason)
        try:
            choose_plan(self.preset.scheme.bits, self.preset.max_distance)
        except PlanError as error:
            if self("SIMHASH_MAX_DISTANCE") is not None:
                raise self.error("SIMHASH_MAX_DISTANCE", str(error)) from error
            reason = (
                "has no tables, and crawls need tables: choose another preset, or a smaller "
                f"SIMHASH_MAX_DISTANCE ({error})"
            )
            raise self.error("SIMHASH_PRESET", reason) from error

    def index_location(self, what: Literal["page", "item"]) -> Location:
        """Return the Redis address of the index of pages or of items, or its directory in
        SIMHASH_DIR: ``spiders/<name>`` or ``spider-items/<name>``, or with SIMHASH_SHARED
        ``shared`` or ``shared-items``.
        """
        ending = "" if what == "page" else "-items"
        if self.redis is not None:
            return replace(self.redis, name=f"{self.redis.name}{ending}")
        directory = self.path("SIMHASH_DIR")
        if self._owner is None:
            return directory / f"shared{ending}"
        return directory / ("spiders" if what == "page" else "spider-items") / self._owner


def slices_in_use(settings: BaseSettings) -> list[Slice]:
    """Return the slices that settings turn on."""
    return [
        slice_
        for slice_ in slices()
        if slice_.switch
        and not is_off(settings.get(slice_.switch, all_settings()[slice_.switch].default))
    ]


def unknown_settings(settings: BaseSettings) -> dict[str, str]:
    """Return {unknown setting with the prefix SIMHASH_: the most similar setting, or ""}."""
    # Compared without the prefix, which makes any two names similar.
    known = {name.removeprefix(_PREFIX): name for name in all_settings()}
    given = sorted(name for name in map(str, settings) if name.startswith(_PREFIX))
    similar = {
        name: get_close_matches(name.removeprefix(_PREFIX), known, n=1)
        for name in given
        if name not in known.values() and settings[name] is not None
    }
    return {name: known[found[0]] if found else "" for name, found in similar.items()}


def require_known(settings: BaseSettings) -> None:
    """Raise SettingsError for the first unknown setting with the prefix SIMHASH_."""
    for name, similar in unknown_settings(settings).items():
        hint = f": did you mean {similar}?" if similar else ""
        raise SettingsError(name, settings[name], f"there is no such setting{hint}")


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


@contextmanager
def logged_settings_errors() -> Iterator[None]:
    """Log a SettingsError in the block as one message, and raise it.

    Scrapy raises it in a task or a Deferred that nobody awaits. Asyncio or Twisted would log it
    with a traceback, which would bury the message.
    """
    try:
        yield
    except SettingsError as error:
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_is_no_settings_error)
        logger.error("simhash: %s. Nothing was crawled", error)  # noqa: TRY400
        raise


def _is_no_settings_error(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], SettingsError))


def _file_name(spider_name: str) -> str:
    """Return a path component for a spider's name. Different names have different components."""
    quoted = quote(spider_name, safe=" ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted
