"""Many responses at once, and spiders of any name."""

import threading

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.index import open_index
from tests.crawl.harness import crawled
from tests.crawl.pages import page

FAMILY = 64
AT_ONCE = {
    "CONCURRENT_REQUESTS": FAMILY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": FAMILY,
    "SIMHASH_DEBUG": True,
}


@pytest.mark.thorough
@pytest.mark.parametrize("action", ["drop", "tag", "follow"])
def test_of_64_near_duplicates_at_once_exactly_one_is_the_original(site, tmp_path, action):
    """The site serves them only when all were requested."""
    barrier = threading.Barrier(FAMILY, timeout=30)
    urls = [site.put(f"/{at}", page("mill", copy=at + 1), barrier=barrier) for at in range(FAMILY)]
    requests = [{"url": url, "errback": True} for url in urls]
    how = {"SIMHASH_FOLLOW": True} if action == "follow" else {"SIMHASH_ACTION": action}
    result = crawled(tmp_path, requests, AT_ONCE | how, arguments={"at_once": True})
    assert result.finish_reason == "finished"
    assert (result.stat("new"), result.stat("near_duplicate")) == (1, FAMILY - 1)
    assert (result.stat("index/size"), len(result.events)) == (1, FAMILY)
    [original] = [event for event in result.events if event["verdict"]["kind"] == "new"]
    assert original["what"] == "callback"
    representatives = {event["verdict"]["representative"] for event in result.events}
    assert representatives == {None, site.url(original["path"])}
    assert len(result.seen("callback")) == (1 if action == "drop" else FAMILY)
    assert len(result.lines("near-duplicate page")) == FAMILY - 1
    done = {"drop": "dropped", "tag": "tagged", "follow": "followed"}[action]
    with open_index(tmp_path / "simhash" / "spiders" / "pages") as index:
        assert [line.action for line in index.near_duplicates()] == [done] * (FAMILY - 1)


def test_spider_names_may_be_anything(tmp_path):
    names = ["../out", "a/b", "a%2Fb", "..", ".hidden", "蜘蛛", "with space", "CON:1"]
    given = Settings({"SIMHASH_DIR": str(tmp_path)})
    places = {SimhashSettings(given, name).index_location("page") for name in names}
    assert {place.resolve().parent for place in places} == {tmp_path / "spiders"}
    assert len(places) == len(names)
