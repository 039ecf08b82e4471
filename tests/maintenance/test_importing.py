"""Records in files, and records that make no sense."""

import gzip
import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import open_index
from scrapy_simhash.errors import IndexCorrupt, SimhashError
from scrapy_simhash.index import IndexSpec
from scrapy_simhash.index.records import entry_row_key
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.maintenance.importing import PlacedRecord, import_entries, read_records
from scrapy_simhash.scheme import Scheme
from tests.index.raw import change_rows

SCHEME = Scheme(bits=64)
ENTRY_FIELDS = (
    *("key", "fingerprint", "scheme", "first_seen_s", "last_seen_s", "near_duplicates"),
    *("gave_items", "evidence"),
)
MANIFEST = IndexSpec(None, SCHEME, 3, expected_pages=1000).to_manifest()
ENTRIES = [
    {"key": "https://a.example/é", "fingerprint": "00000000000000ff"},
    {"key": "b", "fingerprint": "FFFFFFFF00000000", "first_seen_s": 1000},
]


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new"


def imported(new, *records):
    return import_entries(
        new, MANIFEST, [PlacedRecord(f"row {n}", one) for n, one in enumerate(records)]
    )


@pytest.mark.parametrize("name", ["r.jsonl", "r.jl.gz", "-"])
def test_records_are_read(tmp_path, monkeypatch, name):
    data = "".join(json.dumps(one) + "\n\n" for one in ENTRIES).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    if name != "-":
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        name = str(tmp_path / name)
    found = list(read_records(name))
    assert [dict(one.record) for one in found] == ENTRIES
    assert found[1].place == f"{name}, line 3"


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


RECORDS = b"".join(b'{"key": "a%d", "fingerprint": "00"}\n' % number for number in range(99))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("r.jsonl", b"{", "line 1: .*; expected JSON lines"),
        ("r.jsonl", b'{"key": "a"}\n[1]\n', "line 2: not a JSON object"),
        ("r.jsonl", b"\xff\xfe\x00", "line 1"),
        ("r.jsonl", b"[" * 100_000, "line 1"),
        ("r.jsonl", gzip.compress(b'{"key": "a"}\n' * 99, mtime=0)[:-9], "truncated or damaged"),
        ("r.jsonl", b"\x1f\x8b rubbish", "truncated or damaged"),
        ("r.jsonl", flipped(gzip.compress(RECORDS, mtime=0), 20), "truncated or damaged"),
        ("r.parquet", b"PAR1 rubbish", "line 1"),
    ],
    ids=[*("cut", "list", "binary", "deep", "gzip cut", "no gzip", "gzip flipped"), "parquet"],
)
def test_files_that_make_no_sense(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SimhashError, match=told) as caught:
        list(read_records(str(path)))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"fingerprint": "0" * 16}, "it has no 'key'"),
        ({"key": "c"}, "it has no 'fingerprint'"),
        ({"key": "", "fingerprint": "0" * 16}, "a non-empty string"),
        ({"key": 7, "fingerprint": "0" * 16}, "a non-empty string"),
        ({"key": "b", "fingerprint": "0" * 16}, "the key 'b' came before"),
        ({"key": "c", "fingerprint": "0" * 15}, "not a fingerprint of 64 bits"),
        ({"key": "c", "fingerprint": "+" + "0" * 15}, "not a fingerprint of 64 bits"),
        ({"key": "c", "fingerprint": 7}, "not a fingerprint of 64 bits"),
        ({"key": "c", "fingerprint": "0" * 16, "scheme": "other"}, "cannot be compared"),
        ({"key": "c", "fingerprint": "0" * 16, "first_seen_s": "today"}, "Unix time"),
        ({"key": "c", "fingerprint": "0" * 16, "first_seen_s": -1}, "Unix time"),
        ({"key": "c", "fingerprint": "0" * 16, "first_seen_s": 1 << 32}, "Unix time"),
        ({"key": "c", "fingerprint": "0" * 16, "first_seen_s": 9, "last_seen_s": 8}, "is before"),
    ],
)
def test_a_record_that_makes_no_sense_is_named_and_no_index_is_made(new, record, told):
    with pytest.raises(SimhashError, match=told) as caught:
        imported(new, *ENTRIES, record)
    assert str(caught.value).startswith("row 2: ")
    assert "nothing was imported" in str(caught.value)
    assert not new.exists()
    assert imported(new, *ENTRIES) == 2


def test_an_empty_directory_is_filled_and_not_replaced(new):
    new.mkdir(mode=0o750)
    before = new.stat()
    with pytest.raises(SimhashError, match="it has no 'key'"):
        imported(new, *ENTRIES, {})
    assert not [*new.iterdir()]
    assert imported(new, *ENTRIES) == 2
    assert (new.stat().st_ino, new.stat().st_mode) == (before.st_ino, before.st_mode)
    assert len(list(entry_records(new))) == 2


@pytest.mark.thorough
@given(
    record=st.dictionaries(
        st.sampled_from(ENTRY_FIELDS),
        st.none()
        | st.text()
        | st.integers()
        | st.booleans()
        | st.floats()
        | st.lists(st.integers()),
    )
)
def test_whatever_a_record_holds_is_an_error_or_an_entry(tmp_path_factory, record):
    new = tmp_path_factory.mktemp("index") / "new"
    given = json.loads(json.dumps(record))
    try:
        assert imported(new, given) == 1
    except SimhashError as error:
        assert str(error).startswith("row 0: ")  # noqa: PT017


def test_records(tmp_path):
    with open_index(tmp_path / "index", Scheme(bits=64), max_distance=3) as index:
        for key, fingerprint in (("https://a.example/é", 0xFF), ("b", 0xFFFFFFFF << 32)):
            index.confirm(index.observe(key, fingerprint))
        index.acted(index.observe("copy", 0xFE), "dropped")
    records = list(entry_records(tmp_path / "index"))
    assert [record["near_duplicates"] for record in records] == [1, 0]
    assert records[1]["fingerprint"] == "ffffffff00000000"
    [record] = near_duplicate_records(tmp_path / "index")
    assert (record["key"], record["representative"]) == ("copy", "https://a.example/é")
    assert (record["similarity_percent"], record["action"]) == (None, "dropped")


def test_the_log_is_exported_beside_a_damaged_entry(tmp_path):
    with open_index(tmp_path / "index") as index:
        index.confirm(index.observe("a", 0xFF))
        index.acted(index.observe("copy", 0xFE), "dropped")
    change_rows(tmp_path / "index", {entry_row_key(0): b"short"}, [])
    assert [record["key"] for record in near_duplicate_records(tmp_path / "index")] == ["copy"]
    with pytest.raises(IndexCorrupt):
        list(entry_records(tmp_path / "index"))
