"""Spiders that wait for the callbacks of pages that were dropped."""

from types import SimpleNamespace

import pytest
from scrapy import Request, signals
from scrapy.core.scraper import Slot
from scrapy.http import HtmlResponse
from scrapy.signalmanager import SignalManager

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl import waiting
from scrapy_simhash.crawl.retries import DroppedCopy, Retries
from scrapy_simhash.crawl.waiting import WaitingSpiders
from scrapy_simhash.index.rules import Rules

URL = "https://x.test/"


class World:
    def __init__(self, monkeypatch):
        self.called = []
        self.timers = []
        self.scraping = Slot()
        engine = SimpleNamespace(
            spider=object(),
            downloader=SimpleNamespace(active=set()),
            scraper=SimpleNamespace(slot=self.scraping),
        )
        self.signals = SignalManager(self)
        crawler = SimpleNamespace(engine=engine, signals=self.signals, spider=None)
        monkeypatch.setattr(waiting, "call_later", lambda *call: self.timers.append(call))
        rules = Rules(3, Confirmation())
        self.retries = Retries(lambda copies, then: None, self.called.append, rules)
        self.waiting = WaitingSpiders(crawler, self.retries)

    def drop(self, number, **given):
        request = Request(f"{URL}{number}", **given)
        copy = DroppedCopy(None, request)
        self.retries.responses.keep(copy, HtmlResponse(request.url))

    def nothing_to_do(self):
        """Return the delay of the timer that this starts; None without one."""
        self.signals.send_catch_log(signals.scheduler_empty)
        return self.timers[-1][0] if self.timers else None

    def expire(self):
        _, function, *arguments = self.timers.pop()
        function(*arguments)
        return [self.called.pop().url.removeprefix(URL)] if self.called else []


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_copies_with_an_errback_are_not_waited_for(world):
    world.drop(1, errback=print)
    assert world.nothing_to_do() is None
    assert not world.waiting.run()


def test_a_callback_waits_if_nothing_happens_for_five_seconds(world):
    world.waiting.starting = False
    world.drop(1, callback=print)
    world.scraping.active.add(Request(URL))
    assert world.nothing_to_do() == 1
    assert [world.expire() for _ in range(5)] == [[], [], [], [], ["1"]]
    world.drop(2)
    assert world.nothing_to_do() is None  # it would be as slow


@pytest.mark.parametrize("working", ["pipeline", "callback that goes on"])
def test_a_callback_whose_items_are_in_pipelines_or_that_goes_on_does_not_wait(world, working):
    world.waiting.starting = False
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


def test_after_three_attempts_that_nothing_follows_no_more_callbacks_run(world):
    for number in range(5):
        world.drop(number)
        assert world.waiting.run() == (number < 3)
