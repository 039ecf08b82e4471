"""Items are tagged with the verdict on their page, whatever their type."""

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles

TAG = {"SIMHASH_ACTION": "tag"}
TYPES = ("dict", "dataclass", "attrs", "item")
UNDECLARED = ("bare item", "bare dataclass", "frozen dataclass", "partial item")
RENAMED = {"kind": "verdict", "distance": "bits apart"}


@pytest.fixture(scope="module")
def results(site, module_path):
    put_articles(site, "/mill mill", "/copy mill 1")
    site.put("/short", page("bees")[:200])
    urls = [site.url(path) for path in ("/mill", "/copy", "/short")]
    crawls = {
        name: Crawl(urls, TAG, arguments={"item_type": name})
        for name in (*TYPES, *UNDECLARED, "plain object")
    }
    crawls["renamed"] = Crawl(urls, TAG | {"SIMHASH_ITEM_TAGS": RENAMED})
    crawls["none"] = Crawl(
        urls, TAG | {"SIMHASH_ITEM_TAGS": {}}, arguments={"item_type": "bare item"}
    )
    crawls["start"] = Crawl(urls, TAG, arguments={"start_items": [{"url": "made up"}]})
    crawls["replaced"] = Crawl(
        urls, TAG | {"ITEM_PIPELINES": {"tests.crawl.components.StrictPipeline": 40}}
    )
    return run_named(module_path, crawls)


def tags(item):
    return {name: value for name, value in item.items() if name != "url"}


@pytest.mark.parametrize("item_type", TYPES)
def test_items_get_the_verdict_on_their_page(results, site, item_type):
    result = results[item_type]
    original, copy, _ = result.items
    verdicts = [result.event(path)["verdict"] for path in ("/mill", "/copy")]
    for item, verdict in zip((original, copy), verdicts, strict=True):
        assert tags(item) == {
            "simhash_kind": verdict["kind"],
            "simhash_representative": verdict["representative"],
            "simhash_distance": verdict["distance"],
            "simhash_fingerprint": verdict["fingerprint"],
            # The other classes declare only the first four.
            **(
                {"simhash_similarity": verdict["similarity"]}
                if item_type == "dict" and item is copy
                else {}
            ),
        }
    assert original["simhash_kind"] == "new"
    assert copy["simhash_representative"] == site.url("/mill")
    assert result.item_errors == []


@pytest.mark.parametrize("item_type", TYPES)
def test_items_of_pages_without_a_verdict_are_not_tagged(results, item_type):
    assert not [value for value in tags(results[item_type].items[2]).values() if value is not None]


@pytest.mark.parametrize("item_type", UNDECLARED)
def test_items_that_do_not_declare_the_fields_pass_and_are_counted(results, item_type):
    result = results[item_type]
    assert len(result.items) == 3
    assert result.item_errors == []
    assert result.stat("skipped/item_field_not_declared") == 2
    [line] = result.lines("WARNING", "SIMHASH_ITEM_TAGS")
    # Only the fields that must be declared.
    assert "simhash_kind" in line
    assert "simhash_similarity" not in line


def test_objects_that_are_no_items_pass(results):
    # Scrapy hands whatever a spider yields to the pipelines.
    result = results["plain object"]
    assert result.item_errors == []
    assert result.items == [{"object": "PlainObject"}] * 3


def test_the_names_of_tags_can_be_set(results):
    original, copy, _ = results["renamed"].items
    assert tags(original) == {"verdict": "new", "bits apart": None}
    assert tags(copy)["verdict"] == "near-duplicate"
    assert tags(copy)["bits apart"] > 0


def test_no_names_no_tags(results):
    result = results["none"]
    assert [tags(item) for item in result.items] == [{}, {}, {}]
    assert "simhash/skipped/item_field_not_declared" not in result.stats
    assert not result.lines("WARNING")


def test_items_of_start_have_no_verdict(results):
    [item] = [item for item in results["start"].items if item["url"] == "made up"]
    assert tags(item) == {}


def test_items_that_an_earlier_pipeline_replaced_pass_untagged(results):
    result = results["replaced"]
    assert [tags(item) for item in result.items] == [{}, {}, {}]
    assert result.stat("index/size") == 1
