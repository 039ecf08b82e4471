"""Many responses at once, several crawlers in one process, several processes on one index."""

import threading
from dataclasses import replace
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash.index import open_index
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page, put_articles
from tests.crawl.spiders import PagesSpider

pytestmark = pytest.mark.thorough

FAMILY = 64
AT_ONCE = {
    "CONCURRENT_REQUESTS": FAMILY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": FAMILY,
    "SIMHASH_DEBUG": True,
}


@pytest.fixture(scope="module")
def site_with_family(site):
    """Crawl 64 near-duplicates that the site serves only when all were requested."""
    barrier = threading.Barrier(FAMILY, timeout=30)
    for number in range(FAMILY):
        site.put(f"/{number}", page("mill", copy=number + 1), barrier=barrier)
    put_articles(site, "/tea 茶园", "/tea-copy 茶园 1", "/bees bees", "/bees-copy bees 1")
    return site


@pytest.mark.parametrize("action", ["drop", "tag", "follow"])
def test_of_64_near_duplicates_at_once_exactly_one_is_the_original(
    site_with_family, tmp_path, action
):
    requests = [
        {"url": site_with_family.url(f"/{number}"), "errback": True} for number in range(FAMILY)
    ]
    how = {"SIMHASH_FOLLOW": True} if action == "follow" else {"SIMHASH_ACTION": action}
    result = crawled(tmp_path, requests, AT_ONCE | how, arguments={"at_once": True})
    assert result.finish_reason == "finished"
    assert (result.stat("new"), result.stat("near_duplicate")) == (1, FAMILY - 1)
    assert (result.stat("index/size"), len(result.events)) == (1, FAMILY)
    [original] = [event for event in result.events if event["verdict"]["kind"] == "new"]
    assert original["what"] == "callback"
    representatives = {event["verdict"]["representative"] for event in result.events}
    assert representatives == {None, site_with_family.url(original["path"])}
    assert len(result.seen("callback")) == (1 if action == "drop" else FAMILY)
    assert len(result.lines("near-duplicate page")) == FAMILY - 1
    done = {"drop": "dropped", "tag": "tagged", "follow": "followed"}[action]
    with open_index(tmp_path / "simhash" / "spiders" / "pages") as index:
        assert [line.action for line in index.near_duplicates()] == [done] * (FAMILY - 1)


def two(site, *, names=("one", "two"), **settings):
    """Crawls of two spiders, over /bees and over its copy."""
    first, second = (
        Crawl([site.url("/tea"), site.url(path)], settings, name=name)
        for name, path in zip(names, ("/bees", "/bees-copy"), strict=True)
    )
    return [[first, second]]


def kept(results):
    """Return the paths of the items; the callbacks of copies of another crawl's pages run."""
    paths = (urlsplit(item["url"]).path for result in results for item in result.items)
    return sorted(path for path in paths if path != "/tea")


@pytest.mark.parametrize("names", [("one", "two"), ("same", "same")])
@pytest.mark.parametrize("process", ["AsyncCrawlerProcess", "CrawlerProcess"])
def test_crawlers_of_one_process_share_a_handle(site_with_family, tmp_path, process, names):
    # A second handle would be refused by LevelDB.
    shared = {"SIMHASH_SHARED": True} if names[0] != names[1] else {}
    results = run(tmp_path, *two(site_with_family, names=names, **shared), process=process)
    assert [result.finish_reason for result in results] == ["finished"] * 2
    assert not any(result.stat("errors/index") for result in results)
    # Crawls that run at once count as one.
    assert len(kept(results)) == 1
    assert sum(result.stat("near_duplicate") for result in results) == 1
    assert max(result.stat("index/size") for result in results) == 2


class OutlastingSpider(PagesSpider):
    """Asks for its second page when the crawl beside it has ended, if it is called "two"."""

    ended: ClassVar[list[str]] = []

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.ends, signal=signals.engine_stopped)
        return spider

    def ends(self):
        self.ended.append(self.name)

    def go_on(self):
        if self.name == "two" and not self.ended:
            raise DontCloseSpider
        super().go_on()


def test_a_crawl_goes_on_after_its_neighbour_closed_their_index(site_with_family, tmp_path):
    [crawls] = two(site_with_family, SIMHASH_SHARED=True)
    outlasting = [replace(crawl, spider=f"{__name__}.OutlastingSpider") for crawl in crawls]
    one, other = run(tmp_path, outlasting)
    assert kept([one, other]) == ["/bees"]
    assert (other.stat("near_duplicate"), other.stat("errors/index")) == (1, 0)
    assert other.stat("index/size") == 2


def test_spider_names_may_be_anything(site_with_family, tmp_path):
    names = ["../out", "a/b", "a%2Fb", "..", ".hidden", "蜘蛛", "with space", "CON:1"]
    results = run(tmp_path, *(Crawl([site_with_family.url("/bees")], name=name) for name in names))
    assert [result.finish_reason for result in results] == ["finished"] * len(names)
    assert [result.stat("new") for result in results] == [1] * len(names)
    directories = list((tmp_path / "simhash" / "spiders").iterdir())
    assert len(directories) == len(names)
    assert all((directory / "manifest.json").is_file() for directory in directories)
