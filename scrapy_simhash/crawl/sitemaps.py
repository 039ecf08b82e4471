"""Read modification times from sitemaps: a function for `SitemapSpider.sitemap_filter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.crawl.extension import SimhashExtension

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Spider


def remember_lastmod(spider: Spider, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a sitemap. With SIMHASH_CONDITIONAL, remember each ``lastmod``."""
    extension = spider.crawler.get_extension(SimhashExtension)
    for entry in entries:
        if extension is not None and extension.conditional.enabled and "lastmod" in entry:
            extension.conditional.lastmod.remember(entry.get("loc"), entry["lastmod"])
        yield entry
