"""In each format, kept records are unchanged, and tagged records have their tags."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.dedupe.writing import json_tagger
from scrapy_simhash.errors import SimhashError

from .samples import RECORDS, json_lines, read_lines, text
from .samples import run as run_once

KEPT = [RECORDS[0], RECORDS[1], RECORDS[3]]
KINDS = ["new", "new", "near-duplicate", "skipped", "near-duplicate"]


def run(*arguments, **options):
    return run_once(*arguments, **{"overwrite": True, **options})


def feed(name, values=RECORDS):
    from scrapy import exporters

    out = io.BytesIO()
    exporter = {
        "jsonl": exporters.JsonLinesItemExporter,
        "json": exporters.JsonItemExporter,
        "csv": exporters.CsvItemExporter,
    }[name]
    # Feeds have an indentation of 0 unless FEED_EXPORT_INDENT says otherwise.
    exporter = exporter(out, encoding="utf-8", **({"indent": 0} if name == "json" else {}))
    exporter.start_exporting()
    for value in values:
        exporter.export_item(value)
    exporter.finish_exporting()
    return out.getvalue()


def kinds(folder):
    return [verdict["kind"] for verdict in read_lines(folder / "verdicts")]


def parsed(name, content):
    if name == "jsonl":
        return [json.loads(line) for line in content.splitlines()]
    if name == "json":
        return json.loads(content)
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
def test_feeds(tmp_path, name, compressed):
    content = feed(name)
    ending = ".gz" if compressed else ""
    # Compression is detected by the content.
    (tmp_path / f"in.{name}").write_bytes(gzip.compress(content) if compressed else content)
    run(tmp_path, f"in.{name}", out=f"out{ending}")
    assert kinds(tmp_path) == KINDS
    out = (tmp_path / f"out{ending}").read_bytes()
    out = gzip.decompress(out) if compressed else out
    assert parsed(name, out) == KEPT
    run(tmp_path, f"in.{name}", out="tagged", action="tag")
    tagged = parsed(name, (tmp_path / "tagged").read_bytes())
    nothing = "" if name == "csv" else None
    assert [one.get("simhash_kind", nothing) for one in tagged] == [
        kind if kind != "skipped" else nothing for kind in KINDS
    ]
    assert [one.get("simhash_representative") or None for one in tagged] == [
        *(None, None, "https://e.com/1", None, "https://e.com/2")
    ]
    assert str(tagged[2]["simhash_distance"]).isdigit()
    assert len(tagged[0]["simhash_fingerprint"]) == 64
    for one, before in zip(tagged, RECORDS, strict=True):
        assert {name: one[name] for name in before} == before


@pytest.mark.parametrize("name", ["jsonl", "json", "csv"])
def test_several_files_are_one(tmp_path, name):
    (tmp_path / f"a.{name}").write_bytes(feed(name, RECORDS[:3]).rstrip(b"\r\n"))
    (tmp_path / f"b.{name}").write_bytes(feed(name, RECORDS[3:]))
    run(tmp_path, f"a.{name}", f"b.{name}")
    assert parsed(name, (tmp_path / "out").read_bytes()) == KEPT


@pytest.mark.parametrize("first", [b"", b"\n \n", feed("jsonl", RECORDS[:1])])
def test_an_array_in_a_later_line_or_file(tmp_path, first):
    (tmp_path / "a.jsonl").write_bytes(first)
    (tmp_path / "b.jsonl").write_bytes(b"\n" + json.dumps(RECORDS, indent=2).encode())
    summary = run(tmp_path, "a.jsonl", "b.jsonl")
    assert summary.skipped == {"few_tokens": 1}
    assert parsed("json", (tmp_path / "out").read_bytes()) == KEPT


def test_an_object_after_a_blank_line_begins_no_array(tmp_path):
    (tmp_path / "in.json").write_bytes(b"\n" + feed("jsonl"))
    run(tmp_path, "in.json")
    assert parsed("jsonl", (tmp_path / "out").read_bytes()) == KEPT


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "warc"])
def test_an_empty_file(tmp_path, name):
    (tmp_path / f"in.{name}").write_bytes(b"")
    summary = run(tmp_path, f"in.{name}")
    assert (summary.records, (tmp_path / "verdicts").read_bytes()) == (0, b"")
    if name == "json":
        assert json.loads((tmp_path / "out").read_bytes()) == []
    else:
        assert (tmp_path / "out").read_bytes() == b""


def test_lines_that_cannot_be_read_are_kept(tmp_path):
    good = json.dumps(RECORDS[0]).encode()
    bad = [
        b'{"url": "x", "text": "cut o',
        b"\x00\x00\x00",
        b'{"text": "\xff\xfe"}',
        b"[1, 2]",
        b'{"url": "x"}',
        b'{"url": "x", "text": "' + b"word " * 3000 + b'"}',
        b"[" * 9000,
        b'{"text": 5}',
        b'{"text": ["\\ud800", "short"], "url": "\\udfff"}',
    ]
    lines = [good, *bad, good.replace(b"e.com/1", b"e.com/9")]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines))
    summary = run(tmp_path, "in.jsonl", max_bytes=10_000)
    assert (tmp_path / "out").read_bytes() == b"\n".join(lines[:-1]) + b"\n"
    reasons = [
        v["reason"] if v["kind"] == "skipped" else None for v in read_lines(tmp_path / "verdicts")
    ]
    assert reasons == [
        *(None, "not_json", "not_json", "not_its_encoding", "not_json", "no_field"),
        *("too_large", "not_json", "few_tokens", "few_tokens", None),
    ]
    assert summary.kept == len(lines) - 1
    assert read_lines(tmp_path / "verdicts")[1]["key"] == f"{tmp_path / 'in.jsonl'}#2"


def test_csv_that_cannot_be_read_is_kept(tmp_path):
    first = feed("csv", RECORDS[:1])
    strange = b'k,"a"b"c\r\n1\r\n' + b"2,3,4,5\r\n\xff,\xfe,\xfd\r\n" + b'5,"open,' + b"x" * 50
    (tmp_path / "in.csv").write_bytes(first + strange)
    run(tmp_path, "in.csv")
    rows = [b'k,"ab""c"', b"1", b"2,3,4,5", b"\xff,\xfe,\xfd", b'5,"open,' + b"x" * 50 + b'"']
    assert (tmp_path / "out").read_bytes() == first + b"".join(row + b"\r\n" for row in rows)
    run(tmp_path, "in.csv", out="tagged", action="tag")
    tagged = (tmp_path / "tagged").read_bytes().splitlines()
    assert tagged[-5:] == [rows[0] + b",,,,,,,,", b"1,,,,,,,,,", *rows[2:]]


def test_tags_of_an_earlier_run_are_replaced(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + feed("jsonl"))
    run(tmp_path, "in.jsonl", out="a.jsonl", action="tag")
    run(tmp_path, "a.jsonl", out="b.jsonl", action="tag")
    first, again = ((tmp_path / f"{name}.jsonl").read_text("utf-8-sig") for name in "ab")
    assert [json.loads(line) for line in again.splitlines()] == [
        json.loads(line) for line in first.splitlines()
    ]


@pytest.mark.parametrize("first", ["[INFO] began", "[2026-11-27 12:00:00] began", "[1, 2]"])
def test_a_line_of_a_log_begins_no_array(tmp_path, first):
    lines = [first, *map(json.dumps, RECORDS)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run(tmp_path, "in.jsonl")
    kept = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert [kept[0], *map(json.loads, kept[1:])] == [first, *KEPT]


BY_KEY = {f"https://a.example/{n}": {"text": text(n)} for n in range(2)}
REFUSED = {
    # If all records have surplus fields, the first line is too short.
    "in.csv": (
        "url,text\n" + f"1,{text(1)},more\n" * 2,
        r"more fields than the first line.*--delimiter",
    ),
    "in.title.csv": (
        "Report\n\nurl,text\n" + f"1,{text(1)}\n" * 2,
        "delete lines before the names of the columns",
    ),
    "in.long.jsonl": (json.dumps({"text": "word " * 2_000_000}), "too_large: .*--max-bytes"),
    "in.xml": ("<items/>", "convert it to one of json-lines, json, csv"),
    "in.json": (json.dumps(BY_KEY), r"contains 2 others with a text.*jq -c '.\[\]'"),
    "in.items.json": (
        json.dumps({"total": 5, "items": RECORDS}),
        r"'items' is a list of objects.*jq -c '.items\[\]'",
    ),
    "in.data.json": (
        json.dumps({"data": {"posts": RECORDS}}),
        r"'data.posts' is a list of objects.*jq -c '.data.posts\[\]'",
    ),
    "in.jsonl.bz2": ("BZh", "decompress it"),
    **{
        f"in.{number}.jsonl": (mark, "no record can be read: it is compressed.*decompress it")
        for number, mark in enumerate(("BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", "PK\3\4"))
    },
    "in.tsv": (f"1\t{text(1)}\n2\tb\n", "…': name it with --text-field"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_do(tmp_path, name):
    content, said = REFUSED[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SimhashError, match=said):
        run(tmp_path, name)


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
@pytest.mark.parametrize("fields", [Fields(), Fields(text=("content.rendered",), key="id")])
def test_fields_in_objects(tmp_path, name, fields):
    values = [
        {"id": str(n), "title": {"rendered": title}, "content": {"rendered": f"<p>{text(1)}</p>"}}
        for n, title in enumerate(("Ferries", "Trains", "Ferries"))
    ]
    if name == "jsonl":
        (tmp_path / "in.jsonl").write_bytes(json_lines(values))
    else:
        parquet.write_table(pa.Table.from_pylist(values), tmp_path / "in.parquet")
    run(tmp_path, f"in.{name}", fields=fields)
    assert kinds(tmp_path) == ["new", "new", "near-duplicate"]


def test_a_page_in_a_list_is_that_page(tmp_path):
    page = f"<html><title>Oars</title>\n<p>{text(1)}</p></html>"
    (tmp_path / "in.jsonl").write_bytes(json_lines([{"html": page}, {"html": [page]}]))
    for fields in (Fields(), Fields(html="html")):
        run(tmp_path, "in.jsonl", fields=fields)
        assert kinds(tmp_path) == ["new", "near-duplicate"]
        assert read_lines(tmp_path / "verdicts")[1]["distance"] == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"title": "Shop", "name": "Oar 7"}, {"title": "Shop", "name": "Oar 9"}),
        ({"title": "Oar 7", "headline": "a"}, {"title": "Oar 7", "headline": "b"}),
        ({"title": "Oar 7", "html": True}, {"title": "Oar 9", "html": True}),
        ({"sku": "7", "html": True}, {"sku": "9", "html": True}),
        ({"title": "Oar 7", "page": True}, {"title": "Oar 9", "page": True}),
        ({"title": "Oar 7", "inside": True}, {"title": "Oar 9", "inside": True}),
        ({"title": {"id": 1, "de": "Boot"}}, {"title": {"id": 1, "de": "Kahn"}}),
        ({"title": {"en-US": "Oar 7"}}, {"title": {"en-US": "Oar 9"}}),
    ],
)
def test_names_beside_a_text_tell_records_apart(tmp_path, one, other):
    def record(names):
        content = {"text": text(1)}
        if names.pop("html", None):
            content = {"html": f"<p>{text(1)}</p>"}
        elif names.pop("page", None):
            content = {"html": f"<html><title>Shop</title><h1>Oars</h1><p>{text(1)}</p></html>"}
        is_inside = names.pop("inside", None)
        return {"data": {**names, **content}} if is_inside else {**names, **content}

    records = [record(dict(names)) for names in (one, other, one)]
    (tmp_path / "in.jsonl").write_bytes(json_lines(records))
    run(tmp_path, "in.jsonl")
    assert kinds(tmp_path) == ["new", "new", "near-duplicate"]
    of_one_page = [{**each, "url": "https://e.com/list"} for each in records[:2]]
    (tmp_path / "in.jsonl").write_bytes(json_lines([*of_one_page, of_one_page[1]]))
    run(tmp_path, "in.jsonl")
    assert kinds(tmp_path) == ["new", "new", "near-duplicate"]


PAGE = "<!DOCTYPE html><html><p>x</p></html>"


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"url": "u", "text": "t"}, Fields(text=("text",), key="url")),
        ({"id": 1, "body": "t", "html": PAGE}, Fields(text=("body",), key="id")),
        ({"body": PAGE}, Fields(html="body")),
        ({"html": "<p>x</p>"}, Fields(html="html")),
        ({"Text": "t"}, Fields(text=("Text",))),
        ({"ID": 7, "Text": "t"}, Fields(text=("Text",), key="ID")),
        ({"Id": 7, "Meta": {"URL": "u"}, "text": "t"}, Fields(text=("text",), key="Meta.URL")),
        ({"content": ["a", "b"]}, Fields(text=("content",))),
        ({"text": "", "article": "t"}, Fields(text=("article",))),
        ({"text": None, "content": " ", "raw_html": "h"}, Fields(html="raw_html")),
        ({"": "0", "content": "t"}, Fields(text=("content",))),
        ({"story": None, "text": None, "html": ""}, Fields(text=("text",))),
        (
            {"data": {"attributes": {"body": {"value": "t"}}}},
            Fields(text=("data.attributes.body.value",)),
        ),
    ],
)
def test_usual_names(record, found):
    assert find_fields(Fields(), [], [record], "f") == found


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
        ('{"a": 1},\n', '{"a": 1, "was": "new"}\n'),
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
