"""Pages that are made to take a parser much time or memory."""

import time
import tracemalloc

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import extract, prepared
from scrapy_simhash.extraction.page import MAX_TAGS
from scrapy_simhash.scheme import Scheme


@pytest.mark.parametrize(
    "attribute",
    [
        *("a{0}=1", "a{0}", "a{0}='b c'", 'a{0}="b"', "data-{0} = x", "a{0}=<", "a{0}='<'"),
        *('a{0}=">"', "a{0}='<p>'", """a{0}="'>" b{0}='"<'""", "a{0}  =           '>'"),
    ],
)
@pytest.mark.parametrize("extractor", ["segments", "readability", "text"])
def test_a_tag_with_very_many_attributes_takes_little_time(attribute, extractor):
    attributes = " ".join(attribute.format(number) for number in range(20_000))
    page = f"<html><body><div {attributes}><p>The ferry leaves.</p></div></body></html>"
    started = time.process_time()
    assert extract(page, extractor).text == "The ferry leaves."
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "page",
    [
        "<p>The ferry leaves.</p>" + "word " * 1_000_000,
        "<p>The ferry leaves.</p>" + "<script>" * 100_000,
        "<p>The ferry leaves.</p>" + "<a b='" * 200_000,
        "<p>The ferry leaves.</p>" + "<!-- " * 200_000,
        "<p>The ferry leaves.</p>" + "<a" + " " * 2_000_000,
        "<p>The ferry leaves.</p>" + 'a = "b > c" ' * 100_000,
    ],
)
def test_tags_are_found_in_linear_time(page):
    started = time.process_time()
    assert prepared(page).startswith(b"<p>The ferry leaves.</p>")
    assert time.process_time() - started < 1


@pytest.mark.parametrize("digits", ["3", "3 333", "3.", "3'", "$3"])
def test_long_numbers_take_linear_time(digits):
    page = f"<h1>The ferry</h1><p>π = {digits * 50_000}"
    started = time.process_time()
    extract(page, "segments")
    assert time.process_time() - started < 3


@pytest.mark.parametrize("extractor", ["segments", "readability"])
def test_many_elements_with_attributes_that_hide_take_linear_time(extractor):
    page = "<p class=a id=b style=c role=d hidden itemprop=name>a" * 40_000 + "<p>The ferry leaves."
    started = time.process_time()
    assert extract(page, extractor).text == "The ferry leaves."
    assert time.process_time() - started < 8


@pytest.mark.parametrize(
    "element",
    [
        "<b>",
        "<div class=name>a",
        "<h1>",
        "<h3>a",
        "<i role=heading>a",
        "<nav class=breadcrumb aria-current=page>a",
        "<div itemscope itemprop=offers>",
        "<template>a",
        "<p data-a='{" + 400 * " " + "'>",
        "<iframe src=/film-1></iframe>",
        "<div class=breadcrumb><a>b</a></div>",
    ],
)
def test_names_are_found_in_linear_time(element):
    page = 200 * "<div>" + element * 20_000
    started = time.process_time()
    extract(f"<title>A</title>{page}<p>The ferry leaves.", "text")
    assert time.process_time() - started < 4


@pytest.mark.parametrize(
    "page",
    [
        f"<img src='data:image/png;base64,{'QUJD' * 5000}' class=a><p>b c</p>",
        f'<div data-page="{"&quot;a&quot;: 1, " * 1000}" class="b"><p>b c</p></div>',
        "<p>" + "word = word " * 2000,
        f"<script>{'if (a && b) c = d; ' * 1000}</script>",
        f"<script>a > b; if (a<b) {'c = d; ' * 5000}</script>",
        f"<p>b</p><!-- a > b <p {'c = d ' * 5000}--><p>c</p>",
    ],
)
def test_long_tags_texts_and_scripts_stay(page):
    assert prepared(page).decode() == page.strip()


def test_a_page_with_too_many_tags_is_skipped_with_its_reason():
    page = "<br>" * (MAX_TAGS + 1)
    with pytest.raises(ExtractionError, match="more than 300000 tags"):
        extract(page, "segments")
    assert Detector(Scheme()).fingerprint_page(page).skipped == "extraction_error"


def test_no_cache_keeps_long_targets():
    def page(number):
        links = (
            f"<a href='javascript:f({number}{n}, \"{10_000 * 'x'}\")'>it</a>" for n in range(50)
        )
        return f"<h1>The ferry</h1><p>Many words are in this text. {' See '.join(links)}</p>"

    extract(page(0))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1, 6):
            extract(page(number))
        assert tracemalloc.get_traced_memory()[0] - before < 1_500_000
    finally:
        tracemalloc.stop()
