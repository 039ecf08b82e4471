"""A spider like `site` for several processes: start URLs and requests come from Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_redis.spiders import RedisMixin

from example.spiders.site import SiteSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class SharedSiteSpider(RedisMixin, SiteSpider):
    """A `SiteSpider` whose start URLs are in the Redis list ``shared:start_urls``."""

    name = "shared"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SharedSiteSpider:
        """Return a spider that is connected to Redis."""
        spider: SharedSiteSpider = super().from_crawler(crawler, *args, **kwargs)
        spider.setup_redis(crawler)
        return spider

    start = SiteSpider.start
