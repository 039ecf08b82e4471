"""Items that were dropped as copies of an item that fails afterwards."""

import asyncio
from itertools import islice

import pytest
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, put_articles
from tests.crawl.spiders import FromCrawler, ItemsSpider

SETTINGS = {"SIMHASH_ITEM_FIELDS": ["text"], "ITEM_PIPELINES": {f"{__name__}.LatePipeline": 300}}

TIMEOUT_S = 60


class LateItemsSpider(ItemsSpider):
    """Requests the next page only when the items that are to fail late have reached the pipeline.
    So later copies of them are dropped.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.reached = asyncio.Queue()

    async def parse(self, response):
        for item in super().parse(response):
            yield item
            if "fails_after" in item:
                await asyncio.wait_for(self.reached.get(), TIMEOUT_S)
        for request in islice(self.waiting, 1):
            yield request


class LatePipeline(FromCrawler):
    """Raises for items with ``fails_after`` once that many items were dropped."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._dropped = 0
        self._waiting = []
        crawler.signals.connect(self._item_dropped, signal=signals.item_dropped)

    async def process_item(self, item):
        fails_after = ItemAdapter(item).get("fails_after")
        if fails_after is None:
            return item
        self._crawler.spider.reached.put_nowait(item)
        if self._dropped < fails_after:
            deferred = Deferred()
            self._waiting.append((fails_after, deferred))
            await maybe_deferred_to_future(deferred)
        raise RuntimeError("this item fails late")

    def _item_dropped(self):
        self._dropped += 1
        due = [pair for pair in self._waiting if pair[0] <= self._dropped]
        self._waiting = [pair for pair in self._waiting if pair[0] > self._dropped]
        for _, deferred in due:
            deferred.callback(None)


def item(name, copy=None, **more):
    text = ARTICLES[name][1] + ("" if copy is None else f" {copy}")
    return {"id": f"{name} {copy or ''}".strip(), "text": text, **more}


@pytest.fixture(scope="module")
def results(every_index, site, module_path):
    site.hits.clear()
    put_articles(site, "/first ice", "/second clock", "/third tram")
    items = {
        "/first": [item("mill", fails_after=3), item("bees", fails_after=3)],
        "/second": [item("mill", 1), item("bees", 1), item("paper")],
        "/third": [item("mill", 2)],
    }
    crawls = {
        name: Crawl(
            [site.url(path) for path in items],
            SETTINGS | settings,
            spider=f"{__name__}.LateItemsSpider",
            arguments={"items": items},
        )
        for name, settings in {
            "default": {},
            "incremental": {"SIMHASH_INCREMENTAL": True},
            "items only": {"SIMHASH_PAGES": False},
        }.items()
    }
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", ["default", "incremental", "items only"])
def test_another_copy_is_kept_when_the_item_fails(results, name):
    result = results[name]
    assert len(result.item_errors) == 2
    kept = [item["id"].split()[0] for item in result.items]
    assert {"mill", "bees", "paper"} <= set(kept)
    if name == "incremental":
        assert sorted(kept) == ["bees", "mill", "paper"]
    # A whole page is requested again for each of its items that is missing.
    assert max(kept.count("mill"), kept.count("bees")) <= 2
    assert kept.count("paper") <= 3
    assert result.stat("item/discarded") == 2
    assert 1 <= result.stat("rescheduled") <= 3
    assert result.finish_reason == "finished"


def test_pages_that_failed_are_not_asked_for_again(results, site):
    assert all(result.events for result in results.values())
    assert site.hit("/first") == 3  # once in each crawl
