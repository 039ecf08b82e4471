"""Pages that are made to take a parser much time or memory."""

from __future__ import annotations

import time

import pytest

from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import extract, prepared
from scrapy_simhash.extraction.page import MAX_ATTRIBUTES, MAX_TAGS
from scrapy_simhash.scheme import Scheme


@pytest.mark.parametrize("attribute", ["a{}=1", "a{}", "a{}='b c'", 'a{}="b"', "data-{} = x"])
@pytest.mark.parametrize("extractor", ["segments", "readability", "text"])
def test_a_tag_with_very_many_attributes_takes_little_time(attribute, extractor):
    attributes = " ".join(attribute.format(number) for number in range(20_000))
    page = f"<html><body><div {attributes}><p>The ferry leaves.</p></div></body></html>"
    started = time.process_time()
    assert extract(page, extractor).text == "The ferry leaves."
    assert time.process_time() - started < 1


def test_the_first_attributes_stay():
    attributes = " ".join(f'a{number}="{number} x"' for number in range(5000))
    data = prepared(f"<div {attributes}>text</div>").decode()
    assert f'a{MAX_ATTRIBUTES - 1}="{MAX_ATTRIBUTES - 1} x"' in data
    assert f"a{MAX_ATTRIBUTES}=" not in data
    assert data.endswith(">text</div>")


@pytest.mark.parametrize(
    "page",
    [
        f"<img src='data:image/png;base64,{'QUJD' * 5000}' class=a><p>b c</p>",
        f'<div data-page="{"&quot;a&quot;: 1, " * 1000}" class="b"><p>b c</p></div>',
        "<p>" + "word = word " * 2000,
        f"<script>{'if (a && b) c = d; ' * 1000}</script>",
    ],
)
def test_long_tags_texts_and_scripts_stay(page):
    assert prepared(page).decode() == page.strip()


def test_a_page_with_too_many_tags_is_skipped_with_its_reason():
    page = "<br>" * (MAX_TAGS + 1)
    with pytest.raises(ExtractionError, match="more than 300000 tags"):
        extract(page, "segments")
    assert Detector(Scheme()).fingerprint_page(page).skipped == "extraction_error"
