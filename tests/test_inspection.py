"""What stands on a page beside its main text."""

from __future__ import annotations

from scrapy_simhash.extraction import Selectors, extract
from scrapy_simhash.inspection import content_text, selector_counts

PAGE = """<html><body><nav><a href="/">Home</a></nav><p class="a">One.</p><p class="a b">Two.</p>
<ul><li><a href="/x">All of this is a link</a></li></ul><footer>Imprint</footer></body></html>"""


def test_content_lines_are_no_navigation():
    assert content_text(PAGE) == "One.\nTwo."
    assert content_text(PAGE, (".b",)) == "One."
    for nothing in ("", " \n", "<!-- -->", "\0"):
        assert content_text(nothing) == ""


def test_a_page_that_makes_the_parser_fail_has_none(monkeypatch):
    def fail(_root):
        raise ValueError("no")

    monkeypatch.setattr("scrapy_simhash.inspection.iterate_blocks", fail)
    assert content_text(PAGE) == ""


def test_what_selectors_find():
    selectors = Selectors(select=("p", "//p/text()", "(count(//p))"), remove=(".b", "nav a"))
    assert selector_counts(PAGE, selectors) == [
        ("remove", ".b", 1),
        ("remove", "nav a", 1),
        ("select", "p", 1),
        # Texts and numbers are no elements: nothing is selected by them.
        ("select", "//p/text()", 0),
        ("select", "(count(//p))", 0),
    ]
    assert selector_counts(PAGE, Selectors()) == []
    assert selector_counts("", Selectors(select=("p",))) == [("select", "p", 0)]


def test_what_decided_is_known():
    measured = extract(PAGE).measured
    assert measured is not None
    assert measured.article_characters <= measured.visible_characters
    assert extract(PAGE, "text").measured is None
    assert extract(PAGE, selectors=Selectors(select=("p",))).measured is None
