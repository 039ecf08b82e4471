"""Runs: tables that are probed, against a linear scan, through crashes, failures and damage."""

from __future__ import annotations

import random
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scrapy_simhash.errors import IndexCorrupt, StorageError
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import TablePlan, records, run, runs
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.index.run import Field, RunWriter
from scrapy_simhash.index.runs import Runs
from scrapy_simhash.maintenance.check import check, repair

from .backends import make_backend, rows
from .dict_database import DictDatabase
from .raw import change_rows, crashed

# The last table's prefix lies in two words of 64 bits.
PLAN = TablePlan(136, 3, prefix_bits=27, probes=20)
NARROW = TablePlan(128, 2, prefix_bits=3, probes=6)
K = 20


@contextmanager
def small_runs(young=3, memory=7, step=4):
    """Runs that are made meanwhile sort and merge after a few pages, bit by bit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "YOUNG_PAGES", young)
        patch.setattr(runs, "MEMORY_PAGES", memory)
        patch.setattr(run, "STEP_RECORDS", step)
        yield


def near_ones(fingerprint, certainty, plan, entries):
    """What a linear scan finds in the buckets that are probed."""
    found = Prober(plan).probes(fingerprint, certainty)
    asked = set(zip(found.tables.tolist(), found.prefixes.tolist(), strict=True))
    return {
        ordinal
        for ordinal, entry in entries.items()
        if hamming_distance(entry.fingerprint, fingerprint) <= K
        and not asked.isdisjoint(enumerate(plan.prefixes(entry.fingerprint)))
    }


class BesideADictionary(RuleBasedStateMachine):
    """Runs beside the entries that they should find."""

    plan = PLAN

    def __init__(self):
        super().__init__()
        self.patched = small_runs()
        self.patched.__enter__()
        self.folder = Path(tempfile.mkdtemp())
        self.database = DictDatabase(path=self.folder)
        self.random = random.Random(1)
        self.entries = {}
        self.next_ordinal = self.first_buffered = 0
        self.open()

    def open(self):
        self.runs = Runs(self.database, self.plan, durable=False)
        for ordinal, entry in self.entries.items():
            if ordinal >= self.first_buffered:
                self.runs.add(entry)

    @rule(near=st.booleans(), gap=st.sampled_from([0, 0, 0, 1, 1000]), times=st.integers(1, 9))
    def add(self, near, gap, times):
        for _ in range(times):
            fingerprint = self.random.getrandbits(self.plan.bits)
            if near and self.entries:
                fingerprint = self.random.choice(list(self.entries.values())).fingerprint
                for bit in self.random.sample(range(self.plan.bits), 4):
                    fingerprint ^= 1 << bit
            ordinal = self.next_ordinal
            self.next_ordinal += 1 + gap
            key = f"page {ordinal}"
            entry = Entry(ordinal, key, fingerprint, ordinal, 0, 0, ordinal)
            self.entries[ordinal] = entry
            self.runs.add(entry)

    @rule()
    def freeze(self):
        self.runs.freeze(self.next_ordinal)

    @precondition(lambda self: self.runs.frozen)
    @rule(
        large=st.sampled_from([False, False, True]),
        written=st.sampled_from(["yes", "yes", "no", "not known"]),
        times=st.integers(1, 60),
    )
    def spill(self, large, written, times):
        for _ in range(times):
            spilling = self.runs.spill(large=large)
            if spilling is None:
                below = self.runs.frozen_below
                assert self.runs.end_spill()
                self.first_buffered = max(self.first_buffered, below)
                return
            merged, puts, deletes = spilling
            if written != "no":
                self.database.write(puts, deletes)
            if written == "yes":
                self.runs.end_step(merged)
            elif puts:
                self.runs.may_repeat(self.next_ordinal)
                return

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def remove(self, data):
        chosen = data.draw(st.sets(st.sampled_from(sorted(self.entries)), min_size=1, max_size=3))
        removed = [self.entries.pop(ordinal) for ordinal in sorted(chosen)]
        puts, deletes = self.runs.removal(removed)
        self.database.write(puts, deletes)
        self.runs.forget(removed)

    @rule()
    def crash(self):
        self.database = DictDatabase(self.database.content, self.folder)
        self.open()

    @invariant()
    def all_are_found(self):
        chosen = [*self.entries.values()][-3:] + [*self.entries.values()][:2]
        asking, expected = [], []
        for entry in chosen:
            assert entry.ordinal in self.alive(self.runs.find_key(entry.key))
            fingerprint = entry.fingerprint ^ (1 << self.random.randrange(self.plan.bits))
            certainty = self.random.choice([b"", self.random.randbytes(self.plan.bits)])
            found = self.alive(self.runs.find_near(fingerprint, K, certainty))
            assert found == near_ones(fingerprint, certainty, self.plan, self.entries)
            asking.append((fingerprint, certainty))
            expected.append(found)
        assert list(map(self.alive, self.runs.find_near_many(asking, K))) == expected
        assert self.alive(self.runs.find_key("another")) == set()

    def alive(self, ordinals):
        gone = {ordinal for ordinal in ordinals if ordinal not in self.entries}
        assert all(map(self.runs.was_removed, gone))
        return set(ordinals) - gone

    def teardown(self):
        self.patched.__exit__(None, None, None)
        shutil.rmtree(self.folder)


class OfShortPrefixes(BesideADictionary):
    """Directories know all bits at once."""

    plan = NARROW


TestBesideADictionary = BesideADictionary.TestCase
TestBesideADictionary.settings = settings(stateful_step_count=40)
TestOfShortPrefixes = OfShortPrefixes.TestCase
TestOfShortPrefixes.settings = settings(max_examples=20, stateful_step_count=40)


def pages(count, seed=1):
    rng = random.Random(seed)
    return {f"page {number}": rng.getrandbits(PLAN.bits) for number in range(count)}


def observe_all(index, some):
    for key, fingerprint in some.items():
        index.confirm(index.observe(key, fingerprint))


def assert_finds(index, some):
    for key, fingerprint in some.items():
        assert key in [match.key for match in index.query(fingerprint)]
        assert index.entry(key).fingerprint == fingerprint


def test_a_run_stays_when_its_merge_is_not_written(tmp_path):
    with small_runs():
        database = DictDatabase(path=tmp_path)
        made = Runs(database, PLAN)
        for number in range(7):
            made.add(Entry(number, str(number), number << 100, number, 0, 0, number))
        assert made.frozen
        while not (spilling := made.spill())[1]:
            made.end_step(spilling[0])
        assert made.spill()[1] == spilling[1]  # the same again, as nobody says that it is written
        assert Runs(database, PLAN).pages.stored == 0
        files = sorted(path.name for path in (tmp_path / "runs").iterdir())
        assert files == ["fingerprints", "ids", "marks"]


def test_at_most_two_runs_and_no_other_files_whatever_came(tmp_path):
    with small_runs():
        backend = make_backend("leveldb", tmp_path / "index", PLAN)
        names, large = set(), 0
        with backend.open(max_distance=K) as index:
            for number, (key, fingerprint) in enumerate(pages(700).items()):
                index.confirm(index.observe(key, fingerprint))
                if number % 10 == 0:
                    made = index._shared.store._buckets
                    assert len(made.runs) <= 2
                    large += len(made.runs) == 2
                    names |= {run.name for run in made.files.runs}
            assert large > 5
            assert len(names) > 20
        files = {path.name for path in (tmp_path / "index" / "leveldb" / "runs").iterdir()}
        assert len(files) in {3, 4}


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_index_finds_all_that_was_confirmed(tmp_path, kind, seed):
    rng = random.Random(1000 + seed)
    some = pages(150, seed)
    with small_runs():
        backend = make_backend(kind, tmp_path / "index", PLAN)
        done = {}
        with backend.open(max_distance=K, incremental=True) as index:
            for number, (key, fingerprint) in enumerate(some.items()):
                index.confirm(index.observe(key, fingerprint))
                done[key] = fingerprint
                if number % 5 == 0 and done:
                    changed = rng.choice(list(done))
                    done[changed] = rng.getrandbits(PLAN.bits)
                    index.confirm(index.observe(changed, done[changed]))
                if number % 30 == 29:
                    copy = crashed(index, tmp_path / f"{number}")
                    assert check(copy).problems == []
                    with make_backend(kind, copy, PLAN).open(max_distance=K) as again:
                        assert len(again) == len(done)
                        assert_finds(again, done)
                    assert check(copy).problems == []
            assert_finds(index, done)
        report = check(tmp_path / "index")
        assert (report.problems, report.entries) == ([], len(done))


@pytest.fixture
def closed(tmp_path, kind):
    """A closed index with runs, and its pages."""
    with small_runs():
        backend = make_backend(kind, tmp_path / "index", PLAN)
        with backend.open(max_distance=K) as index:
            observe_all(index, pages(60))
    return backend


@pytest.mark.parametrize("damage", ["byte", "short", "missing"])
@pytest.mark.parametrize("name", ["fingerprints", "ids", "*.run"])
def test_damaged_files_are_refused_and_repaired(closed, name, damage):
    folder = closed.directory / closed.name / "runs"
    for path in list(folder.glob(name)):
        content = bytearray(path.read_bytes())
        if damage == "missing":
            path.unlink()
            continue
        content[len(content) // 2] ^= 1
        path.write_bytes(content if damage == "byte" else content[:-8])
    for use in (lambda: closed.open(max_distance=K), lambda: check(closed.directory)):
        with pytest.raises(IndexCorrupt, match="repair"):
            use()
    assert repair(closed.directory).entries == 60
    assert check(closed.directory).problems == []
    with closed.open(max_distance=K) as index:
        assert_finds(index, pages(60))


def test_a_stray_row_between_entries_is_the_only_problem(closed):
    stray = records.entry_row_key(30) + b"?"
    change_rows(closed.directory, {stray: b"value"})
    assert check(closed.directory).problems == [f"a row of no known kind: {stray!r}"]


def test_check_names_what_does_not_fit(closed):
    value = rows(closed.directory)[records.entry_row_key(30)]
    other = records.decode_entry(30, value, PLAN.bits // 8)._replace(fingerprint=1)
    changed = records.encode_entry(other, PLAN.bits // 8)
    change_rows(closed.directory, {records.entry_row_key(30): changed})
    assert check(closed.directory).problems == [
        "the tables do not find entry 30 by its fingerprint"
    ]
    change_rows(closed.directory, {records.entry_row_key(30): value, records.RUNS_KEY: b"{}"})
    with pytest.raises(IndexCorrupt, match="the row of runs makes no sense"):
        check(closed.directory)


def test_a_full_disk_costs_no_page(tmp_path, monkeypatch, caplog):
    write = RunWriter.write
    full = True

    def written(writer, words):
        if full:
            raise OSError(28, "No space left on device")
        write(writer, words)

    monkeypatch.setattr(RunWriter, "write", written)
    with small_runs():
        backend = make_backend("leveldb", tmp_path / "index", PLAN)
        with backend.open(max_distance=K) as index:
            observe_all(index, pages(60))
            assert_finds(index, pages(60))
            assert "its tables cannot be written" in caplog.text
            assert index._shared.store._buckets.pages.stored == 0
            full = False
            observe_all(index, pages(90))
            assert index._shared.store._buckets.pages.stored > 0
            assert_finds(index, pages(90))
        assert check(tmp_path / "index").problems == []


def test_destroying_the_database_deletes_the_files_of_runs(closed):
    path = closed.directory / closed.name
    database_kind(closed.name).destroy(str(closed.directory), path)
    assert not path.exists()


def test_a_page_cannot_be_read_while_the_disk_fails(closed, monkeypatch):
    def failing(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scrapy_simhash.index.pages.map_file", failing)
    with pytest.raises(StorageError, match="its tables cannot be read"):
        closed.open(max_distance=K)


def test_what_is_found_does_not_depend_on_how_far_pages_are_sorted():
    rng = random.Random(3)
    pages_, certainty = [], rng.randbytes(PLAN.bits)
    for _ in range(400):
        fingerprint = 0
        for bit in rng.sample(range(PLAN.bits), 15):
            fingerprint ^= 1 << bit
        pages_.append(fingerprint)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for young in (2, 50, 1000):
            with small_runs(young=young, memory=10_000):
                made = Runs(DictDatabase(path=Path(folder)), PLAN)
                for number, fingerprint in enumerate(pages_):
                    made.add(Entry(number, str(number), fingerprint, 0, 0, 0, number))
                found.append(made.find_near(0, K, certainty))
    assert found[0] == found[1] == found[2]
    assert 0 < len(found[0]) < 400


def test_many_are_asked_at_once(tmp_path):
    plan = TablePlan(256, 8, prefix_bits=8, probes=100)
    rng = random.Random(2)
    entries = {}
    with small_runs(young=10, memory=64):
        asked = Runs(DictDatabase(path=tmp_path), plan, durable=False)
        for ordinal in range(200):
            fingerprint = rng.getrandbits(256)
            if ordinal % 3:
                fingerprint = entries[ordinal - 1].fingerprint ^ rng.getrandbits(256) >> 230
            entry = Entry(ordinal, f"page {ordinal}", fingerprint, ordinal, 0, 0, ordinal)
            entries[ordinal] = entry
            asked.add(entry)
        asking = [(entry.fingerprint, rng.randbytes(256)) for entry in entries.values()]
        found = asked.find_near_many(asking, K)
    assert sum(map(len, found)) > len(entries)
    assert found == [near_ones(*one, plan, entries) for one in asking]


def test_fields_that_lie_in_two_words():
    field = Field(word=0, shift=50, width=27)
    value = random.Random(1).getrandbits(128)
    row = np.frombuffer(value.to_bytes(16, "little"), "<u8").reshape(1, 2)
    assert field.read(row).tolist() == [value >> 50 & (1 << 27) - 1]


def test_evidence_of_certainty_is_used(closed):
    with closed.open(max_distance=K) as index:
        fingerprint = pages(60)["page 7"]
        certainty = Evidence(certainty=bytes(PLAN.bits))
        assert [match.key for match in index.query(fingerprint, certainty)] == ["page 7"]
