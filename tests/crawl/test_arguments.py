"""What requests carry, and when the callbacks of two requests are called with the same arguments."""

import ast
import dataclasses
import datetime as dt
import enum
import functools
import itertools
import pathlib
import re
import types
from decimal import Decimal
from types import SimpleNamespace

import pytest
import scrapy
from itemloaders import ItemLoader
from scrapy import Field, Item, Request, Selector, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from scrapy_simhash.crawl.arguments import _SCRAPY, CARRIED_META_KEY, Arguments
from scrapy_simhash.crawl.retries import repeated
from scrapy_simhash.evidence import UNLIKE_ANY
from tests.crawl.harness import python

URL = "http://x.test/"


class Row(Item):
    name = Field()


Record = dataclasses.make_dataclass("Record", ["name"])
Colour = enum.Enum("Colour", ["RED", "BLUE"])


class Pages(Spider):
    name = "pages"

    def parse(self, response):
        """Parse a page."""

    def other(self, response):
        """Parse another page."""


def logged(callback):
    def wrapper(self, response):
        return callback(self, response)

    return wrapper


class Decorated(Spider):
    """Its callbacks have the name of the decorator's function."""

    name = "decorated"

    @logged
    def price(self, response):
        """Give the price."""
        return {"price": 1}

    @logged
    def reviews(self, response):
        """Give the reviews."""
        return {"reviews": 2}


class Ruled(CrawlSpider):
    name = "ruled"
    rules = (
        Rule(LinkExtractor(allow="/a/"), callback="item"),
        Rule(LinkExtractor(allow="/b/")),
        Rule(LinkExtractor(allow="/c/"), callback="item"),
    )

    def item(self, response):
        """Parse an item."""


def arguments_of(spider=None, ignored=()):
    return Arguments(ignored, SimpleNamespace(spider=spider or Pages()))


class Text(str):
    """A text that knows where it is from, such as one of Beautiful Soup."""

    __slots__ = ("page",)


def text_from(page):
    found = Text("coat")
    found.page = page
    return found


class Unprintable:
    def __reduce__(self):
        return Unprintable, ()

    def __repr__(self):
        raise AssertionError


def hash_of(callback=None, spider=None, ignored=(), **given):
    arguments = arguments_of(spider, ignored)
    request = Request(URL, callback, **given)
    arguments.leaves_spider(request)
    return arguments.hash(request)


def enclosing(value):
    return lambda response: value


# Equal sets, which are written in different orders.
SETS = itertools.cycle([[0, 8], [8, 0]])
# Each gives a new object with the same value.
VALUES = {
    "none": lambda: None,
    "text": lambda: "shoe",
    "other text": lambda: "shirt",
    "number": lambda: 1,
    "true": lambda: True,
    "fraction": lambda: 1.0,
    "decimal": lambda: Decimal(1),
    "bytes": lambda: b"shoe",
    "date": lambda: dt.date(2026, 1, 2),
    "time": lambda: dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc),
    "path": lambda: pathlib.Path("shoe"),
    "pattern": lambda: re.compile("shoe"),
    "enum": lambda: Colour.RED,
    "other enum": lambda: Colour.BLUE,
    "list": lambda: ["shoe", 1],
    "tuple": lambda: ("shoe", 1),
    "set": lambda: set("shoe shirt sock"),
    "dict": lambda: {"name": "shoe", "sizes": [41, 42]},
    "other dict": lambda: {"name": "shoe", "sizes": [41, 43]},
    "nested": lambda: [{"rows": [Row(name="shoe")]}],
    "item": lambda: Row(name="shoe"),
    "other item": lambda: Row(name="shirt"),
    "dataclass": lambda: Record("shoe"),
    "other dataclass": lambda: Record("shirt"),
    "class": lambda: Record,
    "class of items": lambda: Row,
    "empty item": Row,
    "class of sets": lambda: set,
    "empty set": set,
    "method of a list": lambda: ["shoe"].append,
    "method of another list": lambda: ["shirt"].append,
    "partial": lambda: functools.partial(sorted, key=len),
    "closure": lambda: enclosing(["shoe"]),
    "wrapper": lambda: functools.wraps(Pages.parse)(enclosing(["shoe"])),
    "other wrapper": lambda: functools.wraps(Pages.parse)(enclosing(["shirt"])),
    "other closure": lambda: enclosing(["shirt"]),
    "text that knows its page": lambda: text_from(object()),
    "unprintable": lambda: {"a": Unprintable()},
    "set of unprintables": lambda: {Unprintable()},
    "set of sets": lambda: {frozenset(next(SETS)), frozenset([1, 9])},
}
RESPONSE = HtmlResponse(URL, body=b"<p>shoe</p>")
INCOMPARABLE = {
    "object": object(),
    "selector": Selector(text="<p>shoe</p>"),
    "response": RESPONSE,
    "loader": ItemLoader({}),
    "generator": (number for number in range(3)),
    "iterator": iter(["shoe"]),
    "counter": itertools.count(),
    "in a list": [[object()]],
    "in a closure": enclosing(RESPONSE),
    "method of an object": ItemLoader({}).add_value,
    "in itself": [],
}
INCOMPARABLE["in itself"].append(INCOMPARABLE["in itself"])


@pytest.mark.parametrize("carries", ["cb_kwargs", "meta"])
def test_equal_values_have_one_hash_and_others_differ_or_are_like_nothing(carries):
    hashes = {name: hash_of(**{carries: {"value": make()}}) for name, make in VALUES.items()}
    assert len(set(hashes.values()) - {UNLIKE_ANY}) == len(VALUES)
    for name, make in VALUES.items():
        assert hash_of(**{carries: {"value": make()}}) == hashes[name]
    for name, value in INCOMPARABLE.items():
        assert hash_of(**{carries: {"value": value}}) == UNLIKE_ANY, name
    ignoring = {"ignored": ["place"]}
    assert hash_of(**ignoring, **{carries: {"place": 1}}) == hash_of()
    assert hash_of(**ignoring, **{carries: {"other": 1}}) != hash_of()


def test_parts_that_share_parts_take_no_endless_time():
    value = ["shoe"]
    for _ in range(40):
        value = [value, value]
    assert hash_of(cb_kwargs={"value": value}) == UNLIKE_ANY
    assert hash_of(cb_kwargs={"value": [["shoe"] * 1000] * 50}) != UNLIKE_ANY


def test_callbacks_and_rules():
    pages, ruled = Pages(), Ruled()

    def local(response):
        """Parse a page."""

    callbacks = (
        None,
        pages.other,
        functools.partial(pages.other, name="a"),
        functools.partial(pages.other, name="b"),
        local,
        lambda response: response.url,
        lambda response: response.text,
        lambda response, name="a": response.url,
        lambda response: 1,
        lambda response: 2,
    )
    hashes = [hash_of(callback, pages) for callback in callbacks]
    assert len(set(hashes)) == len(hashes)
    assert hash_of(pages.parse, pages) == hashes[0]
    assert hash_of(functools.partial(pages.other, name="a"), pages) == hashes[2]
    of_rules = [
        hash_of(ruled._callback, ruled, meta={"rule": rule, "link_text": f"{rule}"})
        for rule in range(3)
    ]
    assert of_rules[0] == of_rules[2] != of_rules[1]
    assert hash_of(None, ruled) not in of_rules


def test_methods_with_the_name_of_another_function_are_compared_by_their_code():
    spider = Decorated()
    callbacks = (
        spider.price,
        spider.reviews,
        functools.partial(spider.price, name="a"),
        functools.partial(spider.reviews, name="a"),
        types.MethodType(lambda self, response: 1, spider),
        types.MethodType(lambda self, response: 2, spider),
    )
    hashes = [hash_of(callback, spider) for callback in callbacks]
    assert len({*hashes} - {UNLIKE_ANY}) == len(callbacks)
    assert [hash_of(callback, spider) for callback in callbacks] == hashes


# Each makes other requests of them.
DIFFERING = [
    {name: value}
    for country in ("de", "fr")
    for name, value in (
        ("cookies", {"country": country}),
        ("meta", {"cookiejar": country}),
        ("headers", {"X-Country": country}),
        ("headers", {"Accept-Language": country}),
        ("flags", [country]),
    )
]


def test_cookies_headers_and_flags_of_the_user_count_but_not_what_browsers_send():
    hashes = {hash_of(**given) for given in [{}, *DIFFERING]}
    assert len(hashes) == 1 + len(DIFFERING)
    assert hash_of(headers={"X-Country": "de"}) == hash_of(headers={"x-country": "de"})
    assert hash_of(ignored=["X-Country"], headers={"X-Country": "de"}) == hash_of()
    for name in ("User-Agent", "Referer", "Sec-Fetch-Mode", "Accept", "Accept-Encoding"):
        assert hash_of(headers={name: "value"}) == hash_of()
    one, other = ({"headers": {"Cookie": f"country={name}"}} for name in ("de", "fr"))
    assert hash_of(**one) == hash_of()  # Scrapy replaces it
    own = {"meta": {"dont_merge_cookies": True}}
    assert hash_of(**one, **own) != hash_of(**other, **own)
    without_jar = Arguments(has_jar=False)
    requests = [Request(URL, **given) for given in (one, other)]
    for request in requests:
        without_jar.leaves_spider(request)
    assert len({without_jar.hash(request) for request in requests}) == 2
    for key in ("depth", "playwright_page", "_auth_proxy", "_pre_mw_headers"):
        assert hash_of(meta={key: object()}) == hash_of()


class ProductRequest(Request):
    """A request that needs an argument of its own."""

    def __init__(self, url, product, **given):
        super().__init__(url, **given)
        self.product = product


def test_what_a_subclass_adds_counts_and_is_repeated():
    shoe, shirt = (ProductRequest(URL, name, meta={"depth": 1}) for name in ("shoe", "shirt"))
    assert arguments_of().hash(shoe) != arguments_of().hash(shirt)
    ignoring = Arguments(["product"])
    assert ignoring.hash(shoe) == ignoring.hash(shirt)
    again = repeated(shoe, dont_filter=True)
    assert (again.product, again.dont_filter) == ("shoe", True)
    assert again.meta == shoe.meta
    assert again.meta is not shoe.meta
    assert arguments_of().hash(again) == arguments_of().hash(shoe)


class Passing:
    """A request on its way from a spider to a callback, with what middlewares add to it."""

    def __init__(self, **given):
        self.arguments = arguments_of()
        self.request = Request(URL, **given)
        self.arguments.leaves_spider(self.request)

    def arrive(self):
        self.response = HtmlResponse(URL, request=self.request)
        self.hash = self.arguments.hash(self.request)
        self.arguments.reaches_spider(self.response, self.request)
        return self.response

    def following(self, meta, headers=None):
        request = Request(URL, meta=meta, headers=headers)
        self.arguments.leaves_spider(request, self.response)
        return self.arguments.hash(request)


def test_what_middlewares_add_does_not_count_even_if_it_is_passed_on():
    passing, expected = Passing(meta={"name": "shoe"}), hash_of(meta={"name": "shoe"})
    passing.request.meta["trace"] = object()
    passing.request.headers["X-Trace"] = passing.request.headers["Accept-Language"] = "1"
    passing.request.cb_kwargs["injected"] = object()
    response = passing.arrive()
    assert passing.hash == expected
    assert CARRIED_META_KEY not in response.meta
    assert passing.following(response.meta.copy()) == expected
    assert passing.following(response.meta.copy(), response.request.headers) == expected
    changed = {**response.request.headers, "Accept-Language": "2"}
    assert passing.following(response.meta.copy(), changed) != expected
    # But it counts if the callback has set it.
    response.meta["trace"] = 1
    assert passing.following(response.meta) != expected


def test_values_are_those_at_the_time_of_arrival():
    state = {"missing": 3}
    passing = Passing(cb_kwargs={"state": state})
    state["missing"] = 2
    passing.arrive()
    assert passing.hash == hash_of(cb_kwargs={"state": {"missing": 2}})


def test_a_request_that_no_middleware_has_seen_carries_all_that_it_has():
    request = Request(URL, meta={"name": "shoe", "depth": 3}, cb_kwargs={"size": 41})
    expected = hash_of(meta={"name": "shoe"}, cb_kwargs={"size": 41})
    assert arguments_of().hash(request) == expected


def test_requests_that_carry_one_object():
    pages, state = Pages(), {"missing": 3}
    arguments = arguments_of(pages)

    def share(one, other):
        requests = [Request(URL, pages.parse, **given) for given in (one, other)]
        for request in requests:
            arguments.leaves_spider(request)
        return arguments.share_objects(*requests)

    assert share({"cb_kwargs": {"state": state}}, {"meta": {"state": state}})
    assert share({"cb_kwargs": {"state": [(1, state)]}}, {"cb_kwargs": {"state": [(2, state)]}})
    assert not share({"cb_kwargs": {"state": dict(state)}}, {"cb_kwargs": {"state": dict(state)}})
    assert not share({"cb_kwargs": {"name": "shoe"}}, {"cb_kwargs": {"name": "shoe"}})


def test_hashes_are_the_same_in_another_process():
    code = (
        "from tests.crawl.test_arguments import *;"
        "print({n: hash_of(meta={'v': m()}).hex() for n, m in VALUES.items()})"
    )
    run = python("-c", code, PYTHONHASHSEED="7")
    assert ast.literal_eval(run.stdout) == {
        name: hash_of(meta={"v": make()}).hex() for name, make in VALUES.items()
    }


def test_all_meta_keys_of_scrapy_are_known():
    """Scrapy's components read and write them by name."""
    found = set()
    for path in pathlib.Path(scrapy.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"\bmeta\[\"(\w+)\"\]", text))
        found |= set(re.findall(r"\bmeta\.(?:get|pop|setdefault)\(\"(\w+)\"", text))
    assert found - _SCRAPY <= {"cookiejar", "rule"}
