"""ConditionalRequests without a crawl: which requests get conditions, and when they lose them."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash import NearDuplicatePage, open_index
from scrapy_simhash.crawl.conditional import ConditionalRequests, remove_conditions
from scrapy_simhash.crawl.identity import Identity
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS, Policy
from scrapy_simhash.verdict import Verdict

URL = "http://example.com/a"
PAST, NOW = "Tue, 06 Jan 2015 10:00:00 GMT", "Tue, 06 Jan 2015 10:00:01 GMT"
TAG = {"ETag": '"1"', "Date": NOW}
FINGERPRINT = (1 << 255) // 3


class Crawl:
    """A crawl of which only the requests and responses are played."""

    def __init__(self) -> None:
        self.index = open_index("memory:", incremental=True)
        self.counts = Counter()
        self.finished = []

        async def soon(_, ask):
            return ask(self.index)

        lane = SimpleNamespace(
            settings=SimpleNamespace(conditional=True, url_explore=0),
            policy=Policy(incremental=True),
            identity=Identity(lambda _: b"", "all"),
            stats=SimpleNamespace(count=lambda name: self.counts.update([name])),
            calls=SimpleNamespace(soon=soon, tell=lambda _, ask: ask(self.index)),
            count_verdict=lambda *_: self.counts.update(["dropped"]),
        )
        self.requests = ConditionalRequests(lane, lambda page, _: self.finished.append(page.key))

    def handle(self, headers=TAG, *, confirmed=True, fingerprint=FINGERPRINT) -> None:
        """Handle the page, as a crawl does that downloads it."""
        observation = self.index.observe(URL, fingerprint)
        self.index.confirm(observation)
        verdict = Verdict(kind=observation.kind, key=URL, bits=256, observation=observation)
        page = PageState(URL, verdict, PASS, Request(URL))
        self.requests.arrived(page, HtmlResponse(URL, headers=headers))
        self.requests.finished(page, confirmed)

    def send(self, request: Request) -> dict[bytes, bytes]:
        """Schedule a request, and return the conditions that it is sent with."""
        self.requests.scheduled(request)
        return self.send_now(request)

    def send_now(self, request: Request) -> dict[bytes, bytes]:
        asyncio.run(self.requests.prepare(request))
        return {name: request.headers[name] for name in request.headers if name[:3] == b"If-"}

    def receive(self, request: Request, status: int) -> Response | Request:
        return asyncio.run(self.requests.received(request, Response(request.url, status)))


@pytest.fixture
def crawl():
    crawl = Crawl()
    crawl.handle()
    return crawl


def test_not_modified(crawl):
    request = Request(URL)
    assert crawl.send(request) == {b"If-None-Match": b'"1"'}
    before = crawl.index.entry(URL)
    with pytest.raises(NearDuplicatePage) as caught:
        crawl.receive(request, 304)
    assert caught.value.response.request is request
    assert caught.value.verdict.to_dict()["kind"] == "unchanged"
    assert crawl.counts == {"conditional/sent": 1, "conditional/not_modified": 1, "dropped": 1}
    assert crawl.finished == [URL]
    assert crawl.index.entry(URL).fingerprint == before.fingerprint
    # A spider may copy the meta of a request, or ask again.
    assert (request.meta, request.headers) == ({}, {})


@pytest.mark.parametrize("copied", [Request.copy, lambda request: request.replace(priority=-1)])
def test_a_repetition_is_conditional_again(crawl, copied):
    request = Request(URL)
    crawl.send(request)
    again = copied(request)
    assert crawl.send(again) == {b"If-None-Match": b'"1"'}
    remove_conditions(again)
    assert (again.meta, again.headers) == ({}, {})


def test_a_redirected_request_loses_its_conditions(crawl):
    request = Request(URL)
    crawl.send(request)
    assert crawl.send(request.replace(url="http://example.com/b")) == {}


def test_an_inline_download_waits_for_its_page(crawl):
    assert crawl.send_now(Request(URL)) == {}
    assert crawl.send(Request(URL, callback=NO_CALLBACK)) == {}


def test_another_middleware_may_set_its_own_conditions(crawl):
    request = Request(URL)
    crawl.send(request)
    request.headers["If-None-Match"] = '"theirs"'
    assert isinstance(crawl.receive(request, 304), Response)
    assert request.headers["If-None-Match"] == b'"theirs"'
    # So may a request, and a server may answer with 304 to none.
    assert isinstance(crawl.receive(Request(URL), 304), Response)
    assert crawl.counts == {"conditional/sent": 1}


@pytest.mark.parametrize("what", ["removed", "changed", "pending"])
def test_the_index_has_other_content_by_now(crawl, what):
    request = Request(URL, headers={"Accept": "text/html"})
    crawl.send(request)
    if what == "removed":
        crawl.index = open_index("memory:", incremental=True)
    elif what == "changed":
        crawl.handle(fingerprint=FINGERPRINT ^ (1 << 256) - 1)
    else:
        crawl.index.observe(URL, FINGERPRINT ^ (1 << 256) - 1)
    again = crawl.receive(request, 304)
    assert isinstance(again, Request)
    assert (again.url, again.dont_filter, dict(again.headers)) == (URL, True, request.headers)
    assert crawl.send(again) == {}
    assert crawl.counts == {"conditional/sent": 1, "conditional/asked_again": 1}


def test_only_what_was_handled_is_known(crawl):
    crawl.handle({"ETag": '"2"'}, confirmed=False)
    assert crawl.send(Request(URL)) == {b"If-None-Match": b'"1"'}
    crawl.handle({"ETag": '"3"'})
    assert crawl.send(Request(URL)) == {b"If-None-Match": b'"3"'}
    crawl.handle({})
    assert crawl.send(Request(URL)) == {}
    # A crawl was killed between the entry and its validators.
    crawl.handle()
    crawl.index.confirm(crawl.index.observe(URL, FINGERPRINT ^ (1 << 256) - 1))
    assert crawl.send(Request(URL)) == {}


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"ETag": 'W/"1"'}, {b"If-None-Match": b'W/"1"'}),
        ({"ETag": '"\xfc"'.encode("latin-1")}, {b"If-None-Match": b'"\xfc"'}),
        ({"ETag": "1"}, {}),
        ({"ETag": '""'}, {}),
        ({"ETag": '"1" "2"'}, {}),
        ({"ETag": '"1"\r\nX: y'}, {}),
        ({"ETag": '"' + 257 * "1" + '"'}, {}),
        ({"Last-Modified": PAST, "Date": NOW}, {b"If-Modified-Since": PAST.encode()}),
        (
            {"ETag": '"1"', "Last-Modified": PAST, "Date": NOW},
            {b"If-None-Match": b'"1"', b"If-Modified-Since": PAST.encode()},
        ),
        # Made in the second in which it was sent: it may change again in the same second.
        ({"Last-Modified": PAST, "Date": PAST}, {}),
        ({"Last-Modified": NOW, "Date": PAST}, {}),
        ({"Last-Modified": PAST}, {}),
        ({"Last-Modified": "Tue, 06 Jan 2015 10:00:00 -0000", "Date": NOW}, {}),
        ({"Last-Modified": "yesterday", "Date": NOW}, {}),
        ({"Last-Modified": PAST, "Date": b"\xff"}, {}),
        ({"Last-Modified": "Tue, 06 Jan 99999999999 10:00:00 GMT", "Date": NOW}, {}),
        ({"Last-Modified": PAST + 60 * " ()", "Date": NOW}, {}),
    ],
)
def test_validators_of_responses(headers, sent):
    crawl = Crawl()
    crawl.handle(headers)
    assert crawl.send(Request(URL)) == sent
