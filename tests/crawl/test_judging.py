"""Judging: what becomes of a page in the index, by what was done with it and what it gave."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_simhash.crawl.fingerprinting import Fingerprinter
from scrapy_simhash.crawl.identity import Identity
from scrapy_simhash.crawl.judging import Judging
from scrapy_simhash.crawl.opening import CrawlStarts
from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
from scrapy_simhash.evidence import UNLIKE_ANY
from scrapy_simhash.index import PageToObserve
from scrapy_simhash.policy import Circumstances
from tests.crawl.pages import page as html

ONE, OTHER = b"request1", b"request2"


class World:
    """The pages of a crawl, which this class judges, acts on and settles as middlewares do."""

    def __init__(self, directory, **given):
        settings = SimhashSettings(Settings({"SIMHASH_DIR": str(directory)} | given), "spider")
        crawler = SimpleNamespace(spider=None, settings=Settings(), stats=None)
        stats = CrawlStats(MemoryStatsCollector(SimpleNamespace(settings=Settings())), "simhash")
        self.detector = Fingerprinter(settings).detector
        self.requested = []
        self.judging = Judging(
            "page",
            settings,
            self.detector,
            identity=Identity(lambda _: b"", "all"),
            stats=stats,
            errors=ErrorLog(crawler, stats),
            schedule=self.requested.append,
        )
        self.judging.open(CrawlStarts(Settings()))

    def arrives(self, key, request=ONE, *, text="mill", depth=0, **around):
        """Judge a page, and return its state. Its callback has not run yet."""
        page = self.detector.fingerprint_page(html(text))
        page = replace(page, evidence=page.evidence._replace(request=request, depth=depth))
        response, repeated = HtmlResponse(f"https://x.test/{key}"), Request(f"https://x.test/{key}")
        verdict = self.judging.judge(key, page, response)
        action, reason = self.judging.act_on(
            verdict, repeated, lambda: Circumstances(**around), response
        )
        state = PageState(key, verdict, action, repeated)
        state.reason = reason
        return state

    def ends(self, state, *, items=True, confirmed=True):
        """Settle a page whose callback has run."""
        state.given.outputs, state.gave_items, state.failed = int(items), items, not confirmed
        self.judging.settle_page(state, confirmed)

    def stored(self):
        return {key for key in "abc" if self.judging.index.entry(key) is not None}


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.judging.calls.close()


def test_a_copy_that_gives_no_items_does_not_take_the_place_of_a_page_without_items(world):
    world.judging.retries.begin_giving()
    world.ends(world.arrives("a"), items=False)
    copy = world.arrives("b")
    assert copy.reason == "no_items"
    world.ends(copy, items=False)
    assert world.stored() == {"a"}
    giving = world.arrives("c")
    world.ends(giving)
    assert world.stored() == {"c"}


def test_a_page_without_items_says_nothing_of_the_items_of_its_copies(world):
    world.ends(world.arrives("a"), items=False)
    copy = world.arrives("b", may_give=["items"])  # as in a crawl that shares its index
    assert (copy.dropped, copy.reason) == (True, None)
    world.judging.retries.begin_giving()
    assert [request.url for request in world.requested] == ["https://x.test/b"]
    world.ends(world.arrives("c", text="clock"))
    assert world.arrives("d", text="clock", may_give=["items"]).reason == "values"


def test_where_depth_is_limited_a_copy_nearer_to_the_start_takes_the_place_of_its_page(world):
    world.ends(world.arrives("a", depth=3))
    assert world.arrives("b", depth=1).dropped
    assert world.arrives("b", depth=3, depth_limited=True).dropped
    nearer = world.arrives("c", depth=1, depth_limited=True)
    assert (nearer.dropped, nearer.reason) == (False, "depth")
    world.ends(nearer)
    assert world.arrives("d", depth=1, depth_limited=True).dropped


def test_a_dropped_page_that_is_seen_twice_is_not_pending(tmp_path):
    world = World(tmp_path, SIMHASH_INCREMENTAL=True, SIMHASH_FOLLOW=False)
    first = world.arrives("a")
    again = world.arrives("a")
    assert (again.verdict.kind, again.dropped) == ("unchanged", True)
    world.ends(first, confirmed=False)
    assert [request.url for request in world.requested] == ["https://x.test/a"]
    # Nothing is left of the failed page that its copies would be dropped for.
    assert world.arrives("b").verdict.kind == "new"
    world.judging.calls.close()


@pytest.mark.parametrize("request_hash", [OTHER, UNLIKE_ANY])
def test_a_copy_with_other_arguments_stands_for_its_like_if_they_can_be_compared(
    world, request_hash
):
    world.ends(world.arrives("a"))
    copy = world.arrives("b", request_hash)
    assert copy.reason == "request"
    world.ends(copy)
    further = world.arrives("c", request_hash)
    if request_hash == OTHER:
        assert (further.dropped, further.verdict.representative) == (True, "b")
        assert world.stored() == {"a", "b"}
    else:
        assert further.reason == "request"
        assert world.stored() == {"a"}


@pytest.mark.parametrize(("confirmed", "requested"), [(False, 1), (True, 0)])
def test_a_copy_of_whose_output_something_was_withheld_waits_for_its_page(
    tmp_path, confirmed, requested
):
    world = World(tmp_path, SIMHASH_FOLLOW=True)
    first, copy = world.arrives("a"), world.arrives("b")
    assert (copy.dropped, copy.action.items) == (False, False)
    copy.withheld = 1
    world.ends(copy, items=False)
    first.given.requests = 1  # it leads on, but the callback of the copy has run
    world.ends(first, confirmed=confirmed)
    assert [request.url for request in world.requested] == ["https://x.test/b"] * requested
    world.judging.calls.close()


@pytest.mark.parametrize(("outputs", "requested"), [(1, ["https://x.test/b"]), (2, [])])
def test_a_page_that_only_led_to_itself_under_another_query_is_compared_with_that(
    world, outputs, requested
):
    first = world.arrives("a")
    assert world.arrives("b").dropped
    first.other_url, first.given.outputs = True, outputs
    world.judging.settle_page(first, confirmed=True)
    story = PageToObserve("a?t=1", world.detector.fingerprint_page(html("clock")).fingerprint)
    world.judging.came_again("a?t=1", story, "a")
    assert world.requested == [], "the other content is not settled yet"
    index = world.judging.index
    world.judging.retries.confirmed(index.observe("a?t=1", story.fingerprint))
    assert [request.url for request in world.requested] == requested
