"""Store alone, on a database that is a dictionary: what it writes, and when writes fail."""

from __future__ import annotations

import logging
import random
import shutil

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.errors import IndexCorrupt, StorageError
from scrapy_simhash.index import Index, records
from scrapy_simhash.index import store as store_module
from scrapy_simhash.index.base import Entry, NearDuplicate, PageToObserve
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.rules import CrawlRules
from scrapy_simhash.index.store import Store
from scrapy_simhash.index.tables import FOLDER, tables
from scrapy_simhash.index.tables.format import Writer

from .backends import BITS, FAR, PLAN, K, check_rows, flip, small_tables
from .dict_database import LOCATION, DictDatabase

A, B, C, D = FAR


def made(database, plan=PLAN, **arguments):
    manifest = Manifest(Scheme(bits=plan.bits), plan, K, "leveldb")
    return Store(database, manifest, **arguments)


@pytest.fixture
def database():
    return DictDatabase()


@pytest.fixture
def store(database):
    return made(database)


def entry(number, key, fingerprint, **changes):
    return Entry(number, key, fingerprint, number, 1000, 1000)._replace(**changes)


def line(sequence, key="copy"):
    return NearDuplicate(key, "a", 1, A, sequence, 1000)


def put(store, number, key, fingerprint, *, replaced=None, outdated=()):
    return store.write(entry(number, key, fingerprint), replaced, outdated)


def contents(store):
    """Entries of a store by key, found in each way."""
    # Each fingerprint has its last four bits, one of the tables' prefixes, in common with one.
    found = {
        one.key: one for four in range(16) for _, one in store.within(0x1111 * four, BITS).stored
    }
    assert all(store.entry(key) == one for key, one in found.items())
    assert len(store) == len(found)
    return {key: one.fingerprint for key, one in found.items()}


def test_a_new_store_writes_its_state_alone(database, store):
    assert set(database.content) == {b"S"}
    assert (store.next_sequence, len(store)) == (1, 0)
    assert store.entry("a") is None
    assert store.within(A, BITS) == ([], [])
    assert list(store.near_duplicates(0)) == []


def test_a_page_is_one_row(database, store):
    database.writes.clear()
    assert put(store, 1, "a", A) == entry(1, "a", A, ordinal=0)
    assert put(store, 2, "b", B) == entry(2, "b", B, ordinal=1)
    assert [(len(puts), deletes) for puts, deletes, _ in database.writes] == [(1, []), (1, [])]
    assert {row for puts, _, _ in database.writes for row in puts} == {
        records.entry_row_key(0),
        records.entry_row_key(1),
    }
    assert contents(store) == {"a": A, "b": B}
    assert (store.next_sequence, len(store)) == (3, 2)


def test_a_page_that_is_met_again_keeps_its_row(database, store):
    put(store, 1, "a", A)
    stored = store.entry("a")
    again = store.write(stored._replace(last_sequence=5, last_seen_s=2000), stored, ())
    assert (
        again == entry(1, "a", A, last_sequence=5, last_seen_s=2000, ordinal=0) == store.entry("a")
    )
    assert set(database.content) == {b"S", records.entry_row_key(0)}
    assert (store.next_sequence, len(store)) == (6, 1)


@pytest.mark.parametrize("reopened", [False, True])
def test_a_page_that_changed_takes_the_place_of_the_old_one_in_one_write(reopened):
    database = DictDatabase()
    store = made(database)
    put(store, 1, "a", A)
    if reopened:
        store.close()
        database = DictDatabase(database.content)
        store = made(database)
    database.writes.clear()
    put(store, 2, "a", B, replaced=store.entry("a"))
    ((puts, deletes, _),) = database.writes
    assert {b"S", records.entry_row_key(1)} <= set(puts)
    assert records.entry_row_key(0) in deletes
    assert contents(store) == {"a": B}
    store.close()
    assert check_rows(database.content, PLAN).keys() == {"a"}


@pytest.mark.parametrize("reopened", [False, True])
def test_a_page_takes_the_place_of_those_that_yield_in_one_write(reopened):
    database = DictDatabase()
    store = made(database)
    for number, key in enumerate("abc", 1):
        put(store, number, key, flip(A, number))
    put(store, 4, "d", D)
    if reopened:
        store.close()
        database = DictDatabase(database.content)
        store = made(database)
    database.writes.clear()
    outdated = [one for _, one in store.within(A, 1).stored]
    assert len(outdated) == 3
    put(store, 5, "e", A, outdated=outdated)
    assert len(database.writes) == 1
    assert contents(store) == {"d": D, "e": A}
    # So may one that keeps its row.
    put(store, 6, "f", flip(A, 1))
    met = store.entry("e")
    store.write(met._replace(last_sequence=7), met, [store.entry("f")])
    assert contents(store) == {"d": D, "e": A}
    store.close()
    entries = check_rows(database.content, PLAN)
    assert entries.keys() == {"d", "e"}


def test_the_near_duplicate_log_is_in_its_order_from_a_sequence_on(database, store):
    for sequence in (1, 300, 2, 70_000):
        store.log(line(sequence))
    assert [one.sequence for one in store.near_duplicates(0)] == [1, 2, 300, 70_000]
    assert [one.sequence for one in store.near_duplicates(2)] == [2, 300, 70_000]
    assert list(store.near_duplicates(70_000)) == [line(70_000)]
    assert list(store.near_duplicates(70_001)) == []
    assert made(DictDatabase(database.content)).next_sequence == 70_001


def test_the_sequence_goes_on_where_a_killed_store_was(database, store):
    put(store, 1, "a", A)
    stored = store.entry("a")
    put(store, 7, "b", B)
    store.write(stored._replace(last_sequence=4), stored, ())
    killed = made(DictDatabase(database.content))
    assert killed.next_sequence == 8
    assert killed.entry("a").last_sequence == 4


def test_closing_without_a_change_writes_nothing(database, store):
    put(store, 1, "a", A)
    store.close()
    again = DictDatabase(database.content)
    made(again).close()
    assert again.writes == []
    assert again.content == database.content


class Crawl:
    """Random pages, observed and settled."""

    def __init__(self, database, seed, **arguments):
        self.rng = random.Random(seed)
        store = made(database, **arguments)
        rules = CrawlRules(K, UNCONFIRMED, bool(seed % 2), store.next_sequence, lambda: 1000)
        self.index = Index(store, rules, lambda _: store.close(), len(store))
        self.store = store

    def step(self):
        """Observe a page, and confirm it mostly."""
        key = f"page {self.rng.randrange(30)}"
        fingerprint = self.rng.choice(FAR) ^ self.rng.getrandbits(8) << self.rng.choice([0, 4, 8])
        observation = self.index.observe(key, fingerprint)
        if self.rng.random() < 0.9:
            self.index.confirm(observation)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_a_page_whose_write_fails_stays_pending_and_can_be_confirmed_again(seed):
    database = DictDatabase()
    rng = random.Random(seed)
    with small_tables():
        crawl = Crawl(database, seed)
        for number in range(150):
            key, fingerprint = f"page {number % 40}", rng.getrandbits(BITS)
            before = contents(crawl.store)
            observation = crawl.index.observe(key, fingerprint)
            if observation.kind not in {"new", "changed"}:
                continue  # nothing to be stored
            if rng.random() < 0.3:
                database.fails = lambda _: True
                with pytest.raises(StorageError, match="full"):
                    crawl.index.confirm(observation)
                database.fails = lambda _: False
                assert contents(crawl.store) == before
                assert key in [match.key for match in crawl.index.query(fingerprint)]
            crawl.index.confirm(observation)
            after = contents(crawl.store)
            assert (after[key] ^ fingerprint).bit_count() <= K
            check_rows(database.content, PLAN)
        crawl.index.close()
    entries = check_rows(database.content, PLAN)
    assert {key: one.fingerprint for key, one in entries.items()} == after


@pytest.fixture
def clock(monkeypatch):
    """Seconds on a clock that stands still."""
    now_s = [100.0]
    monkeypatch.setattr(store_module.time, "monotonic", lambda: now_s[0])
    return now_s


def test_what_was_not_synced_is_synced_at_close_though_a_synced_write_failed(database, clock):
    store = made(database)
    store.log(line(1))
    assert database.writes[-1][2] is False
    clock[0] += 10
    database.fails = lambda _: True
    with pytest.raises(StorageError):
        store.log(line(2))
    database.fails = lambda _: False
    store.close()
    assert database.writes[-1][2] is True


def test_a_sync_during_a_write_does_not_count_that_write_as_synced():
    """`sync` is called by another thread."""
    syncs = []

    class Database(DictDatabase):
        def write(self, puts, deletes=(), *, sync=False):
            if puts[0][0].startswith(b"N"):
                store.sync()
            super().write(puts, deletes, sync=sync)

        def sync(self):
            syncs.append(len(self.content))

    store = made(Database())
    store.log(line(1))
    before = len(syncs)
    store.sync()
    assert len(syncs) == before + 1
    store.sync()
    assert len(syncs) == before + 1


@pytest.mark.parametrize(
    ("policy", "expected"), [("always", [True] * 5), ("no", [False] * 5), ("everysec", None)]
)
def test_writes_are_synced_as_the_policy_says(database, clock, policy, expected):
    store = made(database, sync=policy)
    for number in range(1, 5):
        put(store, number, f"{number}", number * 5000)
        clock[0] += 0.4
    synced = [sync for _, _, sync in database.writes]
    assert synced == (expected or [True, False, False, False, True])
    store.close()
    assert database.writes[-1][2] is (policy != "no")


def test_an_index_that_has_had_all_ordinals_takes_no_new_page(database, store, monkeypatch):
    monkeypatch.setattr(records, "MAX_ORDINAL", 2)
    for number, key in enumerate("abc", 1):
        put(store, number, key, FAR[number])
    before = dict(database.content)
    for replaced in (None, store.entry("a")):
        with pytest.raises(StorageError, match=r"has seen 3 new pages.*start another"):
            put(store, 4, "a" if replaced else "d", A, replaced=replaced)
    assert database.content == before
    stored = store.entry("a")
    store.write(stored._replace(last_sequence=9), stored, ())
    assert store.entry("a").last_sequence == 9
    assert contents(store) == {"a": B, "b": C, "c": D}


@pytest.fixture
def closed_rows(database, store):
    """Rows of a closed store with three pages and a line of the log."""
    for number, key in enumerate("abc", 1):
        put(store, number, key, FAR[number])
    store.log(line(4))
    store.close()
    return database.content


@pytest.mark.parametrize(
    ("value", "match"), [(b"", "0 bytes"), (b"short", "5 bytes"), (None, "state row is missing")]
)
def test_a_state_row_that_makes_no_sense_is_corrupt(closed_rows, value, match):
    if value is None:
        del closed_rows[b"S"]
    else:
        closed_rows[b"S"] = value
    database = DictDatabase(closed_rows)
    with pytest.raises(IndexCorrupt, match=match) as caught:
        made(database)
    assert caught.value.location == LOCATION
    assert "nothing was deleted" in str(caught.value)
    assert database.writes == []


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (b"short", "entry 1 is cut short: it has 5 bytes"),
        (bytes(21) + b"\xff", "utf-8"),
    ],
)
def test_an_entry_that_makes_no_sense_is_corrupt_when_it_is_met(closed_rows, value, match):
    store = made(DictDatabase(closed_rows))
    store._database.content[records.entry_row_key(1)] = value
    for use in (lambda: store.entry("b"), lambda: store.within(C, 0)):
        with pytest.raises(IndexCorrupt, match=match):
            use()
    assert store.entry("a").fingerprint == B
    assert [one.key for _, one in store.within(D, 0).stored] == ["c"]


def test_a_row_of_the_tables_without_an_entry_is_that_of_no_page(closed_rows):
    store = made(DictDatabase(closed_rows))
    del store._database.content[records.entry_row_key(1)]
    assert store.entry("b") is None
    assert store.within(C, 0) == ([], [])


def test_a_line_of_the_log_that_makes_no_sense_is_corrupt_when_it_is_met(closed_rows):
    closed_rows[records.log_row_key(4)] = b"short"
    store = made(DictDatabase(closed_rows))
    with pytest.raises(IndexCorrupt, match="line 4"):
        list(store.near_duplicates(0))


def test_pages_whose_hashes_are_alike_are_told_apart(store, monkeypatch):
    monkeypatch.setattr(tables, "xxh3_64_intdigest", lambda _: 5 << 32)
    put(store, 1, "a", A)
    put(store, 2, "b", B)
    assert store.entry("a").fingerprint == A
    assert store.entry("b").fingerprint == B
    assert store.entry("c") is None


def test_while_it_is_synced_from_elsewhere_no_write_waits_for_the_disk(database, clock):
    store = made(database)
    syncs = []
    database.sync = lambda: syncs.append(len(database.writes))
    for number in range(1, 9):
        put(store, number, f"{number}", number * 5000)
        clock[0] += 0.6
        if number not in {4, 5}:
            store.sync()
    assert [sync for _, _, sync in database.writes[1:]] == [False] * 5 + [True] + [False] * 2
    # The synced write was the 7th, so nothing was left to sync after it.
    assert syncs == [2, 3, 4, 8, 9]
    store.sync()  # nothing was written since
    assert len(syncs) == 5


def test_a_sync_that_fails_leaves_it_to_the_next_write(database, clock):
    store = made(database)
    put(store, 1, "a", A)

    def fail():
        raise StorageError("here", "the disk is gone")

    database.sync = fail
    clock[0] += 2
    with pytest.raises(StorageError):
        store.sync()
    put(store, 2, "b", FAR[1])
    assert [sync for _, _, sync in database.writes][-2:] == [False, True]


@pytest.mark.parametrize("policy", ["always", "no"])
def test_only_everysec_is_synced_from_elsewhere(database, policy):
    store = made(database, sync=policy)
    database.sync = lambda: pytest.fail("synced")
    put(store, 1, "a", A)
    store.sync()


def test_a_side_row_whose_name_is_damaged_is_an_error(database):
    database.content[b"U\xff"] = b"[]"
    database.content[records.STATE_KEY] = bytes(27) + b"\1"
    with pytest.raises(IndexCorrupt, match="the name of a side row"):
        list(made(database).side_rows("notes"))


@pytest.fixture
def in_files(tmp_path):
    """A database with a folder for tables, and 40 pages."""
    database = DictDatabase(path=tmp_path)
    with small_tables():
        store = made(database)
        for number in range(1, 41):
            put(store, number, f"{number}", number * 1000)
        store.close()
    assert (tmp_path / FOLDER).is_dir()
    return DictDatabase(database.content, tmp_path)


def test_a_store_that_was_closed_reads_no_entry_again(in_files, monkeypatch):
    decoded = []
    decode = records.decode_entry

    def noted(ordinal, value, width_bytes):
        decoded.append(ordinal)
        return decode(ordinal, value, width_bytes)

    monkeypatch.setattr(records, "decode_entry", noted)
    again = made(in_files)
    assert decoded == []
    put(again, 41, "41", 41_000)
    killed = made(DictDatabase(again._database.content, in_files.path))
    assert decoded == [40]
    assert len(killed) == 41


@pytest.mark.parametrize("damage", ["missing", "damaged", "foreign"])
def test_tables_that_do_not_fit_are_made_again_and_the_log_says_why(in_files, damage, caplog):
    expected = contents(made(DictDatabase(in_files.content)))
    folder = in_files.path / FOLDER
    if damage == "missing":
        for path in folder.iterdir():
            path.unlink()
    elif damage == "damaged":
        (folder / "ids").write_bytes(b"x")
    else:
        in_files.content[b"S"] = in_files.content[b"S"][:-1] + b"?"
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
        assert contents(made(DictDatabase(in_files.content, in_files.path))) == expected
    assert caplog.records == []


def test_tables_mostly_of_removed_pages_are_made_again(in_files, caplog, monkeypatch):
    monkeypatch.setattr(store_module, "_MAX_USELESS_ROWS", 10)
    store = made(in_files)
    store.remove([store.entry(f"{number}") for number in range(1, 36)])
    expected = contents(store)
    store.close()
    with caplog.at_level(logging.INFO):
        again = made(DictDatabase(in_files.content, in_files.path))
    assert "more than half of their rows are of removed pages" in caplog.text
    assert contents(again) == expected
    assert len(again._tables) == len(again) == 5


def test_tables_that_cannot_be_written_or_deleted_stay_in_memory(in_files, monkeypatch, caplog):
    expected = contents(made(DictDatabase(in_files.content)))
    (in_files.path / FOLDER / "ids").write_bytes(b"x")

    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store_module, "delete_tables", refused)
    with small_tables():
        store = made(in_files)
        assert "stay in memory" in caplog.text
        put(store, 41, "41", 41_000)
        assert contents(store) == {**expected, "41": 41_000}
        store.close()


@pytest.mark.parametrize("when", ["crawling", "closing"])
def test_a_full_disk_costs_no_page(tmp_path, monkeypatch, caplog, when):
    def full(*_):
        raise OSError(28, "No space left on device")

    database = DictDatabase(path=tmp_path)
    with small_tables(memory=7 if when == "crawling" else 1000), monkeypatch.context() as patch:
        patch.setattr(Writer, "finish", full)
        store = made(database)
        for number in range(1, 41):
            put(store, number, f"{number}", number * 1000)
        expected = contents(store)
        assert len(expected) == 40
        store.close()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (2 if when == "crawling" else 1)
    assert "no page is lost, but the next opening takes longer" in messages[-1]
    assert contents(made(DictDatabase(database.content, tmp_path))) == expected


@pytest.mark.parametrize("seed", range(4))
def test_after_a_kill_at_any_write_all_is_there_that_was_confirmed(tmp_path, seed):
    """Whatever the files of the tables are like: as they were at that write, older, or gone."""
    content = {}
    runs = 0
    for crawl_number in range(3):
        database = DictDatabase(content, tmp_path / "live")
        (tmp_path / "live").mkdir(exist_ok=True)
        with small_tables():
            crawl = Crawl(database, seed + crawl_number)
            before = contents(crawl.store)
            for step in range(60):
                crawl.step()
                after = contents(crawl.store)
                written, database.history = database.history, []
                for killed in written[-1:] if step % 4 else written:
                    folder = tmp_path / f"{crawl_number} {step} {len(killed)}"
                    shutil.copytree(tmp_path / "live", folder, dirs_exist_ok=True)
                    runs += any((folder / FOLDER).glob("*.run"))
                    again = made(DictDatabase(killed, folder))
                    assert contents(again) in (before, after)
                    assert again.next_sequence <= crawl.store.next_sequence
                    # It goes on, with ordinals of its own.
                    put(again, again.next_sequence, "later", 0x7777)
                    assert contents(again)["later"] == 0x7777
                    assert again.entry("later").ordinal not in {
                        int.from_bytes(row[1:], "big") for row in killed if row[:1] == b"E"
                    }
                    again.close()
                    check_rows(again._database.content, PLAN)
                before = after
            crawl.index.close()
        content = database.content
    assert runs > 10


def test_a_pending_page_that_differs_in_nothing_has_the_row_of_its_entry(store):
    rules = CrawlRules(K, UNCONFIRMED, crawl_start=2)
    put(store, 1, "a", A)
    stored = store.entry("a")
    _, pending = store.observe(PageToObserve("a", A), rules)
    assert pending.entry.ordinal == stored.ordinal
    assert store.within(A, 0) == ([(0, stored)], [(0, pending.entry)])
    store.release([pending])
    assert store.within(A, 0) == ([(0, stored)], [])
    assert pending.is_settled


def test_a_discarded_page_is_found_no_more(store):
    _, pending = store.observe(PageToObserve("a", A), CrawlRules(K, UNCONFIRMED))
    assert store.within(A, 0) == ([], [(0, pending.entry)])
    store.release([pending])
    assert store.within(A, 0) == ([], [])
    assert list(store._tables.near([(A, b"")], 0)) == [[]]
