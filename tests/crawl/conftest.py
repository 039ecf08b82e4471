"""The site that the crawls of a module visit."""

import pytest

from tests.crawl.site import serving
from tests.index.redis_servers import needs_redis


@pytest.fixture(scope="module")
def site():
    """Return a site for the tests of one module."""
    with serving() as site:
        yield site


@pytest.fixture(
    scope="module",
    params=["embedded", pytest.param("redis", marks=[pytest.mark.thorough, needs_redis])],
)
def every_index(request):
    """Run the crawls of a module with an embedded index, and with one in Redis."""
    with pytest.MonkeyPatch.context() as changed:
        if request.param == "redis":
            changed.setenv("CRAWL_WITH_REDIS", request.getfixturevalue("redis_server").url)
        yield


@pytest.fixture(scope="module")
def module_path(tmp_path_factory):
    """Return a directory for the fixtures of a module."""
    return tmp_path_factory.mktemp("crawl")
