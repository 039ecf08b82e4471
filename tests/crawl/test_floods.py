"""Clusters that grow too fast are tagged and no longer dropped, with one warning."""

from __future__ import annotations

import pytest

from scrapy_simhash.crawl import floods
from scrapy_simhash.crawl.floods import DEFAULT_CLUSTER_LIMIT, Floods
from tests.crawl.answers import html
from tests.crawl.harness import Crawl, run, run_named
from tests.crawl.pages import ARTICLES, page

LIMIT, PAGES = 3, 8
BAN = (
    "Access to this page is denied, because your requests look like those of a machine. Wait a "
    "while, or solve the riddle below to show that you are a person who reads what we write. If "
    "you see this notice again and again, write to the editors, and say from where you come and "
    "which pages you wanted to read when it appeared. The riddle: what has a bed and never sleeps?"
)


def test_the_limit_is_the_number_of_copies_that_are_no_flood():
    watch = Floods(limit=2)
    assert [watch.add("page", key) for key in "abcd"] == [False, False, True, True]


def test_each_page_counts_once():
    watch = Floods(limit=2)
    assert not any(watch.add("page", key) for key in "aaabbbab")
    assert watch.add("page", "c")
    # It is a flood now, also for pages that were counted before.
    assert watch.add("page", "a")


def test_clusters_are_counted_apart():
    watch = Floods(limit=1)
    assert not watch.add("one", "a")
    assert not watch.add("two", "a")
    assert watch.add("one", "b")
    assert not watch.add("two", "a")


def test_no_limit_is_no_flood_and_counts_nothing():
    watch = Floods(limit=0)
    assert not any(watch.add("page", str(number)) for number in range(1000))
    assert len(watch._members) == 0


def test_memory_is_bounded_and_a_flood_stays_in_it(monkeypatch):
    monkeypatch.setattr(floods, "_WATCHED_CLUSTERS", 5)
    watch = Floods(limit=3)
    for number in range(100):
        watch.add(f"page {number}", "copy")
        if watch.add("flood", str(number)):
            break
    assert number == 3
    for number in range(100):
        assert watch.add("flood", str(number))
        assert not watch.add(f"other {number}", "copy")
    assert len(watch._members) == 5
    # For a flood, only as many members are kept as exceed the limit.
    assert len(watch._members[hash("flood")]) == 4


# Crawls


def ban_page(number: int = 0) -> str:
    return f"<html><head><title>Denied</title></head><body><p>{BAN} {number}</p></body></html>"


def crawl(urls, **settings):
    return Crawl(
        requests=[{"url": url, "errback": True} for url in urls],
        settings={"SIMHASH_WORKERS": 0} | settings,
    )


@pytest.fixture(scope="module")
def results(site, module_path):
    names = [*ARTICLES][:PAGES]

    def banned(name):
        """A site that shows nothing but a ban page from the first request on."""
        return [
            site.put_turns(f"/{name}/{number}", html(ban_page(number))) for number in range(PAGES)
        ]

    limit = {"SIMHASH_CLUSTER_LIMIT": LIMIT}
    crawls = {
        "ban": crawl(banned("ban"), **limit),
        "none": crawl(banned("none"), SIMHASH_CLUSTER_LIMIT=0),
        "many": crawl(banned("many"), SIMHASH_CLUSTER_LIMIT=str(PAGES)),
        "default": crawl(banned("default")),
        "tag": crawl(banned("tag"), SIMHASH_ACTION="tag", **limit),
        "follow": crawl(banned("follow"), SIMHASH_FOLLOW=True, **limit),
        "two": crawl(banned("two") + banned("again"), **limit),
        # The ban comes after a while and goes away again.
        "while": crawl(
            [
                site.put_turns(
                    f"/while/{number}", html(ban_page() if 1 < number < 7 else page(name))
                )
                for number, name in enumerate(names)
            ],
            **limit,
        ),
    }
    return run_named(module_path, crawls)


def numbers(result, what="callback"):
    return [int(path.rpartition("/")[2]) for path in result.seen(what)]


def test_after_the_limit_pages_pass_tagged(results):
    result = results["ban"]
    passed = [0, *range(LIMIT + 1, PAGES)]
    assert numbers(result) == passed
    assert numbers(result, "errback") == [*range(1, LIMIT + 1)]
    assert result.stat("dropped") == LIMIT
    assert result.stat("kept/flood") == PAGES - 1 - LIMIT
    assert result.stat("near_duplicate") == PAGES - 1
    kinds = [result.event(f"/ban/{number}")["verdict"]["kind"] for number in passed]
    assert kinds == ["new", *["near-duplicate"] * (PAGES - 1 - LIMIT)]


def test_one_warning_shows_the_text_and_says_what_to_set(results, site):
    result = results["ban"]
    [line] = result.lines("WARNING", "imhash")
    for part in (
        f"more than {LIMIT} pages",
        site.url("/ban/0"),
        site.url(f"/ban/{LIMIT + 1}"),
        BAN[:60],
        "SIMHASH_CLUSTER_LIMIT",
    ):
        assert part in line


@pytest.mark.parametrize("name", ["none", "many", "default"])
def test_up_to_the_limit_or_without_one_all_are_dropped(results, name):
    result = results[name]
    assert numbers(result) == [0]
    assert (result.stat("dropped"), result.stat("kept/flood")) == (PAGES - 1, 0)
    assert not result.lines("WARNING", "imhash")
    assert DEFAULT_CLUSTER_LIMIT >= PAGES


def test_in_tag_mode_a_flood_is_only_said(results):
    result = results["tag"]
    assert numbers(result) == [*range(PAGES)]
    assert (result.stat("dropped"), result.stat("kept/flood")) == (0, 0)
    assert len(result.lines("WARNING", "imhash", "more than")) == 1


def test_where_links_are_followed_items_pass_after_the_limit(results):
    result = results["follow"]
    assert numbers(result) == [*range(PAGES)]
    assert result.stat("dropped_items") == LIMIT
    assert len(result.items) == PAGES - LIMIT


def test_a_flood_is_one_cluster_whatever_the_paths(results):
    result = results["two"]
    assert result.stat("dropped") == LIMIT
    assert len(result.lines("WARNING", "imhash", "more than")) == 1


def test_pages_after_a_ban_that_was_not_noticed_are_kept(results):
    result = results["while"]
    # 2 is the first ban page, 3 to 5 are dropped as its copies, 6 passes.
    assert numbers(result) == [0, 1, 2, 6, 7]
    assert [event["verdict"]["kind"] for event in result.events if event["what"] == "callback"] == [
        "new",
        "new",
        "new",
        "near-duplicate",
        "new",
    ]


def test_a_page_that_is_asked_for_again_and_again_is_no_flood(site, tmp_path):
    first, copy = site.put("/first", page("mill")), site.put("/copy", page("mill", copy=1))
    again = [{"url": copy, "dont_filter": True} for _ in range(2 * LIMIT)]
    requests = Crawl(
        requests=[first, *again], settings={"SIMHASH_CLUSTER_LIMIT": LIMIT, "SIMHASH_WORKERS": 0}
    )
    [result] = run(tmp_path, requests)
    assert (result.stat("dropped"), result.stat("kept/flood")) == (1, 0)
    assert result.stat("kept/asked_again") == 2 * LIMIT - 1
