"""Tables beside a linear scan, for every kind of plan, through crashes, failures and damage."""

import json
import random
import resource
import shutil
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.base import Query
from scrapy_simhash.index.tables.format import COLUMNS, STATE, File, delete_tables
from scrapy_simhash.index.tables.tables import Tables

from .backends import small_tables
from .probing_model import found_by

PLANS = [
    (TablePlan(16, 4), 3),
    (TablePlan(64, 4), 3),
    (TablePlan(64, 6, 3), 3),
    (TablePlan(256, 2), 1),  # prefixes of 128 bits
    (TablePlan(96, 5, 2), 2),
    (TablePlan(136, 3, prefix_bits=27, probes=20), 20),  # a prefix in two words
    (TablePlan(128, 2, prefix_bits=3, probes=6), 20),
    (TablePlan(256, 12, prefix_bits=20, probes=292), 52),
]
PLAN, K = PLANS[5]


class BesideAScan(RuleBasedStateMachine):
    """Tables in a folder, and tables in memory, beside the rows that they should find."""

    plan, k = PLANS[0]

    def __init__(self):
        super().__init__()
        self.patched = small_tables(unsorted=3, memory=9, step=4)
        self.patched.__enter__()
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "0"
        self.random = random.Random(1)
        self.rows, self.forgotten, self.written = {}, set(), {}
        self.next_number = 0
        self.in_memory = Tables(self.plan)
        self.tables = Tables(self.plan, self.folder)

    @rule(near=st.booleans(), gap=st.sampled_from([0, 0, 0, 1, 1000]), times=st.integers(1, 9))
    def add(self, near, gap, times):
        for _ in range(times):
            fingerprint = self.random.getrandbits(self.plan.bits)
            if near and self.rows:
                fingerprint = self.random.choice(list(self.rows.values()))
                for bit in self.random.sample(range(self.plan.bits), min(self.k, 4)):
                    fingerprint ^= 1 << bit
            number = self.next_number
            self.next_number += 1 + gap
            for tables in (self.tables, self.in_memory):
                tables.add(number, fingerprint, b"page %d" % number, 0)
            self.rows[number] = fingerprint

    @rule(times=st.integers(1, 80))
    def step(self, times):
        for _ in range(times):
            self.tables.step()

    @rule(data=st.data())
    def forget(self, data):
        if self.rows:
            number = data.draw(st.sampled_from(sorted(self.rows)))
            self.forgotten.add(number)
            for tables in (self.tables, self.in_memory):
                tables.forget(number)

    @rule(killed=st.booleans())
    def reopen(self, killed):
        """A kill leaves the files as they are, even in the middle of a merge."""
        if not killed:
            self.tables.write_all()
        folder = self.root / f"{int(self.folder.name) + 1}"
        if self.folder.exists():
            shutil.copytree(self.folder, folder)
        self.tables.close()
        self.folder = folder
        self.tables = Tables(self.plan, self.folder)
        assert killed or self.tables.stop == (max(self.rows) + 1 if self.rows else 0)
        assert len(list(folder.glob("*.run"))) <= 2
        for number, fingerprint in self.rows.items():
            if number >= self.tables.stop:
                self.tables.add(number, fingerprint, b"page %d" % number, 0)

    @invariant()
    def all_are_found(self):
        queries = []
        for fingerprint in [*self.rows.values()][-3:] + [*self.rows.values()][:2]:
            certainty = b""
            if self.plan.probes:
                certainty = self.random.choice([b"", self.random.randbytes(self.plan.bits)])
            asked = fingerprint ^ 1 << self.random.randrange(self.plan.bits)
            queries.append(Query(asked, certainty))
        for tables in (self.tables, self.in_memory):
            together = tables.near(queries, self.k)
            alone = [tables.near([query], self.k)[0] for query in queries]
            for query, *answers in zip(queries, together, alone, strict=True):
                for numbers in answers:
                    assert len(numbers) == len(set(numbers))
                    assert set(numbers) - self.forgotten == self.near(*query[:2])
            for number in {*self.rows} - self.forgotten:
                assert number in tables.with_key(b"page %d" % number)
            assert set(tables.with_key(b"another")) <= self.forgotten

    def near(self, fingerprint, certainty):
        is_probed = found_by(self.plan, fingerprint, certainty)
        return {
            number
            for number, stored in self.rows.items()
            if hamming_distance(stored, fingerprint) <= self.k
            and is_probed(stored)
            and number not in self.forgotten
        }

    def teardown(self):
        self.patched.__exit__(None, None, None)
        shutil.rmtree(self.root)


@pytest.mark.parametrize(
    ("plan", "k"),
    [  # each of those in the thorough ring has a neighbour of its kind
        pytest.param(*PLANS[at], marks=pytest.mark.thorough if at in (2, 4, 6, 7) else ())
        for at in range(len(PLANS))
    ],
    ids=str,
)
def test_tables_find_what_a_linear_scan_finds_in_their_buckets(plan, k):
    class OfPlan(BesideAScan):
        pass

    OfPlan.plan, OfPlan.k = plan, k
    run_state_machine_as_test(OfPlan, settings=settings(max_examples=12, stateful_step_count=30))


def rows(count, seed=1):
    rng = random.Random(seed)
    return [rng.getrandbits(PLAN.bits) for _ in range(count)]


def add_all(tables, fingerprints):
    for number, fingerprint in enumerate(fingerprints):
        if number >= tables.stop:
            tables.add(number, fingerprint, b"%d" % number, 0)
            while tables.step():
                pass


def assert_finds(tables, fingerprints):
    for number, fingerprint in enumerate(fingerprints):
        assert number in tables.near([Query(fingerprint ^ 1)], K)[0]
        assert number in tables.with_key(b"%d" % number)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "tables"
    with small_tables():
        tables = Tables(PLAN, path, made_for="an index")
        add_all(tables, rows(60))
        tables.write_all()
        tables.close()
    return path


def test_files_are_laid_out_as_the_page_of_their_format_says(tmp_path):
    """Read without this package, by docs/index-format.md alone."""
    fingerprints = [0x1234, 0x1230, 0x0FFF, 0x12FF, 0xFF30]
    with small_tables():
        tables = Tables(TablePlan(16, 4), tmp_path, made_for="an index")
        for number, fingerprint in enumerate(fingerprints, 10):
            tables.add(number, fingerprint, b"%d" % number, 0)
        tables.write_all()
    hashes = [xxhash.xxh3_64_intdigest(b"%d" % number) >> 32 for number in range(10, 15)]
    columns = {name: (tmp_path / name).read_bytes() for name in ("fingerprints", "ids", "marks")}
    assert columns["fingerprints"] == struct.pack("<5Q", *fingerprints)
    ids = [hashed << 32 | number for number, hashed in enumerate(hashes, 10)]
    assert columns["ids"] == struct.pack("<5Q", *ids)
    assert columns["marks"] == bytes(40)
    content = (tmp_path / "1.run").read_bytes()
    text, checksum = (tmp_path / STATE).read_text().split("\n")
    assert checksum == f"{xxhash.xxh3_64_intdigest(text.encode()):016x}"
    state = json.loads(text)
    assert (state["rows"], state["stop"]) == (5, 15)
    sums = {name: xxhash.xxh3_64_intdigest(one) for name, one in columns.items()}
    assert state["sums"] == sums | {"1.run": xxhash.xxh3_64_intdigest(content)}
    [(size, bits, starts, rows)] = state["runs"].values()
    assert (size, rows) == (len(content) // 4, 5)
    words = struct.unpack(f"<{size}I", content)
    # Four blocks of four bits, then page keys and names, which are unknown.
    factor = 0x9E3779B97F4A7C15 >> 60 | 1
    by_table = [
        [(fingerprint >> shift & 15) * factor % 16 << 60 for fingerprint in fingerprints]
        for shift in (12, 8, 4, 0)
    ]
    for directory, hashed in zip(starts, [*by_table, ids, ids], strict=True):
        slots = [one >> 64 - bits for one in hashed]
        for slot in range(1 << bits):
            bucket = words[words[directory + slot] : words[directory + slot + 1]]
            assert sorted(bucket) == [at for at, own in enumerate(slots) if own == slot]


@pytest.mark.parametrize("damage", ["byte", "short", "empty", "missing", "longer"])
@pytest.mark.parametrize("name", [*COLUMNS, "first run", "last run", STATE])
def test_a_file_that_is_damaged_is_not_used(folder, name, damage):
    runs = sorted(folder.glob("*.run"), key=lambda path: int(path.stem))
    assert len(runs) == 2
    path = {"first run": runs[0], "last run": runs[1]}.get(name) or folder / name
    content = bytearray(path.read_bytes())
    if damage == "byte":
        content[len(content) // 2] ^= 1
    elif damage == "short":
        del content[-8:]
    elif damage == "empty":
        content.clear()
    elif damage == "longer":
        content += bytes(8)
    path.write_bytes(content)
    if damage == "missing":
        path.unlink()
    if damage == "longer" and name != STATE:  # as an interrupted merge leaves it
        assert_finds(Tables(PLAN, folder, made_for="an index"), rows(60))
        return
    with small_tables():
        tables = Tables(PLAN, folder, made_for="an index")
        assert tables.stop == 0
        assert bool(tables.unfit) == (damage != "missing" or name != STATE)
        add_all(tables, rows(60))
        assert_finds(tables, rows(60))


def test_after_an_error_a_full_disk_does_not_hide_it(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(KeyError, match="first"), File(tmp_path / "1.run") as file:
            file.write(np.arange(9, dtype=np.uint64))
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
            raise KeyError("first")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "1.run").stat().st_size == 0


def test_files_that_an_interruption_left_are_deleted_and_others_stay(folder):
    before = {path.name for path in folder.iterdir()}
    for name in (".simhash-temporary", "0.run"):
        (folder / name).write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    Tables(PLAN, folder, made_for="an index")
    assert {path.name for path in folder.iterdir()} == {*before, "notes.txt"}
    delete_tables(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
