"""Read and validate the SIMHASH_REDIS* settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError, SettingsError
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.setting import Setting, whole

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.settings_reader import SettingsReader


@dataclass(frozen=True, kw_only=True)
class RedisSettings:
    """The validated SIMHASH_REDIS* settings.

    :param pages: address of the index of pages; see `address` for that of items.
    :param crawl: name that the processes of one crawl share; None for a crawl of one process.
    """

    pages: RedisAddress
    lease_s: int
    crawl: str | None

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
        for name, reason in (
            (
                "SIMHASH_RESET",
                "others may use the index: `scrapy simhash index remove --all` deletes it",
            ),
            ("SIMHASH_KEEP_TEXT", "an index in Redis stores no texts"),
        ):
            if read(name):
                raise SettingsError(
                    name,
                    settings.get(name),
                    f"cannot be used with SIMHASH_INDEX = 'redis': {reason}",
                )
        owner = "shared" if read("SIMHASH_SHARED") else spider_name
        crawl = settings.get("SIMHASH_REDIS_CRAWL")
        if crawl is not None and not (isinstance(crawl, str) and crawl):
            raise SettingsError("SIMHASH_REDIS_CRAWL", crawl, "must be a name that is not empty")
        parameters = dict(settings.getdict("REDIS_PARAMS"))
        # Only scrapy-redis uses these, or `scrapy_simhash.index.redis` sets them itself.
        for name in ("redis_cls", "url", "decode_responses", "encoding"):
            parameters.pop(name, None)
        cluster, name = read("SIMHASH_REDIS_CLUSTER"), _index_name(read, owner)
        try:
            pages = RedisAddress(str(url), name, cluster, parameters)
        except SchemeError as error:  # without the URL, which may hold a password
            raise SettingsError("SIMHASH_REDIS_URL", "…", str(error)) from error
        return cls(pages=pages, lease_s=read("SIMHASH_REDIS_LEASE_S"), crawl=crawl)

    def address(self, what: str) -> RedisAddress:
        """Return the address of the index of pages ("page") or of items ("item")."""
        pages = self.pages
        return pages if what == "page" else replace(pages, name=f"{pages.name}-items")


def _url(settings: BaseSettings) -> str | None:
    """Return the URL from scrapy-redis's REDIS_HOST, REDIS_PORT and REDIS_DB; None without host."""
    host = settings.get("REDIS_HOST")
    if not host:
        return None
    port, database = (
        Setting(name, kind, default, "").parse(settings.get(name))
        for name, kind, default in (
            ("REDIS_PORT", whole(1, 65_535), 6379),
            ("REDIS_DB", whole(0, 1_000_000), 0),
        )
    )
    if ":" in host and not host.startswith("["):  # an IPv6 address
        host = f"[{host}]"
    return f"redis://{host}:{port}/{database}"


def _index_name(read: SettingsReader, owner: str) -> str:
    setting = "SIMHASH_REDIS_KEY"
    value = read.value(setting)
    try:
        name = value % {"spider": owner} if isinstance(value, str) else ""
    except (TypeError, ValueError, KeyError):
        name = ""
    if not name or "{" in name or "}" in name:
        raise SettingsError(
            setting,
            value,
            "must be a name without braces; %(spider)s stands for the name of the spider",
        )
    return name
