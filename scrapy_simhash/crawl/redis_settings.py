"""Read and validate the SIMHASH_REDIS* settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy_simhash.crawl.retries import MAX_WAITS
from scrapy_simhash.errors import SchemeError, SettingsError
from scrapy_simhash.index.redis import DEFAULT_LEASE_S, RedisAddress, open_redis_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.settings_reader import SettingsReader
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.scheme import Scheme

REDIS_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_REDIS_URL": None,
        "SIMHASH_REDIS_KEY": "%(spider)s:simhash",
        "SIMHASH_REDIS_CLUSTER": False,
        "SIMHASH_REDIS_LEASE_S": int(DEFAULT_LEASE_S),
        "SIMHASH_REDIS_CRAWL": None,
    }
)
# Of scrapy-redis, and not for the client.
_NOT_FOR_CLIENTS = ("redis_cls", "url", "decode_responses", "encoding")
# An idle Scrapy asks so often whether to close the spider.
_IDLE_S = 5


@dataclass(frozen=True, kw_only=True)
class RedisSettings:
    """The validated SIMHASH_REDIS* settings.

    :param name: of the index of pages.
    :param crawl: name that the processes of one crawl share; None for a crawl of one process.
    :param parameters: of redis-py's client.
    """

    url: str = field(repr=False)
    name: str
    cluster: bool
    lease_s: int
    crawl: str | None
    parameters: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(
        cls, read: SettingsReader, settings: BaseSettings, spider_name: str
    ) -> RedisSettings | None:
        """Return the settings; None if SIMHASH_INDEX is not "redis".

        :raises SettingsError: a setting is invalid.
        """
        if settings.get("SIMHASH_INDEX") != "redis":
            return None
        url = settings.get("SIMHASH_REDIS_URL") or settings.get("REDIS_URL") or _url(settings)
        if not url:
            raise SettingsError(
                "SIMHASH_REDIS_URL",
                None,
                "must be the URL of a server, such as redis://user:password@host:6379/0",
            )
        for name, why in (
            (
                "SIMHASH_RESET",
                "other crawlers may use it: `scrapy simhash remove --all` deletes it",
            ),
            ("SIMHASH_KEEP_TEXT", "an index in Redis stores no texts"),
        ):
            if read.boolean(name):
                raise SettingsError(
                    name, settings.get(name), f"cannot be used with SIMHASH_INDEX = 'redis': {why}"
                )
        who = "shared" if read.boolean("SIMHASH_SHARED") else spider_name
        crawl = settings.get("SIMHASH_REDIS_CRAWL")
        if crawl is not None and not (isinstance(crawl, str) and crawl):
            raise SettingsError("SIMHASH_REDIS_CRAWL", crawl, "must be a name that is not empty")
        made = cls(
            url=str(url),
            name=_named(settings, who),
            cluster=read.boolean("SIMHASH_REDIS_CLUSTER"),
            lease_s=read.whole("SIMHASH_REDIS_LEASE_S", 1, 86_400),
            crawl=crawl,
            parameters=MappingProxyType(
                {
                    name: value
                    for name, value in settings.getdict("REDIS_PARAMS").items()
                    if name not in _NOT_FOR_CLIENTS
                }
            ),
        )
        try:
            made.address("page")
        except SchemeError as error:
            raise SettingsError("SIMHASH_REDIS_URL", "…", str(error)) from error
        return made

    @property
    def max_waits(self) -> int:
        """How often an idle crawl waits for pages of others, which may have died."""
        return max(MAX_WAITS, 3 * self.lease_s // _IDLE_S)

    def address(self, what: str) -> RedisAddress:
        """Return the place of the index of pages ("page") or of items ("item")."""
        name = self.name if what == "page" else f"{self.name}-items"
        return RedisAddress(self.url, name, self.cluster, self.parameters)

    def open(self, what: str, scheme: Scheme, **options: Any) -> RedisIndex:
        """Open an index. For the options and what it raises, see `open_redis_index`."""
        return open_redis_index(
            self.url,
            self.address(what).name,
            scheme,
            crawl=self.crawl,
            lease_s=self.lease_s,
            cluster=self.cluster,
            parameters=self.parameters,
            **options,
        )


def _url(settings: BaseSettings) -> str | None:
    """Return the server that scrapy-redis's settings name by host and port."""
    host = settings.get("REDIS_HOST")
    if not host:
        return None
    return f"redis://{host}:{settings.getint('REDIS_PORT', 6379)}/{settings.getint('REDIS_DB', 0)}"


def _named(settings: BaseSettings, who: str) -> str:
    setting = "SIMHASH_REDIS_KEY"
    value = settings.get(setting, REDIS_SETTINGS[setting])
    try:
        name = value % {"spider": who} if isinstance(value, str) else ""
    except (TypeError, ValueError, KeyError):
        name = ""
    if not name or "{" in name or "}" in name:
        raise SettingsError(
            setting,
            value,
            "must be a name without braces; %(spider)s in it stands for the spider's",
        )
    return name
