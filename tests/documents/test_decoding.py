"""One decoder: a crawl and all commands read the same text from the same bytes."""

import argparse
import codecs
import io
import sys
from itertools import product

import pytest
import scrapy
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes
from scrapy.settings import Settings

from scrapy_simhash.commands import _pages
from scrapy_simhash.crawl.fingerprinting import page_for_worker
from scrapy_simhash.crawl.settings import SettingsReader
from scrapy_simhash.documents.decoding import decoded, decoded_file, is_html_response
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document, DocumentReader
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extraction import extract
from scrapy_simhash.workers import pages

CHINESE = "开往岛上的渡船九点出发。船上可以带自行车、狗和邮件。请在开船前十分钟到达码头。"
FRENCH = "Le café est près de la forêt où l’été n’en finit pas. "
RUSSIAN = "Паром отходит в девять часов утра и возвращается вечером. "
JAPANESE = "島への渡し船は九時に出ます。自転車と犬と郵便物を運びます。"


def html(text, head=""):
    paragraphs = "".join(f"<p>{text * 3} {number}</p>\n" for number in range(12))
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{paragraphs}</body></html>\n"


PAGES = {
    "ascii": html("The ferry to the island leaves at nine. ").encode(),
    "utf-8": html(CHINESE).encode(),
    "utf-8 with a stray byte": html(FRENCH).encode().replace(b"pas. ", b"pas.\xff ", 1),
    "utf-8 with a BOM": codecs.BOM_UTF8 + html(CHINESE).encode(),
    "utf-8 declared latin-1": html(FRENCH, "<meta charset=iso-8859-1>").encode(),
    "gbk declared gb2312": html(CHINESE + "镕", "<meta charset=gb2312>").encode("gbk"),
    "gb18030 undeclared": html(CHINESE).encode("gb18030"),
    "big5 undeclared": html("山坡上的茶園天還沒亮就熱鬧起來，採茶的人已經到了。").encode("big5"),
    "latin-1 undeclared": html(FRENCH.replace("’", "'")).encode("latin-1"),
    "cp1251 undeclared": html(RUSSIAN).encode("cp1251"),
    "koi8-r undeclared": html(RUSSIAN).encode("koi8-r"),
    "shift_jis undeclared": html(JAPANESE).encode("shift_jis"),
    "utf-16 with a BOM": html(CHINESE).encode("utf-16"),
    "utf-16 declared utf-8": codecs.BOM_UTF16_BE
    + html(CHINESE, "<meta charset=utf-8>").encode("utf-16-be"),
    "unknown declaration": html(FRENCH, "<meta charset=klingon>").encode(),
    "XML declaration": b'<?xml version="1.0" encoding="cp1252"?>' + html(FRENCH).encode("cp1252"),
    "NULs": html(FRENCH).encode().replace(b"pas", b"p\0as", 3),
    "all bytes": b"<!DOCTYPE html><html>" + bytes(range(256)) * 9 + b"the ferry leaves at nine ",
    "empty": b"",
}
TYPES = [None, "text/html", "text/html; charset=utf-8", "text/html; charset=gbk", "x; charset=no"]


@pytest.fixture(params=PAGES)
def body(request):
    guessed = request.param.endswith(("undeclared", "stray byte"))
    if guessed and scrapy.version_info < (2, 19):
        pytest.skip("Scrapy before 2.19 takes undeclared encodings for Windows-1252")
    return PAGES[request.param]


def response(body, content_type="text/html"):
    headers = {} if content_type is None else {"Content-Type": content_type}
    return HtmlResponse("https://example.com/", headers=headers, body=body)


@pytest.mark.parametrize("content_type", TYPES)
def test_the_text_of_a_response_of_scrapy(body, content_type):
    assert decoded(body, content_type) == response(body, content_type).text


def test_crawl_dedupe_and_files_have_the_same_text(body, tmp_path, monkeypatch):
    """`extract`, `query` and `compare` use `load_page`, `calibrate` `DocumentReader()`,
    `passages` `Reading`.
    """
    text = response(body).text
    content = page_for_worker(response(body))
    assert pages.text_of_page(content) == text  # in a worker of a crawl
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.html").write_bytes(body)
    if not body:
        with pytest.raises(SimhashError, match="no text in it"):
            load_page("a.html")
        return
    page = load_page("a.html")
    assert (page.text, page.is_html) == (text, True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
    if body.startswith((b"<", codecs.BOM_UTF8)):
        assert load_page("-").text == text
    (kept,) = DocumentReader().file(tmp_path / "a.html")
    assert kept == Document(kept.name, text, is_html=True)
    assert kept.main_text() == extract(text).text


def load_page(name):
    return _pages.load_page(name, argparse.Namespace(settings=SettingsReader(Settings())))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", CHINESE),
        ("utf-8-sig", CHINESE),
        ("utf-16", CHINESE),
        ("utf-32", CHINESE),
        ("gb18030", CHINESE * 10),
        ("cp1251", RUSSIAN * 10),
        ("shift_jis", JAPANESE * 10),
    ],
)
def test_files_whose_encoding_can_be_told(encoding, text):
    assert decoded_file(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        CHINESE.encode("utf-16-le"),  # without a mark
        bytes(range(1, 32)) * 200 + bytes(range(128, 256)) * 200,
        bytes((n * 7919 >> 3) % 255 + 1 for n in range(5000)),
    ],
)
def test_files_that_are_no_text(content):
    with pytest.raises(Unreadable) as caught:
        decoded_file(content)
    assert caught.value.reason in {"binary", "in an unknown encoding"}


HTML = b"<!DOCTYPE html><html><p>x</p>"


@pytest.mark.parametrize(
    "content_type",
    [
        *(None, "text/html", "Text/HTML ; charset=x", "application/xhtml+xml", "text/plain"),
        *("application/json", "image/png", "application/octet-stream", "", "text/xml", "nonsense"),
        *("application/xml", "application/pdf", "text/x-unknown"),
        *("application/vnd.wap.xhtml+xml", "application/x-javascript"),
    ],
)
def test_the_same_responses_are_html(content_type):
    urls = (
        "https://e.com/",
        "https://e.com/a.html?b=c.txt",
        "https://e.com/a.pdf",
        "https://e.com",
    )
    bodies = (HTML, b"text alone", b"\x89PNG\0", b"<?xml?><html>", b"<?xml ?>\n<!doctype html>")
    dispositions = (None, 'attachment; filename="a.htm"', "inline")
    for case in product(urls, bodies, dispositions):
        check_html(content_type, *case)


def check_html(content_type, url, body, disposition):
    headers = {}
    if content_type is not None:
        headers[b"Content-Type"] = content_type.encode()
    if disposition is not None:
        headers[b"Content-Disposition"] = disposition.encode()
    found = responsetypes.from_args(headers=headers, url=url, body=body)
    assert is_html_response(body, url, content_type, disposition) == (found is HtmlResponse), url
