"""Tags are added to records, which otherwise do not change."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash.dedupe.writing import json_tagger
from scrapy_simhash.errors import SimhashError

from .samples import RECORDS, json_lines, read_lines, run, text
from .test_formats import feed

VERDICT = {"kind": "new", "reason": None}
NUMBERS = '"p":1e400, "q" : 1.10,"n":12345678901234567890.123456789'


@pytest.mark.parametrize(
    ("record", "tagged"),
    [
        (f" {{{NUMBERS} }}\r\n", f' {{{NUMBERS}, "was": "new"}}\r\n'),
        ('{ "w": ["x"] }', '{ "w": ["x"], "was": "new"}'),
        ("{ }\n", '{"was": "new"}\n'),
        ('\ufeff{"was": "x"}\n', '{"was": "new"}\n'),
        ('{"was": [1, {}], "é": "\\ud800", "b": {"was": 2}}', None),
        ('{"a": "\\"was\\": 2"}', '{"a": "\\"was\\": 2", "was": "new"}'),
    ],
)
def test_an_object_keeps_its_bytes_unless_it_has_tags_already(record, tagged):
    found = json_tagger({"kind": "was"})(record.encode(), VERDICT)
    if tagged is not None:
        assert found == tagged.encode()
    else:
        expected = {"é": "\ud800", "b": {"was": 2}, "was": "new"}
        assert list(json.loads(found).items()) == list(expected.items())


@pytest.mark.parametrize("encoding", ["latin-1", "cp932", "gb18030"])
def test_tagging_again_in_another_encoding(tmp_path, encoding):
    word = "caf\xe9" if encoding == "latin-1" else "表示ソ"
    values = [
        {"simhash_kind": word, "url": f"{word}{n}", "text": f"{word} {text(n)}"} for n in range(2)
    ]
    content = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    (tmp_path / "in.jsonl").write_bytes(content.encode(encoding))
    run(tmp_path, "in.jsonl", action="tag", encoding=encoding)
    lines = (tmp_path / "out").read_bytes().decode(encoding).splitlines()
    assert [json.loads(line)["simhash_kind"] for line in lines] == ["new", "new"]
    assert [json.loads(line)["text"] for line in lines] == [value["text"] for value in values]


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_columns_that_are_there_already(tmp_path, name):
    values = [{**record, "simhash_kind": "x"} for record in RECORDS]
    if name == "csv":
        (tmp_path / "in.csv").write_bytes(feed("csv", values))
    else:
        parquet.write_table(pa.Table.from_pylist(values), tmp_path / "in.parquet")
    with pytest.raises(SimhashError, match=r"there is a column 'simhash_kind' already.*ITEM_TAGS"):
        run(tmp_path, f"in.{name}", action="tag")
    # The error is raised before any record is judged, so no state is left.
    assert [path.name for path in tmp_path.iterdir()] == [f"in.{name}"]
    assert run(tmp_path, f"in.{name}", action="tag", tags={"kind": "was"}).kept == len(RECORDS)
    run(tmp_path, f"in.{name}", out="dropped", overwrite=True)


def test_a_record_and_its_copies_have_one_cluster(tmp_path):
    values = [{"id": n, "text": text(n % 2)} for n in range(4)] + [{"id": 4, "text": "short"}]
    (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    run(tmp_path, "in.jsonl", action="tag")
    assert [v["cluster"] for v in read_lines(tmp_path / "verdicts")] == ["0", "1", "0", "1", None]
    assert [line.get("simhash_cluster") for line in read_lines(tmp_path / "out")] == [
        *("0", "1", "0", "1"),
        None,
    ]
