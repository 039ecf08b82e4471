"""The contract of `Database`, over every kind of database."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.index import database as databases
from scrapy_simhash.index.offline import database_kind

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
