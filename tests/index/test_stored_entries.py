"""What of pages and crawls comes to lie in an index, over every kind of database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_simhash.errors import IndexClosed
from scrapy_simhash.index import records

from .backends import PLAN, checked_entries, flip, make_backend, rows, small_tables


@pytest.fixture
def backend(kind, tmp_path):
    return make_backend(kind, tmp_path / "index")


@pytest.mark.parametrize("capacity", [1, 4096])
def test_a_changed_page_leaves_no_row_of_its_old_content(backend, capacity):
    with small_tables(memory=capacity), backend.open() as index:
        for fingerprint in (0x0000, 0xFFFF, 0x0F0F, 0xF0F0):
            index.confirm(index.observe("a", fingerprint))
        index.observe("a", 0x00FF)
    stored = rows(backend.directory)
    assert sorted(row[:1] for row in stored) == [b"E", b"S"]
    entries = checked_entries(backend.directory, PLAN)
    assert entries["a"].fingerprint == 0xF0F0


def test_pending_and_discarded_pages_write_nothing(backend):
    with backend.open() as index:
        index.observe("a", 0)
        index.discard(index.observe("b", 0xFFFF))
    assert list(rows(backend.directory)) == [records.STATE_KEY]


def test_an_entry_remembers_when_its_page_was_first_and_last_seen(backend):
    # Stored, unchanged, changed, unchanged.
    for time_s, fingerprint in ((1000, 0), (2000, flip(0, 1)), (3000, 0xFFFF), (4000, 0xFFFF)):
        with backend.open() as index:
            index.rules = replace(index.rules, clock=lambda now=time_s: now + 0.9)
            index.confirm(index.observe("a", fingerprint))
        entry = checked_entries(backend.directory, PLAN)["a"]
        assert entry.last_sequence == index.crawl_start
        assert (entry.first_seen_s, entry.last_seen_s) == (1000, time_s)


def test_the_near_duplicate_log_of_a_closed_index_says_so_and_does_not_hold_it(backend):
    with backend.open() as index:
        index.observe("a", 0)
        lines = [index.observe(f"copy {number}", 0) for number in range(3)]
        log = index.near_duplicates()
        assert next(log).key == lines[0].key
    with backend.open() as again:
        assert [line.key for line in again.near_duplicates()] == [line.key for line in lines]
    with pytest.raises(IndexClosed, match="close"):
        list(log)
