"""What is LevelDB's own: its errors, its repair, and what it leaves when it dies early."""

import os

import pytest

plyvel = pytest.importorskip("plyvel")

from scrapy_simhash import Scheme, open_index  # noqa: E402 - needs the package
from scrapy_simhash.errors import (  # noqa: E402
    IndexCorrupt,
    StorageError,
)
from scrapy_simhash.index.leveldb import LevelDB  # noqa: E402

LOCATION = "/where/the/index/is"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (plyvel.CorruptionError(b"Corruption: bad block"), IndexCorrupt),
        (plyvel.IOError(b"IO error: /x/missing/000003.log: No space left on device"), StorageError),
        (plyvel.IOError(b"IO error: /x/CURRENT: Permission denied"), StorageError),
        (plyvel.IOError(b"IO error: /x/000005.ldb: No such file or directory"), IndexCorrupt),
        (plyvel.IOError(b"IO error: /x/000005.ldb: Invalid argument"), IndexCorrupt),
        (plyvel.Error(b"Invalid argument: other comparator"), IndexCorrupt),
    ],
)
def test_its_errors_are_ours_and_keep_what_it_said(error, expected):
    ours = LevelDB.translated(LOCATION, error)
    assert type(ours) is expected
    assert ours.location == LOCATION
    assert error.args[0].decode() in str(ours)


def test_a_database_that_was_never_finished_is_made(tmp_path):
    url = f"leveldb:{tmp_path / 'index'}"
    open_index(url, Scheme(bits=64), max_distance=3).close()
    database = tmp_path / "index" / "leveldb"
    for file in database.iterdir():
        file.unlink()
    (database / "LOCK").touch()
    (database / "MANIFEST-000001").write_bytes(b"")
    with open_index(url) as index:
        index.confirm(index.observe("a", 1))
        assert len(index) == 1


def test_a_write_behind_one_that_was_cut_short_is_not_lost(tmp_path):
    """LevelDB goes on behind the part of a record that a full disk left."""
    path = tmp_path / "database"
    database = LevelDB(LOCATION, path)
    database.write([(b"a", b"1" * 100)])
    log = max(path.glob("*.log"))
    whole = log.stat().st_size
    database.write([(b"b", b"2" * 100)])
    os.truncate(log, whole + 50)
    # As after an error of the disk.
    database._write_failed = True
    database.write([(b"c", b"3" * 100)])
    database.close()
    database = LevelDB(LOCATION, path)
    assert [key for key, _ in database.rows(b"", b"\xff")] == [b"a", b"c"]
    database.close()
