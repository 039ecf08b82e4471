"""Errors of inputs are reported before any record is judged."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.errors import SimhashError

from .samples import run


@pytest.mark.parametrize("fields", [Fields(), Fields(text=("story",)), Fields(html="page")])
@pytest.mark.parametrize("action", ["drop", "tag"])
def test_files_without_a_record(tmp_path, action, fields):
    """Without records, it does not matter which field is the text."""
    (tmp_path / "in.csv").write_text("url,title\r\n")
    assert run(tmp_path, "in.csv", action=action, fields=fields).records == 0
    header = (tmp_path / "out").read_text()
    assert header.startswith("url,title")
    assert len(header.splitlines()) == 1
    nothing = pa.table({"url": pa.array([], pa.string()), "title": pa.array([], pa.string())})
    parquet.write_table(nothing, tmp_path / "in.parquet")
    told = run(tmp_path, "in.parquet", action=action, fields=fields, overwrite=True)
    assert told.records == 0
    out = parquet.read_table(tmp_path / "out")
    assert (out.num_rows, out.column_names[:2]) == (0, ["url", "title"])
    assert (tmp_path / "verdicts").read_bytes() == b""


@pytest.mark.parametrize("name", ["in.jsonl.gz", "in.csv.gz"])
def test_a_damaged_file_without_a_whole_record(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b'{"text": "a"}\n' * 99)[:18])
    with pytest.raises(SimhashError, match=rf"{name} is damaged \(Compressed file ended"):
        run(tmp_path, name)
