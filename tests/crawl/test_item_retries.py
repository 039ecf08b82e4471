"""Items that were dropped as copies of an item that fails afterwards."""

from __future__ import annotations

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, page

SETTINGS = {
    "SIMHASH_ITEM_FIELDS": ["text"],
    "ITEM_PIPELINES": {"tests.crawl.late_pipeline.LatePipeline": 300},
}


def item(name, copy=None, **more):
    text = ARTICLES[name][1] + ("" if copy is None else f" {copy}")
    return {"id": f"{name} {copy or ''}".strip(), "text": text, **more}


@pytest.fixture(scope="module")
def results(every_index, site, module_path):
    site.hits.clear()
    site.put("/first", page("ice"))
    site.put("/second", page("clock"))
    site.put("/third", page("tram"))
    items = {
        "/first": [item("mill", fails_after=3), item("bees", fails_after=3)],
        "/second": [item("mill", 1), item("bees", 1), item("paper")],
        "/third": [item("mill", 2)],
    }
    crawls = {
        name: Crawl(
            requests=[site.url(path) for path in items],
            spider="tests.crawl.late_pipeline.LateItemsSpider",
            settings=SETTINGS | settings,
            arguments={"items": items},
        )
        for name, settings in {
            "default": {},
            "incremental": {"SIMHASH_INCREMENTAL": True},
            "items only": {"SIMHASH_PAGES": False},
        }.items()
    }
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", ["default", "incremental", "items only"])
def test_another_copy_is_kept_when_the_item_fails(results, name):
    result = results[name]
    assert len(result.item_errors) == 2
    kept = [item["id"].split()[0] for item in result.items]
    assert {"mill", "bees", "paper"} <= set(kept)
    if name == "incremental":
        assert sorted(kept) == ["bees", "mill", "paper"]
    # A whole page is requested again for each of its items that is missing.
    assert max(kept.count("mill"), kept.count("bees")) <= 2
    assert kept.count("paper") <= 3
    assert result.stat("item/discarded") == 2
    assert 1 <= result.stat("rescheduled") <= 3
    assert result.finish_reason == "finished"


def test_pages_that_failed_are_not_asked_for_again(results, site):
    assert all(result.events for result in results.values())
    assert site.hit("/first") == 3  # once in each crawl
