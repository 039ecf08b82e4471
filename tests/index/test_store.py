"""Store alone, on a database that is a dictionary: when something fails, or comes in between."""

import logging

import pytest

from scrapy_simhash.index.base import Entry, NearDuplicate, Query
from scrapy_simhash.index.database import MemoryDatabase
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.store import Store
from scrapy_simhash.index.tables import FOLDER
from scrapy_simhash.index.tables.format import File

from .backends import BITS, FAR, PLAN, SCHEME, K, small_tables

A, B, *_ = FAR
FORTY = {f"{number}": number * 1000 for number in range(1, 41)}


class Dictionary(MemoryDatabase):
    """
    :param content: its rows; a copy of them.
    :param path: the folder that has the files of tables; None keeps tables in memory.
    """

    def __init__(self, content=(), path=None):
        super().__init__()
        self.path = path
        self.content = self._rows = dict(content)

    def store(self):
        return Store(self, Manifest(SCHEME, PLAN, K, "leveldb"))


def fill(store, pages):
    for number, (key, fingerprint) in enumerate(pages.items(), 1):
        store.write(Entry(number, key, fingerprint, number, 1000, 1000), None, ())


def contents(store):
    """Entries of a store by key, found in each way."""
    # Each fingerprint has its last four bits, one of the tables' prefixes, in common with one.
    found = {
        one.key: one for four in range(16) for one, _ in store.within(Query(0x1111 * four), BITS)
    }
    assert all(store.entry(key) == one for key, one in found.items())
    assert len(store) == len(found)
    return {key: one.fingerprint for key, one in found.items()}


def test_a_sync_during_a_write_does_not_count_that_write_as_synced():
    """`sync` is called by another thread."""
    syncs = []

    class Database(Dictionary):
        def write(self, puts, deletes=(), *, sync=False):
            if puts[0][0].startswith(b"N"):
                store.sync()
            super().write(puts, deletes, sync=sync)

        def sync(self):
            syncs.append(len(self.content))

    store = Database().store()
    store.write_lines([NearDuplicate("copy", "a", 1, A, 1, 1000)])
    before = len(syncs)
    store.sync()
    assert len(syncs) == before + 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_entry_that_was_written_when_an_error_came_is_found_and_counted(error):
    database = Dictionary()
    store, write = database.store(), database.write

    def interrupted(*arguments, **options):
        write(*arguments, **options)
        raise error

    database.write = interrupted
    with pytest.raises(error):
        fill(store, {"half": A})
    database.write = write
    fill(store, {"later": B})
    store.close()
    assert contents(Dictionary(database.content).store()) == {"half": A, "later": B}


@pytest.mark.parametrize("damage", ["missing", "damaged", "made for another index"])
def test_tables_that_do_not_fit_are_made_again_and_the_log_says_why(tmp_path, damage, caplog):
    database = Dictionary(path=tmp_path)
    with small_tables():
        store = database.store()
        fill(store, FORTY)
        store.close()
    if damage == "missing":
        for path in (tmp_path / FOLDER).iterdir():
            path.unlink()
    elif damage == "damaged":
        (tmp_path / FOLDER / "ids").write_bytes(b"x")
    else:
        state = database.content[b"S"]
        # A byte of its random name.
        database.content[b"S"] = state[:16] + bytes([state[16] ^ 1]) + state[17:]
    caplog.clear()
    with caplog.at_level(logging.INFO), small_tables():
        store = Dictionary(database.content, tmp_path).store()
        assert contents(store) == FORTY
        store.close()
    (record,) = caplog.records
    assert "its tables are made again from its entries: " in record.getMessage()
    assert damage in record.getMessage()
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert contents(Dictionary(database.content, tmp_path).store()) == FORTY
    assert caplog.records == []


@pytest.mark.parametrize("when", ["crawling", "closing"])
def test_a_full_disk_costs_no_page(tmp_path, monkeypatch, caplog, when):
    def full(*_):
        raise OSError(28, "No space left on device")

    database = Dictionary(path=tmp_path)
    with small_tables(memory=7 if when == "crawling" else 1000), monkeypatch.context() as patch:
        patch.setattr(File, "write", full)
        store = database.store()
        fill(store, FORTY)
        assert contents(store) == FORTY
        store.close()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (2 if when == "crawling" else 1)
    assert "no page is lost, but the next opening takes longer" in messages[-1]
    assert contents(Dictionary(database.content, tmp_path).store()) == FORTY
