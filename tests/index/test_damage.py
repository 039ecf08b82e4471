"""Files that are damaged, or cannot be written: an error that says what to do, and no wrong answer."""

import random
import shutil
from contextlib import closing, suppress

import pytest

from scrapy_simhash.errors import IndexCorrupt, StorageError
from scrapy_simhash.index import TablePlan, database_kind, open_index
from scrapy_simhash.maintenance.check import check, repair

from .backends import DATABASE_KINDS, checked_entries, files, make_backend
from .child import PLAN
from .processes import children
from .raw import crashed, largest

PAGES = 300
CLASSIC = TablePlan(64, 4)
TABLES = {"leveldb": "*.ldb", "rocksdb": "*.sst"}


def seeds(count):
    """Damage at so many places; `make test` tries the first two."""
    return [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, count))]


def fingerprints():
    rng = random.Random(5)
    return {f"page {number}": rng.getrandbits(64) for number in range(PAGES)}


@pytest.fixture(scope="module")
def all_pristine(tmp_path_factory):
    return {}


@pytest.fixture
def pristine(all_pristine, kind, tmp_path_factory):
    """An index of PAGES pages, half of them in a table file and half in the database's log."""
    if kind not in all_pristine:
        directory = tmp_path_factory.mktemp("pristine")
        backend = make_backend(kind, directory / "open", CLASSIC)
        pages = list(fingerprints().items())
        with backend.open() as index:
            for key, fingerprint in pages[: PAGES // 2]:
                index.confirm(index.observe(key, fingerprint))
        compact(kind, backend.directory)
        with backend.open() as index:
            for key, fingerprint in pages[PAGES // 2 :]:
                index.confirm(index.observe(key, fingerprint))
            all_pristine[kind] = crashed(index, directory / "index")
    return all_pristine[kind]


@pytest.fixture
def copy(pristine, tmp_path):
    return shutil.copytree(pristine, tmp_path / "index")


def compact(kind, directory):
    """What databases do on their own when they have been read or written for long."""
    with closing(database_kind(kind)(str(directory), directory / kind)) as database:
        database._db.compact_range(*([] if kind == "leveldb" else [None, None]))


def damaged(path, seed, *, bit, before=None):
    """Flip a bit of it, or cut it, before some position."""
    data = bytearray(path.read_bytes())
    position = random.Random(seed).randrange(before or len(data))
    if bit is None:
        del data[position:]
    else:
        data[position] ^= 1 << bit
    path.write_bytes(data)


def assert_right_or_corrupt(kind, directory):
    """Each answer is the right one or IndexCorrupt; returns how many were the latter."""
    corrupt = 0
    try:
        index = open_index(f"{kind}:{directory}")
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


def assert_repaired(kind, directory, *, lost):
    """All pages but some of these numbers are there after a repair, and none is altered."""
    report = repair(directory)
    after = check(directory)
    assert (after.entries, after.problems) == (report.entries, [])
    entries = checked_entries(directory, CLASSIC)
    stored = {key: entry.fingerprint for key, entry in entries.items()}
    pages = fingerprints()
    assert stored.items() <= pages.items()
    assert set(pages) - set(stored) <= {f"page {number}" for number in lost}
    with open_index(f"{kind}:{directory}", incremental=True) as index:
        for key, fingerprint in pages.items():
            found = index.query(fingerprint ^ 1)
            assert [match.key for match in found] == [key] * (key in stored)
            again = "unchanged" if key in stored else "new"
            assert index.observe(key, fingerprint).kind == again
    return len(pages) - len(stored)


def test_the_pristine_index_has_no_fault(kind, copy):
    assert largest(copy, TABLES[kind]).stat().st_size > 6_000
    assert largest(copy, "*.log").stat().st_size > 5_000
    assert check(copy).problems == []
    assert assert_right_or_corrupt(kind, copy) == 0
    assert assert_repaired(kind, copy, lost=()) == 0


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("name", ["table", "MANIFEST-*", "CURRENT"])
def test_a_flipped_bit_is_found_or_changes_no_answer(kind, copy, name, seed):
    path = largest(copy, TABLES[kind] if name == "table" else name)
    damaged(path, seed, bit=seed % 8)
    found = assert_right_or_corrupt(kind, copy)
    # Rewriting the files must not give damaged rows a checksum of their own.
    with suppress(IndexCorrupt):
        compact(kind, copy)
    assert bool(assert_right_or_corrupt(kind, copy)) >= bool(found)


@pytest.mark.parametrize("seed", seeds(6))
def test_repair_loses_no_more_than_a_block_or_a_file_of_a_table(kind, copy, seed):
    # Entries come first.
    damaged(largest(copy, TABLES[kind]), seed, bit=seed % 8, before=3000)
    # LevelDB drops the block, RocksDB the whole file of 300 pages.
    most = {"leveldb": 0.7 * PAGES // 2, "rocksdb": PAGES // 2}[kind]
    assert 0 < assert_repaired(kind, copy, lost=range(PAGES // 2)) <= most


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_table_file_that_is_cut_short_is_corrupt(kind, copy, share):
    path = largest(copy, TABLES[kind])
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert assert_right_or_corrupt(kind, copy) > 0
    assert path.exists()
    assert_repaired(kind, copy, lost=range(PAGES // 2))


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_what_can_be_read_of_a_damaged_log_is_an_index_or_it_is_corrupt(kind, copy, how, seed):
    damaged(largest(copy, "*.log"), seed, bit=4 if how == "flipped" else None)
    try:
        with open_index(f"{kind}:{copy}") as index:
            size = len(index)
    except IndexCorrupt:
        assert how == "flipped"
        lost = range(PAGES // 2, PAGES)
    else:
        entries = checked_entries(copy, CLASSIC)
        # Pages are lost from some point on, if at all, and not from the middle.
        assert PAGES // 2 <= size == len(entries)
        assert list(entries) == list(fingerprints())[:size]
        lost = range(size, PAGES)
    assert_repaired(kind, copy, lost=lost)


@pytest.mark.parametrize("name", ["CURRENT", "MANIFEST-*", "table"])
def test_a_missing_file_is_corrupt_and_nothing_else_is_deleted(kind, copy, name):
    largest(copy, TABLES[kind] if name == "table" else name).unlink()
    before = files(copy)
    with pytest.raises(IndexCorrupt, match="nothing was deleted") as caught:
        open_index(f"{kind}:{copy}")
    assert str(copy) in str(caught.value)
    assert f"scrapy simhash index check --repair --index {copy}" in str(caught.value)
    after = files(copy)
    # They may begin a new file of their own messages.
    kept = {file: data for file, data in before.items() if "LOG" not in file}
    assert {file: after.get(file) for file in kept} == kept
    lost = assert_repaired(kind, copy, lost=range(PAGES // 2) if name == "table" else ())
    assert lost == (PAGES // 2 if name == "table" else 0)


@pytest.mark.parametrize(
    "name", ["index", pytest.param("LOCK: missing pages", marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_a_full_disk_is_an_error_that_loses_no_page_confirmed_before_or_after(tmp_path, kind, name):
    directory = tmp_path / name
    with children() as other:
        lines = other.begin("fill", kind=kind, directory=str(directory)).rest()
    assert lines[-1] == "closed", lines[-1]
    refused = [line for line in lines if line.startswith("refused")]
    assert len(refused) == 5
    for line in refused:
        assert line.split()[1] == StorageError.__name__
        assert "disk space" in line
    assert [line for line in lines if line.startswith("sees")] == ["sees True"] * 5
    confirmed = [line.rpartition(" ") for line in lines if line.startswith("confirmed")]
    pages = {
        said.removeprefix("confirmed "): int(fingerprint) for said, _, fingerprint in confirmed
    }
    assert len(pages) > 500 + 2 + 10
    assert check(directory).problems == []
    with open_index(f"{kind}:{directory}", incremental=True) as index:
        assert len(index) == len(pages)
        for key, fingerprint in pages.items():
            assert [match.key for match in index.query(fingerprint)] == [key]
        index.confirm(index.observe("after", 0))
    assert set(checked_entries(directory, PLAN)) == {*pages, "after"}
