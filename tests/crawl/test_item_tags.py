"""Items are tagged with the verdict on their page, whatever their type."""

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles

TAG = {"SIMHASH_ACTION": "tag"}
TYPES = ("dict", "dataclass", "attrs", "item")
UNDECLARED = ("bare item", "bare dataclass", "frozen dataclass", "partial item")
CRAWLS = {
    **{name: ({}, {"item_type": name}) for name in (*TYPES, *UNDECLARED, "plain object")},
    "renamed": ({"SIMHASH_ITEM_TAGS": {"kind": "verdict", "distance": "bits apart"}}, {}),
    "none": ({"SIMHASH_ITEM_TAGS": {}}, {"item_type": "bare item"}),
    "start": ({}, {"start_items": [{"url": "made up"}]}),
    "replaced": ({"ITEM_PIPELINES": {"tests.crawl.components.StrictPipeline": 40}}, {}),
}


@pytest.fixture(scope="module")
def results(site, module_path):
    urls = put_articles(site, "/mill mill", "/copy mill 1")
    urls.append(site.put("/short", page("bees")[:200]))
    crawls = {
        name: Crawl(urls, TAG | settings, arguments=arguments)
        for name, (settings, arguments) in CRAWLS.items()
    }
    return run_named(module_path, crawls)


def tags(item):
    return {name: value for name, value in item.items() if name != "url"}


@pytest.mark.parametrize("item_type", TYPES)
def test_items_get_the_verdict_on_their_page(results, site, item_type):
    result = results[item_type]
    original, copy, short = result.items
    for item, path in ((original, "/mill"), (copy, "/copy")):
        names = ["kind", "representative", "distance", "fingerprint"]
        # The other classes declare only these four.
        names += ["similarity"] if item_type == "dict" and item is copy else []
        verdict = result.event(path)["verdict"]
        assert tags(item) == {f"simhash_{name}": verdict[name] for name in names}
    assert original["simhash_kind"] == "new"
    assert copy["simhash_representative"] == site.url("/mill")
    assert set(tags(short).values()) <= {None}  # it was not judged
    assert result.item_errors == []


@pytest.mark.parametrize("item_type", UNDECLARED)
def test_items_that_do_not_declare_the_fields_pass_and_are_counted(results, item_type):
    result = results[item_type]
    assert (len(result.items), result.item_errors) == (3, [])
    assert result.stat("skipped/item_field_not_declared") == 2
    [line] = result.lines("WARNING", "SIMHASH_ITEM_TAGS")
    # Only the fields that must be declared.
    assert "simhash_kind" in line
    assert "simhash_similarity" not in line


def test_objects_that_are_no_items_pass(results):
    # Scrapy hands whatever a spider yields to the pipelines.
    result = results["plain object"]
    assert (result.items, result.item_errors) == ([{"object": "PlainObject"}] * 3, [])


def test_the_names_of_tags_can_be_set(results):
    original, copy, _ = results["renamed"].items
    assert tags(original) == {"verdict": "new", "bits apart": None}
    assert tags(copy) == {"verdict": "near-duplicate", "bits apart": tags(copy)["bits apart"]}
    assert tags(copy)["bits apart"] > 0


def test_items_without_a_verdict_and_without_names_of_tags_have_none(results):
    assert [tags(item) for item in results["none"].items] == [{}] * 3
    assert "simhash/skipped/item_field_not_declared" not in results["none"].stats
    assert not results["none"].lines("WARNING")
    # An earlier pipeline has replaced these items.
    assert [tags(item) for item in results["replaced"].items] == [{}] * 3
    assert results["replaced"].stat("index/size") == 1
    assert [tags(i) for i in results["start"].items if i["url"] == "made up"] == [{}]
