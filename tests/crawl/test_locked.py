"""SIMHASH_ON_LOCKED: what a crawl does if another process has the index open."""

from __future__ import annotations

import pytest

from scrapy_simhash import open_index
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import ARTICLES, page

pytest.importorskip("plyvel", reason="the indexes here are in LevelDB")

ITEM_FIELDS = {"SIMHASH_ITEM_FIELDS": ["text"]}


@pytest.fixture(scope="module")
def urls(site):
    site.put("/mill", page("mill"))
    site.put("/copy", page("mill", copy=1))
    return [site.url("/mill"), site.url("/copy")]


@pytest.fixture(scope="module")
def locked(urls, module_path):
    """The spider that crawls once, and again while another process has its index."""
    crawls = {
        "close": Crawl(requests=urls),
        "off": Crawl(requests=urls, settings={"SIMHASH_ON_LOCKED": "off"}),
        "off, start items": Crawl(
            requests=urls,
            settings={"SIMHASH_ON_LOCKED": "off", "SIMHASH_ACTION": "tag"} | ITEM_FIELDS,
            arguments={"at_once": True, "start_items": [{"text": ARTICLES["ice"][1]}]},
        ),
        "off, reset": Crawl(
            requests=urls, settings={"SIMHASH_ON_LOCKED": "off", "SIMHASH_RESET": True}
        ),
    }
    [first] = run(module_path, Crawl(requests=urls))
    assert first.seen() == ["/mill"]
    with open_index(f"leveldb:{module_path / 'simhash' / 'spiders' / 'pages'}") as index:
        results = dict(zip(crawls, run(module_path, *crawls.values()), strict=True))
        assert len(index) == 1  # not deleted by SIMHASH_RESET
    return results


def test_close_says_that_nothing_is_crawled_and_names_the_remedies(locked):
    result = locked["close"]
    assert result.finish_reason == "simhash_index_locked"
    assert result.events == []
    [line] = result.lines("ERROR", "simhash:")
    for part in ("sends no request", "SIMHASH_DIR", "SIMHASH_ON_LOCKED = 'off'"):
        assert part in line
    assert (result.stat("locked"), result.stat("errors/index")) == (1, 1)


@pytest.mark.parametrize("how", ["off", "off, reset"])
def test_off_crawls_everything_without_the_plugin(locked, how):
    result = locked[how]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert result.seen() == ["/mill", "/copy"]
    assert [event["verdict"] for event in result.events] == [None, None]
    assert len(result.items) == 2
    assert result.simhash_stats() == {"locked": 1}
    assert not result.lines("ERROR")
    began, ended = result.lines("WARNING", "simhash:")
    assert "runs without the plugin" in began
    assert "scrapy simhash dedupe" in ended


def test_off_passes_items_of_start_too(locked):
    result = locked["off, start items"]
    assert result.finish_reason == "finished"
    assert len(result.items) == 3
    assert not [name for item in result.items for name in item if name.startswith("simhash")]


def test_any_other_error_of_the_index_closes_the_spider_all_the_same(urls, tmp_path):
    foreign = tmp_path / "simhash" / "spiders" / "pages"
    foreign.mkdir(parents=True)
    (foreign / "thesis.txt").write_text("three years of work")
    [result] = run(tmp_path, Crawl(requests=urls, settings={"SIMHASH_ON_LOCKED": "off"}))
    assert (result.finish_reason, result.events) == ("simhash_index_error", [])
