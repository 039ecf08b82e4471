"""Tell the plugin what a sitemap says: for `SitemapSpider.sitemap_filter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.crawl.extension import SimhashExtension

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Spider


def remember_lastmod(spider: Spider, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a sitemap, and remember when their pages were modified.

    Without SIMHASH_CONDITIONAL, only yield them.
    """
    extension = spider.crawler.get_extension(SimhashExtension)
    on = extension is not None and extension.conditional.on
    for entry in entries:
        if on and extension is not None and "lastmod" in entry:
            extension.conditional.lastmod.remember(entry.get("loc"), entry["lastmod"])
        yield entry
