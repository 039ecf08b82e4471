"""Many responses at once, and spiders of any name."""

import threading

import pytest

from scrapy_simhash.index import open_index
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page, put_articles

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
    put_articles(site, "/bees bees")
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


def test_spider_names_may_be_anything(site_with_family, tmp_path):
    names = ["../out", "a/b", "a%2Fb", "..", ".hidden", "蜘蛛", "with space", "CON:1"]
    results = run(tmp_path, *(Crawl([site_with_family.url("/bees")], name=name) for name in names))
    assert [result.finish_reason for result in results] == ["finished"] * len(names)
    assert [result.stat("new") for result in results] == [1] * len(names)
    directories = list((tmp_path / "simhash" / "spiders").iterdir())
    assert len(directories) == len(names)
    assert all((directory / "manifest.json").is_file() for directory in directories)
