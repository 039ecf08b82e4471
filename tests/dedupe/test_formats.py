"""Each format: what is kept is there as it was, and what is tagged has its tags."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.errors import SimhashError

from .samples import http_response, read_lines, records, text, warc_record
from .samples import run as run_once

RECORDS = [
    {"url": "https://e.com/1", "title": 'Fähre, "eins"\nzwei', "text": text(1)},
    {"url": "https://e.com/2", "title": "", "text": text(2)},
    {"url": "https://e.com/3", "title": "x", "text": text(1, edited=4)},
    {"url": "https://e.com/4", "title": "y", "text": "too short"},
    {"url": "https://e.com/5", "title": "z", "text": text(2, edited=9)},
]
KEPT = [RECORDS[0], RECORDS[1], RECORDS[3]]
KINDS = ["new", "new", "near-duplicate", "skipped", "near-duplicate"]


def run(*arguments, **options):
    return run_once(*arguments, **{"overwrite": True, **options})


def feed(name, values=RECORDS):
    """As Scrapy exports it."""
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
    # What is compressed is told from its content.
    (tmp_path / f"in.{name}").write_bytes(gzip.compress(content) if compressed else content)
    run(tmp_path, f"in.{name}", out=f"out{ending}")
    assert [v["kind"] for v in read_lines(tmp_path / "verdicts")] == KINDS
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
    reasons = [v["reason"] for v in read_lines(tmp_path / "verdicts")]
    assert reasons == [
        *(None, "not_json", "not_json", "not_its_encoding", "not_json", "no_field"),
        *("too_large", "not_json", "few_tokens", "few_tokens", None),
    ]
    assert summary.kept == len(lines) - 1
    assert read_lines(tmp_path / "verdicts")[1]["key"] == f"{tmp_path / 'in.jsonl'}#2"


def test_csv_that_cannot_be_read_is_kept(tmp_path):
    strange = b'k,"a"b"c\r\n1\r\n' + b"2,3,4,5\r\n\xff,\xfe,\xfd\r\n" + b'5,"open,' + b"x" * 50
    content = feed("csv", RECORDS[:1]) + strange
    (tmp_path / "in.csv").write_bytes(content)
    run(tmp_path, "in.csv")
    assert (tmp_path / "out").read_bytes() == content + b"\n"
    run(tmp_path, "in.csv", out="tagged", action="tag")
    rows = (tmp_path / "tagged").read_bytes().splitlines()
    assert rows[-4:-1] == [b"1,,,,,,", b"2,3,4,5", b"\xff,\xfe,\xfd"]
    assert rows[-5] == b'k,"a"b"c,,,,,'


def test_csv_with_long_fields(tmp_path):
    values = [{"id": n, "text": text(1, count=60_000) + "\n"} for n in range(2)]
    (tmp_path / "in.csv").write_bytes(feed("csv", values))
    assert run(tmp_path, "in.csv").kinds == {"new": 1, "near-duplicate": 1}


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_other_separators(tmp_path, separator):
    rows = "".join(f"{n}{separator}{text(n // 2)}\r\n" for n in range(4))
    (tmp_path / "in.csv").write_text(f"id{separator}text\r\n{rows}", newline="")
    summary = run(tmp_path, "in.csv", action="tag", fields=Fields(key="id"))
    assert summary.kinds == {"new": 2, "near-duplicate": 2}
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[2].split(separator)[2:5] == ["near-duplicate", "0", "0"]


def test_another_encoding(tmp_path):
    values = [{"text": f"Fähre {text(3)}", "n": n} for n in range(2)]
    content = "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode("cp1252")
    (tmp_path / "in.jsonl").write_bytes(content)
    assert run(tmp_path, "in.jsonl", encoding="cp1252").kinds == {"new": 1, "near-duplicate": 1}
    assert (tmp_path / "out").read_bytes() == content.splitlines(keepends=True)[0]


def test_tags_of_an_earlier_run_are_replaced(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + feed("jsonl"))
    run(tmp_path, "in.jsonl", out="a.jsonl", action="tag")
    run(tmp_path, "a.jsonl", out="b.jsonl", action="tag")
    assert read_lines(tmp_path / "b.jsonl") == parsed(
        "jsonl", (tmp_path / "a.jsonl").read_bytes().removeprefix(b"\xef\xbb\xbf")
    )
    (tmp_path / "in.csv").write_bytes(feed("csv"))
    run(tmp_path, "in.csv", out="a.csv", action="tag")
    with pytest.raises(SimhashError, match="there is a column 'simhash_kind' already"):
        run(tmp_path, "a.csv", out="b.csv", action="tag")


def test_other_tags(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"{ }\n" + feed("jsonl"))
    tags = {"kind": "was", "weak": "weak"}
    run(tmp_path, "in.jsonl", action="tag", tags=tags)
    out = read_lines(tmp_path / "out")
    assert out[0] == {}
    assert out[1] == {**RECORDS[0], "was": "new", "weak": False}


def test_a_json_array_that_is_not_one_item_a_line(tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(RECORDS))
    with pytest.raises(SimhashError, match=r"no record of it can be read; an item in each line"):
        run(tmp_path, "in.json")
    (tmp_path / "in.json").write_text(json.dumps(RECORDS, indent=2))
    with pytest.raises(SimhashError, match="no record of it can be read"):
        run(tmp_path, "in.json")
    (tmp_path / "in.json").write_text("\n".join(map(json.dumps, RECORDS)))
    run(tmp_path, "in.json")
    assert read_lines(tmp_path / "out") == KEPT


# Parquet


@pytest.mark.parametrize("row_group", [1, 2, 100])
def test_parquet(tmp_path, row_group):
    values = [{**value, "n": n, "list": [n]} for n, value in enumerate(RECORDS)]
    table = pa.Table.from_pylist(values)
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=row_group)
    run(tmp_path, "in.parquet")
    assert parquet.read_table(tmp_path / "out").to_pylist() == [values[n] for n in (0, 1, 3)]
    run(tmp_path, "in.parquet", "in.parquet", out="tagged", action="tag")
    tagged = parquet.read_table(tmp_path / "tagged").to_pylist()
    assert len(tagged) == 10
    assert [one["simhash_kind"] for one in tagged[:5]] == [
        *("new", "new", "near-duplicate", None, "near-duplicate")
    ]
    assert [one["simhash_kind"] for one in tagged[5:]] == [
        *("unchanged", "unchanged", "near-duplicate", None, "near-duplicate")
    ]
    assert tagged[2]["simhash_distance"] == 0 or tagged[2]["simhash_distance"] < 36
    assert parquet.read_schema(tmp_path / "tagged").field("simhash_distance").type == pa.int32()


def test_parquet_of_many_rows_and_odd_types(tmp_path):
    values = [{"body": r["text"].encode(), "url": r["url"]} for r in records(9000)]
    values[7] = {"body": None, "url": None}
    values[8] = {"body": b"\xff" * 20_000, "url": "big"}
    parquet.write_table(pa.Table.from_pylist(values), tmp_path / "in.parquet")
    summary = run(tmp_path, "in.parquet", fields=Fields(text=("body",)), max_bytes=10_000)
    assert summary.skipped == {"no_field": 1, "too_large": 1}
    out = parquet.read_table(tmp_path / "out").to_pylist()
    verdicts = read_lines(tmp_path / "verdicts")
    assert out == [v for v, told in zip(values, verdicts, strict=True) if not told["dropped"]]
    assert 0 < len(out) < 9000


def test_parquet_that_is_none(tmp_path):
    (tmp_path / "in.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(SimhashError, match="cannot be read as Parquet"):
        run(tmp_path, "in.parquet")
    (tmp_path / "in.parquet").write_bytes(b"")
    with pytest.raises(SimhashError, match="cannot be read as Parquet"):
        run(tmp_path, "in.parquet")
    parquet.write_table(pa.table({"text": ["a"]}), tmp_path / "in.parquet")
    parquet.write_table(pa.table({"body": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(SimhashError, match="has other columns"):
        run(tmp_path, "in.parquet", "other.parquet")
    assert not (tmp_path / "state").exists()


def test_parquet_that_breaks_off_in_the_middle(tmp_path):
    values = [{"text": record["text"]} for record in records(3000)]
    path = tmp_path / "in.parquet"
    parquet.write_table(pa.Table.from_pylist(values), path, row_group_size=500, compression="none")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 60_000] = b"\xff" * 60_000
    path.write_bytes(bytes(content))
    with pytest.raises(SimhashError, match="cannot be read as Parquet"):
        run(tmp_path, "in.parquet")
    assert not (tmp_path / "out").exists()


# Folders of HTML


def page(body, head=""):
    paragraphs = "".join(f"<p>{body[at : at + 300]}</p>" for at in range(0, len(body), 300))
    return f"<html><head>{head}</head><body><article>{paragraphs}</article></body></html>"


def test_folders_of_html(tmp_path):
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "a.html").write_text(page(text(1)))
    (site / "sub" / "b.HTM").write_text(page(text(1, edited=3)))
    (site / "sub" / "c.xhtml").write_text(page(text(2)))
    (site / "style.css").write_text("p {}")
    (site / "empty.html").write_text("")
    (site / "big.html").write_text(page(text(1)) + " " * 20_000)
    (tmp_path / "one").write_text(page(text(2)))
    summary = run(tmp_path, "site", max_bytes=20_000)
    assert summary.skipped == {"empty": 1, "too_large": 1}
    kept = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.*"))
    assert kept == ["a.html", "big.html", "empty.html", "style.css", "sub/c.xhtml"]
    assert (tmp_path / "out" / "a.html").read_text() == page(text(1))
    keys = [v["key"] for v in read_lines(tmp_path / "verdicts")]
    assert keys[0] == str(site / "a.html")
    # A file that is named is a page, whatever it is called.
    run(tmp_path, "site", "one", out="both", format="html")
    both = tmp_path / "both"
    assert sorted(p.name for p in both.iterdir()) == ["site"]
    with pytest.raises(SimhashError, match="is a folder that is there already"):
        run(tmp_path, "site", out="both")


def test_two_inputs_of_one_name(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder / "site").mkdir(parents=True)
        (tmp_path / folder / "site" / "a.html").write_text(page(text(ord(folder))))
    with pytest.raises(SimhashError, match="would be written twice"):
        run(tmp_path, "x/site", "y/site")
    assert not (tmp_path / "out").exists()


# WARC


def warc(compressed, *, dropped=()):
    body = [page(text(1)).encode(), page(text(1, edited=2)).encode(), page(text(2)).encode()]
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body[2]), body[2])
    packed = gzip.compress(page(text(2, edited=1)).encode())
    made = {
        "info": warc_record("warcinfo", b"software: x\r\n"),
        "request": warc_record("request", b"GET / HTTP/1.1\r\n\r\n", "https://e.com/1"),
        "1": warc_record("response", http_response(body[0]), "https://e.com/1#top"),
        "2": warc_record("response", http_response(body[1]), "<https://e.com/2>"),
        "404": warc_record("response", http_response(body[1], status="404 No"), "https://e.com/3"),
        "png": warc_record("response", http_response(b"\x89PNG", "Content-Type: image/png")),
        "none": warc_record("response", http_response(b"")),
        "chunked": warc_record(
            "response",
            http_response(chunked, "Transfer-Encoding: chunked", "Content-Type: text/html"),
            "https://e.com/4",
        ),
        "packed": warc_record(
            "response",
            http_response(packed, "Content-Encoding: gzip", "Content-Type: text/html"),
            "https://e.com/5",
        ),
        "odd": warc_record("response", b"no http at all"),
        "revisit": warc_record("revisit", b""),
    }
    kept = [record for name, record in made.items() if name not in dropped]
    return b"".join(gzip.compress(r, mtime=0) if compressed else r for r in kept)


@pytest.mark.parametrize("from_gzip", ["", ".gz"])
@pytest.mark.parametrize("to_gzip", ["", ".gz"])
def test_warc(tmp_path, from_gzip, to_gzip):
    (tmp_path / f"in.warc{from_gzip}").write_bytes(warc(bool(from_gzip)))
    run(tmp_path, f"in.warc{from_gzip}", out=f"out.warc{to_gzip}")
    verdicts = read_lines(tmp_path / "verdicts")
    assert [(v["key"], v["reason"] or v["kind"]) for v in verdicts] == [
        ("https://e.com/1", "new"),
        ("https://e.com/2", "near-duplicate"),
        ("https://e.com/3", "status"),
        ("https://example.com/", "not_html"),
        ("https://example.com/", "empty"),
        ("https://e.com/4", "new"),
        ("https://e.com/5", "near-duplicate"),
        (verdicts[-1]["key"], "not_warc"),
    ]
    out = (tmp_path / f"out.warc{to_gzip}").read_bytes()
    content = gzip.decompress(out) if to_gzip else out
    assert content == warc(False, dropped=("2", "packed"))
    if from_gzip and to_gzip:
        assert out == warc(True, dropped=("2", "packed"))
    if to_gzip:  # each record by itself
        assert out.count(b"\x1f\x8b\x08") >= 9


def test_a_warc_that_was_compressed_as_a_whole(tmp_path):
    (tmp_path / "in.warc.gz").write_bytes(gzip.compress(warc(False)))
    run(tmp_path, "in.warc.gz", out="out.warc.gz")
    content = gzip.decompress((tmp_path / "out.warc.gz").read_bytes())
    assert content == warc(False, dropped=("2", "packed"))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_warc_that_is_cut_off(tmp_path, compressed):
    ending = ".gz" if compressed else ""
    content = warc(compressed)
    (tmp_path / f"in.warc{ending}").write_bytes(content[:-9])
    summary = run(tmp_path, f"in.warc{ending}", out=f"out.warc{ending}")
    assert summary.skipped["not_warc"] == 2
    out = (tmp_path / f"out.warc{ending}").read_bytes()
    assert out == warc(compressed, dropped=("2", "packed"))[:-9]


@pytest.mark.parametrize("name", ["in.html", "in.warc"])
def test_pages_have_no_fields(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(SimhashError, match="has no fields for tags"):
        run(tmp_path, name, action="tag")


@pytest.mark.parametrize(("name", "module"), [("in.warc", "warcio"), ("in.parquet", "pyarrow")])
def test_an_extra_that_is_missing(tmp_path, monkeypatch, name, module):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, f"{module}.parquet", None)
    with pytest.raises(SimhashError, match=r'pip install "scrapy-simhash\[files\]"'):
        run(tmp_path, name)
