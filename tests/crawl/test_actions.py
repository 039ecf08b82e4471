"""What happens to near-duplicate pages: dropped or tagged, their links followed or not."""

from __future__ import annotations

import pytest

from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles

ORIGINALS = ["/mill", "/linked-by-original", "/tea"]
ALL = ["/mill", "/linked-by-original", "/copy", "/linked-by-copy", "/tea", "/tea-copy"]
# Action → its settings, the pages that callbacks see, those whose items pass, and stats.
ACTIONS = {
    "drop": ({}, ORIGINALS, ORIGINALS, {"dropped": 2}),
    "drop, follow": (
        {"SIMHASH_ACTION": "drop", "SIMHASH_FOLLOW": True},
        ALL,
        ["/mill", "/linked-by-original", "/linked-by-copy", "/tea"],
        {"dropped": 0, "dropped_items": 2},
    ),
    "tag": ({"SIMHASH_ACTION": "tag"}, ALL, ALL, {"dropped": 0, "dropped_items": 0}),
    "tag, don't follow": (
        {"SIMHASH_ACTION": "tag", "SIMHASH_FOLLOW": False},
        [path for path in ALL if path != "/linked-by-copy"],
        [path for path in ALL if path != "/linked-by-copy"],
        {"dropped_requests": 3},
    ),
}


@pytest.fixture(scope="module")
def results(every_index, site, module_path):
    # With one or two links, the pages would be a chain.
    site.put("/mill", page("mill", links=["/linked-by-original", "/mill", "/mill"]))
    site.put("/copy", page("mill", copy=2, links=["/linked-by-copy", "/mill", "/mill"]))
    put_articles(site, "/linked-by-original bees", "/linked-by-copy paper")
    requests = [site.url("/mill"), site.url("/copy")]
    requests += put_articles(site, "/tea 茶园", "/tea-copy 茶园 3")
    crawls = {name: Crawl(requests, settings) for name, (settings, *_) in ACTIONS.items()}
    crawls["errback"] = Crawl([site.url("/mill"), {"url": site.url("/copy"), "errback": True}])
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", ACTIONS)
def test_what_callbacks_see_which_items_pass_and_what_is_counted(results, site, name):
    result, (_, seen, scraped, stats) = results[name], ACTIONS[name]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert not result.lines("ERROR")
    assert "spider_exceptions/count" not in result.stats
    assert result.seen() == seen
    assert [item["url"] for item in result.items] == [site.url(path) for path in scraped]
    assert result.stats["item_scraped_count"] == len(scraped)
    assert {stat: result.stat(stat) for stat in stats} == stats
    assert result.stat("checked") == result.stat("new") + 2
    assert result.stat("near_duplicate") == 2


def test_drop_calls_the_errback_with_response_and_verdict_and_its_items_pass(results, site):
    result = results["errback"]
    assert "/copy" not in result.seen()
    event = result.event("/copy", "errback")
    judged = event["judged"]
    assert (event["error"], judged["kind"]) == ("NearDuplicatePage", "near-duplicate")
    assert (judged["key"], judged["representative"]) == (site.url("/copy"), site.url("/mill"))
    assert 0 < judged["distance"] <= PRESETS[DEFAULT_PRESET].max_distance
    assert (event["verdict"]["kind"], event["flags"]) == ("near-duplicate", ["near-duplicate"])
    [item] = [item for item in result.items if item.get("from") == "errback"]
    assert item["url"] == site.url("/copy")


def test_tag_shows_the_verdict_to_the_callback(results, site):
    result = results["tag"]
    original, copy = result.event("/mill"), result.event("/copy")
    prints = [event["verdict"]["fingerprint"] for event in (original, copy)]
    unknown = ("representative", "distance", "similarity", "similar_to", "reason", "canonical")
    assert original["verdict"] == {
        "kind": "new",
        "fingerprint": prints[0],
        **dict.fromkeys(unknown),
    }
    assert (original["flags"], copy["flags"]) == ([], ["near-duplicate"])
    assert copy["verdict"]["kind"] == "near-duplicate"
    assert copy["verdict"]["representative"] == site.url("/mill")
    assert {len(value) for value in prints} == {PRESETS[DEFAULT_PRESET].scheme.bits // 4}
    assert (int(prints[0], 16) ^ int(prints[1], 16)).bit_count() == copy["verdict"]["distance"]
    assert result.event("/tea-copy")["verdict"]["representative"] == site.url("/tea")
