"""Errors of inputs are reported before any record is judged."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.errors import SimhashError

from .samples import run


def test_columns_differ_from_those_of_the_first_file_with_a_header(tmp_path):
    for name, header in (("a", ""), ("b", "url,text\n"), ("c", "text,url\n")):
        (tmp_path / f"{name}.csv").write_text(header)
    with pytest.raises(SimhashError, match=r"c\.csv has other columns than .*b\.csv"):
        run(tmp_path, "a.csv", "b.csv", "c.csv")


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


def test_files_of_which_one_has_records(tmp_path):
    (tmp_path / "a.csv").write_text("url,title\r\n")
    (tmp_path / "b.csv").write_text("url,title\r\n1,x\r\n")
    with pytest.raises(SimhashError, match=r"which field is the text\? There are 'url', 'title'"):
        run(tmp_path, "a.csv", "b.csv")


def test_csv_in_another_encoding(tmp_path):
    (tmp_path / "in.csv").write_bytes("url,text\r\n1,grüße\r\n".encode("latin-1"))
    with pytest.raises(SimhashError, match=r"is it csv in utf-8\? --format and --encoding name"):
        run(tmp_path, "in.csv")
    assert run(tmp_path, "in.csv", encoding="latin-1").skipped == {"few_tokens": 1}
