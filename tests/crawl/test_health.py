"""CrawlHealth: what is found in the counts of a crawl, and when nothing can be said."""

from __future__ import annotations

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.health import MONITOR_SETTINGS, CrawlHealth, NotJudged, read_limits
from scrapy_simhash.crawl.settings import SETTINGS
from scrapy_simhash.crawl.settings_reader import SettingsReader
from scrapy_simhash.index.history import (
    CrawlRow,
    PageCounts,
    encode_crawl,
    last_finished,
    row_name,
)
from scrapy_simhash.url_patterns import PatternCount


def limits(**changes):
    settings = {f"SIMHASH_MONITOR_{name.upper()}": value for name, value in changes.items()}
    return read_limits(SettingsReader(Settings(settings), SETTINGS))


def crawl(*sites: tuple[str, int, int]) -> CrawlRow:
    row = CrawlRow(1, 0)
    for site, judged, near_duplicates in sites:
        row.count(site, judged, near_duplicates)
    return row


def health(now=None, before=None, stats=(), patterns=(), **changes) -> CrawlHealth:
    named = {f"simhash/{name}": value for name, value in dict(stats).items()}
    return CrawlHealth(limits(**changes), named, now, before, patterns)


def test_share_of_near_duplicates():
    assert health(crawl(("a", 200, 100))).near_duplicates() == ""
    found = health(crawl(("a", 200, 101))).near_duplicates()
    assert found == (
        "50% of 200 pages of all sites are near-duplicates (SIMHASH_MONITOR_MAX_NEAR_DUPLICATES)"
    )
    assert health(crawl(("a", 200, 101)), max_near_duplicates=0.6).near_duplicates() == ""


def test_a_site_is_found_among_others():
    now = crawl(("a", 900, 90), ("b", 100, 80), ("c", 99, 99))
    found = health(now).near_duplicates()
    assert found.startswith("80% of 100 pages of b are near-duplicates (")
    many = crawl(*((f"s{number}", 100, 100) for number in range(9)))
    assert "; and 5 more (" in health(many).near_duplicates()


def test_a_sudden_change_either_way():
    before = crawl(("a", 500, 200), ("b", 500, 50), ("few", 99, 0))
    assert health(crawl(("a", 500, 290), ("b", 500, 0)), before).change() == ""
    found = health(crawl(("a", 500, 20), ("b", 500, 260), ("few", 100, 100)), before).change()
    assert found == (
        "4% of the pages of a are near-duplicates, and 40% were in the crawl before; "
        "52% of the pages of b are near-duplicates, and 10% were in the crawl before "
        "(SIMHASH_MONITOR_MAX_CHANGE)"
    )
    assert health(crawl(("a", 100, 100)), before, max_change=1).change() == ""
    with pytest.raises(NotJudged, match="no earlier crawl"):
        health(crawl(("a", 100, 100))).change()


def test_url_patterns():
    patterns = [
        PatternCount("a/*", 200, 101, 0, "a/1"),
        PatternCount("b/\x1b*", 200, 100, 0, "b/1"),
    ]
    found = health(patterns=patterns).url_patterns()
    assert found.startswith("101 of 200 pages of a/* are like each other (")
    assert "\x1b" not in health(patterns=patterns, max_near_duplicates=0).url_patterns()


def test_floods():
    assert health().floods() == ""
    assert (
        health(stats={"kept/flood": 1})
        .floods()
        .startswith("pages beyond SIMHASH_CLUSTER_LIMIT: 1 (")
    )
    assert health(stats={"kept/flood": 1}, max_flooded=1).floods() == ""


def test_pages_without_a_text():
    stats = {"checked": 90, "skipped/few_tokens": 5, "skipped/no_text": 2, "skipped/timeout": 3}
    assert health(stats=stats).extraction() == ""
    found = health(stats=stats | {"skipped/extraction_error": 1}).extraction()
    assert found == "6 of 101 pages have no text (SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS)"


def test_error_pages():
    assert health(stats={"checked": 100}).error_pages() == ""
    stats = {"checked": 100, "error_page": 11}
    assert health(stats=stats).error_pages().startswith("11 of 100 pages are error pages (")


@pytest.mark.parametrize("name", ["locked", "unreachable", "errors/index"])
def test_the_index(name):
    assert health().index() == ""
    assert (
        health(stats={name: 2}).index() == f"simhash/{name} is 2 (look for `simhash:` in the log)"
    )


def test_too_few_pages():
    few = health(crawl(("a", 99, 99)), crawl(("a", 100, 0)), {"checked": 99})
    for find in (few.near_duplicates, few.change, few.extraction, few.error_pages):
        with pytest.raises(NotJudged, match=r"99 pages are fewer than SIMHASH_MONITOR_MIN_PAGES"):
            find()
    with pytest.raises(NotJudged, match="no index was open"):
        health().near_duplicates()


def test_a_crawl_whose_index_of_items_cannot_be_opened_had_no_index(tmp_path):
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_ENABLED": True,
        "SIMHASH_WORKERS": 0,
        "SIMHASH_DIR": str(tmp_path),
        "SIMHASH_ITEM_FIELDS": ["text"],
        "TWISTED_REACTOR_ENABLED": False,
    }
    crawler = Crawler(Spider, settings)
    crawler.crawling = True
    crawler.spider = Spider("none")
    crawler._apply_settings()
    extension = SimhashExtension.of(crawler)
    items = extension.settings.item_directory
    items.mkdir(parents=True)
    (items / "thesis.txt").write_text("three years of work")
    extension.spider_opened(crawler.spider)
    assert extension.close_reason == "simhash_index_error"
    found = extension.health({})
    for find in (found.near_duplicates, found.change):
        with pytest.raises(NotJudged, match="no index was open"):
            find()


def test_every_limit_has_its_setting():
    assert limits() == MONITOR_SETTINGS


def test_the_crawl_before():
    def row(start: int, *, finished: bool) -> tuple[str, bytes]:
        made = CrawlRow(start, 0, finished=finished, pages=PageCounts(start, 0))
        return row_name(start), encode_crawl(made)

    rows = [row(1, finished=True), row(5, finished=True), row(9, finished=False)]
    damaged = [(row_name(7), b"{"), ("x", b"")]
    assert last_finished([*rows, *damaged], before=12).start == 5
    assert last_finished(rows, before=5).start == 1
    assert last_finished(rows, before=1) is None
    assert last_finished([], before=1) is None
