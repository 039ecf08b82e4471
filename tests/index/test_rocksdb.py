"""What is RocksDB's own: its errors, its iterators, its repair and the files it can do without."""

import pytest

rocksdict = pytest.importorskip("rocksdict")

from scrapy_simhash import Scheme, open_index  # noqa: E402 - needs the package
from scrapy_simhash.errors import (  # noqa: E402
    IndexCorrupt,
    StorageError,
)
from scrapy_simhash.index.rocksdb import RocksDB  # noqa: E402

LOCATION = "/where/the/index/is"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Corruption: block checksum mismatch", IndexCorrupt),
        ("Invalid argument: other comparator", IndexCorrupt),
        ("IO error: No such file or directory: /x/000009.sst", IndexCorrupt),
        ("IO error: No space left on device: While appending to file: /x/000004.log", StorageError),
        ("IO error: /x/CURRENT: Permission denied", StorageError),
        ("IO error: /x/LOCK: Permission denied", StorageError),
        ("IO error: While appending to file: /x/LOCK: index/000004.log: No space", StorageError),
    ],
)
def test_its_errors_are_ours_and_keep_what_it_said(text, expected):
    ours = RocksDB.translated(LOCATION, Exception(text))
    assert type(ours) is expected
    assert ours.location == LOCATION
    assert text in str(ours)


def test_what_it_can_do_without_may_be_missing_or_damaged(tmp_path):
    url = f"rocksdb:{tmp_path / 'index'}"
    with open_index(url, Scheme(bits=64), max_distance=3) as index:
        index.confirm(index.observe("a", 1))
    for content in (b"", b"{", None):
        for pattern in ("OPTIONS-*", "IDENTITY", "rocksdict-config.json", "LOG*"):
            for file in (tmp_path / "index" / "rocksdb").glob(pattern):
                file.unlink() if content is None else file.write_bytes(content)
        with open_index(url) as index:
            assert [match.key for match in index.query(1)] == ["a"]
