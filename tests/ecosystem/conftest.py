"""The site and the Redis server of the crawls, here, too."""

from tests.crawl.conftest import redis_server, site

__all__ = ["redis_server", "site"]
