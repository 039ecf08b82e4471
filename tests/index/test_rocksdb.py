"""What is RocksDB's own: its errors, its iterators, its repair and the files it can do without."""

from __future__ import annotations

import pytest

rocksdict = pytest.importorskip("rocksdict")

from scrapy_simhash import Scheme, open_index  # noqa: E402 - needs the package
from scrapy_simhash.errors import (  # noqa: E402
    IndexClosed,
    IndexCorrupt,
    IndexLocked,
    StorageError,
)
from scrapy_simhash.index.rocksdb import RocksDB  # noqa: E402

LOCATION = "/where/the/index/is"
ROWS = {b"%04d" % number: b"v" * 100 for number in range(400)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "database"


@pytest.fixture
def filled(path):
    """Its directory, with rows in a table file of ten blocks."""
    database = RocksDB(LOCATION, path)
    database.write(list(ROWS.items()))
    database.compact()
    database.close()
    return path


def damage(table, position):
    data = bytearray(table.read_bytes())
    data[position] ^= 1
    table.write_bytes(data)


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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Exception("IO error: lock hold by current process, … : /x/LOCK: No locks"), IndexLocked),
        (
            Exception("IO error: While lock file: /x/LOCK: Resource temporarily unavailable"),
            IndexLocked,
        ),
        (rocksdict.DbClosedError("DB instance already closed"), IndexClosed),
    ],
)
def test_other_uses_have_errors_of_their_own(error, expected):
    assert type(RocksDB.translated(LOCATION, error)) is expected


def test_an_error_that_is_not_its_own_is_raised_as_it_is():
    error = TypeError("something else")
    with pytest.raises(TypeError) as caught:
        RocksDB.translated(LOCATION, error)
    assert caught.value is error


def test_its_iterators_say_nothing_by_themselves_of_rows_that_cannot_be_read(filled):
    """So the adapter asks them."""
    (table,) = filled.glob("*.sst")
    damage(table, 20_000)
    database = RocksDB(LOCATION, filled)
    iterator = database._db.iter(rocksdict.ReadOptions())
    iterator.seek(b"")
    rows = 0
    while iterator.valid():
        rows += 1
        iterator.next()
    assert 0 < rows < len(ROWS)
    del iterator
    with pytest.raises(IndexCorrupt, match="checksum"):
        list(database.rows(b"", b"\xff"))
    found = []
    for key, value in ROWS.items():
        try:
            assert database.get(key) == value
            assert database.get_all([key]) == [value]
            found.append(key)
        except IndexCorrupt:  # noqa: PERF203 - counted
            continue
    # All but a block.
    assert len(ROWS) - 50 < len(found) < len(ROWS)
    with pytest.raises(IndexCorrupt, match="checksum"):
        database.get_all(list(ROWS))
    database.close()


@pytest.mark.parametrize("position", [10, 20_000, 39_000, -10])
def test_salvage_drops_a_damaged_table_file_and_keeps_the_rows_of_others(filled, position):
    """It is set aside whole, unlike LevelDB's."""
    (table,) = filled.glob("*.sst")
    database = RocksDB(LOCATION, filled)
    later = {b"later %d" % number: b"v" for number in range(50)}
    database.write(list(later.items()))
    database.close()
    damage(table, position)
    data = table.read_bytes()
    RocksDB.salvage(LOCATION, filled)
    database = RocksDB(LOCATION, filled)
    assert dict(database.rows(b"", b"\xff")) == later
    database.close()
    assert (filled / "lost" / table.name).read_bytes() == data


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
