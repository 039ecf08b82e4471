"""SIMHASH_CONDITIONAL: pages that the server has not changed are not downloaded again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.crawl.conditional import CONDITIONS_META_KEY
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page

if TYPE_CHECKING:
    from pathlib import Path

ON = {"SIMHASH_INCREMENTAL": True, "SIMHASH_CONDITIONAL": True}
PAST = "Tue, 06 Jan 2015 10:00:00 GMT"


@pytest.fixture(scope="module")
def crawls(site, module_path: Path, every_index):
    """Crawl pages with all kinds of validators twice; in between, some pages change."""
    urls = [
        site.put("/mill", page("mill"), etag='"m1"', last_modified=PAST),
        site.put("/bees", page("bees"), etag='W/"b1"'),
        site.put("/paper", page("paper"), last_modified=PAST),
        site.put("/tram", page("tram")),
        site.put("/ice", page("ice"), etag='"' + 300 * "x" + '"'),
        site.put("/clock", page("clock"), etag='"c1"'),
        site.put("/copy", page("mill", copy=1), etag='"copy"'),
    ]
    failing = {"failing": ["/clock"]}
    [first] = run(module_path, Crawl(requests=urls, settings=ON, arguments=failing))
    site.not_modified.clear()
    site.put("/bees", page("kite"), etag='W/"b2"')
    requests = [{"url": urls[0], "errback": True}, *urls[1:]]
    [second] = run(module_path, Crawl(requests=requests, settings=ON))
    return first, second


def test_the_first_crawl_downloads_everything(crawls):
    assert crawls[0].stat("conditional/sent") == 0
    assert crawls[0].seen() == ["/mill", "/bees", "/paper", "/tram", "/ice", "/clock"]


def test_pages_that_have_not_changed_are_not_sent(crawls, site):
    second = crawls[1]
    assert site.not_modified == ["/mill", "/paper"]
    # Bees has changed. The others have no validators that can be used, were not handled, or have
    # no entry of their own.
    assert second.seen() == ["/bees", "/clock"]
    assert second.stat("conditional/sent") == 3
    assert second.stat("conditional/not_modified") == 2
    assert second.stat("conditional/asked_again") == 0
    assert second.stats["downloader/response_status_count/304"] == 2
    assert "httperror/response_ignored_count" not in second.stats
    assert second.lines("ERROR") == []


def test_requests_of_a_paused_crawl_are_not_conditional_once_it_is_off(site, tmp_path):
    url = site.put("/paused", page("kite"), etag='"k1"')
    marked = {"url": url, "meta": {CONDITIONS_META_KEY: {}}}  # as when it was scheduled
    off = ON | {"SIMHASH_CONDITIONAL": False}
    site.not_modified.clear()
    _, resumed = run(
        tmp_path, Crawl(requests=[url], settings=ON), Crawl(requests=[marked], settings=off)
    )
    assert resumed.stat("conditional/sent") == 0
    assert site.not_modified == []
    assert resumed.stat("checked") == 1


def test_they_count_as_unchanged_pages_that_are_dropped(crawls):
    second = crawls[1]
    # Tram and ice were downloaded, and are unchanged as well.
    assert second.stat("unchanged") == second.stat("dropped/unchanged") == 4
    assert (second.stat("new"), second.stat("changed"), second.stat("near_duplicate")) == (1, 1, 1)
    assert second.stat("checked") == 7
    assert second.stat("errors/index") == 0


def test_an_errback_finds_the_verdict(crawls):
    event = crawls[1].event("/mill", "errback")
    assert (event["error"], event["judged"]["kind"]) == ("NearDuplicatePage", "unchanged")
    assert len(event["judged"]["fingerprint"]) == 64
