"""The plugin together with components of Scrapy and of users."""

import pytest

from tests.crawl.harness import Crawl, run_series
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.site import Answer

TAG = {"SIMHASH_ACTION": "tag"}
COMPONENTS = "tests.crawl.components"
LIMITS = {
    "CONCURRENT_REQUESTS": 1,
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": 2,
    "CLOSESPIDER_TIMEOUT_NO_ITEM": 60,
}


@pytest.fixture(scope="module")
def series(site, module_path):
    headers = {"Content-Type": "text/html", "ETag": '"1"'}
    answers = Answer(page("mill").encode(), 200, headers), Answer(b"", 304, headers)
    cache = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": str(module_path / "cache"),
        "SIMHASH_INCREMENTAL": True,
    }
    cached = Crawl([site.put_turns("/etag", *answers)], cache | TAG)
    mill, bees, *copies = put_articles(
        site, "/mill mill", "/bees bees", *(f"/copy/{number} mill 1" for number in range(6))
    )
    urls = put_articles(
        site, "/ice ice", "/tram tram", "/clock clock", "/kite kite", "/paper paper"
    )
    text = " ".join(ARTICLES["石桥"])
    items = {f"/{url.rpartition('/')[2]}": [{"same": text}] for url in urls}
    how = {"spider": "tests.crawl.spiders.ItemsSpider", "arguments": {"items": items}}
    unchanged = Crawl(urls, LIMITS | {"SIMHASH_INCREMENTAL": True}, **how)
    same_items = Crawl(urls, LIMITS | {"SIMHASH_ITEM_FIELDS": ["same"]}, **how)
    swallowing = {"SPIDER_MIDDLEWARES": {f"{COMPONENTS}.SwallowingMiddleware": 10}}
    series = {
        "cached": [cached, cached],
        "copies": [Crawl([mill, *copies, bees], LIMITS | {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 3})],
        "unchanged": [unchanged, unchanged],
        "items": [same_items, same_items],
        "swallowed": [Crawl([mill, copies[0], bees], swallowing)],
    }
    return run_series(module_path, series)


def test_a_page_that_its_server_does_not_send_again_is_unchanged(series):
    _, second = series["cached"]
    assert second.stats["httpcache/revalidate"] == 1
    assert second.event("/etag")["verdict"]["kind"] == "unchanged"


def test_copies_of_a_page_that_gave_items_count_as_items_for_limits(series):
    [result] = series["copies"]
    assert result.stats["finish_reason"] == "finished"
    assert result.seen() == ["/mill", "/bees"]


@pytest.mark.parametrize("dropped", ["unchanged", "items"])
def test_unchanged_pages_and_copies_of_items_count_as_items_for_limits(series, dropped):
    for result in series[dropped]:
        assert result.stats["finish_reason"] == "finished"
        assert len(result.events) == 5
    assert len(result.items) == (dropped == "items")


def test_items_that_a_later_middleware_drops_leave_their_page_handled(series):
    [result] = series["swallowed"]
    assert result.items == []
    assert result.stat("index/size") == 2
