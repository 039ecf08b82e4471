"""Counts of selected elements."""

from __future__ import annotations

from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.inspection import selector_counts
from tests.samples import PARAGRAPHS

PAGE = f"""<html><body><nav><a href="/">Home</a></nav><p class="a">{PARAGRAPHS[0]}</p>
<p class="a b">{" ".join(PARAGRAPHS[1:])}</p>
<ul><li><a href="/x">All of this is a link</a></li></ul><footer>Imprint</footer></body></html>"""


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
