"""Counts of selected elements, and text that looks like content."""

from __future__ import annotations

from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.inspection import content_text, selector_counts
from tests.samples import PARAGRAPHS

PAGE = f"""<html><body><nav><a href="/">Home</a></nav><p class="a">{PARAGRAPHS[0]}</p>
<p class="a b">{" ".join(PARAGRAPHS[1:])}</p>
<ul><li><a href="/x">All of this is a link</a></li></ul><footer>Imprint</footer></body></html>"""


def test_content_text_has_no_navigation():
    assert content_text(PAGE) == f"{PARAGRAPHS[0]}\n{PARAGRAPHS[1]} {PARAGRAPHS[2]}"
    assert PARAGRAPHS[1] not in content_text(PAGE, (".b",))
    for nothing in ("", " \n", "<!-- -->", "\0"):
        assert content_text(nothing) == ""


def test_content_text_is_empty_if_extraction_fails(monkeypatch):
    def fail(_root):
        raise ValueError("no")

    monkeypatch.setattr("scrapy_simhash.extraction.extractors.content_lines", fail)
    assert content_text(PAGE) == ""


def test_selector_counts():
    selectors = Selectors(select=("p", "//p/text()", "(count(//p))"), remove=(".b", "nav a"))
    assert selector_counts(PAGE, selectors) == [
        ("remove", ".b", 1),
        ("remove", "nav a", 1),
        ("select", "p", 1),
        # Texts and numbers are no elements.
        ("select", "//p/text()", 0),
        ("select", "(count(//p))", 0),
    ]
    assert selector_counts(PAGE, Selectors()) == []
    assert selector_counts("", Selectors(select=("p",))) == [("select", "p", 0)]
