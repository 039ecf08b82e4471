"""SIMHASH_ITEM_FIELDS: items are judged by their own content."""

import pytest

from tests.crawl.harness import Crawl, run, run_named, run_series
from tests.crawl.pages import ARTICLES, page, put_articles

FIELDS = {"SIMHASH_ITEM_FIELDS": ["text"], "CONCURRENT_ITEMS": 1}
INCREMENTAL = FIELDS | {"SIMHASH_INCREMENTAL": True}
STRICT = {"ITEM_PIPELINES": {"tests.crawl.components.StrictPipeline": 300}}


def text(name, copy=None):
    return ARTICLES[name][1] + ("" if copy is None else f" {copy}")


def item(name, copy=None, **more):
    return {"id": f"{name} {copy or ''}".strip(), "text": text(name, copy), **more}


def crawl(site, items, settings, **arguments):
    """Return a crawl over different pages that yields the given items."""
    return Crawl(
        [site.url(path) for path in items],
        settings,
        spider="tests.crawl.spiders.ItemsSpider",
        arguments={"items": items},
        **arguments,
    )


def ids(result):
    return [item["id"] for item in result.items]


def dropped(result):
    return [drop["item"]["id"] for drop in result.dropped]


@pytest.fixture(scope="module")
def pages(site):
    put_articles(site, "/a ice", "/b clock", "/failing tram")
    site.put("/data.json", "{}", content_type="application/json")
    return site


@pytest.fixture(scope="module")
def results(pages, module_path):
    items = {
        "/a": [item("mill"), item("bees"), item("mill", 1), {"id": "short", "text": "few words"}],
        "/b": [item("mill", 2), item("paper"), {"id": "none"}, {"id": "empty", "text": ""}],
        "/data.json": [item("bees", 1), item("茶园"), item("茶园", 1)],
    }
    odd = {
        "/a": [
            {"id": "list", "text": text("mill").split("\n")},
            {"id": "joined", "text": text("mill", 1)},
            {"id": "html", "text": f"<div class='a'><p>{text('bees')}</p><script>1</script></div>"},
            {"id": "plain", "text": text("bees", 1)},
            {"id": "surrogates", "text": "\ud800".join(text("paper").split())},
            {"id": "nul", "text": "\0" + text("tram")},
            {"id": "number", "text": 17},
            {"id": "dict", "text": {"a": text("石桥")}},
        ]
    }
    both = FIELDS | {"SIMHASH_ACTION": "drop"}
    crawls = {
        "drop": crawl(pages, items, both),
        "tag": crawl(pages, items, FIELDS | {"SIMHASH_ACTION": "tag"}),
        "items tagged": crawl(pages, items, both | {"SIMHASH_ITEM_ACTION": "tag"}),
        "odd": crawl(pages, odd, FIELDS),
        "named": crawl(
            pages,
            {"/a": [item("mill", copy, title=f"Mill {copy % 2}") for copy in range(3)]},
            FIELDS | {"SIMHASH_ACTION": "drop"},
        ),
    }
    return run_named(module_path, crawls)


def test_near_duplicate_items_are_dropped(results):
    result = results["drop"]
    assert ids(result) == ["mill", "bees", "short", "paper", "none", "empty", "茶园"]
    assert [drop["exception"] for drop in result.dropped] == ["NearDuplicateItem"] * 4
    assert dropped(result) == ["mill 1", "mill 2", "bees 1", "茶园 1"]
    assert result.stats["item_dropped_reasons_count/NearDuplicateItem"] == 4
    assert not result.lines("WARNING", "Dropped")
    # Items are counted apart from pages.
    counts = {"checked": 8, "new": 4, "near_duplicate": 4, "dropped": 4, "index/size": 4}
    counts |= {"dropped/near_duplicate": 4, "skipped/few_tokens": 1, "skipped/no_text": 2}
    assert {name: result.stat(f"item/{name}") for name in counts} == counts
    assert (result.stat("checked"), result.stat("near_duplicate")) == (2, 0)
    assert result.lines("8 items judged", "50.0%")
    # Other titles make other items.
    assert (ids(results["named"]), dropped(results["named"])) == (["mill", "mill 1"], ["mill 2"])


@pytest.mark.parametrize("name", ["tag", "items tagged"])
def test_near_duplicate_items_can_be_tagged_instead(results, site, name):
    result = results[name]
    assert len(result.items) == 11
    assert result.dropped == []
    copy = next(item for item in result.items if item["id"] == "mill 2")
    assert copy["simhash_kind"] == "near-duplicate"
    assert copy["simhash_representative"].startswith(site.url("/a"))
    assert copy["simhash_distance"] > 0


def test_values_of_any_kind_are_read(results):
    result = results["odd"]
    assert result.item_errors == []
    assert dropped(result) == ["joined", "plain"]
    assert not [name for name in result.simhash_stats() if name.startswith("errors/")]
    assert result.stat("item/skipped/few_tokens") == 1


COPYING = {"tests.crawl.components.CopyingPipeline": 10}
# Series whose first crawl has an item that fails → its page, the pipelines before the one that fails,
# and arguments of the spider.
FAILING = {
    "a page": ("/failing", {}, {}),
    "a page that is not judged": ("/failing.json", {}, {}),
    "an earlier pipeline has replaced the item": ("/failing", COPYING, {}),
    "start": (
        *(None, COPYING),
        {"start_items": [{"url": "https://example.com/failing", **item("mill")}]},
    ),
}
# Place of a pipeline that drops or replaces items: before SimhashPipeline, and after it.
ORDERS = (10, 300)


@pytest.fixture(scope="module")
def series(pages, module_path):
    """Run series of crawls, each with an index of its own."""
    pages.put("/failing.json", "{}", content_type="application/json")
    for path, name in (("/dropped", "kite"), ("/third", "paper")):
        pages.put(path, page(name))
    series = {}
    for name, settings in (("alone", FIELDS), ("incremental", INCREMENTAL)):
        first = crawl(pages, {"/a": [item("mill"), item("bees")]}, settings)
        copies = {"/b": [item("mill", 1), item("paper"), item("mill", 2)]}
        series[name] = [first, crawl(pages, copies, settings), first]
    for name, (path, pipelines, arguments) in FAILING.items():
        settings = FIELDS | {"ITEM_PIPELINES": pipelines | STRICT["ITEM_PIPELINES"]}
        failing = crawl(pages, {path: [item("mill")]} if path else {}, settings)
        failing.arguments.update(arguments)
        series[name] = [failing, crawl(pages, {"/a": [item("mill", 1)]}, INCREMENTAL)]
    for order in ORDERS:
        pipelines = {
            "tests.crawl.components.StrictPipeline": order,
            "tests.crawl.components.CopyingPipeline": 900,
        }
        items = (
            {"/a": [item("mill")], "/dropped": [item("bees")]},
            # The copy of mill is dropped by the plugin.
            {"/b": [item("mill", 1), item("tram")]},
            {"/third": [item("mill", 2), item("tram", 1), item("ice")]},
        )
        settings = INCREMENTAL | {"ITEM_PIPELINES": pipelines}
        series[f"order {order}"] = [crawl(pages, one, settings) for one in items]
    return run_series(module_path / "series", series)


def test_earlier_crawls_count_only_where_that_is_asked_for(series):
    kept = {name: [ids(result) for result in series[name]] for name in ("alone", "incremental")}
    assert kept["alone"] == [["mill", "bees"], ["mill 1", "paper"], ["mill", "bees"]]
    assert kept["incremental"] == [["mill", "bees"], ["paper"], []]


@pytest.mark.parametrize("name", FAILING)
def test_items_that_a_later_pipeline_failed_are_not_stored(series, name):
    failing, copies = series[name]
    assert len(failing.item_errors) == 1
    assert ids(copies) == ["mill 1"]


@pytest.mark.parametrize("order", ORDERS)
def test_items_that_pipelines_replaced_are_stored_though_others_are_dropped(series, order):
    kept = [ids(result) for result in series[f"order {order}"]]
    assert kept == [["mill"], ["tram"], ["ice"]]


def test_items_can_be_judged_alone(pages, tmp_path):
    # /a-copy is a copy of the page /a, with another item.
    pages.put("/a-copy", page("ice", copy=1))
    items = {
        "/a": [item("mill"), item("kite")],
        "/b": [item("bees"), item("mill", 1)],
        "/a-copy": [item("paper")],
    }
    report = tmp_path / "report.html"
    alone = FIELDS | {"SIMHASH_PAGES": False, "SIMHASH_REPORT": str(report)}
    [result] = run(tmp_path, crawl(pages, items, alone))
    assert (result.error, result.finish_reason) == (None, "finished")
    assert ids(result) == ["mill", "kite", "bees", "paper"]
    assert dropped(result) == ["mill 1"]
    stats = result.simhash_stats()
    assert (stats["item/checked"], stats["item/dropped"], stats["item/index/size"]) == (5, 1, 4)
    assert {name for name in stats if not name.startswith("item/")} == set()
    assert not result.lines("WARNING")
    assert result.lines("spider-items", "0 fingerprints")
    indexes = [path.parent.name for path in (tmp_path / "simhash").rglob("manifest.json")]
    assert indexes == ["pages"]
    assert not (tmp_path / "simhash" / "spiders").exists()
    assert pages.url("/a") in report.read_text(encoding="utf-8")
