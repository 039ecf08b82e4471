"""Random samples of documents, and resemblances of all pairs of texts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.calibration import draw, fingerprinted, resemblances
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document
from scrapy_simhash.resemblance import resemblance
from scrapy_simhash.scheme import Scheme

from .pages import articles, page


def documents(count):
    return [Document(f"d{number}", f"text {number}") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 5, 6, 100])
def test_a_sample_is_of_the_size_that_was_asked_for(count):
    left_out = Counter()
    given = [Unreadable("binary", "x"), *documents(count), Unreadable("binary", "y")]
    sample, read = draw(given, 5, left_out)
    assert (read, left_out) == (count, {"binary": 2})
    assert len(set(sample)) == len(sample) == min(count, 5)
    assert set(sample) <= set(documents(count))
    assert draw(documents(count), 5, left_out)[0] == sample


def test_each_document_is_drawn_equally_often():
    drawn = Counter(
        one.name
        for start in range(200)
        for one in draw(documents(100)[start % 100 :] * 2, 10, Counter())[0]
    )
    assert len(drawn) > 90


def test_pages_are_extracted_and_skipped_as_in_a_crawl():
    (text,) = articles(1, 0)
    detector = Detector(Scheme.preset("wide"))
    url = "https://a.example/"
    given = [
        Document(url, page(text), is_html=True),
        Document("plain", text),
        Document("short", "one two"),
    ]
    left_out = Counter()
    html, plain = fingerprinted(given, detector, left_out)
    assert left_out == {"few_tokens": 1}
    assert html.extraction.text == plain.extraction.text == text
    assert html.fingerprint == plain.fingerprint == detector.fingerprint_text(text).fingerprint
    assert html.evidence.site != 0 == plain.evidence.site


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=40).map(" ".join)


@given(st.lists(WORDS | st.sampled_from(["", "!", "船九点离开" * 4]), min_size=1, max_size=8))
def test_resemblances_are_those_of_two_texts(texts):
    rows = list(resemblances(texts))
    assert len(rows) == len(texts)
    for one, row in zip(texts, rows, strict=True):
        for other, alike in zip(texts, row, strict=True):
            if ("船" in one) == ("船" in other):
                assert alike == pytest.approx(resemblance(one, other))
