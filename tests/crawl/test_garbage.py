"""The garbage collector ignores objects that live as long as the crawl."""

from __future__ import annotations

import gc

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_simhash.crawl.extension import SimhashExtension


class NoSpider(Spider):
    """A spider without requests."""

    name = "none"


def test_what_lives_as_long_as_the_crawl_is_passed_over_until_its_end(tmp_path):
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_ENABLED": True,
        "SIMHASH_WORKERS": 0,
        "SIMHASH_DIR": str(tmp_path),
    }
    crawler = Crawler(NoSpider, settings | {"TWISTED_REACTOR_ENABLED": False})
    crawler.crawling = True
    crawler._apply_settings()
    crawler.spider = NoSpider()
    extension = SimhashExtension.of(crawler)
    extension.spider_opened(crawler.spider)
    try:
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        extension.spider_closed("finished")
    assert gc.get_freeze_count() == 0
