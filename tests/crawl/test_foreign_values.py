"""Items that say what neither their page nor their request says."""

from __future__ import annotations

import dataclasses

import pytest
from scrapy import Field, Item, Request
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.foreign_values import ForeignValues
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS
from scrapy_simhash.verdict import Verdict

HTML = "<h1>No reviews yet</h1><p class='box-available'>Write the first one</p>"


LOOP: dict = {}
LOOP["loop"] = LOOP


class Row(Item):
    name = Field()


@dataclasses.dataclass
class Record:
    name: str


class Crawl:
    """Pages with one text, and the items of their callbacks."""

    def __init__(self):
        self.values = ForeignValues(Arguments())
        self.pages = 0

    def page(self, representative=None, callback=None, **given):
        self.pages += 1
        url = f"https://x.test/{self.pages}"
        kind = "new" if representative is None else "near-duplicate"
        verdict = Verdict(kind=kind, key=url, bits=64, representative=representative)
        request = Request(url, callback, **given)
        response = HtmlResponse(url, body=HTML.encode(), encoding="utf-8")
        return PageState(url, verdict, PASS, request), response

    def gave(self, *items, **given):
        """Return the key of a new page if its items have foreign words, else None."""
        page, response = self.page(**given)
        for item in items:
            self.values.gave(page, response, item)
        assert page.has_foreign == self.values.has_foreign(page.key, page.request)
        return page.key if page.has_foreign else None

    def differs(self, representative, item, **given):
        page, response = self.page(representative, **given)
        return self.values.differs(page, response, item)


@pytest.fixture
def crawl():
    return Crawl()


def test_files_are_foreign_whatever_the_page_says_and_differ_by_name_or_folder(crawl):
    key = crawl.gave({"pictures": ["https://x.test/a/1.jpg?w=9", "2.PNG"], "url": "/a/1.html"})
    assert key
    assert not crawl.differs(key, {"pictures": ["https://mirror.test/b/a/1.jpg", "2.png"]})
    assert crawl.differs(key, {"pictures": ["https://x.test/b/1.jpg"]})
    assert not crawl.gave({"page": "https://x.test/a/1.php"})


@pytest.mark.parametrize(
    "item",
    [
        {"name": "Tide mill"},
        {"found": [{"names": ("reviews", "mill clock")}]},
        Row(name="Tide mill"),
        Record("Tide mill"),
        {"record": Record("Tide mill")},
    ],
)
def test_words_from_elsewhere_are_foreign(crawl, item):
    assert crawl.gave(item)


@pytest.mark.parametrize(
    "item",
    [
        {"title": "no REVIEWS yet"},
        {"state": "available"},  # in an attribute
        {"id": 17, "at": "2026-11-26T23:50:00", "token": "3fa4b2c1", "none": None},
        {"id": "3f2b9c1e-dead-4bad-8f00-cafe12345678", "slug": "no-reviews-yet"},
        {"url": "https://x.test/1"},
        {"short": "a tea"},
        {"text": "other words " * 30},  # a long text comes from the page
        object(),
        LOOP,
    ],
)
def test_words_of_the_page_numbers_and_long_texts_are_not(crawl, item):
    assert not crawl.gave(item)


def test_what_the_request_says_is_not_foreign(crawl):
    item = {"name": "Tide mill"}
    assert not crawl.gave(item, cb_kwargs={"item": {"name": "Tide mill"}})
    assert not crawl.gave(item, meta={"name": "The tide mill"})


def test_a_copy_differs_if_it_has_foreign_words_of_its_own(crawl):
    original = crawl.gave({"name": "Tide mill", "source": "catalogue"})
    assert crawl.differs(original, {"name": "Clock tower", "source": "catalogue"})
    assert not crawl.differs(original, {"name": "Tide mill", "source": "catalogue"})
    assert not crawl.differs(original, {"name": "Write reviews", "source": "catalogue"})


def test_a_callback_is_trusted_after_three_copies_with_the_same_words(crawl):
    original = crawl.gave({"source": "catalogue"})
    request = Request(original)
    for _ in range(3):
        assert crawl.values.has_foreign(original, request)
        assert not crawl.differs(original, {"source": "catalogue"})
    assert not crawl.values.has_foreign(original, request)
    assert not crawl.gave({"source": "elsewhere"})


def test_a_callback_whose_copies_differ_is_never_trusted(crawl):
    original = crawl.gave({"name": "Tide mill"})
    assert crawl.differs(original, {"name": "Clock tower"})
    for _ in range(10):
        crawl.differs(original, {"name": "Tide mill"})
    assert crawl.values.has_foreign(original, Request(original))


def test_a_callback_is_trusted_after_twenty_items_without_foreign_words(crawl):
    for _ in range(20):
        assert not crawl.gave({"title": "reviews"})
    assert not crawl.gave({"name": "Tide mill"})
    assert crawl.gave({"name": "Tide mill"}, callback=print)
