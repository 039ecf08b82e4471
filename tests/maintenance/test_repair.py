"""repair: an index made anew from its entries, whatever else is wrong, and however often."""

from __future__ import annotations

import shutil
from contextlib import suppress

import pytest

from scrapy_simhash.errors import IndexCorrupt, IndexLocked, IndexMismatch, StorageError
from scrapy_simhash.index import open_index, records, reset_index
from scrapy_simhash.maintenance import repair as repair_module
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.repair import RepairReport, repair
from tests.index.backends import BITS, PLAN, checked_entries, files, make_backend, rows
from tests.index.child import PLAN as WIDE_PLAN
from tests.index.processes import children
from tests.index.raw import change_rows, crashed, largest, state_of

from .conftest import ALIKE
from .test_check import INCONSISTENCIES, any_entry

WIDTH_BYTES = BITS // 8
PAGES = {f"page {number}" for number in range(10)}


def log_of(directory):
    return {row: value for row, value in rows(directory).items() if row[:1] == b"N"}


def entries_of(directory):
    entries = checked_entries(directory, PLAN, closed=True)
    return {key: entry._replace(ordinal=-1) for key, entry in entries.items()}


def test_repair_keeps_all_of_a_sound_index(kind, sound):
    before, log = checked_entries(sound, PLAN, closed=True), log_of(sound)
    state = state_of(rows(sound))
    assert set(before) == PAGES
    for _ in range(2):
        assert repair(sound) == RepairReport(
            salvaged=False, entries=10, near_duplicates=2, dropped=0
        )
        assert checked_entries(sound, PLAN, closed=True) == before
        assert log_of(sound) == log
        assert check(sound).problems == []
        # No number and no ordinal that is in use is given again.
        after = state_of(rows(sound))
        assert after.next_sequence == state.next_sequence
        assert after.next_ordinal == state.next_ordinal


@pytest.mark.parametrize("change", dict.fromkeys(change for change, _ in INCONSISTENCIES))
def test_after_a_repair_nothing_is_found_whatever_was_wrong(kind, sound, change):
    stored = rows(sound)
    before = entries_of(sound)
    changes = change(stored)
    puts = {row: value for row, value in changes.items() if value is not None}
    change_rows(sound, puts, [row for row in changes if row not in puts])
    repair(sound)
    report = check(sound)
    assert (report.problems, report.buffered) == ([], 0)
    after = entries_of(sound)
    if any(row[:1] == b"E" for row in changes):
        # One that was changed by hand may be gone, or another one.
        assert len(after.items() & before.items()) >= len(before) - 1
    else:
        assert after == before
    assert set(log_of(sound)) >= {row for row in stored if row[:1] == b"N"}
    with make_backend(kind, sound).open(incremental=True) as index:
        for key, entry in after.items():
            assert index.observe(key, entry.fingerprint).kind == "unchanged"
        # Numbers go on behind all that were given.
        numbers = [entry.last_sequence for entry in after.values()]
        numbers += [int.from_bytes(row[1:], "big") for row in log_of_index(index)]
        assert index.observe("new", 0x0FF0).sequence > max(numbers)


def log_of_index(index):
    return [records.log_row_key(line.sequence) for line in index.near_duplicates()]


def test_without_its_state_row_numbers_go_on_behind_those_that_are_in_rows(sound):
    stored = rows(sound)
    lines = [int.from_bytes(row[1:], "big") for row in stored if row[:1] == b"N"]
    entries = checked_entries(sound, PLAN).values()
    change_rows(sound, {}, [records.STATE_KEY])
    repair(sound)
    state = state_of(rows(sound))
    assert state.next_sequence == 1 + max(*lines, *(entry.last_sequence for entry in entries))
    assert state.next_ordinal == 1 + max(entry.ordinal for entry in entries)


@pytest.mark.parametrize("older", ["before", "after"])
def test_an_old_entry_of_a_page_that_has_another_is_dropped(sound, older):
    """As a database's own repair may bring back what was deleted."""
    stored = rows(sound)
    before = entries_of(sound)
    entry = any_entry(stored)
    # Ordinal 2 was that of page 2 before it changed.
    assert records.entry_row_key(2) not in stored
    if older == "before":
        back = entry._replace(number=2, last_sequence=2, ordinal=2, fingerprint=ALIKE[12])
        expected = before
    else:
        number = state_of(stored).next_sequence
        back = entry._replace(number=3, last_sequence=number, ordinal=2, fingerprint=ALIKE[12])
        expected = {**before, entry.key: back._replace(ordinal=-1)}
    change_rows(sound, {records.entry_row_key(2): records.encode_entry(back, WIDTH_BYTES)})
    report = repair(sound)
    assert (report.entries, report.dropped) == (10, 1)
    assert entries_of(sound) == expected
    assert check(sound).problems == []


def test_rows_of_no_known_kind_and_ones_that_make_no_sense_are_dropped(sound):
    keys = (b"A", b"F\0", b"M", b"OO", b"SS", b"U", b"\xff" * 9, b"E", b"E\1", b"E" + bytes(9))
    strange = dict.fromkeys((*keys, b"N", b"N" + b"\xff" * 9), b"?")
    strange[records.entry_row_key(77)] = bytes(11) + b"\xff\xfe"
    strange[records.log_row_key(7)] = b"short"
    before = entries_of(sound)
    change_rows(sound, strange)
    assert repair(sound).dropped == len(strange)
    assert not strange.keys() & rows(sound).keys()
    assert entries_of(sound) == before


def test_line_rows_of_another_length_are_dropped(sound):
    line = next(iter(log_of(sound).values()))
    change_rows(sound, {b"N" + b"\xff" * 12: line, b"N\1": line, b"N" + bytes(12): line})
    assert repair(sound).dropped == 3
    assert len(log_of(sound)) == 2


@pytest.mark.parametrize("name", ["CURRENT", "MANIFEST-*"])
def test_repaired_twice_it_stays_as_it_is(sound, name):
    before = entries_of(sound)
    largest(sound, name).unlink()
    assert repair(sound) == RepairReport(salvaged=True, entries=10, near_duplicates=2, dropped=0)
    assert repair(sound) == RepairReport(salvaged=False, entries=10, near_duplicates=2, dropped=0)
    assert entries_of(sound) == before


def test_a_damaged_table_file_is_set_aside_and_not_deleted(kind, sound):
    table = largest(sound, "*.ldb" if kind == "leveldb" else "*.sst")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    assert repair(sound).salvaged
    assert bytes(data) in files(sound / kind).values()


def test_an_index_that_was_repaired_can_be_deleted(kind, sound):
    largest(sound, "*.ldb" if kind == "leveldb" else "*.sst").write_bytes(b"")
    assert repair(sound).salvaged
    assert reset_index(f"{kind}:{sound}")
    with make_backend(kind, sound).open() as index:
        assert len(index) == 0
        index.confirm(index.observe("a", 1))
    assert set(checked_entries(sound, PLAN, closed=True)) == {"a"}


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["table", "CURRENT", "rows"])
def test_a_repair_that_was_killed_can_be_started_again(kind, sound, tmp_path, damage):
    if damage == "rows":
        change_rows(sound, {b"X": b"?"}, [records.STATE_KEY])
    elif damage == "CURRENT":
        largest(sound, "CURRENT").unlink()
    else:
        largest(sound, "*.ldb" if kind == "leveldb" else "*.sst").write_bytes(b"")
    whole = shutil.copytree(sound, tmp_path / "whole")
    repair(whole)
    expected = entries_of(whole)
    assert (expected.keys() == PAGES) == (damage != "table")
    kills = 0
    with children() as other:
        for moment in ("before 1", "after 1", "before 2", "after 2", "after 4", "before 999"):
            copy = shutil.copytree(sound, tmp_path / moment)
            repairing = other.begin("repair", directory=str(copy), dies_at=moment)
            said = repairing.rest()
            if repairing.was_killed:
                kills += 1
                assert_refused_or_whole(kind, copy, expected)
            else:
                assert said[-1] == f"repaired {len(expected)}"
            report = repair(copy)
            assert report.entries == len(expected)
            assert check(copy).problems == []
            assert entries_of(copy) == expected
    assert not repairing.was_killed
    # At least before and after the state is deleted and the new one written.
    assert kills >= 4


def assert_refused_or_whole(kind, directory, expected):
    """What is left of a repair is no index that lacks something."""
    copy = shutil.copytree(directory, directory.with_name(f"{directory.name}, opened"))
    try:
        with make_backend(kind, copy).open(incremental=True) as index:
            assert len(index) == len(expected)
            for key, entry in expected.items():
                assert index.observe(key, entry.fingerprint).kind == "unchanged"
    except IndexCorrupt:
        # Then a check does not say that all is well.
        with suppress(IndexCorrupt):
            assert check(copy).problems


@pytest.mark.parametrize("step", ["_read_entries_and_log", "_delete", "TableStore"])
def test_a_repair_that_failed_can_be_started_again(sound, monkeypatch, step):
    before = entries_of(sound)
    change_rows(sound, {b"X": b"?"}, [records.STATE_KEY])

    def fail(*_arguments, **_named):
        raise StorageError(str(sound), "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(repair_module, step, fail)
        with pytest.raises(StorageError, match="the disk is full"):
            repair(sound)
    assert repair(sound).entries == 10
    assert entries_of(sound) == before


def test_after_a_repair_the_youngest_version_of_an_entry_counts(kind, tmp_path):
    """A database that repaired itself may know an earlier version, too."""
    backend = make_backend(kind, tmp_path / "index")
    pages = {f"page {number}": fingerprint for number, fingerprint in enumerate(ALIKE)}
    assert len(pages) > 100
    for _ in range(3):
        # Each time into another table file.
        with backend.open() as index:
            for key, fingerprint in pages.items():
                index.confirm(index.observe(key, fingerprint))
            last = crashed(index, tmp_path / f"crashed {index.crawl_start}")
    with make_backend(kind, last).open():
        pass
    before = {key: entry.last_sequence for key, entry in checked_entries(last, PLAN).items()}
    oldest = min((last / kind).glob("*.ldb" if kind == "leveldb" else "*.sst"))
    data = bytearray(oldest.read_bytes())
    # Behind the entries.
    data[len(data) // 2] ^= 1
    oldest.write_bytes(data)
    assert repair(last).salvaged
    with make_backend(kind, last).open() as index:
        store = index._shared.store
        assert {key: store.entry(key).last_sequence for key in pages} == before


def test_an_entry_that_a_crash_kept_from_the_buckets_is_in_them_after_a_repair(kind, tmp_path):
    backend = make_backend(kind, tmp_path / "index")
    with backend.open() as index:
        for number in range(5):
            index.confirm(index.observe(f"page {number}", ALIKE[number]))
        copy = crashed(index, tmp_path / "crashed")
    assert check(copy).buffered == 5
    assert repair(copy).entries == 5
    assert (check(copy).buffered, check(copy).problems) == (0, [])


def test_a_database_that_was_never_made_is_repaired_to_an_empty_one(kind, sound):
    shutil.rmtree(sound / kind)
    assert repair(sound).entries == 0
    assert check(sound).problems == []
    with make_backend(kind, sound).open() as index:
        assert len(index) == 0


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, StorageError),
        ("{", IndexCorrupt),
        ('{"format": "scrapy-simhash index", "format_version": 1}', IndexMismatch),
    ],
)
def test_without_its_manifest_an_index_cannot_be_repaired(sound, content, error):
    (sound / "manifest.json").unlink()
    if content is not None:
        (sound / "manifest.json").write_text(content, encoding="utf-8")
    before = files(sound)
    with pytest.raises(error) as caught:
        repair(sound)
    assert str(sound) in str(caught.value)
    assert files(sound) == before


def test_where_there_is_no_index_none_is_made(tmp_path):
    with pytest.raises(StorageError, match="there is no index"):
        repair(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("without", [None, "CURRENT"])
def test_an_index_that_a_crawl_has_open_is_locked_and_loses_nothing(kind, tmp_path, without):
    directory = tmp_path / "index"
    with children() as other:
        holder = other.begin("hold", kind=kind, directory=str(directory))
        assert holder.line() == "open"
        current = largest(directory, "CURRENT")
        kept = current.read_bytes()
        if without:
            current.unlink()
        with pytest.raises(IndexLocked):
            repair(directory)
        current.write_bytes(kept)
        holder.send("")
        assert holder.rest() == ["closed"]
    assert check(directory).problems == []
    entries = checked_entries(directory, WIDE_PLAN)
    assert set(entries) == {f"held {number}" for number in range(50)}
    with open_index(f"{kind}:{directory}") as index:
        assert len(index) == 50
