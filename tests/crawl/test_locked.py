"""A crawl runs without the plugin if another process has the index open."""

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
        "plain": Crawl(requests=urls),
        "start items": Crawl(
            requests=urls,
            settings={"SIMHASH_ACTION": "tag"} | ITEM_FIELDS,
            arguments={"at_once": True, "start_items": [{"text": ARTICLES["ice"][1]}]},
        ),
        "reset": Crawl(requests=urls, settings={"SIMHASH_RESET": True}),
    }
    [first] = run(module_path, Crawl(requests=urls))
    assert first.seen() == ["/mill"]
    with open_index(f"leveldb:{module_path / 'simhash' / 'spiders' / 'pages'}") as index:
        results = dict(zip(crawls, run(module_path, *crawls.values()), strict=True))
        assert len(index) == 1  # not deleted by SIMHASH_RESET
    return results


@pytest.mark.parametrize("how", ["plain", "reset"])
def test_everything_is_crawled_and_the_log_names_the_remedies(locked, how):
    result = locked[how]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert result.seen() == ["/mill", "/copy"]
    assert [event["verdict"] for event in result.events] == [None, None]
    assert len(result.items) == 2
    assert result.simhash_stats() == {"errors/index": 1}
    assert result.lines("ERROR", "simhash:", "runs without the plugin", "SIMHASH_DIR")
    assert result.lines("WARNING", "scrapy simhash dedupe")


def test_items_of_start_pass_too(locked):
    result = locked["start items"]
    assert result.finish_reason == "finished"
    assert len(result.items) == 3
    assert not [name for item in result.items for name in item if name.startswith("simhash")]
