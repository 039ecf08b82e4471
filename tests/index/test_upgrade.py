"""upgrade: an index of format version 1, whose rows are written here by their description."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from contextlib import suppress

import pytest

from scrapy_simhash import Scheme
from scrapy_simhash.commands.main import main
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexForeign,
    IndexLocked,
    IndexMismatch,
    StorageError,
)
from scrapy_simhash.index import TablePlan, open_index
from scrapy_simhash.index.base import Entry, NearDuplicate
from scrapy_simhash.index.check import check
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.upgrade import upgrade

from .backends import checked_entries, files, small_buffers
from .processes import children
from .raw import change_rows

plyvel = pytest.importorskip("plyvel")

PLAN = TablePlan(64, 4)
K = 3
NEXT_SEQUENCE = 500


def number_bytes(number):
    return number.to_bytes(8, "big")


def time_bytes(time_s):
    return time_s.to_bytes(5, "big")


def rows_of_entry(entry, plan):
    """``E`` number:8 → met:8 first:5 last:5 fingerprint key; ``K`` hash:16 → number:8;
    ``T`` table:2 prefix number:8 → fingerprint.
    """
    key = entry.key.encode("utf-8", "surrogatepass")
    number = number_bytes(entry.number)
    fingerprint = entry.fingerprint.to_bytes(plan.bits // 8, "big")
    yield (
        b"E" + number,
        number_bytes(entry.met)
        + time_bytes(entry.first_seen_s)
        + time_bytes(entry.last_seen_s)
        + fingerprint
        + key,
    )
    yield b"K" + hashlib.blake2b(key, digest_size=16).digest(), number
    widths = plan.prefix_widths_bits
    for table, prefix in enumerate(plan.prefixes(entry.fingerprint)):
        row = b"T" + table.to_bytes(2, "big") + prefix.to_bytes(-(-widths[table] // 8), "big")
        yield row + number, fingerprint


def row_of_line(line, plan):
    """``N`` sequence:8 → seen:5 distance:2 fingerprint length:4 representative key."""
    representative = line.representative.encode("utf-8", "surrogatepass")
    return (
        b"N" + number_bytes(line.sequence),
        time_bytes(line.seen_at_s)
        + line.distance.to_bytes(2, "big")
        + line.fingerprint.to_bytes(plan.bits // 8, "big")
        + len(representative).to_bytes(4, "big")
        + representative
        + line.key.encode("utf-8", "surrogatepass"),
    )


def write_version_1(directory, entries, lines, plan=PLAN, distance=K):
    directory.mkdir()
    scheme = Scheme(bits=plan.bits)
    content = {
        "format": "scrapy-simhash index",
        "format_version": 1,
        "scheme_id": scheme.id,
        "scheme": scheme.to_dict(),
        "plan": {"bits": plan.bits, "blocks": plan.blocks, "chosen": plan.chosen},
        "max_distance": distance,
        "environment": {"python": "3.11.0", "lxml": "5.0"},
    }
    (directory / "manifest.json").write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    database = plyvel.DB(str(directory / "leveldb"), create_if_missing=True, compression=None)
    with database.write_batch() as batch:
        for entry in entries:
            for row, value in rows_of_entry(entry, plan):
                batch.put(row, value)
        for line in lines:
            batch.put(*row_of_line(line, plan))
        if entries or lines:
            batch.put(b"S", number_bytes(NEXT_SEQUENCE) + number_bytes(len(entries)))
    database.close()
    return directory


def pages(bits=64, count=100):
    rng = random.Random(bits)
    keys = ["https://example.com/索引", "lone \ud800 surrogate", "x" * 5000, "\0", " "]
    keys += [f"page {number}" for number in range(count - len(keys))]
    numbers = sorted(rng.sample(range(1, 400), count))
    return [
        Entry(
            number,
            key,
            rng.getrandbits(bits),
            # Not met again, or met later.
            met=rng.choice([number, number + rng.randrange(90)]),
            first_seen_s=1_700_000_000 + number,
            last_seen_s=1_700_000_000 + rng.choice([number, 100_000_000]),
        )
        for number, key in zip(numbers, keys, strict=True)
    ]


def copies(entries):
    return [
        NearDuplicate(
            key=f"copy of {entry.key}",
            representative=entry.key,
            distance=1,
            fingerprint=entry.fingerprint ^ 1,
            sequence=400 + place,
            seen_at_s=1_700_000_500,
        )
        for place, entry in enumerate(entries[:9])
    ]


@pytest.fixture
def old(tmp_path):
    entries = pages()
    return write_version_1(tmp_path / "old", entries, copies(entries))


@pytest.fixture
def new(tmp_path):
    return tmp_path / "below" / "new"


def entries_of(directory, plan=PLAN):
    stored = checked_entries(directory, plan, closed=True)
    by_age = sorted(stored.values(), key=lambda entry: entry.number)
    return [entry._replace(ordinal=-1) for entry in by_age]


@pytest.mark.parametrize("plan", [PLAN, TablePlan(64, 6, 3), TablePlan(256, 12, 2)])
def test_a_new_index_holds_all_that_the_old_one_did(tmp_path, new, plan):
    expected = pages(plan.bits)
    old = write_version_1(tmp_path / "old", expected, copies(expected), plan)
    assert upgrade(old, new) == len(expected)
    assert entries_of(new, plan) == expected
    report = check(new)
    assert (report.entries, report.buffered, report.problems) == (len(expected), 0, [])
    made = Manifest.read(new)
    assert (made.scheme, made.plan, made.max_distance) == (Scheme(bits=plan.bits), plan, K)
    assert made.environment == {"python": "3.11.0", "lxml": "5.0"}
    assert made.database == "leveldb"
    with open_index(f"leveldb:{new}", incremental=True) as index:
        assert list(index.near_duplicates()) == copies(expected)
        assert len(index) == len(expected)
        for entry in expected:
            assert [match.key for match in index.query(entry.fingerprint ^ 5)] == [entry.key]
            assert index.observe(entry.key, entry.fingerprint).kind == "unchanged"
        # Numbers go on where the old index was.
        assert index.began == NEXT_SEQUENCE


def test_more_pages_than_memory_holds_are_spilled_meanwhile(old, new):
    with small_buffers(7):
        upgrade(old, new)
    assert entries_of(new) == pages()
    assert check(new).problems == []


def test_the_command_copies_an_index_and_says_so(old, new, capsys):
    assert main(["upgrade", "--index", str(old), str(new)]) == 0
    output = capsys.readouterr()
    assert output.out == f"100 entries copied to {new}; the old index is as it was\n"
    assert output.err == ""
    assert entries_of(new) == pages()


def test_the_old_index_stays_as_it_is(old, new):
    before = files(old)
    upgrade(old, new)
    assert files(old) == before


def test_an_empty_index_is_upgraded_to_an_empty_one(tmp_path, new):
    old = write_version_1(tmp_path / "old", [], [])
    assert upgrade(old, new) == 0
    assert check(new).problems == []
    with open_index(f"leveldb:{new}") as index:
        index.confirm(index.observe("a", 1))
        assert len(index) == 1


def test_an_empty_directory_is_taken_and_another_left_alone(old, new):
    new.mkdir(parents=True)
    upgrade(old, new)
    before = files(new)
    with pytest.raises(StorageError, match="not empty"):
        upgrade(old, new)
    assert files(new) == before
    with pytest.raises(StorageError, match="not empty"):
        upgrade(old, old)
    assert Manifest.read(new) is not None


@pytest.mark.parametrize("place", ["a file", "a file/below"])
def test_a_place_where_no_directory_can_be_is_an_error(tmp_path, old, place, capsys):
    (tmp_path / "a file").write_text("text", encoding="utf-8")
    assert main(["upgrade", "--index", str(old), str(tmp_path / place)]) == 1
    assert str(tmp_path / place) in capsys.readouterr().err
    assert (tmp_path / "a file").read_text(encoding="utf-8") == "text"


def test_an_upgrade_that_was_killed_leaves_no_index(old, tmp_path):
    kills = 0
    with children() as other:
        for number in (1, 2, 50, 105, 110, 9999):
            for when in ("before", "after"):
                new = tmp_path / f"{when} {number}"
                upgrading = other.begin(
                    "upgrade",
                    directory=str(old),
                    new_directory=str(new),
                    dies_at=f"{when} {number}",
                )
                said = upgrading.rest()
                if not upgrading.was_killed:
                    assert said == ["upgraded 100"]
                    assert entries_of(new) == pages()
                    continue
                kills += 1
                with pytest.raises(IndexForeign):
                    open_index(f"leveldb:{new}")
                with pytest.raises(StorageError):
                    check(new)
    assert kills >= 9
    # The old one can still be upgraded.
    assert upgrade(old, tmp_path / "again") == 100
    assert entries_of(tmp_path / "again") == pages()


@pytest.mark.parametrize("step", ["write", "log"])
def test_an_upgrade_that_failed_leaves_no_index(old, new, monkeypatch, step):
    from scrapy_simhash.index.tables import TableStore

    def fail(*_arguments):
        raise StorageError(str(new), "the disk is full")

    monkeypatch.setattr(TableStore, step, fail)
    with pytest.raises(StorageError, match="the disk is full"):
        upgrade(old, new)
    # Nor anything else, so that it can be tried again.
    assert list(new.iterdir()) == []


@pytest.mark.parametrize("version", [2, 3, 0, "1", None])
def test_other_versions_are_refused(old, new, version):
    manifest = old / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**content, "format_version": version}), encoding="utf-8")
    with pytest.raises(IndexMismatch, match="only version 1") as caught:
        upgrade(old, new)
    assert repr(version) in str(caught.value)
    assert not new.exists()


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        "7",
        '{"format_version": 1}',
        '{"format_version": 1, "scheme": {}, "plan": {}, "max_distance": 3, "environment": {}}',
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(old, new, content):
    (old / "manifest.json").unlink()
    if content is not None:
        (old / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        upgrade(old, new)
    assert str(old) in str(caught.value)
    assert "manifest.json" in str(caught.value)
    assert not new.exists()


def test_where_there_is_no_index_nothing_is_made(tmp_path, new):
    with pytest.raises(StorageError, match="manifest"):
        upgrade(tmp_path / "missing", new)
    assert list(tmp_path.iterdir()) == []


def test_without_its_database_an_old_index_stays_without_one(old, new):
    shutil.rmtree(old / "leveldb")
    before = files(old)
    with suppress(StorageError):
        assert upgrade(old, new) == 0
    assert files(old) == before


@pytest.mark.parametrize(
    "row",
    [
        (b"E" + number_bytes(450), b"short"),
        (b"E" + number_bytes(450), bytes(26) + b"\xff"),
        (b"N" + number_bytes(450), b"short"),
    ],
    ids=["entry cut", "entry not UTF-8", "line cut"],
)
def test_rows_that_make_no_sense_are_an_error_and_no_index_is_made(old, new, row):
    change_rows(old, dict([row]))
    with pytest.raises(IndexCorrupt) as caught:
        upgrade(old, new)
    assert str(old) in str(caught.value)
    assert not (new / "manifest.json").exists()


def test_without_its_state_an_old_index_is_damaged(old, new):
    change_rows(old, {}, [b"S"])
    with pytest.raises(IndexCorrupt, match="state"):
        upgrade(old, new)
    assert not (new / "manifest.json").exists()


def test_damaged_files_are_an_error_and_no_index_is_made(old, new):
    log = max((old / "leveldb").glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    with pytest.raises(IndexCorrupt) as caught:
        upgrade(old, new)
    assert str(old) in str(caught.value)
    # This release repairs no index of version 1.
    assert "simhash repair" not in str(caught.value)
    assert not (new / "manifest.json").exists()


def test_an_old_index_that_another_process_has_open_is_locked(old, new):
    with children() as other:
        holder = other.begin("hold_database", path=str(old / "leveldb"))
        assert holder.line() == "open"
        with pytest.raises(IndexLocked) as caught:
            upgrade(old, new)
        assert str(old) in str(caught.value)
        holder.send("")
        assert holder.rest() == ["closed"]
    assert not (new / "manifest.json").exists()
    assert upgrade(old, new.with_name("later")) == 101
