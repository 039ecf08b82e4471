"""What happens to near-duplicate pages: dropped or tagged, their links followed or not."""

import re

import pytest

from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles

K = PRESETS[DEFAULT_PRESET].max_distance
ACTIONS = {
    "drop": {},
    "drop, follow": {"SIMHASH_ACTION": "drop", "SIMHASH_FOLLOW": True},
    "tag": {"SIMHASH_ACTION": "tag"},
    "tag, don't follow": {"SIMHASH_ACTION": "tag", "SIMHASH_FOLLOW": False},
}


@pytest.fixture(scope="module")
def results(every_index, site, module_path):
    # With one or two links, the pages would be a chain.
    site.put("/mill", page("mill", links=["/linked-by-original", "/mill", "/mill"]))
    site.put("/copy", page("mill", copy=2, links=["/linked-by-copy", "/mill", "/mill"]))
    put_articles(site, "/linked-by-original bees", "/linked-by-copy paper")
    requests = [site.url("/mill"), site.url("/copy")]
    requests += put_articles(site, "/tea 茶园", "/tea-copy 茶园 3")
    crawls = {name: Crawl(requests, s) for name, s in ACTIONS.items()}
    crawls["errback"] = Crawl([site.url("/mill"), {"url": site.url("/copy"), "errback": True}])
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", ACTIONS)
def test_every_crawl_ends_well_and_counts_the_same_verdicts(results, name):
    result = results[name]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert not result.lines("ERROR")
    assert result.stat("near_duplicate") == 2
    assert result.stat("checked") == result.stat("new") + 2


def test_drop_keeps_copies_from_callbacks_and_pipelines(results, site):
    result = results["drop"]
    assert result.seen() == ["/mill", "/linked-by-original", "/tea"]
    assert [item["url"] for item in result.items] == [site.url(path) for path in result.seen()]
    assert result.stat("dropped") == 2
    assert result.stats["item_scraped_count"] == 3
    assert "spider_exceptions/count" not in result.stats


def test_drop_calls_the_errback_with_response_and_verdict_and_its_items_pass(results, site):
    result = results["errback"]
    assert "/copy" not in result.seen()
    event = result.event("/copy", "errback")
    original = result.event("/mill")["verdict"]
    assert event["error"] == "NearDuplicatePage"
    judged = event["judged"]
    assert judged["kind"] == "near-duplicate"
    assert judged["key"] == site.url("/copy")
    assert judged["representative"] == site.url("/mill")
    assert 0 < judged["distance"] <= K
    assert judged["fingerprint"] != original["fingerprint"]
    assert (event["verdict"]["kind"], event["flags"]) == ("near-duplicate", ["near-duplicate"])
    [item] = [item for item in results["errback"].items if item.get("from") == "errback"]
    assert item["url"] == site.url("/copy")


def test_drop_with_follow_runs_the_callback_for_the_links_alone(results, site):
    result = results["drop, follow"]
    assert result.seen() == [
        *("/mill", "/linked-by-original"),
        *("/copy", "/linked-by-copy"),
        *("/tea", "/tea-copy"),
    ]
    assert not {site.url("/copy"), site.url("/tea-copy")} & {item["url"] for item in result.items}
    assert len(result.items) == 4
    assert result.stat("dropped_items") == 2
    assert result.stat("dropped") == 0


def test_tag_shows_the_verdict_to_the_callback(results, site):
    result = results["tag"]
    original, copy = result.event("/mill"), result.event("/copy")
    assert original["verdict"] == {
        "kind": "new",
        "representative": None,
        "distance": None,
        "fingerprint": original["verdict"]["fingerprint"],
        "similarity": None,
        "similar_to": None,
        "reason": None,
        "canonical": None,
    }
    assert original["flags"] == []
    assert copy["verdict"]["kind"] == "near-duplicate"
    assert copy["verdict"]["representative"] == site.url("/mill")
    assert copy["flags"] == ["near-duplicate"]
    prints = [event["verdict"]["fingerprint"] for event in (original, copy)]
    bits = PRESETS[DEFAULT_PRESET].scheme.bits
    assert all(re.fullmatch(f"[0-9a-f]{{{bits // 4}}}", value) for value in prints)
    assert (int(prints[0], 16) ^ int(prints[1], 16)).bit_count() == copy["verdict"]["distance"]
    assert result.event("/tea-copy")["verdict"]["representative"] == site.url("/tea")


def test_tag_follows_links_and_passes_items(results, site):
    result = results["tag"]
    assert {"/linked-by-copy", "/linked-by-original"} <= set(result.seen())
    assert {site.url("/copy"), site.url("/tea-copy")} <= {item["url"] for item in result.items}
    assert result.stat("dropped") == result.stat("dropped_items") == 0


def test_tag_without_follow_keeps_items_and_drops_requests_of_copies(results, site):
    result = results["tag, don't follow"]
    assert {"/copy", "/tea-copy", "/linked-by-original"} <= set(result.seen())
    assert "/linked-by-copy" not in result.seen()
    assert site.url("/copy") in {item["url"] for item in result.items}
    assert result.stat("dropped_requests") == 3
