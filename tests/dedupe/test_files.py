"""Inputs that are not text files: Parquet, folders of HTML, WARC."""

import errno
import gzip
import json
import os
from pathlib import Path

import brotli
import pyarrow as pa
import pytest
from pyarrow import parquet

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.dedupe.options import STANDARD_OUTPUT, Fields
from scrapy_simhash.documents.files import files_in
from scrapy_simhash.errors import SimhashError

from .samples import RECORDS, http_response, read_lines, records, text, warc_record
from .samples import run as run_once


def run(*arguments, **options):
    return run_once(*arguments, **{"overwrite": True, **options})


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


def test_parquet_of_many_rows_and_odd_types(tmp_path, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.documents.parquet._ROWS", 16)  # 256 are written at once
    values = [{"body": r["text"].encode(), "url": r["url"]} for r in records(600)]
    values[7] = {"body": None, "url": None}
    values[8] = {"body": b"\xff" * 20_000, "url": "big"}
    table = pa.Table.from_pylist(values)
    # Python has no type for these.
    table = table.append_column("at", pa.array([1, 10**18 + 1] * 300, pa.timestamp("ns")))
    table = table.append_column("on", pa.array([10**8, None] * 300, pa.date32()))
    parquet.write_table(table, tmp_path / "in.parquet")
    summary = run(tmp_path, "in.parquet", fields=Fields(text=("body",)), max_bytes=10_000)
    assert summary.skipped == {"no_field": 1, "too_large": 1}
    is_kept = [not verdict["dropped"] for verdict in read_lines(tmp_path / "verdicts")]
    assert 0 < sum(is_kept) < 600
    assert parquet.read_table(tmp_path / "out") == table.filter(pa.array(is_kept))


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
    # A file that the command names is a page, whatever its ending.
    run(tmp_path, "site", "one", out="both", format="html")
    both = tmp_path / "both"
    assert sorted(p.name for p in both.iterdir()) == ["site"]
    with pytest.raises(SimhashError, match="is a folder that exists already"):
        run(tmp_path, "site", out="both")


PLACES = {"site": "x", "3-site": "y"}


def test_two_inputs_of_one_name(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder / "site").mkdir(parents=True)
        (tmp_path / folder / "site" / "a.html").write_text(page(text(ord(folder))))
    (tmp_path / "2-site").mkdir()
    run(tmp_path, "x/site", "2-site", "y/site", "x/site", "x/site/a.html")
    out = tmp_path / "out"
    pages = {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*.html")}
    assert pages == {f"{name}/a.html": page(text(ord(x))) for name, x in PLACES.items()}


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


def test_warc_records_of_other_types(tmp_path):
    html, other = page(text(1)).encode(), page(text(2)).encode()
    answer = http_response(brotli.compress(html), "Content-Encoding: br", "Content-Type: text/html")
    twice = ("Content-Encoding: gzip", "content-encoding: gzip", "Content-Type: text/html")
    packed = http_response(gzip.compress(gzip.compress(other)), *twice)
    kind = "text/html", "text/plain", "text/markdown", "text/css"
    # Type of the record, its block, its type of content, and its verdict; None if it is passed over.
    expected = [
        ("resource", html, kind[0], "new"),
        ("response", answer, None, "near-duplicate"),
        ("response", answer.replace(b": br", b": xy"), None, "content_encoding"),
        ("resource", other, kind[0], "new"),
        ("resource", b"body {}", kind[3], "not_html"),
        ("conversion", text(3).encode(), kind[1], "new"),
        ("conversion", f"{text(3)} x".encode(), kind[1], "near-duplicate"),
        ("conversion", html, kind[0], "near-duplicate"),
        ("metadata", text(3).encode(), kind[1], None),
        ("response", http_response(b'{"a": "%b"}' % html), None, "not_html"),
        ("conversion", text(3).encode(), kind[2], "near-duplicate"),
        ("response", packed, None, "near-duplicate"),
    ]
    records = [
        warc_record(type_, block, f"https://e.com/{number}", content_type=content_type)
        for number, (type_, block, content_type, _) in enumerate(expected)
    ]
    (tmp_path / "in.warc.wet").write_bytes(b"".join(records))
    summary = run(tmp_path, "in.warc.wet")
    verdicts = read_lines(tmp_path / "verdicts")
    assert [v["reason"] if v["kind"] == "skipped" else v["kind"] for v in verdicts] == [
        verdict for *_, verdict in expected if verdict
    ]
    assert summary.passed_over == 1
    assert run(tmp_path, "in.warc.wet", out=None, overwrite=True).passed_over == 1
    kept = [r for r, (*_, v) in zip(records, expected, strict=True) if v != "near-duplicate"]
    assert (tmp_path / "out").read_bytes() == b"".join(kept)


def test_files_without_a_known_ending_are_pages_if_they_begin_as_one(tmp_path):
    (tmp_path / "site").mkdir()
    files = {
        "a.html": page(text(1)),
        "api.html": json.dumps({"a": page(text(1))}),
        "b.php?t=1&s=2": f"<!-- x -->\n{page(text(1))}",
        "c": f"<div><p>{text(1)}</p></div>",
        "d.aspx": page(text(2)),
        "e.html.gz": gzip.compress(page(text(2)).encode()),
        "f": gzip.compress(page(text(2)).encode()),
        "feed.xml": f"<?xml version='1.0'?><rss><item><p>{text(1)}</p></item></rss>",
        "picture.png": "\x89PNG",
        "script.js": f"document.write('<p>{text(1)}</p>')",
        "text.txt": text(1),
    }
    for name, content in files.items():
        (tmp_path / "site" / name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
    summary = run(tmp_path, "site")
    assert (summary.kinds["new"], summary.skipped) == (2, {"not_html": 1})
    assert (summary.dropped, summary.passed_over) == (4, 4)
    assert run(tmp_path, "site", out=None, overwrite=True).passed_over == 4
    copies = {"b.php?t=1&s=2", "c", "e.html.gz", "f"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*files} - copies


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path, monkeypatch):
    scandir, locked = os.scandir, tmp_path / "site" / "locked"
    locked.mkdir(parents=True)
    (tmp_path / "site" / "a.html").write_text(page(text(1)))

    def refuse(folder):
        if Path(folder) == locked:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read all folders
    assert [*files_in([tmp_path / "site"])] == [tmp_path / "site" / "a.html", locked]
    with pytest.raises(OSError, match="locked"):
        run(tmp_path, "site")
    assert not (tmp_path / "state").exists()


def test_symlinks_that_lead_out_of_a_folder_are_left_out(tmp_path):
    (tmp_path / "site" / "sub").mkdir(parents=True)
    (tmp_path / "site" / "sub" / "a.html").write_text(page(text(1)))
    for name in ("secret.html", "secret"):
        (tmp_path / name).write_text(page(text(2)))
        (tmp_path / "site" / name).symlink_to(tmp_path / name)
    (tmp_path / "site" / "sub" / "up").symlink_to(f"../../{tmp_path.name}/../secret")
    (tmp_path / "site" / "inside.html").symlink_to("sub/a.html")
    (tmp_path / "site" / "gone").symlink_to("nowhere")
    assert run(tmp_path, "site").dropped == 1
    copied = [path for path in (tmp_path / "out").rglob("*") if not path.is_dir()]
    assert [path.name for path in copied] == ["inside.html"]


@pytest.mark.parametrize("from_gzip", ["", ".gz"])
@pytest.mark.parametrize("to_gzip", ["", ".gz"])
def test_warc(tmp_path, from_gzip, to_gzip):
    (tmp_path / f"in.warc{from_gzip}").write_bytes(warc(bool(from_gzip)))
    run(tmp_path, f"in.warc{from_gzip}", out=f"out.warc{to_gzip}")
    verdicts = read_lines(tmp_path / "verdicts")
    assert [(v["key"], v["reason"] if v["kind"] == "skipped" else v["kind"]) for v in verdicts] == [
        ("https://e.com/1", "new"),
        ("https://e.com/2", "near-duplicate"),
        ("https://e.com/3", "status"),
        ("https://example.com/", "not_html"),
        ("https://example.com/", "empty"),
        ("https://e.com/4", "new"),
        ("https://e.com/5", "near-duplicate"),
        (verdicts[-1]["key"], "not_warc"),
    ]
    # As of a crawl of the page.
    of_crawl = Detector(Scheme.preset("wide")).fingerprint_page(page(text(1))).fingerprint
    assert verdicts[0]["fingerprint"] == f"{of_crawl:064x}"
    out = (tmp_path / f"out.warc{to_gzip}").read_bytes()
    content = gzip.decompress(out) if to_gzip else out
    assert content == warc(False, dropped=("2", "packed"))
    if to_gzip:  # each record by itself
        assert out.count(b"\x1f\x8b\x08") >= 9


@pytest.mark.parametrize("from_gzip", ["", ".gz"])
@pytest.mark.parametrize("to_gzip", ["", ".gz"])
def test_a_warc_that_is_torn_among_others(tmp_path, from_gzip, to_gzip):
    more = warc_record("response", http_response(page(text(3)).encode()), "https://e.com/9")
    torn = warc_record("response", http_response(page(text(4)).encode()))
    names = [f"{name}.warc{from_gzip}" for name in ("a", "b")]
    pack = gzip.compress if from_gzip else bytes
    (tmp_path / names[0]).write_bytes(warc(bool(from_gzip)) + pack(torn)[:-30])
    (tmp_path / names[1]).write_bytes(pack(more))
    summary = run(tmp_path, *names, out=f"out.warc{to_gzip}")
    assert list(summary.damaged) == [str(tmp_path / names[0])]
    assert summary.records == 9
    out = (tmp_path / f"out.warc{to_gzip}").read_bytes()
    content = gzip.decompress(out) if to_gzip else out
    assert content == warc(False, dropped=("2", "packed")) + more
    # The damage is reported even without an output.
    assert run(tmp_path, *names, out=None).damaged


@pytest.mark.parametrize("name", ["in.parquet", "in.html"])
def test_what_standard_output_cannot_take(tmp_path, name):
    if name == "in.html":
        (tmp_path / name).write_text(page(text(1)))
    else:
        parquet.write_table(pa.Table.from_pylist(RECORDS), tmp_path / name)
    with pytest.raises(SimhashError, match="cannot go to standard output"):
        run(tmp_path, name, out=STANDARD_OUTPUT)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "module"), [("in.warc", "warcio"), ("in.parquet", "pyarrow")])
def test_an_extra_that_is_missing(tmp_path, monkeypatch, name, module):
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, f"{module}.parquet", None)
    with pytest.raises(SimhashError, match=r'pip install "scrapy-simhash\[files\]"'):
        run(tmp_path, name)
