"""SIMHASH_PASSAGES: a crawl fills and queries a passage index."""

import asyncio
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.settings import SettingsReader
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.extras.passages.crawl import PassagesPipeline
from scrapy_simhash.extras.passages.index import open_passages
from scrapy_simhash.policy import PASS
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.test_callbacks import REACTORS

PARAGRAPHS = ARTICLES["mill"][1].split("\n")
TAGS = {"known_share": "known", "sources": "sources", "common_share": "common"}


@pytest.fixture(scope="module")
def pages(site):
    site.put("/mill", page("mill"))
    site.put("/bees", page("bees", append=PARAGRAPHS[1]))
    put_articles(site, "/paper paper", "/failing tram")
    site.put("/tram", page("tram", append=PARAGRAPHS[0]))
    site.put("/mill-copy", page("mill", copy=1))
    return site


ITEMS = {
    "/mill": [{"id": name, "text": ARTICLES[name][1]} for name in ("mill", "ice", "clock")]
    + [{"id": "empty", "text": ""}],
    "/paper": [{"id": "all", "text": "\n".join(ARTICLES[name][1] for name in ("clock", "ice"))}],
}


def crawl(site, paths, index, *, arguments=None, **settings):
    return Crawl(
        [site.url(path) for path in paths],
        {"SIMHASH_PASSAGES": str(index), "SIMHASH_PASSAGES_TAGS": TAGS, "SIMHASH_WORKERS": 0}
        | settings,
        arguments=arguments or {},
    )


@pytest.fixture(scope="module")
def results(pages, module_path):
    everything = ["/mill", "/bees", "/paper", "/failing", "/tram", "/mill-copy"]
    failing = {"arguments": {"failing": ["/failing"]}}
    foreign = module_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    crawls = {
        "first": crawl(pages, everything, module_path / "a", **failing),
        "again": crawl(pages, ["/mill", "/bees"], module_path / "a", SIMHASH_WORKERS=1),
        "foreign": crawl(pages, ["/mill"], foreign),
        "items": Crawl(
            [pages.url(path) for path in ITEMS],
            {
                "SIMHASH_PASSAGES": str(module_path / "f"),
                "SIMHASH_PASSAGES_TAGS": TAGS,
                "SIMHASH_ITEM_FIELDS": ["text"],
                "SIMHASH_ITEM_ACTION": "tag",
                "SIMHASH_WORKERS": 0,
            },
            spider="tests.crawl.spiders.ItemsSpider",
            arguments={"items": ITEMS},
        ),
        "undeclared": crawl(
            pages, ["/mill"], module_path / "e", arguments={"item_type": "bare item"}
        ),
    }
    return run_named(module_path, crawls)


def items_by_path(site, result):
    return {item["url"].removeprefix(site.url("")): item for item in result.items}


def test_items_carry_what_stands_elsewhere_and_where(results, pages):
    items = items_by_path(pages, results["first"])
    assert set(items) == {"/mill", "/bees", "/paper", "/tram"}
    assert (items["/mill"]["known"], items["/mill"]["sources"]) == (0.0, [])
    assert items["/paper"]["known"] == 0.0
    shown = len("".join(PARAGRAPHS[1].split()))
    bees = items["/bees"]
    whole = shown + len("".join((ARTICLES["bees"][0] + ARTICLES["bees"][1]).split()))
    assert shown / whole * 0.95 < bees["known"] < shown / whole * 1.1
    [source] = bees["sources"]
    assert source == {"document": pages.url("/mill"), "share": bees["known"]}
    assert bees["common"] == 0.0


def test_a_page_that_failed_is_no_source(results, pages):
    tram = items_by_path(pages, results["first"])["/tram"]
    assert [source["document"] for source in tram["sources"]] == [pages.url("/mill")]


def test_what_was_found_is_counted(results):
    first = results["first"]
    assert first.stat("passages/checked") == 4
    assert first.stat("passages/known") == 2
    assert first.stat("passages/index/size") == 4
    assert first.lines("passage index with 4 documents")


def test_what_earlier_crawls_added_is_known_and_a_page_is_not_its_own_source(results, pages):
    items = items_by_path(pages, results["again"])
    # Two of its paragraphs are each in one other page.
    sources = {source["document"] for source in items["/mill"]["sources"]}
    assert sources == {pages.url("/bees"), pages.url("/tram")}
    assert 0.5 < items["/mill"]["known"] < 0.9
    assert [s["document"] for s in items["/bees"]["sources"]] == [pages.url("/mill")]
    assert results["again"].stat("passages/index/size") == 4


def test_an_index_that_cannot_be_used_leaves_items_without_passages(results, module_path):
    result = results["foreign"]
    assert result.finish_reason == "finished"
    assert result.stat("errors/passages") == 1
    assert result.lines("WARNING", "foreign", "choose another directory")
    assert [path.name for path in (module_path / "foreign").iterdir()] == ["notes.txt"]


def test_items_that_cannot_take_the_fields_pass(results):
    result = results["undeclared"]
    assert len(result.items) == 1
    assert result.stat("passages/skipped/item_field_not_declared") == 1
    assert result.lines("WARNING", "SIMHASH_PASSAGES_TAGS")


def test_the_items_of_a_page_are_its_document(results, pages, module_path):
    items = {item["id"]: item for item in results["items"].items}
    assert {items[name]["known"] for name in ("mill", "ice", "clock")} == {0.0}
    assert items["all"]["known"] == 1.0
    assert items["all"]["sources"] == [{"document": pages.url("/mill"), "share": 1.0}]
    assert results["items"].stat("passages/skipped/no_text") == 1
    with open_passages(module_path / "f", create=False) as index:
        assert index.documents == 2
        text = "\n\n".join(item["text"] for item in ITEMS["/mill"][:3])
        for passage in index.check("q", text).passages:
            assert passage.sources[0].start == passage.start


def test_items_that_wait_take_no_threads_from_others(tmp_path):
    settings = Settings({"SIMHASH_ENABLED": True, "SIMHASH_PASSAGES": str(tmp_path)})
    crawler = SimpleNamespace(
        settings=settings,
        stats=MemoryStatsCollector(SimpleNamespace(settings=settings)),
        signals=SignalManager(),
        crawling=True,
        spidercls=None,
        get_extension=lambda _: SimpleNamespace(
            crawler=crawler, errors=None, settings=SettingsReader(settings)
        ),
    )

    async def crawl():
        pipeline = PassagesPipeline.from_crawler(crawler)
        pipeline.open()
        page = PageState("page", None, PASS, Request("https://x.test/"), text=ARTICLES["ice"][1])
        items = [{"id": number} for number in range(60)]
        with open_passages(tmp_path) as index:
            with index.lock:
                for number, item in enumerate(items):
                    pipeline.item_judged(item, page, number, None)
                tags = [asyncio.ensure_future(pipeline.process_item(item)) for item in items]
                await asyncio.sleep(0.1)
                await asyncio.wait_for(run_in_thread(int), 5)
                assert not any(tag.done() for tag in tags)
            await asyncio.gather(*tags)
            pipeline.close()
        return items

    assert all(item["simhash_known_share"] == 0.0 for item in asyncio.run(crawl()))


@pytest.mark.parametrize("reactor", ["select", "none"])
def test_items_are_tagged_without_asyncio_or_without_a_reactor(pages, tmp_path, reactor):
    crawls = {"pages": crawl(pages, ["/mill", "/bees"], tmp_path / "index")}
    result = run_named(tmp_path, crawls, **REACTORS[reactor])["pages"]
    items = items_by_path(pages, result)
    assert items["/bees"]["known"] > items["/mill"]["known"] == 0.0
