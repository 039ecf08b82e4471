"""The plugin together with components of Scrapy and of users."""

import pytest

from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.site import Answer

TAG = {"SIMHASH_ACTION": "tag"}
COMPONENTS = "tests.crawl.components"


def test_a_page_that_its_server_does_not_send_again_is_unchanged(site, tmp_path):
    headers = {"Content-Type": "text/html", "ETag": '"1"'}
    answers = Answer(page("mill").encode(), 200, headers), Answer(b"", 304, headers)
    url = site.put_turns("/etag", *answers)
    settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "SIMHASH_INCREMENTAL": True,
    }
    crawl = Crawl([url], settings | TAG)
    _, second = run(tmp_path, crawl, crawl)
    assert second.stats["httpcache/revalidate"] == 1
    assert second.event("/etag")["verdict"]["kind"] == "unchanged"


def test_copies_of_a_page_that_gave_items_count_as_items_for_limits(site, tmp_path):
    urls = put_articles(site, "/mill mill", *(f"/copy/{n} mill 1" for n in range(6)), "/bees bees")
    limits = {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 3, "CLOSESPIDER_TIMEOUT_NO_ITEM": 60}
    result = crawled(tmp_path, urls, limits | {"CONCURRENT_REQUESTS": 1})
    assert result.stats["finish_reason"] == "finished"
    assert result.seen() == ["/mill", "/bees"]


@pytest.mark.parametrize("dropped", ["unchanged", "items"])
def test_unchanged_pages_and_copies_of_items_count_as_items_for_limits(site, tmp_path, dropped):
    urls = put_articles(site, "/mill mill", "/ice ice", "/bees bees", "/tram tram", "/clock clock")
    settings = {"CONCURRENT_REQUESTS": 1, "SIMHASH_INCREMENTAL": dropped == "unchanged"}
    if dropped == "items":
        settings["SIMHASH_ITEM_FIELDS"] = ["same"]
    limits = {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 2, "CLOSESPIDER_TIMEOUT_NO_ITEM": 60}
    items = {f"/{url.rpartition('/')[2]}": [{"same": " ".join(ARTICLES["paper"])}] for url in urls}
    how = {"spider": "tests.crawl.spiders.ItemsSpider", "arguments": {"items": items}}
    crawl = Crawl(urls, settings | limits, **how)
    for result in run(tmp_path, crawl, crawl):
        assert result.stats["finish_reason"] == "finished"
        assert len(result.events) == len(urls)
    assert len(result.items) == (dropped == "items")


def test_items_that_a_later_middleware_drops_leave_their_page_handled(site, tmp_path):
    urls = put_articles(site, "/mill mill", "/copy mill 1", "/bees bees")
    settings = {"SPIDER_MIDDLEWARES": {f"{COMPONENTS}.SwallowingMiddleware": 10}}
    result = crawled(tmp_path, urls, settings)
    assert result.items == []
    assert result.stat("index/size") == 2
