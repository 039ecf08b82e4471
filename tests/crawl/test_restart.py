"""A second crawl uses the index of the first."""

import json
import shutil
import time
from dataclasses import replace

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.history import read_history
from scrapy_simhash.maintenance.changes import changes
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page, put_articles
from tests.index.backends import DATABASE_KINDS

INCREMENTAL = {"SIMHASH_INCREMENTAL": True}
PIPELINE = {"ITEM_PIPELINES": {"tests.crawl.components.StrictPipeline": 300}}


@pytest.fixture(scope="module")
def directory(site, module_path):
    """Crawl /mill, /bees and a copy of /mill."""
    put_articles(
        site, "/mill mill", "/mill-copy mill 1", "/bees bees", "/bees-copy bees 1", "/tram tram"
    )
    first = crawled(module_path / "kept", [*map(site.url, ("/mill", "/mill-copy", "/bees"))])
    assert first.seen() == ["/mill", "/bees"]
    assert first.stat("index/size") == 2
    return module_path / "kept"


def copy_of(directory, tmp_path):
    shutil.copytree(directory / "simhash", tmp_path / "simhash")
    return tmp_path


def crawl(site, *paths, **settings):
    return Crawl([{"url": site.url(path), "errback": True} for path in paths], settings)


def scraped(result):
    return [item["url"] for item in result.items if "from" not in item]


def test_an_earlier_crawl_drops_nothing_of_this_one(site, directory, tmp_path):
    paths = ("/mill-copy", "/mill", "/bees", "/tram", "/bees-copy")
    [result] = run(copy_of(directory, tmp_path), crawl(site, *paths))
    # As with an empty index, except that /bees is known.
    assert result.seen() == ["/mill-copy", "/bees", "/tram"]
    assert result.seen("errback") == ["/mill", "/bees-copy"]
    assert result.event("/mill", "errback")["judged"]["representative"] == site.url("/mill-copy")
    assert result.event("/bees")["verdict"]["kind"] == "unchanged"
    assert result.stat("index/size") == 3


def test_incremental_passes_only_content_never_seen_before(site, directory, tmp_path):
    # The spider asks for all pages but the first one at idle. After an errback of the first one, the
    # next request would count as asking again.
    paths = ("/tram", "/mill-copy", "/mill", "/bees", "/bees-copy")
    [result] = run(copy_of(directory, tmp_path), crawl(site, *paths, **INCREMENTAL))
    assert scraped(result) == [site.url("/tram")]
    # The links on unchanged pages are followed.
    assert result.seen() == ["/tram", "/mill", "/bees"]
    assert result.seen("errback") == ["/mill-copy", "/bees-copy"]
    judged = {event["path"]: event.get("judged") for event in result.events}
    assert judged["/mill-copy"]["kind"] == judged["/bees-copy"]["kind"] == "near-duplicate"
    assert judged["/mill-copy"]["representative"] == site.url("/mill")
    for path in ("/mill", "/bees"):
        event = result.event(path)
        assert (event["verdict"]["kind"], event["flags"]) == ("unchanged", [])
    assert (result.stat("dropped"), result.stat("followed/unchanged")) == (2, 2)
    assert result.stat("index/size") == 3


def test_without_links_only_unchanged_pages_of_start_are_followed(site, directory, tmp_path):
    """Otherwise the crawl would end at its first page, the only one of `start` here."""
    settings = INCREMENTAL | {"SIMHASH_FOLLOW": False}
    paths = ("/mill", "/bees", "/tram")
    [result] = run(copy_of(directory, tmp_path), crawl(site, *paths, **settings))
    assert (result.seen(), result.seen("errback")) == (["/mill", "/tram"], ["/bees"])
    assert scraped(result) == [site.url("/tram")]


def test_changed_content_passes_in_both_modes(site, directory, tmp_path):
    site.put("/bees", page("ice"))
    modes = [INCREMENTAL, INCREMENTAL, {}]
    path = copy_of(directory, tmp_path)
    results = run(path, *(crawl(site, "/bees", **settings) for settings in modes))
    site.put("/bees", page("bees"))
    assert [len(result.items) for result in results] == [1, 0, 1]
    assert results[0].event("/bees")["verdict"]["kind"] == "changed"
    assert [result.stat("index/size") for result in results] == [2, 2, 2]


def test_reset_starts_anew_and_says_so(site, directory, tmp_path):
    path = copy_of(directory, tmp_path)
    resetting = crawl(site, "/bees", **INCREMENTAL, SIMHASH_RESET=True)
    reset, empty = run(path, resetting, replace(resetting, name="new"))
    assert reset.event("/bees")["verdict"]["kind"] == "new"
    assert reset.stat("index/size") == 1
    assert reset.lines("SIMHASH_RESET", str(path / "simhash" / "spiders" / "pages"))
    assert reset.lines("with 0 fingerprints")
    # Without an index, nothing was deleted.
    assert not empty.lines("SIMHASH_RESET deleted")


def test_copies_of_failed_pages_pass_in_the_next_crawl(site, tmp_path):
    pages = "/raises paper", "/failing-item clock", "/dropped-item mill", "/fine bees"
    requests = put_articles(site, *pages)
    copies = put_articles(site, *(page.replace(" ", "-copy ") + " 1" for page in pages))
    failing = Crawl(requests, PIPELINE, arguments={"failing": ["/raises"]})
    first, again = run(tmp_path, failing, Crawl(copies, INCREMENTAL))
    assert (len(first.seen()), first.stat("index/size")) == (4, 2)
    # The third page is stored, but gave no items.
    assert again.seen() == ["/raises-copy", "/failing-item-copy", "/dropped-item-copy"]
    assert (again.stat("kept/no_items"), again.stat("near_duplicate")) == (1, 2)


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_a_new_index_is_in_the_database_that_is_asked_for(site, directory, tmp_path, kind):
    crawls = [crawl(site, "/mill", "/mill-copy", SIMHASH_INDEX=kind)] * 2
    first, second = run(tmp_path, *crawls)
    assert first.seen() == second.seen() == ["/mill"]
    assert second.event("/mill")["verdict"]["kind"] == "unchanged"
    manifest = tmp_path / "simhash" / "spiders" / "pages" / "manifest.json"
    assert json.loads(manifest.read_text())["database"] == kind


def test_changes_between_two_crawls(site, tmp_path):
    index = tmp_path / "simhash" / "spiders" / "pages"
    names = ("mill", "bees", "paper", "clock", "kite", "ice")
    urls = [site.put(f"/{name}", page(name)) for name in names]
    run(tmp_path, Crawl(urls, INCREMENTAL))
    time.sleep(1.1)  # the times of pages and crawls are whole seconds
    # Bees has another text now, paper cannot be found, and boats is new. Nobody knows about the
    # others: the server fails, a page has too few words, and a callback raises.
    site.put("/bees", page("tram"))
    site.put("/paper", "not here", status=404)
    site.put("/clock", "not now", status=503)
    site.put("/kite", "<p>Few words.</p>")
    site.put("/ice", page("石桥"))
    urls.append(site.put("/boats", page("茶园")))
    stopped, finished = run(
        tmp_path,
        Crawl(urls, INCREMENTAL | {"CLOSESPIDER_PAGECOUNT": 1}),
        Crawl(urls, INCREMENTAL, arguments={"failing": ["/ice"]}),
    )
    assert (stopped.finish_reason, finished.finish_reason) == ("closespider_pagecount", "finished")
    with open_index(index, create=False) as opened:
        history = read_history(opened.notes())
    assert [crawl.finished for crawl in history] == [True, False, True]
    assert [crawl.sites for crawl in history] == [{"127.0.0.1"}] * 3
    since_s = history[0].ended_s + 1
    listed = {one.key.rpartition("/")[2]: one for one in changes(index, since_s)}
    kinds = {name: one.kind for name, one in listed.items()}
    assert kinds == {"bees": "changed", "paper": "gone", "boats": "new"}
    assert listed["paper"].at_s == history[2].ended_s
    assert listed["paper"].last_seen_s <= history[0].ended_s
