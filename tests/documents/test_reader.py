"""Files are read and decoded as documents, or skipped with a reason."""

import gzip
import json
import os
import tracemalloc

import pytest

from scrapy_simhash.documents.files import files_in
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document, DocumentReader

TEXT = "The ferry to the island leaves at nine. It takes bicycles, dogs and the post."
MORE = (
    "In winter there is one boat a day. It brings bread, letters and whoever wants to come, and "
    "when the wind is from the north it does not sail at all."
)
PAGE = (
    "<!DOCTYPE html><html><head><title>Ferries</title></head><body><nav><a href='/'>Home</a></nav>"
    f"<article><p>{TEXT}</p><p>{MORE}</p><p>{MORE[:90]}.</p></article><script>var x = 1;</script></body></html>"
)


@pytest.fixture
def write(tmp_path):
    def write_it(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_it


def read(*paths, **options):
    return list(DocumentReader(**options).documents(paths))


def lines(*values):
    return "".join(f"{json.dumps(value)}\n" for value in values)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a", "a.TXT", "a.log"])
@pytest.mark.parametrize("text", [TEXT, "x"])
def test_a_text_file_is_a_document_under_its_path(write, name, text):
    path = write(name, text)
    assert read(path) == [Document(str(path), text)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", PAGE),
        ("a.HTM", PAGE),
        ("a.xhtml", PAGE),
        ("a.html", f"<p>{TEXT}</p>"),  # by its name
        ("a", PAGE),  # by its beginning
        ("a.txt", f"\n <!-- a -->\n<html lang=en><p>{TEXT}</html>"),
        ("a", f'<?xml version="1.0"?>\n<html><p>{TEXT}</p></html>'),
        ("a", b"\xef\xbb\xbf" + PAGE.encode()),
        ("a", PAGE.encode("utf-16")),
    ],
)
def test_of_a_page_the_main_text_counts(write, name, content):
    (page,) = read(write(name, content))
    text = page.main_text()
    assert page.is_html
    assert text.splitlines()[0] == TEXT
    assert "Home" not in text


def test_json_lines_are_a_document_each(write):
    path = write(
        "a.jsonl",
        lines(
            {"url": "https://a.example/", "id": 3, "text": "one"},
            {"id": 7, "text": "two"},
            {"url": "", "text": "three"},
            {"url": None, "id": " ", "text": "four"},
            {"id": "x", "text": "<p>List&lt;T></p><p>five</p>"},
            {"id": "y", "text": "a <video> &amp; six"},
        )
        + "\n"
        + lines({"text": f"<html><p>{TEXT}</html>"}),
    )
    assert read(path) == [
        Document("https://a.example/", "one"),
        Document("7", "two"),
        Document(f"{path}:3", "three"),
        Document(f"{path}:4", "four"),
        Document("x", "List<T>\nfive"),
        Document("y", "a <video> & six"),
        Document(f"{path}:8", f"<html><p>{TEXT}</html>", is_html=True),
    ]


@pytest.mark.parametrize("ending", [".jsonl", ".jl", ".ndjson", ".json"])
def test_lines_that_are_no_documents_are_told_by_their_numbers(write, ending):
    content = (
        lines({"text": "one"})
        + "{nope\n"
        + lines({"body": "x", "title": "y"}, 1, {"text": 5}, {"text": " \n"})
        + '{"a":' * 100_000
        + "\n"
        + lines({"text": "last"})
    )
    path = write(f"a{ending}", content.encode() + b'{"text": "caf\xe9"}\n')
    found = read(path)
    assert [item.text for item in found if isinstance(item, Document)] == ["one", "last"]
    skipped = {item.key: item for item in found if isinstance(item, Unreadable)}
    assert {place.rpartition(":")[2]: item.reason for place, item in skipped.items()} == {
        "2": "not a JSON object",
        "3": "no field 'text'",
        "4": "not a JSON object",
        "5": "field 'text' is not text",
        "6": "no text in it",
        "7": "not a JSON object",
        "9": "not of its encoding",
    }
    assert "body, title" in skipped[f"{path}:3"].detail
    assert skipped[f"{path}:9"].detail == "it is not utf-8"


def test_one_json_value_of_many_lines(write):
    items = [{"id": "a", "text": "one"}, {"text": "two"}]
    path = write("feed.json", json.dumps(items, indent=2))
    assert read(path) == [Document("a", "one"), Document(f"{path}:2", "two")]
    assert read(write("one.json", json.dumps(items[0], indent=2))) == [Document("a", "one")]
    assert read(path, max_bytes=20)[0].reason == "longer than 20 bytes"
    for indent in (None, 2):  # an array, whatever the ending
        path = write("feed.jl", json.dumps(items, indent=indent))
        assert read(path) == [Document("a", "one"), Document(f"{path}:2", "two")]


def test_texts_in_objects_and_lists(write):
    values = [
        {"data": {"text": text}} for text in ("one", ["two", "<p>three</p>"], {"raw": "four"})
    ]
    path = write("a.jsonlines", lines(*values))
    found = read(path, text_field="data.text", name_field="data.id")
    assert [one.text for one in found] == ["one", "two\nthree", "four"]


def test_folders_are_walked_in_order_without_what_is_hidden(write, tmp_path):
    for name in (
        "b/2.txt",
        "b/1.txt",
        "a/z.txt",
        "c.txt",
        ".git/x.txt",
        "b/.hidden",
        "index/f.txt",
    ):
        write(f"in/{name}", name)
    folder = tmp_path / "in"
    (folder / "b" / "loop").symlink_to(folder)
    os.mkfifo(folder / "b" / "pipe")
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    found = list(files_in([folder, folder / "c.txt"], exclude=folder / "a" / ".." / "index"))
    assert [str(path.relative_to(folder)) for path in found] == [
        "c.txt", "a/z.txt", "b/1.txt", "b/2.txt", "c.txt",
    ]  # fmt: skip
    assert list(files_in([folder / "b"], exclude=folder / "nowhere"))


PACKED = gzip.compress(lines(*({"text": f"{TEXT} {n}"} for n in range(500))).encode())
UTF_16 = lines({"text": "one"}, {"text": "two"}).encode("utf-16")


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.txt.gz", PACKED[:-20], {}, ("cannot be read to its end", "ended before")),
        ("a.jsonl.gz", PACKED[:-20], {}, ("cannot be read to its end", "ended before")),
        (
            "a.jsonl.gz",
            PACKED[:40] + b"\0" * 40 + PACKED[80:],
            {},
            ("cannot be read to its end", ""),
        ),
        ("a.jsonl", UTF_16[:-1], {}, ("not a JSON object", "")),
        (
            "a.txt",
            TEXT + ".",
            {"max_bytes": len(TEXT)},
            (f"longer than {len(TEXT)} bytes", "SIMHASH_MAX_BYTES"),
        ),
        ("a.json", "[{\n", {}, ("not a JSON object", "")),
        ("a.csv", "url,text\n1,a", {}, ("csv is not read here", "JSON lines")),
        ("a.warc.gz", PACKED, {}, ("warc is not read here", "JSON lines")),
    ],
)
def test_what_is_skipped_and_why(write, name, content, options, said):
    found = read(write(name, content), **options)[-1]
    assert found.reason == said[0]
    assert said[1] in found.detail


def test_a_bomb_takes_no_memory(write):
    path = write("bomb.txt.gz", gzip.compress(b"x" * 200_000_000, 1))
    tracemalloc.start()
    try:
        (skipped,) = read(path, max_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert skipped.reason == "longer than 1,000,000 bytes"


def test_lines_are_read_one_by_one(write):
    path = write("a.jsonl", lines(*({"id": n, "text": "x" * 1000} for n in range(5_000))))
    tracemalloc.start()
    try:
        count = sum(isinstance(item, Document) for item in DocumentReader().file(path))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert count == 5_000
