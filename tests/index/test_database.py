"""The contract of `Database`, over every kind of database."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import (
    IndexClosed,
    IndexCorrupt,
    IndexForeign,
    IndexLocked,
    StorageError,
)
from scrapy_simhash.index.kinds import database_kind

from .backends import files

LOCATION = "/where/the/index/is"
ROWS = [(b"K\0", b"1"), (b"K\0\0", b"2"), (b"K\xff", b""), (b"L", b"4"), (b"\xff", b"5")]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "database"


@pytest.fixture
def open_database(kind, path):
    """A way to open the one database; all are closed at the end."""
    opened = []

    def open_it():
        opened.append(database_kind(kind)(LOCATION, path))
        return opened[-1]

    def close_all():
        for database in opened:
            database.close()

    open_it.close_all = close_all
    yield open_it
    close_all()


@pytest.fixture
def database(open_database):
    return open_database()


@pytest.fixture
def filled(database):
    database.write(ROWS)
    return database


def everything(database):
    return list(database.rows(b"", b"\xff" * 9))


def test_a_kind_has_its_name(kind):
    assert database_kind(kind).name == kind


def test_a_new_database_is_empty_and_for_its_owner_alone(database, path):
    assert everything(database) == []
    assert database.get(b"a") is None
    assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (b"", b"\xff\xff", slice(0, 5)),
        (b"K\0", b"K\0", slice(0)),
        (b"K\0", b"K\0\0", slice(0, 1)),
        (b"K\0\0", b"K\xff", slice(1, 2)),
        (b"K", b"L", slice(0, 3)),
        (b"K\1", b"M", slice(2, 4)),
        (b"L\0", b"\xff", slice(0)),
        (b"M", b"L", slice(0)),
        (b"\xff", b"\xff\0", slice(4, 5)),
    ],
)
def test_rows_are_those_from_the_start_to_before_the_stop(filled, start, stop, expected):
    assert list(filled.rows(start, stop)) == ROWS[expected]


def test_rows_stay_as_they_were_when_the_first_one_was_asked_for(filled):
    rows = filled.rows(b"K", b"M")
    assert next(rows) == ROWS[0]
    filled.write([(b"K\x50", b"new"), (b"L", b"changed")], [b"K\xff"])
    assert list(rows) == ROWS[1:4]
    assert list(filled.rows(b"K", b"M")) == [
        *ROWS[:2],
        (b"K\x50", b"new"),
        (b"L", b"changed"),
    ]


def test_rows_that_nobody_asks_for_are_not_read_before(filled):
    rows = filled.rows(b"K", b"M")
    filled.write([(b"K", b"first")])
    assert next(rows) == (b"K", b"first")


def test_values_are_given_by_key_and_in_the_order_of_the_keys(filled):
    assert [filled.get(key) for key, _ in ROWS] == [value for _, value in ROWS]
    assert filled.get(b"K\xff") == b""
    assert filled.get(b"K") is None
    keys = [b"L", b"K", b"K\0", b"L", b"K\xff"]
    assert filled.get_all(keys) == [b"4", None, b"1", b"4", b""]
    assert filled.get_all([]) == []


def test_values_may_be_long(database, open_database):
    long = bytes(range(256)) * 20_000
    database.write([(b"a", long), (b"b" * 5000, b"key")])
    database.close()
    again = open_database()
    assert again.get(b"a") == long
    assert again.get_all([b"b" * 5000]) == [b"key"]


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
            database.compact()
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


USES = {
    "get": lambda database: database.get(b"K\0"),
    "get_all": lambda database: database.get_all([b"K\0", b"L"]),
    "rows": lambda database: next(database.rows(b"", b"\xff")),
    "put": lambda database: database.write([(b"a", b"b")]),
    "put more": lambda database: database.write([(b"a", b"b"), (b"c", b"d")], sync=True),
    "delete": lambda database: database.write([], [b"K\0"]),
    "compact": lambda database: database.compact(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_database_says_so_and_closing_twice_is_harmless(filled, open_database, use):
    filled.close()
    filled.close()
    for _ in range(2):
        with pytest.raises(IndexClosed, match="close") as caught:
            USES[use](filled)
        assert caught.value.location == LOCATION
    filled.close()
    again = open_database()
    assert everything(again) == ROWS


def test_rows_of_a_database_that_was_closed_meanwhile_say_so_and_do_not_hold_it(
    filled, open_database
):
    rows = filled.rows(b"", b"\xff\xff")
    assert next(rows) == ROWS[0]
    filled.close()
    again = open_database()
    with pytest.raises(IndexClosed, match="close"):
        next(rows)
    assert everything(again) == ROWS


@contextmanager
def another_process(kind, path):
    """Another process has the database open."""
    program = (
        "import sys; from pathlib import Path; "
        "from scrapy_simhash.index.kinds import database_kind; "
        f"database = database_kind({kind!r})('', Path({str(path)!r})); "
        "database.write([(b'theirs', b'value')]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"open\n"
        yield
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("use", ["open", "destroy", "salvage"])
def test_a_database_that_another_process_has_is_locked_and_left_to_it(kind, path, use):
    this_kind = database_kind(kind)
    call = {"open": this_kind, "destroy": this_kind.destroy, "salvage": this_kind.salvage}[use]
    with another_process(kind, path):
        with pytest.raises(IndexLocked, match="SIMHASH_DIR") as caught:
            call(LOCATION, path)
        assert caught.value.location == LOCATION
    database = this_kind(LOCATION, path)
    assert everything(database) == [(b"theirs", b"value")]
    database.close()


def test_so_is_one_that_this_process_has(kind, path, filled):
    for use in (database_kind(kind), database_kind(kind).destroy):
        with pytest.raises(IndexLocked, match="SIMHASH_DIR"):
            use(LOCATION, path)
    assert everything(filled) == ROWS


def test_destroy_deletes_all_of_it(kind, path, filled):
    filled.compact()
    filled.write([(b"a", b"b")], sync=True)
    filled.close()
    database_kind(kind).destroy(LOCATION, path)
    assert not path.exists()


def test_to_destroy_what_is_not_there_makes_nothing(kind, path):
    database_kind(kind).destroy(LOCATION, path)
    assert not path.exists()


def test_destroy_deletes_no_file_that_is_not_its_own(kind, path, filled):
    filled.close()
    strangers = {"notes.txt": b"mine", "photos": None, "photos/000001.log": b"theirs"}
    (path / "notes.txt").write_bytes(b"mine")
    (path / "photos").mkdir()
    (path / "photos" / "000001.log").write_bytes(b"theirs")
    if kind == "rocksdb":
        # Its own destruction takes all files of the directory.
        before = files(path)
        with pytest.raises(IndexForeign, match=r"notes\.txt, photos.*nothing was deleted"):
            database_kind(kind).destroy(LOCATION, path)
        assert files(path) == before
    else:
        database_kind(kind).destroy(LOCATION, path)
        assert files(path) == strangers


def rows_by_flush(database, open_database):
    """Rows in one file of the database, then some more in another; closed."""
    first = [(b"a%03d" % number, bytes(100)) for number in range(200)]
    second = [(b"b%03d" % number, bytes(100)) for number in range(200)]
    database.write(first)
    database.compact()
    database.close()
    again = open_database()
    again.write(second)
    again.compact()
    again.close()
    return first, second


def test_salvage_keeps_every_row_where_no_file_is_lost(kind, path, database, open_database):
    first, second = rows_by_flush(database, open_database)
    database_kind(kind).salvage(LOCATION, path)
    assert everything(open_database()) == [*first, *second]


@pytest.mark.parametrize("pattern", ["CURRENT", "MANIFEST-*"])
def test_salvage_makes_anew_what_names_the_files(kind, path, database, open_database, pattern):
    first, second = rows_by_flush(database, open_database)
    for lost in path.glob(pattern):
        lost.unlink()
    with pytest.raises(IndexCorrupt, match="repair") as caught:
        everything(open_database())
    assert caught.value.location == LOCATION
    database_kind(kind).salvage(LOCATION, path)
    assert everything(open_database()) == [*first, *second]


def test_salvage_drops_what_cannot_be_read(kind, path, database, open_database):
    first, second = rows_by_flush(database, open_database)
    tables = sorted([*path.glob("*.ldb"), *path.glob("*.sst")])
    assert tables
    content = bytearray(tables[0].read_bytes())
    # The middle of a block: its checksum is wrong from now on.
    content[len(content) // 3] ^= 0x10
    tables[0].write_bytes(content)
    damaged = open_database()
    with pytest.raises(IndexCorrupt, match="nothing was deleted"):
        everything(damaged)
    damaged.close()
    database_kind(kind).salvage(LOCATION, path)
    kept = everything(open_database())
    assert len(kept) < len(first) + len(second)
    assert set(kept) < {*first, *second}


def test_destroy_deletes_what_salvage_set_aside(kind, path, database, open_database):
    rows_by_flush(database, open_database)
    for table in [*path.glob("*.ldb"), *path.glob("*.sst")]:
        table.write_bytes(bytes(100))
    database_kind(kind).salvage(LOCATION, path)
    assert list((path / "lost").iterdir())
    assert everything(open_database()) == []
    open_database.close_all()
    database_kind(kind).destroy(LOCATION, path)
    assert not path.exists()


def test_bits_that_changed_on_the_disk_are_found_by_each_way_to_read(
    kind, path, database, open_database
):
    first, _ = rows_by_flush(database, open_database)
    for table in [*path.glob("*.ldb"), *path.glob("*.sst")]:
        content = bytearray(table.read_bytes())
        for position in range(50, len(content) // 2, 100):
            content[position] ^= 1
        table.write_bytes(content)
    key = first[0][0]
    for read in (
        lambda database: database.get(key),
        lambda database: database.get_all([b"missing", key]),
        lambda database: next(database.rows(key, b"b")),
    ):
        try:
            damaged = open_database()
        except IndexCorrupt:
            continue
        with pytest.raises(IndexCorrupt):
            read(damaged)
        damaged.close()


class Recording:
    """A database of the package, whose calls are noted, and fail while they are to."""

    def __init__(self, database, error):
        self._database = database
        self._error = error
        self.fails = False
        self.syncs = []

    def __getattr__(self, name):
        return getattr(self._database, name)

    def _note(self, sync):
        if self.fails:
            raise self._error
        self.syncs.append(sync)

    def put(self, key, value, *, sync=None, write_opt=None):
        self._note(write_opt.sync if sync is None else sync)
        options = {"sync": sync} if write_opt is None else {"write_opt": write_opt}
        self._database.put(key, value, **options)

    def write(self, batch, options):  # RocksDB
        self._note(options.sync)
        self._database.write(batch, options)

    def write_batch(self, *, transaction, sync):  # LevelDB
        assert transaction
        self._note(sync)
        return self._database.write_batch(transaction=True, sync=sync)


@pytest.fixture
def recorded(kind, filled):
    """The database, and what it asks of the package below it."""
    if kind == "leveldb":
        import plyvel

        error = plyvel.IOError(b"IO error: /x/000003.log: No space left on device")
    else:
        error = Exception("IO error: No space left on device: While appending to file: /x/000003")
    filled._db = Recording(filled._db, error)
    return filled, filled._db


@pytest.mark.parametrize(
    ("puts", "deletes"),
    [
        ([(b"a", b"1")], []),
        ([(b"a", b"1"), (b"b", b"2")], []),
        ([(b"a", b"1")], [b"L"]),
        ([], [b"L"]),
    ],
)
@pytest.mark.parametrize("sync", [True, False])
def test_a_write_is_synced_where_that_is_asked_for_and_not_else(recorded, puts, deletes, sync):
    database, below = recorded
    database.write(puts, deletes, sync=sync)
    assert below.syncs == [sync]
    database.write(puts, deletes)
    assert below.syncs == [sync, False]


@pytest.mark.parametrize("puts", [[(b"a", b"1")], [(b"a", b"1"), (b"b", b"1")]])
def test_a_write_that_fails_writes_nothing_and_the_next_one_opens_the_database_anew(
    recorded, open_database, puts
):
    database, below = recorded
    below.fails = True
    with pytest.raises(
        StorageError, match=r"No space left on device.*check the path, disk space"
    ) as caught:
        database.write(puts)
    assert type(caught.value) is StorageError
    assert caught.value.location == LOCATION
    assert everything(database) == ROWS
    # Rows that somebody reads meanwhile don't stand in the way.
    rows = database.rows(b"", b"\xff\xff")
    assert next(rows) == ROWS[0]
    database.write([(b"b", b"2"), (b"c", b"3")])
    assert database._db is not below
    written = sorted([*ROWS, (b"b", b"2"), (b"c", b"3")])
    assert everything(database) == written
    database.write([(b"d", b"4")])
    database.close()
    assert everything(open_database()) == sorted([*written, (b"d", b"4")])


def test_a_database_that_could_not_be_opened_anew_is_opened_later(recorded, monkeypatch):
    database, below = recorded
    below.fails = True
    with pytest.raises(StorageError):
        database.write([(b"a", b"1")])
    with monkeypatch.context() as patch:

        def no_space():
            raise StorageError(LOCATION, "no space")

        patch.setattr(database, "_open", no_space)
        for use in (
            lambda: database.write([(b"a", b"1")]),
            lambda: database.write([(b"a", b"1")]),
            lambda: database.get(b"L"),
        ):
            with pytest.raises(StorageError, match="no space"):
                use()
    assert database.get(b"L") == b"4"
    database.write([(b"a", b"1")])
    assert everything(database) == sorted([*ROWS, (b"a", b"1")])


def test_a_database_that_could_not_be_opened_anew_can_be_closed(recorded, monkeypatch):
    database, below = recorded
    below.fails = True
    with pytest.raises(StorageError):
        database.write([(b"a", b"1")])

    def no_space():
        raise StorageError(LOCATION, "no space")

    monkeypatch.setattr(database, "_open", no_space)
    with pytest.raises(StorageError, match="no space"):
        database.write([(b"a", b"1")])
    database.close()
    database.close()
    with pytest.raises(IndexClosed):
        database.get(b"L")


def test_errors_that_are_no_storage_s_are_raised_as_they_are(filled):
    for use in (
        lambda: filled.get("text"),
        lambda: filled.get_all(["text"]),
        lambda: filled.write([("text", b"")]),
        lambda: filled.write([(b"a", b"1"), (b"b", None)]),
    ):
        with pytest.raises((TypeError, AttributeError, ValueError, KeyError)):
            use()
    filled.write([(b"a", b"1")])
    assert everything(filled) == sorted([*ROWS, (b"a", b"1")])


def test_a_file_in_the_place_of_the_database_is_no_database(kind, path):
    path.write_text("mine")
    with pytest.raises(StorageError):
        database_kind(kind)(LOCATION, path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("parent", ["file", "missing"])
def test_a_directory_that_cannot_be_created_is_an_error_of_the_storage(kind, tmp_path, parent):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="check the path, disk space and rights") as caught:
        database_kind(kind)(LOCATION, tmp_path / parent / "database")
    assert type(caught.value) is StorageError
    assert caught.value.location == LOCATION


def test_a_database_without_its_current_file_is_damaged_and_left_as_it_is(
    kind, path, database, open_database
):
    rows_by_flush(database, open_database)
    (path / "CURRENT").unlink()
    before = files(path)
    with pytest.raises(IndexCorrupt, match="CURRENT is missing"):
        database_kind(kind)(LOCATION, path)
    assert files(path) == before
