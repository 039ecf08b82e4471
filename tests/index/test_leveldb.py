"""LevelDBStore: rows that fit each other, and files that are damaged."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress

import plyvel
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.errors import IndexClosed, IndexCorrupt, StorageError
from scrapy_simhash.index import TablePlan, records, reset_index
from scrapy_simhash.index.leveldb import translated_errors

from .backends import PLAN, LevelDBBackend, checked_entries, files, flip, rows

PAGES = 1000
CLASSIC = TablePlan(64, 4)


def fingerprints():
    rng = random.Random(5)
    return {f"page {number}": rng.getrandbits(64) for number in range(PAGES)}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """An index of PAGES pages, half of them in an .ldb file and half in LevelDB's log."""
    directory = tmp_path_factory.mktemp("pristine") / "index"
    pages = list(fingerprints().items())
    for half in (pages[: PAGES // 2], pages[PAGES // 2 :]):
        with LevelDBBackend(directory, CLASSIC).open() as index:
            for key, fingerprint in half:
                index.confirm(index.observe(key, fingerprint))
        if half[0] == pages[0]:
            database = plyvel.DB(str(directory / "leveldb"), compression=None)
            database.compact_range()
            database.close()
    return directory


@pytest.fixture
def copy(pristine, tmp_path):
    """A copy of it, to be damaged."""
    return shutil.copytree(pristine, tmp_path / "index")


def largest(directory, pattern):
    return max((directory / "leveldb").glob(pattern), key=lambda path: path.stat().st_size)


def assert_right_or_corrupt(directory):
    """Each answer is the right one or IndexCorrupt; returns how many were the latter."""
    corrupt = 0
    try:
        index = open_index(f"leveldb:{directory}")
    except IndexCorrupt:
        return PAGES
    with index:
        for key, fingerprint in fingerprints().items():
            try:
                assert [match.key for match in index.query(fingerprint ^ 1)] == [key]
                assert index.observe(key, fingerprint).kind == "unchanged"
            except IndexCorrupt:  # noqa: PERF203 - counted
                corrupt += 1
    return corrupt


def test_the_pristine_index_has_no_fault(copy):
    assert largest(copy, "*.ldb").stat().st_size > 30_000
    assert largest(copy, "*.log").stat().st_size > 30_000
    assert assert_right_or_corrupt(copy) == 0
    assert len(checked_entries(copy, CLASSIC)) == PAGES


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pages=st.lists(
        st.tuples(st.sampled_from("abcde"), st.integers(0, 0xFFFF), st.booleans()), max_size=30
    ),
    crawls=st.integers(1, 3),
)
def test_after_any_pages_entries_and_rows_fit_each_other(tmp_path_factory, pages, crawls):
    backend = LevelDBBackend(tmp_path_factory.mktemp("rows") / "index")
    for _ in range(crawls):
        with backend.open() as index:
            for key, fingerprint, confirmed in pages:
                observation = index.observe(key, fingerprint)
                if confirmed:
                    index.confirm(observation)
            size = len(index)
    assert len(checked_entries(backend.directory, PLAN)) == size


def test_a_changed_page_leaves_no_row_of_its_old_content(tmp_path):
    backend = LevelDBBackend(tmp_path / "index")
    with backend.open() as index:
        for fingerprint in (0x0000, 0xFFFF, 0x0F0F, 0xF0F0):
            index.confirm(index.observe("a", fingerprint))
        index.observe("a", 0x00FF)
    stored = rows(backend.directory)
    assert sorted(row[:1] for row in stored) == [b"E", b"K", b"S", b"T", b"T", b"T", b"T"]
    entries = checked_entries(backend.directory, PLAN)
    assert entries["a"].fingerprint == 0xF0F0


def test_pending_and_discarded_pages_write_nothing(tmp_path):
    backend = LevelDBBackend(tmp_path / "index")
    with backend.open() as index:
        index.observe("a", 0)
        index.discard(index.observe("b", 0xFFFF))
    assert rows(backend.directory) == {}


def test_an_entry_remembers_when_its_page_was_first_and_last_seen(tmp_path):
    backend = LevelDBBackend(tmp_path / "index")
    # Stored, unchanged, changed, unchanged.
    for time_s, fingerprint in ((1000, 0), (2000, flip(0, 1)), (3000, 0xFFFF), (4000, 0xFFFF)):
        with backend.open() as index:
            index._clock = lambda now=time_s: now + 0.9
            index.confirm(index.observe("a", fingerprint))
        entry = checked_entries(backend.directory, PLAN)["a"]
        assert entry.met == index.began
        assert (entry.first_seen_s, entry.last_seen_s) == (1000, time_s)


def compact(directory):
    """What LevelDB does on its own when it has been read or written for long."""
    with (
        suppress(IndexCorrupt, plyvel.Error),
        open_index(f"leveldb:{directory}") as index,
    ):
        index._shared.store._db.compact_range()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pattern", ["*.ldb", "MANIFEST-*", "CURRENT"])
def test_a_flipped_bit_is_found_or_changes_no_answer(copy, pattern, seed):
    path = largest(copy, pattern)
    data = bytearray(path.read_bytes())
    position = random.Random(seed).randrange(8 * len(data))
    data[position // 8] ^= 1 << position % 8
    path.write_bytes(data)
    found = assert_right_or_corrupt(copy)
    # Rewriting the files must not give damaged rows a checksum of their own.
    compact(copy)
    assert bool(assert_right_or_corrupt(copy)) >= bool(found)


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_table_file_that_is_cut_short_is_corrupt(copy, share):
    path = largest(copy, "*.ldb")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert assert_right_or_corrupt(copy) > 0
    assert path.exists()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_what_can_be_read_of_a_damaged_log_is_an_index_or_it_is_corrupt(copy, how, seed):
    path = largest(copy, "*.log")
    data = bytearray(path.read_bytes())
    position = random.Random(seed).randrange(len(data))
    if how == "flipped":
        data[position] ^= 0x10
    else:
        del data[position:]
    path.write_bytes(data)
    try:
        with open_index(f"leveldb:{copy}") as index:
            size = len(index)
    except IndexCorrupt:
        assert how == "flipped"
    else:
        entries = checked_entries(copy, CLASSIC)
        # Pages are lost from some point on, if at all, and not from the middle.
        assert PAGES // 2 <= size == len(entries)
        assert list(entries) == list(fingerprints())[:size]


@pytest.mark.parametrize("pattern", ["CURRENT", "MANIFEST-*", "*.ldb"])
def test_a_missing_file_is_corrupt_and_nothing_else_is_deleted(copy, pattern):
    largest(copy, pattern).unlink()
    before = files(copy)
    with pytest.raises(IndexCorrupt, match="nothing was deleted") as caught:
        open_index(f"leveldb:{copy}")
    assert str(copy) in str(caught.value)
    after = files(copy)
    kept = {name: data for name, data in before.items() if "LOG" not in name}
    assert {name: after.get(name) for name in kept} == kept
    assert reset_index(f"leveldb:{copy}")


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (records.STATE_KEY, b"short"),
        (records.STATE_KEY, None),
        (records.entry_row(1), b"short"),
        (records.entry_row(1), None),
        (records.entry_row(1), b"\0" * 26 + b"\xff"),
    ],
    ids=["state cut", "no state", "entry cut", "no entry", "entry not UTF-8"],
)
def test_rows_that_do_not_fit_are_corrupt(copy, row, value):
    database = plyvel.DB(str(copy / "leveldb"), compression=None)
    database.delete(row) if value is None else database.put(row, value)
    database.close()
    with (
        pytest.raises(IndexCorrupt, match="nothing was deleted"),
        open_index(f"leveldb:{copy}") as index,
    ):
        index.query(fingerprints()["page 0"])


def test_a_log_line_that_is_cut_short_is_corrupt(copy):
    database = plyvel.DB(str(copy / "leveldb"), compression=None)
    database.put(records.log_row(1), b"short")
    database.close()
    with open_index(f"leveldb:{copy}") as index, pytest.raises(IndexCorrupt, match="line 1"):
        list(index.near_duplicates())


def test_a_database_that_was_never_finished_is_made(tmp_path):
    url = f"leveldb:{tmp_path / 'index'}"
    open_index(url, Scheme(bits=64), max_distance=3).close()
    shutil.rmtree(tmp_path / "index" / "leveldb")
    (tmp_path / "index" / "leveldb").mkdir()
    (tmp_path / "index" / "leveldb" / "LOCK").touch()
    (tmp_path / "index" / "leveldb" / "MANIFEST-000001").write_bytes(b"")
    with open_index(url) as index:
        index.confirm(index.observe("a", 1))
        assert len(index) == 1


def test_the_near_duplicate_log_of_a_closed_index_says_so(tmp_path):
    with LevelDBBackend(tmp_path / "index").open() as index:
        index.observe("a", 0)
        lines = [index.observe(f"copy {n}", 0) for n in range(3)]
        log = index.near_duplicates()
        assert next(log).key == lines[0].key
    with pytest.raises(IndexClosed, match="close"):
        list(log)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (plyvel.CorruptionError(b"Corruption: bad block"), IndexCorrupt),
        (plyvel.IOError(b"IO error: /x/missing/000003.log: No space left on device"), StorageError),
        (plyvel.IOError(b"IO error: /x/CURRENT: Permission denied"), StorageError),
        (plyvel.Error(b"Invalid argument: other comparator"), IndexCorrupt),
    ],
)
def test_errors_of_leveldb_keep_what_it_said(error, expected):
    with pytest.raises(StorageError) as caught, translated_errors("/x"):
        raise error
    assert type(caught.value) is expected
    assert error.args[0].decode() in str(caught.value)
    assert caught.value.__cause__ is error
