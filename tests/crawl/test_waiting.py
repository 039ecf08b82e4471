"""Spiders that wait for the callbacks of pages that were dropped."""

from types import SimpleNamespace

import pytest
from scrapy import Request, signals
from scrapy.core.scraper import Slot
from scrapy.http import HtmlResponse
from scrapy.signalmanager import SignalManager

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl import waiting
from scrapy_simhash.crawl.retries import META_KEY, DroppedCopy, Retries
from scrapy_simhash.crawl.waiting import CALLED_AFTER_ALL_META_KEY, WaitingSpiders
from scrapy_simhash.evidence import NO_EVIDENCE
from scrapy_simhash.index.rules import Rules

URL = "https://x.test/"


class World:
    """A crawl that has nothing to do, and a clock."""

    def __init__(self, monkeypatch):
        self.called = []
        self.timers = []
        self.now_s = 100.0
        self.downloads = set()
        self.scraping = Slot()
        engine = SimpleNamespace(
            spider=object(),
            downloader=SimpleNamespace(active=self.downloads),
            scraper=SimpleNamespace(slot=self.scraping),
        )
        self.signals = SignalManager(self)
        crawler = SimpleNamespace(engine=engine, signals=self.signals, spider=None)
        monkeypatch.setattr(waiting, "call_later", lambda *call: self.timers.append(call))
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now_s)
        rules = Rules(3, Confirmation())
        self.retries = Retries(lambda copies, then: None, self._schedule, rules)
        self.waiting = WaitingSpiders(crawler, self.retries)

    def _schedule(self, request):
        self.called.append(request)

    def drop(self, number=0, body=b"", **given):
        request = Request(f"{URL}{number}", **given)
        copy = DroppedCopy(request.url, 0, NO_EVIDENCE, request)
        self.retries.responses.keep(copy, HtmlResponse(request.url, body=body))
        self.waiting.dropped()

    def nothing_to_do(self):
        """Return the delay of the timer that this starts; None without one."""
        self.signals.send_catch_log(signals.scheduler_empty)
        return self.timers[-1][0] if self.timers else None

    def expire(self):
        _, function, *arguments = self.timers.pop()
        function(*arguments)
        called, self.called = self.called, []
        return [request.url.removeprefix(URL) for request in called]


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_callbacks_run_while_start_waits(world):
    world.drop(1)
    world.drop(2)
    assert world.nothing_to_do() == 1
    assert world.expire() == ["1", "2"]
    assert world.nothing_to_do() is None


def test_requests_are_marked(world):
    world.drop(1, meta={"name": "shoe"})
    assert world.waiting.run()
    meta = world.called[0].meta
    assert meta.pop(META_KEY)
    assert meta == {"name": "shoe", CALLED_AFTER_ALL_META_KEY: True}


def test_copies_with_an_errback_are_not_waited_for(world):
    world.drop(1, errback=print)
    assert world.nothing_to_do() is None
    assert not world.waiting.run()


def test_start_may_go_on_by_itself(world):
    world.drop(1)
    world.nothing_to_do()
    world.waiting.requested(Request(URL))
    assert world.expire() == []


def test_a_crawl_with_downloads_does_not_wait(world):
    world.drop(1)
    world.downloads.add("request")
    assert world.nothing_to_do() is None
    world.downloads.clear()
    world.nothing_to_do()
    world.downloads.add("request")
    assert world.expire() == []


def test_once_start_has_ended_only_an_open_crawl_counts(world):
    world.drop(1)
    world.waiting.start_ended()
    assert world.nothing_to_do() is None
    assert world.waiting.run()


def test_a_callback_waits_if_nothing_happens_for_five_seconds(world):
    world.waiting.start_ended()
    world.drop(1, callback=print)
    world.scraping.active.add(Request(URL))
    assert world.nothing_to_do() == 1
    assert [world.expire() for _ in range(5)] == [[], [], [], [], ["1"]]
    world.drop(2)
    assert world.nothing_to_do() is None  # it would be as slow


@pytest.mark.parametrize("working", ["pipeline", "callback that goes on"])
def test_a_callback_whose_items_are_in_pipelines_or_that_goes_on_does_not_wait(world, working):
    world.waiting.start_ended()
    world.drop(1, callback=print)
    world.scraping.active.add(Request(URL))
    world.nothing_to_do()
    for _ in range(10):
        if working == "pipeline":
            world.scraping.itemproc_size = 1
            assert world.expire() == []
            assert world.timers == []
            break
        world.waiting.requested(Request(URL))
        assert world.expire() == []


def test_a_spider_that_was_found_to_wait_waits_no_second_more(world):
    for number, delay_s in enumerate([1, 0.02, 0.02, 0.02, 0.02]):
        world.drop(number)
        assert world.nothing_to_do() == delay_s
        assert world.expire() == [str(number)]
        world.waiting.requested(Request(URL))
        world.now_s += 10


def test_after_three_attempts_that_nothing_follows_no_more_callbacks_run(world):
    for number in range(5):
        world.drop(number)
        assert world.waiting.run() == (number < 3)
