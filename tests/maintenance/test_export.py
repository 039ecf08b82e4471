"""The records of entries, and of the lines of the near-duplicate log."""

import pytest

from scrapy_simhash import open_index
from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index.records import entry_row_key
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.scheme import Scheme
from tests.index.raw import change_rows


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
