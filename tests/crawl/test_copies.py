"""What the callback of a copy may give besides its page, and which of its items pass."""

import dataclasses
import time
from datetime import timedelta
from enum import Enum
from html import unescape
from types import SimpleNamespace

import pytest
from scrapy import Field, Item, Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from scrapy_simhash.crawl import copies
from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.copies import Copies
from scrapy_simhash.crawl.opening import CrawlStarts
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS, Action, Policy
from scrapy_simhash.verdict import Verdict

HTML = (
    "<h1>No reviews yet</h1><p class='box-available' data-seat='5 a' data-row=12 data-price='27.00'>Write the first one, for 1250,00 EUR</p>"
    "<!-- ref: R-7 --><select><option>xl</select>"
    "<script>owner = {'name': 'tide mill', 'stock':31}</script>"
)
HEADERS = {"X-Asset": "b-12"}
# The same text with other values.
OTHER_HTML = (
    "<h1>No reviews yet</h1><p class='case-sold' data-seat='6 c' data-row=14 data-price='28.00'>Write the first one, for 1250,00 EUR</p>"
    "<!-- ref: S-8 --><select><option>m</select>"
    "<script>owner = {'name': 'sea farm', 'stock':40}</script>"
)

LOOP = {}
LOOP["loop"] = LOOP


class Row(Item):
    name = Field()


Record = dataclasses.make_dataclass("Record", ["name"])


class Crawl:
    def __init__(self, **memory):
        self.copies = Copies(Arguments(), Policy(), **memory)
        self.pages = 0

    def page(self, representative=None, callback=None, html=HTML, *, url=None):
        """Return a page or a copy. If no URL is given, all name one thing, as those of versions."""
        self.pages += 1
        url = url or f"https://x.test/{'v' * self.pages}/1"
        kind = "new" if representative is None else "near-duplicate"
        verdict = Verdict(kind=kind, key=url, bits=64, representative=representative)
        request = Request(url, callback)
        response = HtmlResponse(url, body=html.encode(), encoding="utf-8", headers=HEADERS)
        return PageState(url, verdict, PASS, request), response

    def gives(self, page, response, *items):
        """Let the callback of a page that is no copy give items, and end."""
        for item in items:
            assert not self.copies.withholds_item(page, response, item)
        self.copies.ended(page, failed=False)

    def asks(self, key, request, response):
        """Return True if the callback of a copy runs for its items."""
        return "items" in self.copies.may_give(key, request, response)

    def gave(self, item, callback=None, html=HTML):
        """Return the key of a new page, with the item of which a copy may give another one; None if
        its copies give the same.

        :param html: of the copy.
        """
        page, response = self.page(callback=callback)
        self.gives(page, response, item)
        copy, other = self.page(callback=callback, html=html)
        other.headers.clear()
        return page.key if self.asks(page.key, copy.request, other) else None

    def passes(self, page, response, item, reason="values"):
        page.reason, page.action = reason, Action(call=True, items=False, follow=False)
        return not self.copies.withholds_item(page, response, item)

    def differs(self, representative, item, reason="values"):
        return self.passes(*self.page(representative), item, reason)


@pytest.fixture
def crawl():
    return Crawl()


@pytest.mark.parametrize(
    "item",
    [
        {"found": [{"names": ("reviews", "mill clock")}]},
        Row(name="Mill"),
        {"of": Record("Mill")},
        {"price": "1,299.00 €"},
        {"price": 19.95},
        {"state": "available"},  # in an attribute
        {"owner": "tide & mill"},  # in a script
        {"file_urls": ["https://x.test/download?document=7"]},
        {"image": "/images/17/large"},
        {"image": "/images/3c6a9eea;s=1"},
        {"image": "images/mill.jpg"},
        {"seat": "5 a"},  # in an attribute
        {"seat": 12},
        {"stock": 31},  # in a script
        {"price": 27.0},  # of an attribute: 27.00
        {"size": "box"},  # a part of an attribute
        {"size": "xl"},  # an option
        {"kind": "R-7"},  # in a comment
        {"asset": "b-12"},  # in a header
    ],
)
def test_a_copy_may_give_other_words_if_those_of_its_page_are_from_elsewhere(crawl, item):
    assert crawl.gave(item, html=OTHER_HTML)
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "Yet"})
    assert crawl.differs(page.key, item)


@pytest.mark.parametrize(
    "item",
    [
        {"title": "no REVIEWS yet"},
        {"note": "Write & First"},
        {
            "id": 17,
            "row": 7,
            "is": True,
            "at": "2026-11-26T23:50:00",
            "token": "3fa4b2c1",
            "none": None,
        },
        {"id": "3f2b9c1e-dead-4bad-8f00-cafe12345678", "slug": "no-reviews-yet"},
        {"url": "https://x.test/1", "page": "https://x.test/a/1.php"},
        {"short": "a tea", "empty": ""},
        {"price": "1,250.00", "before": "EUR 1250", "now": [1250.0, 0.25, 1764201234.5, 1.2345]},
        {"count": 1299, "stars": "17", "at": "12:30:45", "on": "26/11/2026", "id": "4711-0815"},
        {"text": "other words " * 30},  # a long text comes from the page
        {"text": "\udc80 tea"},  # without an encoding
        object(),
        LOOP,
        {"number": 10**5000},
    ],
)
def test_words_of_the_page_numbers_and_long_texts_are_the_same_in_copies(crawl, item):
    assert not crawl.gave(item)
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "Yet"})
    crawl.pages = 0
    assert not crawl.differs(page.key, item)


@pytest.mark.parametrize("part", ["<", "<script", "<a b='", ": ", "&#", "1.", "= "])
def test_pages_made_to_be_slow_take_linear_time(crawl, part):
    page, response = crawl.page(html=part * 300_000)
    crawl.gives(page, response, {"name": "mill", "price": "123", "seat": 5, "row": part})


class Level(Enum):
    HIGH = "high"
    LOW = "low"


@pytest.mark.parametrize(
    "price",
    [
        *("1{}9 zł", "Rs. 1,{}9", "{}9 руб.", "{}9 Kč", "{}9,- kr", "₹{}9", "{}9 円", "EUR {}9"),
        *("1&nbsp;{}9 €", "1&#39;{}9 CHF"),  # with a reference to a character
    ],
)
def test_prices_of_any_currency_differ_in_copies(crawl, price):
    def put(number, original=None):
        written = price.format(number)
        page, response = crawl.page(original, html=f"<h1>Boat</h1><p>{written}")
        return page, response, {"price": unescape(written)}

    page, response, item = put(29)
    crawl.gives(page, response, item)
    for number in (35, 40, 45):
        copy, other, item = put(number, page.key)
        assert crawl.asks(page.key, copy.request, other)
        assert crawl.passes(copy, other, item)
    copy, other, item = put(29, page.key)
    assert not crawl.asks(page.key, copy.request, other)


def test_what_the_request_says_is_not_from_the_markup(crawl):
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "Reviews"})
    copy, other = crawl.page(
        page.key, html=f"{HTML}<a href='?print=12345'>A</a><a href='?print=1234567'>B</a>"
    )
    copy.request = copy.request.replace(url="https://x.test/mill?print=12345")
    assert not crawl.passes(copy, other, {"title": "Reviews", "version": "print=12345"})
    assert crawl.passes(copy, other, {"title": "Reviews", "version": "print=1234567"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"box", b"case"),
        (b"\xff", b"\xfe"),
        (Level.HIGH, Level.LOW),
        (timedelta(days=1), timedelta(days=2)),
        (1 + 1j, 1 + 2j),
    ],
)
def test_entries_may_differ_in_values_of_any_type(crawl, one, other):
    page, response = crawl.page()
    for value in ("first", one):
        crawl.gives(page, response, {"title": "Reviews", "value": value})
    assert not crawl.differs(page.key, {"title": "Reviews", "value": one})
    assert crawl.differs(page.key, {"title": "Reviews", "value": other})


def test_short_texts_count_if_the_callback_runs_in_any_case(crawl):
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "Reviews", "stars": "17"})
    further = {"title": "Write first", "stars": "18"}
    assert not crawl.differs(page.key, further)
    assert not crawl.differs(page.key, {"title": "reviews", "stars": "19"}, reason=None)
    assert crawl.differs(page.key, further, reason=None)
    assert not crawl.differs(page.key, further, reason=None)


def test_a_copy_that_lacks_words_of_the_items_of_its_page_gives_other_ones(crawl):
    page, response = crawl.page(html="<h1>Search</h1><p>Ferry line</p>")
    crawl.gives(page, response, {"hit": "Ferry Line"})
    lacks = crawl.asks
    for html, hit in ((HTML, "Write first"), ("<p>ferry", "Ferry")):
        copy, other = crawl.page(page.key, html=html)
        assert lacks(page.key, copy.request, other)
        assert crawl.passes(copy, other, {"hit": hit}) == (html == HTML)
    copy, other = crawl.page(page.key, html="<p>FERRY &#108;ine</p>")
    assert not lacks(page.key, copy.request, other)
    copy, other = crawl.page(page.key)
    elsewhere = other.replace(url="https://y.example/1")
    assert not lacks(page.key, copy.request, elsewhere)
    assert lacks(page.key, copy.request, None)  # it was not kept
    assert not lacks(page.key, Request(elsewhere.url), None)


@pytest.mark.parametrize("html", ["<p>Gro&szlig;e Mühle", "<p>GRO&#7838;E M&Uuml;HLE"])
def test_a_copy_with_references_to_characters_lacks_no_words(crawl, html):
    page, response = crawl.page(html=html)
    crawl.gives(page, response, {"name": "Große Mühle"})
    for same in ("<p>große mühle", html):
        copy, other = crawl.page(html=same)
        assert not crawl.asks(page.key, copy.request, other)
    assert crawl.asks(page.key, copy.request, crawl.page(html="<p>große")[1])


@pytest.mark.parametrize("uses", ["calls_copy", "differs"])
def test_pages_with_copies_are_not_forgotten(crawl, monkeypatch, uses):
    monkeypatch.setattr(copies, "_REMEMBERED_PAGES", 2)
    crawl.copies = Copies(Arguments(), Policy())
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "Write first"})
    for _ in range(3):
        crawl.gave({"title": "reviews"})
        copy, other = crawl.page(page.key, html="<p>Mill")
        if uses == "differs":
            crawl.passes(copy, other, {"title": "Mill"})
        else:
            assert crawl.asks(page.key, copy.request, other)
    assert crawl.asks(page.key, copy.request, other)


def test_references_to_characters_are_read_only_for_missing_words(crawl):
    page, response = crawl.page(html="<h1>Write first</h1>" + "<p>one &amp; two &quot;" * 100_000)
    crawl.gives(page, response, {"title": "reviews"})  # with all that is read once
    started = time.process_time()
    for _ in range(2):
        crawl.gives(page, response, {"title": "Write first"})
    assert time.process_time() - started < 0.15


def test_equal_numbers_in_other_fields_are_others(crawl):
    original = crawl.gave({"stock": 31, "row": 12}, html=OTHER_HTML)
    assert not crawl.differs(original, {"stock": 31, "row": 12})
    assert crawl.differs(original, {"stock": 12, "row": 12})


def test_values_that_earlier_copies_had_one_by_one_are_others_together(crawl):
    original = crawl.gave({"sizes": ["Mill", "Tide"]}, html=OTHER_HTML)
    assert not crawl.differs(original, {"sizes": ["Tide", "Mill"]})
    assert crawl.differs(original, {"sizes": ["Mill", "Clock"]})
    assert crawl.differs(original, {"sizes": ["Tide", "Clock"]})
    assert not crawl.differs(original, {"sizes": ["Tide", "Clock"]})


def test_items_of_one_copy_are_not_compared_with_each_other(crawl):
    original = crawl.gave({"owner": "tide mill"}, html=OTHER_HTML)
    page, response = crawl.page(original)
    items = {"owner": "tide & mill"}, {"owner": "sea mill"}, {"offer": "sea mill"}
    differ = [crawl.passes(page, response, item) for item in items]
    assert differ == [False, True, True]
    assert not crawl.differs(original, items[-1])


def test_a_page_of_another_crawl_says_what_it_gave_while_the_own_one_is_at_work(crawl):
    other, index = Crawl(), SimpleNamespace(store=SimpleNamespace(beside={}))
    for one in (crawl, other):
        one.copies.share(index)
    html = "<h1>Entry</h1> <b>{}</b>"
    page, response = other.page(html=html.format("Tide mill"))
    other.gives(page, response, {"name": "Tide mill"})
    own, _ = crawl.page(html=html.format("Tide mill"))
    copy, response = crawl.page(page.key, html=html.format("Ferry line"))
    assert crawl.asks(page.key, copy.request, response)
    crawl.copies.begins(own)
    assert own.key == page.key
    assert crawl.asks(page.key, copy.request, response)
    assert crawl.passes(copy, response, {"name": "Ferry line"})


def test_after_a_pause_a_crawl_knows_what_its_pages_gave(crawl, tmp_path):
    hits = [(hit, f"<h1>Search</h1><p>{hit}") for hit in ("Ferry line", "Tide mill", "Sand boat")]
    page, response = crawl.page(html=hits[0][1])
    crawl.gives(page, response, {"hit": hits[0][0]})
    crawl.copies.begins(crawl.page()[0])  # a page at work
    passing = []
    for _ in range(3):
        for hit, html in hits:
            copy, response = crawl.page(page.key, html=html)
            if crawl.asks(page.key, copy.request, response):
                passing += [hit] if crawl.passes(copy, response, {"hit": hit}) else []
        settings = Settings({"JOBDIR": str(tmp_path)})
        CrawlStarts(settings).pause(crawl.copies.remembered())
        gave = CrawlStarts(settings).gave
        assert gave == crawl.copies.remembered()
        assert [*gave.pages] == [page.key]
        crawl.copies = Copies(Arguments(), Policy(), gave)
    assert passing == ["Tide mill", "Sand boat"]


@pytest.mark.parametrize(
    ("one", "other", "passes"),
    [
        ("A7-12", "A8-13", True),
        ("2024-03-01", "2024-03-02", True),
        ("3/5", "4/5", True),
        ("in", "out", True),
        ("3.5", "4.5", True),
        ("12", "13", False),
        ("1 012", "1 013", False),
        ("10:31", "10:32", False),
        ("5 min", "6 min", False),
        ("4.5 / 5 (123)", "4.5 / 5 (124)", False),
        ("4.5 (123)", "4.5 (124)", False),
        ("28.11.2026 03:48", "28.11.2026 03:49", False),
        ("+12 / -5", "+13 / -5", False),
        ("+12 -5", "+13 -5", False),
        ("No. 5", "No. 6", True),
        ("28 Nov 2026", "27 Nov 2026", True),
        ("28. 11. 2026", "27. 11. 2026", True),
        ("30 x 40 cm", "50 x 40 cm", True),
        ("1 - 2", "3 - 0", True),
        ("***", "**", True),
        ("12.345", "12.346", False),
        ("52.031, 13.077", "52.031, 13.078", True),
        ("3 h", "5 min", False),
        ("30 x 40 cm", "30 x 50 cm", True),
        ("at 10:31", "at 10:32", False),
        ("4.5 (1k)", "4.5 (2k)", False),
        ("4.5 (1k)", "4.6 (1k)", True),
        ("28.11.2026 03:48", "29.11.2026 03:48", True),
    ],
)
def test_copies_give_the_codes_that_they_have_in_place_of_those_of_their_page(
    crawl, one, other, passes
):
    page, response = crawl.page(html=f"<h1>Entry</h1> <b>{one}</b>")
    crawl.gives(page, response, {"code": one})
    copy, response = crawl.page(page.key, html=f"<h1>Entry</h1> <b>{other}</b>")
    assert crawl.asks(page.key, copy.request, response)
    assert crawl.passes(copy, response, {"code": other}) == passes
    same, response = crawl.page(page.key, html=f"<h1>Entry</h1> <i>{one}</i>")
    assert not crawl.passes(same, response, {"code": one})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1990", "1991"),
        ("10:31", "10:32"),
        ("12 kg", "13 kg"),
        ("12 in stock", "13 in stock"),
        ("Main Street 11, Berlin", "Main Street 12, Berlin"),
        ("12,345 km", "12,346 km"),
        ("open", "shut"),
    ],
)
@pytest.mark.parametrize("url", ["https://x.test/entry/2", "https://x.test/en/entry/1"])
def test_numbers_and_times_count_in_copies_whose_url_names_another_thing(crawl, one, other, url):
    html = "<h1>Entry</h1> <p>It is open or shut.</p> <b>{}</b>"
    page, response = crawl.page(html=html.format(one), url="https://x.test/entry/1")
    crawl.gives(page, response, {"value": one})
    is_another = url.endswith("2")
    passed = []
    for value in (one, other, other):
        copy, response = crawl.page(page.key, html=html.format(value), url=url)
        asks = crawl.asks(page.key, copy.request, response)
        passed.append(asks and crawl.passes(copy, response, {"value": value}))
    assert passed == [False, is_another, False]


def test_a_number_of_the_url_counts_in_copies_whose_url_has_another_one(crawl):
    page, response = crawl.page(url="https://x.test/entry/17")
    crawl.gives(page, response, {"id": "17"})
    for url, passes in (
        ("https://x.test/entry/18", True),
        ("https://x.test/print/entry/17", False),
        ("https://x.test/entry/17?ref=18", False),
    ):
        copy, response = crawl.page(page.key, url=url)
        assert crawl.asks(page.key, copy.request, response) == passes
        if passes:
            assert crawl.passes(copy, response, {"id": "18"})


def test_the_distance_of_a_copy_is_no_number_of_its_request(crawl):
    page, response = crawl.page(html="<script>{'stock': 31}</script>")
    crawl.gives(page, response, {"stock": 31})
    copy, response = crawl.page(page.key, html="<script>{'stock': 40}</script>")
    copy.verdict = dataclasses.replace(copy.verdict, distance=40)
    assert crawl.asks(page.key, copy.request, response)
    assert crawl.passes(copy, response, {"stock": 40})


def test_a_time_that_a_spider_takes_is_the_same_in_copies(crawl):
    page, response = crawl.page(html="<h1>Entry</h1> <b>A7-12</b>")
    crawl.gives(page, response, {"code": "A7-12", "at": 1764201234.512})
    copy, response = crawl.page(page.key, html="<h1>Entry</h1>")
    assert crawl.asks(page.key, copy.request, response)
    assert not crawl.passes(copy, response, {"code": None, "at": 1764201235.1234})


def test_a_code_counts_that_only_an_attribute_and_the_url_say(crawl):
    page, response = crawl.page(html="<h1>Entry</h1> <b data-number=AB-12></b>")
    crawl.gives(page, response, {"number": "AB-12"})
    copy, response = crawl.page(page.key, html="<h1>Entry</h1> <b data-number=AB-13></b>")
    copy.request = copy.request.replace(url="https://x.test/ab-13")
    assert crawl.asks(page.key, copy.request, response)
    assert crawl.passes(copy, response, {"number": "AB-13"})


def test_a_code_is_the_same_in_another_place(crawl):
    """A print version has no date, so its price is the first code of the item."""
    html = "<h1>Entry</h1> {} <b>3.50</b>"
    page, response = crawl.page(html=html.format("2024-03-01"))
    crawl.gives(page, response, {"date": "2024-03-01", "price": "3.50"})
    copy, response = crawl.page(page.key, html=html.format(""))
    assert crawl.asks(page.key, copy.request, response)
    assert not crawl.passes(copy, response, {"date": None, "price": "3.50"})


def test_copies_of_a_list_give_the_entries_that_it_and_earlier_copies_lack(crawl):
    entries = [{"name": f"Mill {number}", "url": f"/a/{number}"} for number in range(6)]
    page, response = crawl.page()
    for entry in entries[:3]:
        crawl.gives(page, response, entry)
    assert crawl.asks(page.key, page.request, response)
    again = [
        {**entry, "at": f"12:00:0{number}", "url": f"https://y.test/a/{number}?s=abc"}
        for number, entry in enumerate(entries)
    ]
    assert [crawl.differs(page.key, entry) for entry in again[1:5]] == [False, False, True, True]
    assert [crawl.differs(page.key, entry) for entry in again] == [False] * 5 + [True]
    for _ in range(9):  # no list is trusted
        crawl.differs(page.key, entries[0])
    assert crawl.asks(page.key, page.request, response)
    # Other pages of this callback may be lists with one entry, but not those of other callbacks.
    page, response = crawl.page()
    crawl.gives(page, response, {"title": "reviews"})
    assert crawl.asks(page.key, page.request, response)
    assert not crawl.differs(page.key, {"title": "reviews"})
    page, response = crawl.page(callback=print)
    crawl.gives(page, response, {"title": "reviews"})
    assert not crawl.asks(page.key, page.request, response)


def test_longer_texts_of_copies_may_differ_a_little(crawl):
    text = " ".join(f"word{number} of the mill" for number in range(40))
    other = " ".join(f"boat{number} in the harbour" for number in range(40))
    page, response = crawl.page()
    for item in ({"title": "No reviews", "text": text}, {"picture": "write"}):
        crawl.gives(page, response, item)
    of_copy = {"title": "No reviews", "text": f"{text[:400]} today {text[400:]}"}
    assert not crawl.differs(page.key, of_copy)
    assert crawl.differs(page.key, {**of_copy, "title": "Reviews"})
    assert crawl.differs(page.key, {**of_copy, "text": other})
    assert not crawl.differs(page.key, {**of_copy, "text": other})
    # Without spaces, the characters are the words.
    assert crawl.differs(page.key, {"text": other.replace(" ", "")})
    assert not crawl.differs(page.key, {"text": other.replace(" ", "") + "now"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://t.test/ab The mayor", "https://t.test/ab The miller"),
        ("978316148410", "978316148411"),
        ("12:39:00 to Oslo", "12:39:00 to Bergen"),
    ],
)
def test_entries_may_differ_behind_a_link_a_time_or_in_a_long_number(crawl, one, other):
    page, response = crawl.page()
    for text in ("first", one):
        crawl.gives(page, response, {"text": text})
    assert not crawl.differs(page.key, {"text": one})
    assert crawl.differs(page.key, {"text": other})


def test_items_of_any_size_take_little_time(crawl):
    page, response = crawl.page()
    started = time.process_time()
    dots = "." * 5_000_000  # as if an ending of a file came
    for item in (
        {"file": "ab3" * 3_000_000},
        {"file": dots},
        {"numbers": [0.5] * 500_000},
        {"a": "b c " * 30_000},
    ):
        crawl.gives(page, response, item)
    assert time.process_time() - started < 2


def test_true_copies_say_nothing_of_other_pages(crawl):
    for _ in range(30):
        assert not crawl.gave({"title": "reviews"})
    original = crawl.gave({"title": "reviews", "source": "catalogue"})
    for _ in range(5):
        assert not crawl.differs(original, {"title": "reviews", "source": "catalogue"})
    assert crawl.differs(original, {"title": "reviews", "source": "elsewhere"})
    page, response = crawl.page()
    crawl.gives(page, response, {"state": "available"})
    copy, other = crawl.page(html=OTHER_HTML)
    assert crawl.asks(page.key, copy.request, other)


@pytest.mark.parametrize("number_of_items", [1, 2, 4])
def test_copies_may_give_an_item_that_a_pipeline_changed_and_then_dropped(crawl, number_of_items):
    items = [{"name": f"Mill {'abcd'[number] * 4}"} for number in range(number_of_items)]
    page, response = crawl.page()
    crawl.gives(page, response, *items)
    given = [dict(item) for item in items]
    items[-1].update(name="MILL", stamp="checked")
    crawl.copies.take_back(page, items[-1])
    copy, response = crawl.page(page.key)
    assert [crawl.passes(copy, response, item) for item in given] == [False] * (
        number_of_items - 1
    ) + [True]
    assert not crawl.differs(page.key, given[-1])
    crawl.copies.take_back(copy, given[-1])
    assert crawl.differs(page.key, dict(given[-1]))


def test_the_first_words_of_all_texts_of_an_item_are_kept(crawl):
    words = [f"{one}{other}word" for one in "abcdefghijkl" for other in "abcdefghij"]
    item = {number: " ".join(words[number * 4 : number * 4 + 4]) for number in range(30)}
    page, response = crawl.page(html=" ".join(words))
    crawl.gives(page, response, item)
    for first in words[::4]:
        copy, response = crawl.page(html=" ".join(word for word in words if word != first))
        assert crawl.asks(page.key, copy.request, response)


def test_copies_of_forgotten_long_lists_take_little_time(crawl):
    earlier, html = "https://x.test/earlier", "<p>no reviews of mills" * 8000 + "<p>Tide clock"
    items = [{"name": "tide", "kind": "clock", "of": "mills", "n": n} for n in range(1500)]
    started = time.process_time()
    passed = []
    for _ in range(2):
        copy, response = crawl.page(earlier, html=html)
        passed.append(sum(crawl.passes(copy, response, item) for item in items))
        passed.append(len(crawl.copies.rest(copy)[0]))
    assert time.process_time() - started < 1
    assert passed == [1250, 250, 1250, 0]
