"""The log lines, stats, final summary and advice of a crawl."""

import re
from types import SimpleNamespace

import pytest

from scrapy_simhash.crawl.crawl_report import UnmatchedNames
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.harness import Crawl, run, run_named
from tests.crawl.pages import page

# Article → number of its near-duplicates in the crawl.
COPIES = {"mill": 1, "bees": 1, "paper": 2, "tram": 1, "ice": 3, "clock": 1, "茶园": 0}


@pytest.fixture(scope="module")
def crawls(site, module_path):
    requests = []
    for number, (name, copies) in enumerate(COPIES.items()):
        requests.append(site.put(f"/{number}", page(name)))
        requests += [site.put(f"/{number}/{n}", page(name, copy=n)) for n in range(1, copies + 1)]
    requests.append({"url": site.url("/0"), "dont_filter": True})
    requests.append({"url": site.put("/short", "<p>few words</p>"), "dont_filter": True})
    requests.append({"url": site.put("/none", ""), "dont_filter": True})
    requests.append({"url": site.put("/changed", page("石桥"))})
    first = Crawl(requests, name="first")
    found = run(module_path, first, Crawl(requests, {"SIMHASH_DEBUG": True}, name="debug"))
    site.put("/changed", page("kite"))
    found += run(module_path, first, Crawl([site.url("/none")], name="nothing"))
    return dict(zip(("first", "debug", "second", "nothing"), found, strict=True))


def test_one_line_at_the_start_says_all_that_matters(crawls, module_path):
    preset = PRESETS[DEFAULT_PRESET]
    directory = module_path / "simhash" / "spiders" / "first"
    for name, size in (("first", 0), ("second", len(COPIES) + 1)):
        [line] = crawls[name].lines("INFO", f"scheme {preset.scheme.id} ")
        assert f"preset {DEFAULT_PRESET}" in line
        assert f"k = {preset.max_distance}, " in line
        assert re.search(r"\d+ tables with [\d-]+-bit prefixes", line)
        assert f"{directory} with {size} fingerprints" in line


def test_exporters_can_carry_the_stats(crawls):
    ours = [
        one for result in crawls.values() for one in result.stats.items() if "simhash/" in one[0]
    ]
    assert {type(value) for _, value in ours} == {int}
    assert all(re.fullmatch(r"[\w/.-]+", name, re.ASCII) for name, _ in ours)
    times = {name.split("/")[-1]: value for name, value in ours if "/time/" in name}
    steps = {"extraction_ms", "tokenization_ms", "fingerprint_ms", "index_ms"}
    assert steps <= times.keys()
    assert min(times.values()) >= 0
    assert crawls["first"].stats["simhash/time/extraction_ms"] > 0


def test_the_first_near_duplicate_is_logged_with_both_urls_and_the_distance(crawls, site):
    [line] = crawls["first"].lines("INFO", "near-duplicate page")
    assert f" {site.url('/0/1')} of {site.url('/0')} at distance " in line
    assert int(re.search(r"at distance (\d+)", line)[1]) <= PRESETS[DEFAULT_PRESET].max_distance
    assert "SIMHASH_DEBUG" in line


def test_debug_logs_every_near_duplicate(crawls):
    lines = crawls["debug"].lines("INFO", "near-duplicate page")
    assert len(lines) == len(set(lines)) == sum(COPIES.values())
    assert not any("SIMHASH_DEBUG" in line for line in lines)


def test_stats_count_every_outcome(crawls):
    stats = crawls["first"].simhash_stats()
    near = sum(COPIES.values())
    assert stats == {
        "checked": len(COPIES) + near + 2,
        "new": len(COPIES) + 1,
        "near_duplicate": near,
        "unchanged": 1,
        "dropped": near,
        "dropped/near_duplicate": near,
        "tagged/unchanged": 1,
        "exact_duplicate": 1,  # the first page again
        "extraction/readability": stats["checked"] + 1,
        "skipped/few_tokens": 1,
        "skipped/empty": 1,
        "index/size": len(COPIES) + 1,
    }
    stats = crawls["second"].simhash_stats()
    assert "new" not in stats
    assert (stats["unchanged"], stats["changed"]) == (len(COPIES) + 1, 1)
    assert stats["near_duplicate"] == near
    assert stats["index/size"] == len(COPIES) + 1


def test_a_summary_at_the_end_says_what_was_done_and_has_the_largest_clusters(crawls, site):
    near, checked = sum(COPIES.values()), crawls["first"].stat("checked")
    [line] = crawls["first"].lines(f"simhash: {checked} pages judged")
    summary, _, largest = line.partition("; most copies: ")
    assert summary.endswith(
        f": {len(COPIES) + 1} new, 1 unchanged, 0 changed, {near} near-duplicates "
        f"({near / checked:.1%}); {near} copies dropped; 2 skipped"
    )
    shown = [part.split(" of ") for part in largest.split(", ")]
    assert shown[:2] == [["3", site.url("/4")], ["2", site.url("/2")]]
    assert (len(shown), shown[2][0]) == (3, "1")
    # Without pages to judge:
    [line] = crawls["nothing"].lines("0 pages judged")
    assert "1 skipped" in line
    assert "most copies" not in line


def test_reading_is_quiet_beyond_that(crawls):
    # Start, first near-duplicate, summary: no line for each page, none from our libraries.
    for name in ("first", "second"):
        assert len(crawls[name].lines("INFO [scrapy_simhash")) == 3
        assert not crawls[name].lines("[readability")
        assert not crawls[name].lines("jieba.")
        assert not crawls[name].lines("WARNING")


def test_names_that_match_nothing_on_the_first_pages_are_said_early():
    warnings = []
    errors = SimpleNamespace(warn_once=lambda _, message, values: warnings.append(message % values))
    names = UnmatchedNames("abc", "%(names)s: %(pages)d", errors)
    for number in range(100):
        assert warnings == []
        names.count(["a", "c"] if number == 7 else ["a", "b", "c"])
    assert warnings == ["'a', 'c': 100"]


NAMES = ("mill", "bees", "paper")
ITEMS = {f"/{name}": [{"id": name, "text": page(name), "empty": " "}] for name in NAMES}
OF_ITEMS = "tests.crawl.spiders.ItemsSpider"
# Crawl → its settings, and the warning.
UNMATCHED = {
    "selectors": (
        {
            "SIMHASH_CONTENT_SELECT": ["article", ".storry"],
            "SIMHASH_CONTENT_REMOVE": ["//div[@id='adds']", "nav"],
        },
        "'.storry', \"//div[@id='adds']\" matched nothing on any of 3 pages",
    ),
    "fields": (
        {"SIMHASH_ITEM_FIELDS": ["txt", "text", "empty"]},
        "none of 3 items has text in 'txt', 'empty': ",
    ),
}
COPIED = [f"/copy/{number}" for number in range(23)]


@pytest.fixture(scope="module")
def warned(site, module_path):
    urls = [site.put(f"/{name}", page(name)) for name in NAMES]
    copies = [site.put(path, page("mill")) for path in COPIED]
    crawls = {
        name: Crawl(urls, settings, OF_ITEMS, arguments={"items": ITEMS})
        for name, (settings, _) in UNMATCHED.items()
    }
    for name, items in (("without items", ()), ("with items", [{"id": 1}])):
        arguments = {"items": dict.fromkeys(COPIED, items)}
        crawls[name] = Crawl(copies, spider=OF_ITEMS, arguments=arguments)
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", UNMATCHED)
def test_what_matched_nothing_is_a_warning_at_the_end(warned, name):
    settings, said = UNMATCHED[name]
    assert len(warned[name].items) == 3
    [line] = warned[name].lines("WARNING", said)
    assert next(iter(settings)) in line


def test_a_crawl_that_yields_no_items_and_drops_pages_is_warned(warned):
    without, with_items = warned["without items"], warned["with items"]
    [line] = without.lines("WARNING", "no callback yielded an item")
    assert f"{without.stat('dropped')} pages were dropped" in line
    assert with_items.stat("dropped") == 22
    assert not with_items.lines("WARNING", "no callback")
