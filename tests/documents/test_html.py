"""HTML is recognized as Scrapy recognizes it."""

from itertools import product

import pytest
from scrapy.http import HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simhash.documents.decoding import is_html_response

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
