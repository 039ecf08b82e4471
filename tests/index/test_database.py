"""The contract of `Database`, over every kind of database, and what is a kind's own."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import IndexCorrupt, StorageError
from scrapy_simhash.index import database as databases
from scrapy_simhash.index import database_kind

from .backends import PACKAGES

LOCATION = "/where/the/index/is"
ROWS = [(b"K\0", b"1"), (b"K\0\0", b"2"), (b"K\xff", b""), (b"L", b"4"), (b"\xff", b"5")]


def everything(database):
    return list(database.rows(b"", b"\xff" * 9))


def test_rows_stay_as_they_were_when_the_first_one_was_asked_for(kind, tmp_path):
    database = database_kind(kind)(LOCATION, tmp_path / "database")
    database.write(ROWS)
    rows = database.rows(b"K", b"M")
    assert next(rows) == ROWS[0]
    database.write([(b"K\x50", b"new"), (b"L", b"changed")], [b"K\xff"])
    assert list(rows) == ROWS[1:4]
    changed = [*ROWS[:2], (b"K\x50", b"new"), (b"L", b"changed")]
    assert list(database.rows(b"K", b"M")) == changed
    database.close()


KEYS = st.binary(min_size=1, max_size=3)
BATCHES = st.lists(
    st.tuples(
        st.dictionaries(KEYS, st.binary(max_size=9), max_size=5),
        st.sets(KEYS, max_size=5),
        st.booleans(),
        st.sampled_from(["go on", "go on", "compact", "reopen"]),
    ),
    max_size=8,
)


@settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batches=BATCHES, start=KEYS, stop=KEYS)
def test_it_holds_what_a_dictionary_would(kind, tmp_path_factory, batches, start, stop):
    path = tmp_path_factory.mktemp("database") / "database"
    database = database_kind(kind)(LOCATION, path)
    expected = {}
    for puts, deletes, sync, then in batches:
        deleted = deletes - puts.keys()
        database.write(list(puts.items()), list(deleted), sync=sync)
        expected = {key: value for key, value in expected.items() if key not in deleted} | puts
        if then == "compact":
            database._db.compact_range(*([] if kind == "leveldb" else [None, None]))
        elif then == "reopen":
            database.close()
            database = database_kind(kind)(LOCATION, path)
        assert everything(database) == sorted(expected.items())
        asked = [start, stop, *expected, *deleted]
        assert database.get_all(asked) == [expected.get(key) for key in asked]
        assert [database.get(key) for key in asked] == [expected.get(key) for key in asked]
    between = [row for row in sorted(expected.items()) if start <= row[0] < stop]
    assert list(database.rows(start, stop)) == between
    database.close()


def test_logs_are_synced_in_their_order(kind, tmp_path, monkeypatch):
    """Else a power loss in between could leave rows without those before them."""
    database = database_kind(kind)(LOCATION, tmp_path / "database")
    for number in (900_007, 900_001, 900_011, 900_004, 900_002):
        (tmp_path / "database" / f"{number}.log").touch()
    synced = []
    monkeypatch.setattr(databases, "sync_file", lambda path: synced.append(path.name))
    database.sync()
    assert synced[-5:] == [f"9000{number:02}.log" for number in (1, 2, 4, 7, 11)]
    assert len(synced) > 5
    assert synced == sorted(synced)
    database.close()


# What a driver raises, and what it says → our error.
ERRORS = {
    "leveldb": [
        ("CorruptionError", "Corruption: bad block", IndexCorrupt),
        ("IOError", "IO error: /x/missing/000003.log: No space left on device", StorageError),
        ("IOError", "IO error: /x/CURRENT: Permission denied", StorageError),
        ("IOError", "IO error: /x/000005.ldb: No such file or directory", IndexCorrupt),
        ("IOError", "IO error: /x/000005.ldb: Invalid argument", IndexCorrupt),
        ("Error", "Invalid argument: other comparator", IndexCorrupt),
    ],
    "rocksdb": [
        ("", "Corruption: block checksum mismatch", IndexCorrupt),
        ("", "Invalid argument: other comparator", IndexCorrupt),
        ("", "IO error: No such file or directory: /x/000009.sst", IndexCorrupt),
        ("", "IO error: No space left on device: While appending to file: /x/4.log", StorageError),
        ("", "IO error: /x/LOCK: Permission denied", StorageError),
        ("", "IO error: While appending to file: /x/LOCK: index/4.log: No space", StorageError),
    ],
}


def test_errors_of_a_driver_are_ours_and_keep_what_it_said(kind):
    driver = pytest.importorskip(PACKAGES[kind])
    for name, text, expected in ERRORS[kind]:
        raised = getattr(driver, name)(text.encode()) if name else Exception(text)
        ours = database_kind(kind).translated(LOCATION, raised)
        assert (type(ours), ours.location) == (expected, LOCATION)
        assert text in str(ours)


def made(tmp_path, kind):
    url = f"{kind}:{tmp_path / 'index'}"
    with open_index(url, Scheme(bits=64), max_distance=3) as index:
        index.confirm(index.observe("a", 1))
    return url, tmp_path / "index" / kind


def test_a_leveldb_that_was_never_finished_is_made(tmp_path):
    pytest.importorskip("plyvel")
    url, database = made(tmp_path, "leveldb")
    for file in database.iterdir():
        if file.is_file():
            file.unlink()
    (database / "LOCK").touch()
    (database / "MANIFEST-000001").write_bytes(b"")
    with open_index(url) as index:
        index.confirm(index.observe("b", 1))
        assert len(index) == 1


def test_a_write_behind_one_that_was_cut_short_is_not_lost(tmp_path):
    """LevelDB goes on behind the part of a record that a full disk left."""
    pytest.importorskip("plyvel")
    path = tmp_path / "database"
    database = database_kind("leveldb")(LOCATION, path)
    database.write([(b"a", b"1" * 100)])
    log = max(path.glob("*.log"))
    whole = log.stat().st_size
    database.write([(b"b", b"2" * 100)])
    os.truncate(log, whole + 50)
    database._write_failed = True  # as after an error of the disk
    database.write([(b"c", b"3" * 100)])
    database.close()
    database = database_kind("leveldb")(LOCATION, path)
    assert [key for key, _ in everything(database)] == [b"a", b"c"]
    database.close()


def test_what_a_rocksdb_can_do_without_may_be_missing_or_damaged(tmp_path):
    pytest.importorskip("rocksdict")
    url, database = made(tmp_path, "rocksdb")
    for content in (b"", b"{", None):
        for pattern in ("OPTIONS-*", "IDENTITY", "rocksdict-config.json", "LOG*"):
            for file in database.glob(pattern):
                file.unlink() if content is None else file.write_bytes(content)
        with open_index(url) as index:
            assert [match.key for match in index.query(1)] == ["a"]
