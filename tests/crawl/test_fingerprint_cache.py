"""The cache of fingerprints by the bytes of a page."""

import pytest
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.fingerprinting import (
    MAX_CACHED_BODY_BYTES,
    MAX_CACHED_TEXT_CHARACTERS,
    FingerprintCache,
)
from scrapy_simhash.detector import PageFingerprint

PAGE = PageFingerprint(fingerprint=1, tokens=50, extraction_ms=1.5, fingerprint_ms=0.5)


def response(body=b"<p>a</p>", content_type="text/html", url="http://example.com/"):
    headers = {} if content_type is None else {"Content-Type": content_type}
    return HtmlResponse(url, body=body, headers=headers)


@pytest.fixture
def cache():
    return FingerprintCache()


def test_the_same_body_is_known_under_any_url_and_took_no_time(cache):
    cache.put(cache.checksum(response()), PAGE)
    known = cache.get(cache.checksum(response(url="http://example.org/b")))
    assert known == PageFingerprint(fingerprint=1, tokens=50)


@pytest.mark.parametrize(
    "other",
    [
        response(b"<p>b</p>"),
        response(content_type="text/html; charset=gbk"),
        response(content_type=None),
    ],
)
def test_other_bytes_and_other_charsets_are_other_pages(cache, other):
    cache.put(cache.checksum(response()), PAGE)
    assert cache.get(cache.checksum(other)) is None


def test_large_bodies_are_not_remembered(cache):
    assert cache.checksum(response(b"x" * MAX_CACHED_BODY_BYTES)) is not None
    assert cache.checksum(response(b"x" * (MAX_CACHED_BODY_BYTES + 1))) is None
    cache.put(None, PAGE)
    assert cache.get(None) is None


@pytest.mark.parametrize(
    ("page", "remembered"),
    [
        (PageFingerprint(skipped="timeout"), False),
        (PageFingerprint(skipped="worker_died"), False),
        (PageFingerprint(skipped="few_tokens"), True),
        (PageFingerprint(skipped="extraction_error", error="x" * MAX_CACHED_TEXT_CHARACTERS), True),
        (
            PageFingerprint(
                skipped="extraction_error", error="x" * MAX_CACHED_TEXT_CHARACTERS + "x"
            ),
            False,
        ),
        (PageFingerprint(fingerprint=1, canonical="x" * (MAX_CACHED_TEXT_CHARACTERS + 1)), False),
    ],
)
def test_what_says_something_of_the_page_in_few_words_is_remembered(cache, page, remembered):
    cache.put(cache.checksum(response()), page)
    assert cache.get(cache.checksum(response())) == (page if remembered else None)
