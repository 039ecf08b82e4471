"""SIMHASH_PAGES = False: items are judged alone, and pages pass."""

from __future__ import annotations

import pytest

from scrapy_simhash.index import index_url, open_index
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page
from tests.crawl.test_item_fields import FIELDS, ids, item

ITEMS_ONLY = FIELDS | {"SIMHASH_PAGES": False}
CONTENT = {
    "/a": [item("mill"), item("kite")],
    "/b": [item("bees"), item("mill", 1)],
    # A copy of the page /a, with different items.
    "/a-copy": [item("paper")],
}


@pytest.fixture(scope="module")
def site_of_items(site):
    site.put("/a", page("ice"))
    site.put("/b", page("clock"))
    site.put("/a-copy", page("ice", copy=1))
    return site


def crawl(site, **settings):
    return Crawl(
        requests=[site.url(path) for path in CONTENT],
        spider="tests.crawl.spiders.ItemsSpider",
        settings=ITEMS_ONLY | settings,
        arguments={"items": CONTENT},
    )


def test_items_are_judged_and_no_page_is(site_of_items, tmp_path):
    report = tmp_path / "report.html"
    [result] = run(tmp_path, crawl(site_of_items, SIMHASH_REPORT=str(report)))
    assert (result.error, result.finish_reason) == (None, "finished")
    assert ids(result) == ["mill", "kite", "bees", "paper"]
    assert [drop["item"]["id"] for drop in result.dropped] == ["mill 1"]
    stats = result.simhash_stats()
    assert (stats["item/checked"], stats["item/dropped"]) == (5, 1)
    assert {name for name in stats if not name.startswith("item/")} == set()
    assert not result.lines("WARNING")
    assert result.lines("spider-items", "0 fingerprints")
    indexes = [path.parent.name for path in (tmp_path / "simhash").rglob("manifest.json")]
    assert indexes == ["pages"]
    assert not (tmp_path / "simhash" / "spiders").exists()
    with open_index(index_url(tmp_path / "simhash" / "spider-items" / "pages")) as index:
        assert len(index) == 4
    assert site_of_items.url("/a") in report.read_text(encoding="utf-8")


def test_it_needs_fields_to_judge_by(site_of_items, tmp_path):
    [result] = run(tmp_path, crawl(site_of_items, SIMHASH_ITEM_FIELDS=[]))
    assert result.error["type"] == "SettingsError"
    assert "SIMHASH_ITEM_FIELDS" in result.error["message"]
