"""The site and the Redis server of the crawls, here, too."""

from tests.crawl.conftest import module_path, redis_server, site

__all__ = ["module_path", "redis_server", "site"]
