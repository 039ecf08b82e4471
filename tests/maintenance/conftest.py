"""An index to damage, and the fixtures of tests/index, over every kind of database."""

import shutil

import pytest

from tests.index.backends import K, make_backend
from tests.index.backends import small_tables as small
from tests.index.conftest import backend, kind

__all__ = ["backend", "kind"]
# Pages that share their first four bits, and are more than K bits from each other.
ALIKE = [0x0000]
for candidate in range(1 << 12):
    if all((candidate ^ other).bit_count() > K for other in ALIKE):
        ALIKE.append(candidate)


def fill(backend):
    """Buckets with several rows each, and a near-duplicate log. Returns the index, still open."""
    with backend.open() as index:
        for number, fingerprint in enumerate(ALIKE[:9]):
            index.confirm(index.observe(f"page {number}", fingerprint))
        index.observe("copy", ALIKE[3] ^ 1)
        index.observe("another copy", ALIKE[4] ^ 2)
        index.confirm(index.observe("page 2", 0xF00F))
    index = backend.open(incremental=True)
    index.confirm(index.observe("page 9", ALIKE[10]))
    index.confirm(index.observe("page 1", ALIKE[1]))
    return index


@pytest.fixture(scope="module")
def all_sound(tmp_path_factory):
    return {}


@pytest.fixture
def sound(all_sound, kind, tmp_path_factory, tmp_path):
    """A copy of an index of ten pages, with two lines in its log, to be damaged."""
    if kind not in all_sound:
        backend = make_backend(kind, tmp_path_factory.mktemp("sound") / "index")
        with small():
            fill(backend).close()
        all_sound[kind] = backend.directory
    return shutil.copytree(all_sound[kind], tmp_path / "index")
