"""The counts of what happened to seen pages add up, in every mode."""

import pytest

from scrapy_simhash.crawl.crawl_report import crawl_facts
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.harness import IN_ORDER, Crawl, crawled, run_named
from tests.crawl.pages import page
from tests.crawl.spiders import PagesSpider

NOTICE = (
    "This shop is closed for the day. Orders that reach us after noon are packed on the next "
    "working day, and the parcel leaves with the evening van. Write to the counter if a box "
    "arrives open or wet."
)
SEEN = ("near_duplicate", "unchanged")
OUTCOMES = ("dropped", "followed", "tagged")
INCREMENTAL = {"SIMHASH_INCREMENTAL": True}
TAG = {"SIMHASH_ACTION": "tag"}
TWICE = {"incremental": INCREMENTAL, "incremental, tag": INCREMENTAL | TAG, "not incremental": {}}
MODES = TWICE | {
    "drop": {},
    "follow": {"SIMHASH_FOLLOW": True},
    "tag": TAG,
    "flood": {"SIMHASH_CLUSTER_LIMIT": 1},
    "canonical": {"SIMHASH_PREFER_CANONICAL": True},
}


@pytest.fixture(scope="module")
def results(site, module_path):
    notice = "<html><body><div class='article'><p>{}</p></div></body></html>"
    canonical = '<link rel="canonical" href="/mill">'
    pages = {
        "/mill?print": page("mill", copy=1, head=canonical),
        "/mill": page("mill"),
        "/mill?sent": page("mill", copy=2, head=canonical),
        "/bees": page("bees"),
        "/bees-copy": page("bees", copy=1),
        "/bees-form": page("bees", copy=2),
        "/paper": page("paper"),
        "/notice": notice.format(NOTICE),
        "/notice-copy": notice.format(NOTICE.replace("noon", "one")),
    }
    requests = [{"url": site.put(path, body), "errback": True} for path, body in pages.items()]
    requests[5]["method"] = "POST"
    requests.append({"url": site.url("/bees"), "errback": True, "dont_filter": True})
    crawls = {name: Crawl(requests, settings | IN_ORDER) for name, settings in MODES.items()}
    run_named(module_path, {name: crawls[name] for name in TWICE})
    return run_named(module_path, crawls)


# The answer to a form passes.
METHOD = {"method": (1, 0)}


@pytest.mark.parametrize(
    ("name", "outcomes", "kept"),
    [
        # (near-duplicates, unchanged pages) that were dropped, followed and tagged
        ("drop", [(4, 0), (0, 0), (1, 1)], METHOD),
        ("follow", [(0, 0), (4, 0), (1, 1)], METHOD),
        ("tag", [(0, 0), (0, 0), (5, 1)], {}),
        ("flood", [(3, 0), (0, 0), (2, 1)], METHOD | {"flood": (1, 0)}),
        ("canonical", [(3, 0), (0, 0), (2, 1)], METHOD | {"canonical": (1, 0)}),
        ("incremental", [(4, 0), (0, 5), (1, 0)], METHOD),
        ("incremental, tag", [(0, 0), (0, 0), (5, 5)], {}),
        ("not incremental", [(4, 0), (0, 0), (1, 5)], METHOD),
    ],
)
def test_what_is_done_in_each_mode(results, name, outcomes, kept):
    result = results[name]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert not result.lines("ERROR")
    facts = crawl_facts(result.stats, name, "finished")
    assert [tuple(facts[one][kind] for kind in SEEN) for one in OUTCOMES] == outcomes
    told = {reason: tuple(n[kind] for kind in SEEN) for reason, n in facts["kept"].items()}
    assert told == kept
    assert {reason: result.stat(f"kept/{reason}") for reason in kept} == {
        reason: sum(counts) for reason, counts in kept.items()
    }
    assert tuple(facts[kind] for kind in SEEN) == tuple(map(sum, zip(*outcomes, strict=True)))
    # What errbacks, callbacks and pipelines saw.
    dropped, followed, tagged = map(sum, outcomes)
    assert result.stat("dropped") == len(result.seen("errback")) == dropped
    assert len(result.seen()) == facts["new"] + followed + tagged
    scraped = [item for item in result.items if item.get("from") != "errback"]
    assert len(scraped) == facts["new"] + tagged


class LinkingSpider(PagesSpider):
    """Yields what a page says of itself, and follows its last link."""

    def parse(self, response):
        yield {"by": response.css("i::text").get()}
        yield response.follow(response.css("a")[-1])


def test_a_copy_of_a_page_with_links_whose_item_passes_is_tagged(site, tmp_path):
    """The callbacks of copies run for their requests. All pages have the words of the items."""
    links = [site.put("/linked", page("kite"))]
    authors = {"/mill": "water wheel", "/mill-2": "stone wheel", "/mill-3": "water wheel"}
    end = "<nav>stone water wheel</nav></body>"
    urls = [
        site.put(path, page("mill", links=links).replace("</body>", f"<i>{author}</i>{end}"))
        for path, author in authors.items()
    ]
    result = crawled(tmp_path, urls, IN_ORDER, spider=f"{__name__}.LinkingSpider")
    outcomes = [result.stat(f"{one}/near_duplicate") for one in OUTCOMES]
    assert (outcomes, result.stat("kept/values")) == ([0, 1, 1], 1)
    assert sorted(str(item["by"]) for item in result.items) == [
        "None",
        "stone wheel",
        "water wheel",
    ]


def test_drop_calls_the_errback_with_response_and_verdict_and_its_items_pass(results, site):
    event = results["drop"].event("/bees-copy", "errback")
    judged = event["judged"]
    assert (event["error"], judged["kind"]) == ("NearDuplicatePage", "near-duplicate")
    assert (judged["key"], judged["representative"]) == (site.url("/bees-copy"), site.url("/bees"))
    assert 0 < judged["distance"] <= PRESETS[DEFAULT_PRESET].max_distance
    assert (event["verdict"]["kind"], event["flags"]) == ("near-duplicate", ["near-duplicate"])
    items = [item["url"] for item in results["drop"].items if item.get("from") == "errback"]
    assert site.url("/bees-copy") in items


def test_tag_shows_the_verdict_to_the_callback(results, site):
    events = {event["path"]: event for event in reversed(results["tag"].events)}
    original, copy = events["/bees"], events["/bees-copy"]
    prints = [event["verdict"]["fingerprint"] for event in (original, copy)]
    unknown = ("representative", "distance", "similarity", "similar_to", "reason", "canonical")
    assert original["verdict"] == {
        "kind": "new",
        "fingerprint": prints[0],
        **dict.fromkeys(unknown),
    }
    assert (original["flags"], copy["flags"]) == ([], ["near-duplicate"])
    assert copy["verdict"]["kind"] == "near-duplicate"
    assert copy["verdict"]["representative"] == site.url("/bees")
    assert {len(value) for value in prints} == {PRESETS[DEFAULT_PRESET].scheme.bits // 4}
    assert (int(prints[0], 16) ^ int(prints[1], 16)).bit_count() == copy["verdict"]["distance"]
