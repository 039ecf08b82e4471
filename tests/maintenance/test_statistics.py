"""statistics: what an index holds, against its rows."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index import TablePlan, open_index, records
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.statistics import TableStatistics, statistics
from tests.index.backends import make_backend, rows, small_buffers
from tests.index.raw import crashed, largest

PLAN = TablePlan(64, 6)
PAGES = 120


def pages():
    rng = random.Random(1)
    # Some share their first bits, so that one bucket is fuller than others.
    fingerprints = [rng.getrandbits(64) >> (20 if number < 20 else 0) for number in range(PAGES)]
    return {f"页 {number}": fingerprint for number, fingerprint in enumerate(fingerprints)}


@pytest.fixture
def backend(kind, tmp_path):
    return make_backend(kind, tmp_path / "index", PLAN)


@pytest.fixture
def filled(backend):
    """Of a crawl that met each page twice, and of a later one."""
    with small_buffers(50):
        for _ in range(2):
            with backend.open() as index:
                for key, fingerprint in pages().items():
                    index.confirm(index.observe(key, fingerprint))
                    index.observe(f"copy of {key}", fingerprint ^ 1)
    return backend.directory


def test_rows_are_counted_by_kind_with_their_bytes(filled):
    stored = rows(filled)
    found = statistics(filled)
    assert rows(filled) == stored
    assert list(found.rows) == ["entries", "buckets", "page keys", "near-duplicates", "state"]
    for (name, counted), letter in zip(
        found.rows.items(), (b"E", b"T", b"K", b"N", b"S"), strict=True
    ):
        of_kind = {row: value for row, value in stored.items() if row[:1] == letter}
        assert counted.rows == len(of_kind) > 0, name
        assert counted.key_bytes == sum(map(len, of_kind)), name
        assert counted.value_bytes == sum(map(len, of_kind.values())), name


def test_entries_and_files_are_counted(kind, filled):
    found = statistics(filled)
    assert (found.entries, found.buffered) == (PAGES, 0)
    # 240 observations in each of the two crawls.
    assert found.manifest.database == kind
    files = [file for file in (filled / kind).rglob("*") if file.is_file()]
    # Its own messages grow as it is opened.
    data = sum(file.stat().st_size for file in files if "LOG" not in file.name)
    assert data <= found.file_bytes <= sum(file.stat().st_size for file in files) + 100_000


def test_page_keys_are_counted_though_pages_were_met_again(filled):
    assert statistics(filled).page_key_bytes == sum(len(key.encode()) for key in pages())


def test_the_records_of_each_table_are_counted_and_so_is_its_fullest_bucket(filled):
    found = statistics(filled).tables
    names = [f"table {number}" for number in range(len(PLAN.tables))]
    assert [table.name for table in found] == [*names, "page keys"]
    for number, width in enumerate(PLAN.prefix_widths_bits):
        buckets = Counter(PLAN.prefixes(fingerprint)[number] for fingerprint in pages().values())
        assert found[number] == TableStatistics(
            f"table {number}",
            width,
            used=len(buckets),
            records=PAGES,
            largest=max(buckets.values()),
        )
    # Of so few, several have their first bits in common.
    assert found[0].largest >= 20
    assert found[0].skew == pytest.approx(found[0].largest * 2**11 / PAGES)
    assert found[-1].prefix_bits == records.KEY_PREFIX_BITS
    assert (found[-1].records, found[-1].used) == (PAGES, len(key_buckets()))


def key_buckets():
    return {records.key_hash(key.encode())[0] for key in pages()}


def test_more_tables_than_a_byte_counts_are_told_apart(kind, tmp_path):
    plan = TablePlan(16, 11, 4)
    assert len(plan.tables) == 330
    rng = random.Random(2)
    fingerprints = {f"page {number}": rng.getrandbits(16) for number in range(10)}
    directory = tmp_path / "index"
    with open_index(f"{kind}:{directory}", Scheme(bits=16), max_distance=0, plan=plan) as index:
        for key, fingerprint in fingerprints.items():
            index.confirm(index.observe(key, fingerprint))
    stored = rows(directory)
    found = statistics(directory).tables
    assert len(found) == 331
    for number, table in enumerate(found[:-1]):
        head = b"T" + number.to_bytes(2, "big")
        assert table.used == len([row for row in stored if row[:3] == head and len(row) == 4])
        assert table.records == 10
        prefixes = Counter(plan.prefixes(value)[number] for value in fingerprints.values())
        assert table.largest == max(prefixes.values())


def test_entries_that_wait_in_memory_are_counted_after_a_crash(backend, tmp_path):
    with backend.open() as index:
        for number, (key, fingerprint) in enumerate(pages().items()):
            index.confirm(index.observe(key, fingerprint))
            if number == 9:
                index.observe("copy", fingerprint)
        copy = crashed(index, tmp_path / "crashed")
    found = statistics(copy)
    assert (found.entries, found.buffered) == (PAGES, PAGES)
    assert all(table.records == table.used == table.largest == 0 for table in found.tables)
    assert {table.skew for table in found.tables} == {0}
    assert check(copy).buffered == PAGES
    assert statistics(backend.directory).buffered == 0


def test_an_empty_index_has_nothing(backend):
    backend.open().close()
    found = statistics(backend.directory)
    assert (found.entries, found.buffered, found.page_key_bytes) == (0, 0, 0)
    assert {kind: counted.rows for kind, counted in found.rows.items()} == {
        **dict.fromkeys(["entries", "buckets", "page keys", "near-duplicates"], 0),
        "state": 1,
    }
    assert {(table.used, table.records, table.skew) for table in found.tables} == {(0, 0, 0)}


def test_files_that_cannot_be_read_are_corrupt(filled):
    largest(filled, "CURRENT").unlink()
    with pytest.raises(IndexCorrupt, match="repair"):
        statistics(filled)
