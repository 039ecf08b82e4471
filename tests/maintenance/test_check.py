"""check: finds rows that don't fit each other, and nothing in sound ones; repair: mends them."""

import shutil
from contextlib import suppress

import pytest

from scrapy_simhash.errors import IndexCorrupt, IndexLocked
from scrapy_simhash.index import open_index, records
from scrapy_simhash.maintenance.check import RepairReport, check, repair
from tests.index.backends import BITS, PLAN, checked_entries, files, make_backend, rows
from tests.index.child import PLAN as WIDE_PLAN
from tests.index.processes import children
from tests.index.raw import change_rows, crashed, largest, state_of

from .conftest import ALIKE

WIDTH_BYTES = BITS // 8
PAGES_OF_SOUND = {f"page {number}" for number in range(10)}


def log_of(directory):
    return {row: value for row, value in rows(directory).items() if row[:1] == b"N"}


def entries_of(directory):
    entries = checked_entries(directory, PLAN)
    return {key: entry._replace(ordinal=-1) for key, entry in entries.items()}


def any_entry(stored):
    """The last one."""
    row = max(row for row in stored if row[:1] == b"E")
    return records.decode_entry(int.from_bytes(row[1:], "big"), stored[row], WIDTH_BYTES)


def changed_state(stored, **fields):
    state = state_of(stored)
    values = {**state._asdict(), **{name: change(state) for name, change in fields.items()}}
    return {records.STATE_KEY: records.encode_state(records.State(**values))}


def later_entry(stored):
    """An entry with a number that was not given yet."""
    entry = any_entry(stored)
    number = state_of(stored).next_sequence
    value = records.encode_entry(entry._replace(number=number, last_sequence=number), WIDTH_BYTES)
    return {records.entry_row_key(entry.ordinal): value}


def later_line(stored):
    row = max(row for row in stored if row[:1] == b"N")
    return {records.log_row_key(state_of(stored).next_sequence): stored[row]}


INCONSISTENCIES = [
    (later_entry, "comes next"),
    (later_line, "comes next"),
    (lambda stored: {records.entry_row_key(0): None}, "counts 10 entries, but there are 9"),
    (lambda stored: {records.entry_row_key(0): b"short"}, "entry 0"),
    (lambda stored: {b"E" + bytes(5): stored[records.entry_row_key(0)]}, "no known kind"),
    (lambda stored: {records.log_row_key(1): b"short"}, "line 1 of the near-duplicate log"),
    (lambda stored: {records.STATE_KEY: None}, "the state row is missing"),
    (lambda stored: {records.STATE_KEY: b"short"}, "the state row has 5 bytes instead of"),
    (lambda stored: changed_state(stored, entries=lambda state: 99), "counts 99 entries"),
    (lambda stored: changed_state(stored, next_sequence=lambda state: 5), "comes next"),
    *(
        (lambda stored, row=row: {row: b"?"}, "no known kind")
        for row in (b"A", b"O", b"SS", b"\xff\xff\xff")
    ),
    (lambda stored: {b"U\xff": b"[]"}, r"the row b'U\xff'"),
]


def spoil(directory, change):
    changes = change(rows(directory))
    puts = {row: value for row, value in changes.items() if value is not None}
    change_rows(directory, puts, [row for row in changes if row not in puts])


@pytest.mark.parametrize(("change", "expected"), INCONSISTENCIES)
def test_every_inconsistency_is_found_and_mended(kind, sound, change, expected):
    before, log = entries_of(sound), log_of(sound)
    spoil(sound, change)
    problems = check(sound).problems
    assert [problem for problem in problems if expected in problem]
    assert len(problems) == 1 or "instead of" not in expected
    repair(sound)
    assert check(sound).problems == []
    after = entries_of(sound)
    # An entry that was changed by hand may be gone, or another one.
    assert len(after.items() & before.items()) >= len(before) - 1
    assert len(log_of(sound).keys() & log.keys()) >= len(log) - (expected.startswith("line 1"))
    with make_backend(kind, sound).open(incremental=True) as index:
        for key, entry in after.items():
            assert index.observe(key, entry.fingerprint).kind == "unchanged"
        # Numbers go on behind all that were given.
        numbers = [entry.last_sequence for entry in after.values()]
        numbers += [line.sequence for line in index.near_duplicates()]
        assert index.observe("new", 0x0FF0).sequence > max(numbers)


def test_a_sound_index_is_counted_and_stays_as_it_is(kind, sound):
    before, log, state = entries_of(sound), log_of(sound), state_of(rows(sound))
    for _ in range(2):
        report = check(sound)
        assert (report.entries, report.near_duplicates, report.problems) == (10, 2, [])
        assert repair(sound) == RepairReport(entries=10, near_duplicates=2)
        assert (entries_of(sound), log_of(sound)) == (before, log)
        # No number is given again.
        assert state_of(rows(sound)).next_sequence == state.next_sequence
    assert set(before) == PAGES_OF_SOUND
    # Nothing was lost, so no old database stays.
    assert not [path for path in sound.iterdir() if path.name.endswith("-damaged")]


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
    assert "'page 9' has 2 entries" in check(sound).problems
    report = repair(sound)
    assert (report.entries, report.dropped) == (10, 1)
    assert entries_of(sound) == expected
    assert check(sound).problems == []


@pytest.mark.parametrize(
    "damage",
    [*(pytest.param(name, marks=pytest.mark.thorough) for name in ("table", "CURRENT")), "rows"],
)
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
    assert (expected.keys() == PAGES_OF_SOUND) == (damage != "table")
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
    data[len(data) * 2 // 5] ^= 1
    oldest.write_bytes(data)
    assert repair(last).salvaged
    assert bytes(data) in files(last / f"{kind}-damaged").values()  # and not deleted
    with make_backend(kind, last).open() as index:
        store = index.store
        assert {key: store.entry(key).last_sequence for key in pages} == before


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
