"""What all tests share: how hard hypothesis tries, and where caches go."""

import os
import time
from importlib.util import find_spec

import pytest
from hypothesis import settings

# Fixed examples by default, so that a run says something about the code alone.
for name, max_examples in (("quick", 20), ("ci", 100)):
    settings.register_profile(
        name,
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
    )
settings.register_profile("thorough", max_examples=3000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Tests that `make test` runs over both databases. Behind their port nothing depends on which it is:
# in other tests the one that is not the default belongs to the thorough ring.
BOTH_DATABASES = {"test_contract.py", "test_damage.py", "test_database.py"}
DEFAULT_DATABASE, OTHER_DATABASE = (
    ("leveldb", "rocksdb") if find_spec("plyvel") else ("rocksdb", "leveldb")
)
# A cluster takes several round trips where a server takes one.
ON_A_CLUSTER = {"test_redis_content.py"}
_STARTED_S = time.monotonic()


def pytest_addoption(parser):
    parser.addoption(
        "--begin-within",
        type=float,
        metavar="SECONDS",
        help="skip tests that cannot begin so soon (CI has a share of the thorough ring)",
    )


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        identity = item.callspec.id if hasattr(item, "callspec") else ""
        if "redis-cluster" in identity and item.path.name not in ON_A_CLUSTER:
            item.add_marker(pytest.mark.thorough)
        if item.path.name in BOTH_DATABASES:
            continue
        parameters = identity.split("-")
        if OTHER_DATABASE in parameters and DEFAULT_DATABASE not in parameters:
            item.add_marker(pytest.mark.thorough)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    limit_s = item.config.getoption("--begin-within")
    if limit_s is not None and time.monotonic() - _STARTED_S > limit_s:
        pytest.skip(f"not begun within {limit_s:.0f} s: `make test-thorough` runs it")


def pytest_make_parametrize_id(val, argname):
    """Bytes that can't be read are named by their place: packed ones may hold the time, and each
    worker of a parallel run must collect the same names.
    """
    if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()):
        return argname
    return None


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    """Return a Redis server of the tests' own."""
    from tests.index.redis_servers import running

    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory):
    """A cache directory of this session's own, where jieba's dictionary is kept; for child
    processes, too.
    """
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(directory))
        yield directory
