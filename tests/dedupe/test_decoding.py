"""Pages are decoded, and told from what is no page, as Scrapy does it."""

from __future__ import annotations

from itertools import product

import pytest
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simhash.dedupe.decoding import html_text, is_html

TEXT = "<html><body><p>Die Fähre fährt um neun über den See, „pünktlich“.</p></body></html>"
RUSSIAN = "<p>Паром отходит в девять часов утра и возвращается вечером.</p>" * 5
CHINESE = "<p>山坡上的茶园天还没亮就热闹起来，采茶的人已经到了。</p>" * 5
BODIES = [
    b"",
    b"<p>plain</p>",
    TEXT.encode(),
    TEXT.encode("cp1252"),
    b"\xef\xbb\xbf" + TEXT.encode(),
    TEXT.encode("utf-16"),
    b"<meta charset=iso-8859-1>" + TEXT.encode("cp1252"),
    b"<meta charset=nonsense>" + TEXT.encode(),
    b'<?xml version="1.0" encoding="utf-8"?>' + TEXT.encode(),
    RUSSIAN.encode("cp1251"),
    RUSSIAN.encode("koi8-r"),
    CHINESE.encode("gb18030"),
    CHINESE.encode("big5", "replace"),
    b"<meta charset=gb2312>" + CHINESE.encode("gb18030"),
    bytes(range(256)),
    TEXT.encode() + b"\xff\xfe",
]
TYPES = [None, "text/html", "text/html; charset=utf-8", "text/html; charset=gbk", "x; charset=no"]


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_as_a_response_of_scrapy(body, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = HtmlResponse("https://example.com/", headers=headers, body=body)
    assert html_text(body, content_type) == response.text


HTML = b"<!DOCTYPE html><html><p>x</p>"


@pytest.mark.parametrize(
    "content_type",
    [
        *(None, "text/html", "Text/HTML ; charset=x", "application/xhtml+xml", "text/plain"),
        *("application/json", "image/png", "application/octet-stream", "", "text/xml", "nonsense"),
        *("application/xml", "application/pdf", "text/x-unknown"),
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
    assert is_html(body, url, content_type, disposition) == (found is HtmlResponse), url


def test_a_name_that_is_no_url():
    assert is_html(HTML, "https://[/")
