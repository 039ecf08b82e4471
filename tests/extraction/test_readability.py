"""`LeanDocument` finds the same text as the package's own document."""

import logging
import random

import pytest
from readability import Document

from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.elements import drop_all
from tests.samples import CHINESE, REFERENCE_PAGE, article_page

LONG = (
    "The harbour was closed all night, because of the storm, and the ferry waited outside with "
    "ninety passengers, four horses, and the post, until the wind turned at five in the morning."
)


def letters(text):
    return "".join(text.split())


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL, logger="readability.readability")


class WithoutChoices(Document):
    """The package's own document. To it, the options of a ``select`` are text of the page."""

    def _parse(self, content):
        root = super()._parse(content)
        drop_all(list(root.iter("select")))
        return root


def stock(html):
    return extract(WithoutChoices(html).summary(html_partial=True), "text").text


def lean(html):
    return extract(html, "readability-only").text


def body(*pieces):
    return f"<html><head><title>News</title></head><body>{''.join(pieces)}</body></html>"


class TestSameText:
    @pytest.mark.parametrize(
        "page", [article_page(), article_page(CHINESE, CHINESE[::-1]), REFERENCE_PAGE]
    )
    def test_pages(self, page):
        assert letters(lean(page)) == letters(stock(page)) != ""

    def test_many_lines_with_breaks_do_not_exceed_the_budget(self):
        lines = "The ferry waits<br>" * 12_000
        assert letters(lean(body(f"<div><p>Notice</p>{lines}</div>"))).count("ferry") == 12_000

    @pytest.mark.parametrize("count", [30, pytest.param(250, marks=pytest.mark.thorough)])
    def test_random_pages(self, count):
        pages = [random_page(random.Random(seed)) for seed in range(count)]
        differing = [
            number
            for number, page in enumerate(pages)
            if letters(lean(page)) != letters(stock(page))
        ]
        assert sum(bool(lean(page)) for page in pages) > 0.88 * count
        # A link density near its limit may be on the other side of it.
        assert len(differing) <= 1, differing


WORDS = "the ferry harbour bread, post island rain. storm boats, captain night. of and to".split()
TAGS = (
    "div div div p p span a b em section article main aside ul li table tr td h1 h2 form pre code "
    "blockquote img br nav header footer iframe noscript script style font dl dd"
).split()
CLASSES = [
    *[""] * 4, "content", "sidebar", "comment", "article-body", "text", "menu", "entry main",
    "footer", "share tool", "ad-break", "story-lead", "c",
]  # fmt: skip
STYLES = ["hidden", "style='display:none'", "style='visibility: hidden'", "style='color:red'"]


def random_page(chance, depth=0):
    pieces = []
    for _ in range(chance.randint(2, 5)):
        if depth > 5 or chance.random() < 0.35:
            pieces.append(" ".join(chance.choices(WORDS, k=chance.choice([1, 3, 10, 30, 60]))))
            pieces.append(chance.choice(["", "\n", " \n\t", "\xa0"]))
        else:
            tag = chance.choice(TAGS)
            attributes = f" {chance.choice(['class', 'id'])}='{chance.choice(CLASSES)}'"
            if chance.random() < 0.05:
                attributes += " " + chance.choice(STYLES)
            pieces.append(f"<{tag}{attributes}>")
            if tag not in ("img", "br"):
                pieces.append(f"{random_page(chance, depth + 1)}</{tag}>")
    return "".join(pieces) if depth else body(*pieces)
