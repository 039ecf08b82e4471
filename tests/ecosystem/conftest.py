"""The site and the Redis server of the crawls, here, too."""

from tests.crawl.conftest import module_path, site

__all__ = ["module_path", "site"]
