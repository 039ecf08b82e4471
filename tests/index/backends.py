"""The back ends that the contract's tests run over, and raw looks into an index on disk."""

import struct
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.index import Index, TablePlan, database_kind, entry_tables, open_index, records
from scrapy_simhash.index.database import MemoryDatabase
from scrapy_simhash.index.index import rules_of
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.store import Store
from scrapy_simhash.index.tables import runs, tables

# Small, so that distances collide, and exact at K.
BITS = 16
K = 3
SCHEME = Scheme(bits=BITS)
PLAN = TablePlan(BITS, 4)
FAR = (0x0000, 0x00FF, 0xFF00, 0xFFFF)  # at least 8 bits from each other

# Kinds of database, with the package that each needs.
PACKAGES = {"leveldb": "plyvel", "rocksdb": "rocksdict"}


def kind_parameter(kind, value=None):
    """A test's parameter for that kind of index, skipped where its package is not installed."""
    package = PACKAGES.get(kind)
    missing = package is not None and find_spec(package) is None
    reason = f"no index in {kind}: the package {package} is not installed"
    return pytest.param(value or kind, marks=pytest.mark.skipif(missing, reason=reason))


DATABASE_KINDS = [kind_parameter(kind) for kind in PACKAGES]
KINDS = [kind_parameter("memory"), *DATABASE_KINDS]
INSTALLED_KINDS = [kind for kind, package in PACKAGES.items() if find_spec(package) is not None]


@contextmanager
def small_tables(*, unsorted=3, memory=7, step=4, few=1):
    """Tables that are made meanwhile sort after so few rows, and write files bit by bit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "UNSORTED_ROWS", unsorted)
        patch.setattr(tables, "MEMORY_ROWS", memory)
        for module in (tables, entry_tables):
            patch.setattr(module, "FEW_ROWS", few)
        patch.setattr(entry_tables, "_ROWS_AFTER_AN_ERROR", 1)
        patch.setattr(runs, "STEP_POSITIONS", step)
        yield


def flip(fingerprint, *bits):
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


def seen(observation):
    return observation.kind, observation.representative, observation.distance


def found(matches):
    return [(match.key, match.fingerprint, match.distance) for match in matches]


class MemoryBackend:
    """A memory index that can be reopened: its rows stay, as a directory would."""

    name = "memory"

    def __init__(self, plan=PLAN):
        self.database = MemoryDatabase()
        self._manifest = Manifest(Scheme(bits=plan.bits), plan, K, "memory")
        self._store = None

    def open(self, *, max_distance=K, incremental=False, confirmation=None, crawl_start=None):
        if self._store is None or not self._store.users:
            self._store = Store(self.database, self._manifest)
        rules = rules_of(self._store, max_distance, confirmation, incremental, crawl_start)
        return Index(self._store, rules)


@dataclass
class DatabaseBackend:
    """An index in a directory."""

    name: str
    directory: Path
    plan: TablePlan = PLAN

    @property
    def url(self):
        return f"{self.name}:{self.directory}"

    def open(self, *, max_distance=K, **options):
        scheme = Scheme(bits=self.plan.bits)
        return open_index(self.url, scheme, max_distance=max_distance, plan=self.plan, **options)


Backend = MemoryBackend | DatabaseBackend


def make_backend(name, directory, plan=PLAN):
    return MemoryBackend(plan) if name == "memory" else DatabaseBackend(name, directory, plan)


def opened_database(directory):
    """The database of an index that nobody has open."""
    manifest = Manifest.read(directory)
    kind = database_kind(manifest.database)
    return closing(kind(str(directory), manifest.database_path(directory)))


def rows(directory):
    """All rows of a closed index, in their order."""
    with opened_database(directory) as database:
        return dict(database.rows(b"", b"\xff" * 9))


def check_rows(stored, plan):
    """The entries of an index by page key, after checking that its rows fit each other, by their
    description alone.
    """
    next_sequence, counted, identity, text_bytes = struct.unpack(">QQQQ", stored[b"S"])
    assert identity
    assert text_bytes == sum(len(row) + len(stored[row]) for row in stored if row[:1] == b"X")
    entries = {}
    for row, value in stored.items():
        if row[:1] == b"E":
            (ordinal,) = struct.unpack(">I", row[1:])
            entries[ordinal] = records.decode_entry(ordinal, value, plan.bits // 8)
    assert len(entries) == counted
    assert all(entry.last_sequence < next_sequence for entry in entries.values())
    numbers = [entry.number for entry in entries.values()]
    assert len(numbers) == len(set(numbers))
    for row, value in stored.items():
        if row[:1] == b"N":
            sequence = int.from_bytes(row[1:], "big")
            assert len(row) == 6
            records.decode_near_duplicate(sequence, value)
            assert sequence < next_sequence
    other = {row for row in stored if row[:1] not in {b"E", b"N", b"X"}}
    assert other == {b"S"}, "rows of no known kind"
    by_key = {entry.key: entry for entry in entries.values()}
    assert len(by_key) == len(entries), "a page has two entries"
    return by_key


def checked_entries(directory, plan):
    """The entries of an index that nobody has open; see `check_rows`."""
    return check_rows(rows(directory), plan)


def files(directory):
    """Every file below a directory with its bytes; None for directories."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }
