"""check: finds every way in which rows don't fit each other, and nothing in sound ones."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexCorrupt, IndexMismatch, StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.maintenance.check import MAX_PROBLEMS, _Check, check
from scrapy_simhash.maintenance.remove import remove
from scrapy_simhash.maintenance.statistics import statistics
from tests.index.backends import BITS, INSTALLED_KINDS, PLAN, checked_entries, make_backend, rows
from tests.index.backends import small_buffers as small
from tests.index.dict_database import DictDatabase
from tests.index.raw import change_rows, crashed, state_of

from .conftest import ALIKE

WIDTH_BYTES = BITS // 8
CHECK_BITS = 32
RECORD_BYTES = 8


def bucket_rows(stored):
    return [row for row in stored if row[:1] in {b"T", b"K"}]


def open_row(stored, ordinal):
    """The first bucket's open row that holds a record of that entry, and where it begins."""
    for row in bucket_rows(stored):
        for at in range(records.HEADER_BYTES, len(stored[row]), RECORD_BYTES):
            found = int.from_bytes(stored[row][at + 4 : at + 8], "little")
            if len(row) in {3, 4} and found == ordinal:
                return row, at
    raise AssertionError


def closed_rows(stored):
    return [row for row in bucket_rows(stored) if len(row) in {7, 8}]


def records_of(entry):
    """(bucket, record) of an entry in each table and among page keys."""
    check = records.fold(entry.fingerprint, CHECK_BITS)
    prefix, key_check = records.key_hash(records.encode_key(entry.key))
    heads = records.bucket_heads(PLAN)
    prefixes = [*PLAN.prefixes(entry.fingerprint), prefix]
    for (head, width), prefix in zip(heads, prefixes, strict=True):
        value = key_check if head == b"K" else check
        yield (
            head + prefix.to_bytes(width, "big"),
            records.record(value, CHECK_BITS, entry.ordinal),
        )


def any_entry(stored):
    """The last one."""
    row = max(row for row in stored if row[:1] == b"E")
    return records.decode_entry(int.from_bytes(row[1:], "big"), stored[row], WIDTH_BYTES)


def changed_state(stored, **fields):
    state = state_of(stored)
    values = {**state._asdict(), **{name: change(state) for name, change in fields.items()}}
    return {records.STATE_KEY: records.encode_state(records.State(**values))}


def without_record(stored):
    row, at = open_row(stored, any_entry(stored).ordinal)
    return {row: stored[row][:at] + stored[row][at + RECORD_BYTES :]}


def without_closed_record(stored):
    row = closed_rows(stored)[0]
    return {row: stored[row][RECORD_BYTES:]}


def orphan(stored):
    row, _ = open_row(stored, any_entry(stored).ordinal)
    return {row: stored[row] + records.record(0, CHECK_BITS, 99)}


def record_twice(stored):
    row, at = open_row(stored, any_entry(stored).ordinal)
    return {row: stored[row] + stored[row][at : at + RECORD_BYTES]}


def other_check(stored):
    row, at = open_row(stored, any_entry(stored).ordinal)
    value = bytearray(stored[row])
    value[at] ^= 1
    return {row: bytes(value)}


def other_bucket(stored):
    owned = dict(records_of(any_entry(stored)))
    bucket, record = next(iter(owned.items()))
    place = stored[bucket].index(record)
    other = next(row for row in stored if len(row) == 4 and row not in owned)
    return {
        bucket: stored[bucket][:place] + stored[bucket][place + RECORD_BYTES :],
        other: stored[other] + record,
    }


def swapped(stored):
    row = max(closed_rows(stored), key=lambda row: len(stored[row]))
    value = stored[row]
    return {row: value[RECORD_BYTES : 2 * RECORD_BYTES] + value[:RECORD_BYTES] + value[16:]}


def cut_record(stored):
    row, _ = open_row(stored, any_entry(stored).ordinal)
    return {row: stored[row][:-1]}


def no_header(stored):
    row, _ = open_row(stored, any_entry(stored).ordinal)
    return {row: stored[row][:3]}


def more_closed_rows(stored):
    row, _ = open_row(stored, any_entry(stored).ordinal)
    closed = int.from_bytes(stored[row][:4], "little")
    return {row: (closed + 1).to_bytes(4, "little") + stored[row][4:]}


def very_many_closed_rows(stored):
    row, _ = open_row(stored, any_entry(stored).ordinal)
    return {row: b"\xff" * 4 + stored[row][4:]}


def no_closed_row(stored):
    return {closed_rows(stored)[0]: None}


def closed_row_of_no_bucket(stored):
    return {records.closed_row_key(b"T\0\0\x0b", 0): records.record(0, CHECK_BITS, 0)}


def two_entries(stored):
    state, entry = state_of(stored), any_entry(stored)
    again = entry._replace(ordinal=state.next_ordinal, fingerprint=0x0FF0)
    changes = {
        records.entry_row_key(again.ordinal): records.encode_entry(again, WIDTH_BYTES),
        **changed_state(
            stored,
            entries=lambda state: state.entries + 1,
            next_ordinal=lambda state: state.next_ordinal + 1,
            first_buffered=lambda state: state.first_buffered + 1,
        ),
    }
    for bucket, record in records_of(again):
        changes[bucket] = stored.get(bucket, records.NO_CLOSED_ROWS) + record
    return changes


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
    (without_record, "has no record in a table"),
    (without_closed_record, "has no record in a table"),
    (orphan, "of them belong to entries"),
    (record_twice, "are not in order, or repeated"),
    (other_check, "of them belong to entries"),
    (other_check, "has no record in a table"),
    (other_bucket, "of them belong to entries"),
    (other_bucket, "has no record in a table"),
    (swapped, "are not in order"),
    (cut_record, "don't fit each other"),
    (no_header, "don't fit each other"),
    (more_closed_rows, "don't fit each other"),
    (very_many_closed_rows, "don't fit each other"),
    (no_closed_row, "don't fit each other"),
    (closed_row_of_no_bucket, "don't fit each other"),
    (two_entries, "'page 9' has two entries"),
    (later_entry, "comes next"),
    (later_line, "comes next"),
    (lambda stored: {records.entry_row_key(0): None}, "of them belong to entries"),
    (lambda stored: {records.entry_row_key(0): None}, "counts 10 entries, but there are 9"),
    (lambda stored: {records.entry_row_key(0): b"short"}, "entry 0"),
    (lambda stored: {b"E" + bytes(5): stored[records.entry_row_key(0)]}, "no known kind"),
    (lambda stored: {b"E\0": stored[records.entry_row_key(0)]}, "no known kind"),
    (lambda stored: {records.log_row_key(1): b"short"}, "line 1 of the near-duplicate log"),
    (
        lambda stored: {b"N\1": stored[max(row for row in stored if row[:1] == b"N")]},
        "no known kind",
    ),
    (lambda stored: {records.STATE_KEY: None}, "the state row is missing"),
    (lambda stored: {records.STATE_KEY: b"short"}, "the state row is missing or damaged"),
    (lambda stored: changed_state(stored, entries=lambda state: 99), "counts 99 entries"),
    (lambda stored: changed_state(stored, next_ordinal=lambda state: 5), "but there are"),
    (lambda stored: changed_state(stored, next_sequence=lambda state: 5), "comes next"),
    (lambda stored: changed_state(stored, first_buffered=lambda state: 99), "the state row"),
    *(
        (lambda stored, row=row: {row: b"?"}, "no known kind")
        for row in (b"A", b"F", b"L", b"O", b"SS", b"V", b"\xff", b"\xff\xff\xff")
    ),
    (lambda stored: {b"Usite": b"{"}, "the rules of URLs of b'site'"),
    (lambda stored: {b"U\xff": b"[]"}, r"the rules of URLs of b'\xff'"),
    (lambda stored: {b"T\0\x09\0": bytes(4)}, "don't fit each other"),
    (lambda stored: {b"K": bytes(4)}, "don't fit each other"),
]


@pytest.mark.parametrize(("change", "expected"), INCONSISTENCIES)
def test_every_inconsistency_is_found(sound, change, expected):
    changes = change(rows(sound))
    puts = {row: value for row, value in changes.items() if value is not None}
    change_rows(sound, puts, [row for row in changes if row not in puts])
    found = check(sound).problems
    assert [problem for problem in found if expected in problem]


def test_a_sound_index_is_counted_and_left_as_it_is(sound):
    before = rows(sound)
    assert len(closed_rows(before)) > 4
    for _ in range(2):
        report = check(sound)
        assert report.problems == []
        assert (report.entries, report.buffered, report.near_duplicates) == (10, 0, 2)
        # In each table, and among page keys.
        assert report.records == 10 * (len(PLAN.tables) + 1)
    assert rows(sound) == before
    assert set(checked_entries(sound, PLAN, closed=True)) == {f"page {n}" for n in range(10)}


def test_of_very_many_problems_the_first_hundred_are_named(sound):
    change_rows(sound, {b"X%d" % number: b"" for number in range(MAX_PROBLEMS + 20)})
    assert len(check(sound).problems) == MAX_PROBLEMS


def test_buckets_that_removals_have_emptied_are_sound_and_not_counted_as_used(sound):
    remove(sound, [f"page {number}" for number in range(10)])
    assert closed_rows(rows(sound))  # empty ones stay, as their open row counts them
    report = check(sound)
    assert report.problems == []
    assert (report.entries, report.records) == (0, 0)
    assert [table.used for table in statistics(sound).tables] == [0] * (len(PLAN.tables) + 1)


def test_entries_that_wait_in_memory_are_no_problem_after_a_crash(kind, sound, tmp_path):
    with make_backend(kind, sound).open(incremental=True) as index:
        for number, fingerprint in enumerate(ALIKE[11:14]):
            index.confirm(index.observe(f"later {number}", fingerprint))
        copy = crashed(index, tmp_path / "crashed")
    report = check(copy)
    assert report.problems == []
    assert (report.entries, report.buffered) == (13, 3)
    report = check(sound)
    assert report.problems == []
    assert (report.entries, report.buffered) == (13, 0)


# What a page is worth, when it comes, and whether its process then dies.
PAGES = st.tuples(
    st.sampled_from("abcdefgh"),
    st.sampled_from([0x0000, 0x0001, 0x0003, 0x000F, 0x00FF, 0xFF00, 0xFFFF, 0xF0F0]),
    st.sampled_from(["confirm", "confirm", "discard", "nothing"]),
)


@pytest.mark.parametrize("kind", INSTALLED_KINDS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(
    crawls=st.lists(
        st.tuples(st.lists(PAGES, max_size=12), st.booleans(), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    capacity=st.integers(1, 6),
)
def test_nothing_is_found_in_an_index_of_any_history(tmp_path_factory, kind, crawls, capacity):
    directory = tmp_path_factory.mktemp("history") / "0"
    stored = set()
    with small(capacity):
        for number, (pages, incremental, dies) in enumerate(crawls, 1):
            index = make_backend(kind, directory).open(incremental=incremental)
            for key, fingerprint, then in pages:
                observation = index.observe(key, fingerprint)
                if then != "nothing":
                    getattr(index, then)(observation)
            size = len(index)
            if dies:
                directory = crashed(index, directory.with_name(str(number)))
            index.close()
            report = check(directory)
            assert report.problems == []
            assert report.entries == size
            assert dies or not report.buffered
            stored = checked_entries(directory, PLAN, closed=not dies)
            assert len(stored) == size


@pytest.fixture
def found_in(sound):
    """Whether a check, or to open the index, finds fault with its rows."""
    manifest = Manifest.read(sound)

    def find(stored):
        try:
            TableStore(DictDatabase(stored), manifest.plan, manifest.check_bits)
        except IndexCorrupt:
            return True
        return bool(_Check(DictDatabase(stored), manifest).run().problems)

    return find


def mutations(stored):
    """(row, where, the rows with that row deleted or with one bit of a byte changed)."""
    for row, value in stored.items():
        yield row, None, {key: other for key, other in stored.items() if key != row}
        for at in range(len(value)):
            for bit in (0, 7):
                changed = bytearray(value)
                changed[at] ^= 1 << bit
                yield row, at, {**stored, row: bytes(changed)}


def bears_no_trace(stored, row, at, changed):
    """Whether rows may as well be those of a sound index: nothing else says what the byte says.

    When pages were seen, of which site they are, their numbers if these were given before, all of
    the near-duplicate log but the lengths in it, and numbers that come next but later than they need.
    """
    if row[:1] == b"N":
        if at is None:
            return True
        line = slice(7 + WIDTH_BYTES + 2, 7 + WIDTH_BYTES + 4)
        return at not in range(len(stored[row]))[line] or at >= line.start
    if at is None:
        return False
    if row[:1] == b"E":
        later_and_site = range(9 + WIDTH_BYTES, 15 + WIDTH_BYTES)
        return at < 9 or at in later_and_site
    if row == records.STATE_KEY:
        before, after = state_of(stored), state_of(changed)
        return (
            after.entries == before.entries
            and after.next_sequence >= before.next_sequence
            and after.next_ordinal >= before.next_ordinal
            and after.first_buffered <= after.next_ordinal
        )
    return False


def test_any_row_deleted_and_any_byte_changed_is_found_unless_it_bears_no_trace(sound, found_in):
    stored = rows(sound)
    assert not found_in(stored)
    missed, found = [], 0
    for row, at, changed in mutations(stored):
        if found_in(changed):
            found += 1
        elif not bears_no_trace(stored, row, at, changed):
            missed.append((row, at))
    assert missed == []
    assert found > 1000


@pytest.mark.parametrize("content", [None, "{", '{"format": "scrapy-simhash index"}'])
def test_without_a_manifest_that_can_be_read_there_is_nothing_to_check(sound, content):
    manifest = sound / "manifest.json"
    manifest.unlink()
    if content is not None:
        manifest.write_text(content, encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        check(sound)
    assert str(sound) in str(caught.value)


def test_an_index_of_another_version_is_refused(sound):
    manifest = sound / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"format_version": 4', '"format_version": 3'), "utf-8")
    with pytest.raises(IndexMismatch, match="version 3"):
        check(sound)
