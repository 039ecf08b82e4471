"""Store alone, on a database that is a dictionary: what it writes, and when writes fail."""

import logging

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.base import Entry, NearDuplicate
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.memory import MemoryDatabase
from scrapy_simhash.index.store import Store
from scrapy_simhash.index.tables import FOLDER
from scrapy_simhash.index.tables.format import File

from .backends import BITS, FAR, PLAN, K, small_tables

A, B, C, D = FAR


class Recording(MemoryDatabase):
    """A database that remembers what was written, and fails when it is to.

    :param content: its rows; a copy of them.
    :param path: the folder that has the files of tables; None keeps tables in memory.
    """

    def __init__(self, content=(), path=None):
        super().__init__()
        self.path = path
        self.content = self._rows = dict(content)
        self.writes = []  # (puts, deletes, whether it was synced) of each write
        self.fails = False

    def write(self, puts, deletes=(), *, sync=False):
        assert len({*deletes, *(key for key, _ in puts)}) == len(puts) + len(deletes)
        if self.fails:
            raise StorageError(self.location, "the disk is full")
        super().write(puts, deletes)
        self.writes.append((dict(puts), list(deletes), sync))

    def sync(self):
        self.synced_writes = len(self.writes)


def made(database, plan=PLAN, **arguments):
    manifest = Manifest(Scheme(bits=plan.bits), plan, K, "leveldb")
    return Store(database, manifest, **arguments)


@pytest.fixture
def database():
    return Recording()


def entry(number, key, fingerprint, **changes):
    return Entry(number, key, fingerprint, number, 1000, 1000)._replace(**changes)


def line(sequence, key="copy"):
    return NearDuplicate(key, "a", 1, A, sequence, 1000)


def put(store, number, key, fingerprint, *, replaced=None, outdated=()):
    return store.write(entry(number, key, fingerprint), replaced, outdated)


def contents(store):
    """Entries of a store by key, found in each way."""
    # Each fingerprint has its last four bits, one of the tables' prefixes, in common with one.
    found = {one.key: one for four in range(16) for one, _ in store.within(0x1111 * four, BITS)}
    assert all(store.entry(key) == one for key, one in found.items())
    assert len(store) == len(found)
    return {key: one.fingerprint for key, one in found.items()}


def test_a_sync_during_a_write_does_not_count_that_write_as_synced():
    """`sync` is called by another thread."""
    syncs = []

    class Database(Recording):
        def write(self, puts, deletes=(), *, sync=False):
            if puts[0][0].startswith(b"N"):
                store.sync()
            super().write(puts, deletes, sync=sync)

        def sync(self):
            syncs.append(len(self.content))

    store = made(Database())
    store.write_lines([line(1)])
    before = len(syncs)
    store.sync()
    assert len(syncs) == before + 1
    store.sync()
    assert len(syncs) == before + 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_entry_that_was_written_when_an_error_came_is_found_and_counted(database, error):
    store, write = made(database), database.write

    def interrupted(*arguments, **options):
        write(*arguments, **options)
        raise error

    database.write = interrupted
    with pytest.raises(error):
        put(store, 1, "half", A)
    database.write = write
    put(store, 2, "later", B)
    store.close()
    assert contents(made(Recording(database.content))) == {"half": A, "later": B}


@pytest.fixture
def in_files(tmp_path):
    database = Recording(path=tmp_path)
    with small_tables():
        store = made(database)
        for number in range(1, 41):
            put(store, number, f"{number}", number * 1000)
        store.close()
    assert (tmp_path / FOLDER).is_dir()
    return Recording(database.content, tmp_path)


@pytest.mark.parametrize("damage", ["missing", "damaged", "foreign"])
def test_tables_that_do_not_fit_are_made_again_and_the_log_says_why(in_files, damage, caplog):
    expected = contents(made(Recording(in_files.content)))
    folder = in_files.path / FOLDER
    if damage == "missing":
        for path in folder.iterdir():
            path.unlink()
    elif damage == "damaged":
        (folder / "ids").write_bytes(b"x")
    else:
        state = in_files.content[b"S"]
        in_files.content[b"S"] = state[:16] + b"?" + state[17:]
    caplog.clear()
    with caplog.at_level(logging.INFO), small_tables():
        store = made(in_files)
    (record,) = caplog.records
    why = {"missing": "missing", "damaged": "damaged", "foreign": "made for another index"}[damage]
    assert "its tables are made again from its entries: " in record.getMessage()
    assert why in record.getMessage()
    assert contents(store) == expected
    with small_tables():
        store.close()
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert contents(made(Recording(in_files.content, in_files.path))) == expected
    assert caplog.records == []


@pytest.mark.parametrize("when", ["crawling", "closing"])
def test_a_full_disk_costs_no_page(tmp_path, monkeypatch, caplog, when):
    def full(*_):
        raise OSError(28, "No space left on device")

    database = Recording(path=tmp_path)
    with small_tables(memory=7 if when == "crawling" else 1000), monkeypatch.context() as patch:
        patch.setattr(File, "write", full)
        store = made(database)
        for number in range(1, 41):
            put(store, number, f"{number}", number * 1000)
        expected = contents(store)
        assert len(expected) == 40
        store.close()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (2 if when == "crawling" else 1)
    assert "no page is lost, but the next opening takes longer" in messages[-1]
    assert contents(made(Recording(database.content, tmp_path))) == expected
