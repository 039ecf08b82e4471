"""RequestRules without a crawl: what it learns from which pages, and when it spares a request."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.signalmanager import SignalManager

from scrapy_simhash import open_index
from scrapy_simhash.crawl.arguments import CARRIED_META_KEY
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.extras.url_rules.evidence import decode_rules
from scrapy_simhash.extras.url_rules.exceptions import SparedRequest
from scrapy_simhash.extras.url_rules.requests import _UNSAVED, RequestRules
from scrapy_simhash.index import Observation
from scrapy_simhash.index.base import Earlier
from scrapy_simhash.policy import PASS
from scrapy_simhash.verdict import Verdict

SITE = "http://example.com"
DONE = Observation("new", SITE, 0, None, None, 1)


class Crawl:
    def __init__(self, index=None, mode="apply"):
        self.index = open_index("memory:") if index is None else index
        self.counts = Counter()
        self.failures = []
        pages = SimpleNamespace(
            index=self.index, calls=SimpleNamespace(tell=lambda _key, ask: ask(self.index))
        )
        self.scheduled = []
        stats = SimpleNamespace(
            inc_value=lambda name, by=1: self.counts.update({name.rpartition("/")[2]: by}),
            set_value=self.counts.__setitem__,
        )
        crawl = SimpleNamespace(
            crawler=SimpleNamespace(stats=stats, signals=SignalManager()),
            settings={"SIMHASH_URL_RULES": mode}.get,
            pages=pages,
            errors=SimpleNamespace(count_error=lambda *what: self.failures.append(what)),
            schedule=self.scheduled.append,
        )
        self.rules = RequestRules(crawl)
        self.rules._rules._explore = 0.0
        self.rules.open()
        for part in (self.rules._rules, self.rules._traps):  # they sample requests
            part._random.seed(1)

    def request(self, path, **arguments):
        request = Request(SITE + path, **arguments)
        self.rules.scheduled(request)
        try:
            return self.rules.process_request(request) or request
        except SparedRequest:
            return None

    def makes(self, request):
        try:
            self.rules.process_request(request)
        except SparedRequest:
            return False
        return True

    def done(self, request, original=None, **verdict):
        verdict = {"observation": DONE, **verdict}
        kind = "new" if original is None else "near-duplicate"
        found = Verdict(
            kind=kind,
            key=request.url,
            bits=64,
            representative=None if original is None else SITE + original,
            **verdict,
        )
        page = PageState(request.url, found, PASS, request.copy())  # as the middleware
        self.rules.finished(page, confirmed=True)
        return page

    def learn(self, pages=20, **verdict):
        for number in range(pages):
            path = f"/topic?t={number}"
            first = self.request(f"{path}&sid=a")
            if first is not None:
                self.done(first)
            copy = self.request(f"{path}&sid=b{number}")
            if copy is not None:
                self.done(copy, f"{path}&sid=a")


@pytest.fixture
def crawl():
    crawl = Crawl()
    crawl.learn(40)
    return crawl


def test_a_page_that_got_other_arguments_teaches_nothing():
    crawl = Crawl()
    crawl.learn(40, observation=replace(DONE, earlier=Earlier(same_request=False)))
    assert crawl.request("/topic?t=99&sid=a")
    assert crawl.request("/topic?t=99&sid=b")


def test_rules_are_stored_while_a_crawl_goes_on():
    crawl = Crawl(mode="learn")
    crawl.learn(_UNSAVED // 10)
    assert crawl.index.notes() == []  # a write for each page would take long
    crawl.learn(_UNSAVED)
    [(site, row)] = crawl.index.notes()
    assert site == "example.com"
    assert (("drop", "sid"),) in decode_rules(row)


@pytest.mark.parametrize("carried", [[[], []], [["place"], []], [[], ["item"]]])
def test_a_request_that_carries_arguments_is_never_spared(crawl, carried):
    spared = 0
    for number in range(100, 150):
        crawl.done(crawl.request(f"/topic?t={number}&sid=a"))
        copy = crawl.request(f"/topic?t={number}&sid=b", meta={CARRIED_META_KEY: carried})
        spared += copy is None
    assert (spared > 25) == (carried == [[], []])
    assert spared == 0 or carried == [[], []]


def test_a_request_waits_once_for_an_equal_one_that_is_under_way(crawl):
    first = crawl.request("/topic?t=99&sid=a")
    second = crawl.request("/topic?t=99&sid=b", priority=3)
    assert (second.priority, second.dont_filter) == (2, True)
    # The first one fails: nothing is heard of it. The second is asked for as it was.
    assert crawl.rules.process_request(second) is None
    assert second.dont_filter is False
    assert not any(name.startswith("simhash_") for name in {**first.meta, **second.meta})
    assert crawl.counts["postponed"] == 1


def test_a_request_that_waited_is_spared_when_the_equal_one_is_done(crawl):
    spared = 0
    for number in range(100, 200):
        first = crawl.request(f"/topic?t={number}&sid=a")
        second = crawl.request(f"/topic?t={number}&sid=b")
        crawl.done(first)
        try:
            crawl.rules.process_request(second)
        except SparedRequest as error:
            spared += error.reason == "equal"
    assert spared > 70  # the others test the rule


@pytest.mark.parametrize("same", [True, False])
def test_one_request_tests_a_new_value_and_the_others_wait(same):
    """Values that were not seen on any page, of a parameter that 10 others don't matter for."""
    crawl = Crawl()
    for number in range(60):
        path = f"/story/{number}"
        crawl.done(crawl.request(path))
        copy = crawl.request(f"{path}?view={number % 10}")
        if copy is not None:
            crawl.done(copy, path)
    assert crawl.counts["spared"] > 10
    requests = [crawl.request(f"/story/{number}?view=new") for number in range(10, 20)]
    tests = [request for request in requests if not request.dont_filter]
    # The first one, and those that test the rule anyway.
    assert requests[0] in tests
    assert len(tests) < 8
    for number, request in enumerate(requests, 10):
        if request in tests:
            crawl.done(request, f"/story/{number}" if same else None)
    waited = [request for request in requests if request.dont_filter]
    made = sum(crawl.makes(request) for request in waited)
    assert made <= len(waited) / 2 if same else made == len(waited)


@pytest.mark.parametrize("copy_first", [True, False])
def test_a_copy_of_a_page_under_way_teaches_once_that_is_confirmed(copy_first):
    crawl = Crawl()
    for number in range(40):
        path = f"/topic?t={number}&sid="
        pages = [crawl.request(path + sid) for sid in "ab"]
        if None not in pages:
            # Both were judged before either was done.
            for page in reversed(pages) if copy_first else pages:
                if page is pages[0]:
                    crawl.done(page)
                else:
                    crawl.done(page, path + "a", observation=None)
    assert crawl.counts["spared"] + crawl.counts["postponed"] > 10


def test_a_successor_of_its_representative_has_its_content(crawl):
    """With SIMHASH_PREFER_CANONICAL, later copies are near-duplicates of the canonical page."""
    before = crawl.counts["contradicted"]
    for number in range(300, 340):
        path = f"/topic?t={number}"
        requests = [Request(f"{SITE}{path}{end}") for end in ("&sid=a", "", "&sid=b")]
        crawl.done(requests[0])
        crawl.done(requests[1], f"{path}&sid=a", canonical="page")
        crawl.done(requests[2], path)
    assert crawl.counts["contradicted"] == before


@pytest.mark.parametrize("were_copies", [False, True])
def test_what_a_rule_spared_is_requested_if_the_rule_ends(crawl, were_copies):
    requests = [Request(f"{SITE}/topic?t={number}&sid=new{number}") for number in range(40)]
    for number, request in enumerate(requests if were_copies else []):
        for copy in (request, Request(f"{SITE}/topic?t={number}&sid=b")):
            crawl.done(copy, f"/topic?t={number}&sid=a")
    spared = [
        f"/topic?t={n}&sid=z" for n in range(40) if crawl.request(f"/topic?t={n}&sid=z") is None
    ]
    assert spared
    for request in requests:  # the site has changed
        crawl.done(request)
    assert crawl.counts["contradicted"]
    assert {SITE + url for url in spared} <= {request.url for request in crawl.scheduled}
    assert crawl.counts["requested_after_all"] == len(crawl.scheduled)
    for request in crawl.scheduled:
        assert crawl.rules.process_request(request) is None


def test_an_inline_download_is_never_spared(crawl):
    for number in range(40):
        assert crawl.rules.process_request(Request(f"{SITE}/topic?t={number}&sid=z")) is None


def test_a_calendar_is_left():
    crawl = Crawl()
    request = crawl.request("/calendar?month=0")
    made = trapped = 0
    for month in range(1, 3000):
        if request is not None:
            made += 1
            page = crawl.done(request, similar_to=f"{SITE}/calendar?month=9999", similarity=0.97)
        following = Request(f"{SITE}/calendar?month={month}")
        crawl.rules.found(page, following)
        crawl.rules.scheduled(following)
        try:
            request = crawl.rules.process_request(following) or following
        except SparedRequest as error:
            request = None
            trapped += error.reason == "trap"
    assert 50 <= made <= 50 + 0.02 * 3000
    assert crawl.counts["trapped"] == trapped > 2500
    # A page with content that links to a part of the trap has it requested after all.
    last = following.replace()
    assert request is None
    crawl.rules.found(crawl.done(Request(f"{SITE}/news")), last)
    assert last.dont_filter
    assert crawl.rules.process_request(last) is None
    assert not last.dont_filter
    # A month with content ends the trap: the last 1,000 that were spared are requested.
    assert crawl.scheduled == []
    crawl.done(Request(f"{SITE}/calendar?month=5000"))
    assert 900 < len(crawl.scheduled) < 1000
    assert last.url not in {request.url for request in crawl.scheduled}
    assert crawl.counts["requested_after_all"] == len(crawl.scheduled)
