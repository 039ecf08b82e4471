"""Every document has the same chance to be drawn, and is fingerprinted as in a crawl."""

from __future__ import annotations

from collections import Counter

from scrapy_simhash.calibration.sampling import Sample
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.reader import Document, HtmlDocument, Skipped
from scrapy_simhash.inspection import content_text
from scrapy_simhash.scheme import Scheme

from .pages import articles, page

WIDE, CLASSIC = Scheme.preset("wide"), Scheme.preset("classic")


def names(sample):
    return [name for name, *_ in sample._drawn]


def test_all_that_fit_are_taken():
    told, moved = [], []
    bad = Skipped("b:2", "not JSON")
    documents = [Document("a", "one"), bad, Document("b", "two"), Document("a", "one")]
    sample = Sample.draw(
        documents, 9, 1, on_progress=lambda: moved.append(1), on_skipped=told.append
    )
    assert names(sample) == ["a", "b"]
    assert (sample.read, len(sample), sample.repeated) == (3, 2, 1)
    assert (sample.unreadable, told, len(moved)) == (Counter({"not JSON": 1}), [bad], 3)


def test_each_has_the_same_chance():
    documents = [Document(str(number), "x") for number in range(10)]
    drawn = Counter(name for seed in range(2000) for name in names(Sample.draw(documents, 3, seed)))
    assert sum(drawn.values()) == 6000
    # Six standard deviations of a binomial around 600.
    assert all(475 < drawn[str(number)] < 725 for number in range(10))
    assert names(Sample.draw(documents, 3, 5)) == names(Sample.draw(documents, 3, 5))


def test_pages_are_what_a_crawl_makes_of_them():
    text = articles(1, 0)[0]
    html = page(text)
    documents = [HtmlDocument("p", html), Document("t", text), Document("short", "few words")]
    seen = []
    found, plain, short = Sample.draw(documents, 9, 1).pages(
        [WIDE, CLASSIC], 30, on_progress=lambda: seen.append(1)
    )
    assert len(seen) == 3
    for place, scheme in enumerate((WIDE, CLASSIC)):
        expected = Detector(scheme).fingerprint_page(html)
        assert found.fingerprints[place].fingerprint == expected.fingerprint
        assert found.fingerprints[place].way == "readability"
        assert plain.fingerprints[place].fingerprint == expected.fingerprint
    assert found.content == content_text(html) == text
    assert (plain.content, plain.extraction.way) == (text, "")
    assert short.fingerprints[0].skipped == "few_tokens"


def test_what_is_selected_is_the_content():
    from dataclasses import replace

    html = page(f'{articles(1, 0)[0]}</p><p class="note">A note.')
    scheme = replace(WIDE, select=(".note",))
    (found,) = Sample.draw([HtmlDocument("p", html)], 9, 1).pages([scheme], 1)
    assert found.content == found.extraction.text == "A note."


def test_an_extractor_that_fails():
    from dataclasses import replace

    scheme = replace(WIDE, extractor="tests.extractors.failing")
    (found,) = Sample.draw([HtmlDocument("p", "<html>")], 9, 1).pages([scheme], 1)
    assert found.fingerprints[0].skipped == "extraction_error"
    assert found.extraction.text == ""


def test_halves_of_characters_are_kept():
    (found,) = Sample.draw([Document("p", "a \ud800 b")], 9, 1).pages([WIDE], 1)
    assert found.extraction.text == "a \ud800 b"
