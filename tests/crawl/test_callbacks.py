"""Spiders of every kind, under every reactor and under none."""

from importlib.util import find_spec

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page

STYLES = ("parse", "parse_list", "parse_coroutine", "parse_async_generator")
REACTORS = {
    "asyncio": {},
    "asyncio, CrawlerProcess": {"process": "CrawlerProcess"},
    "select": {
        "process": "CrawlerProcess",
        "process_settings": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    },
    "none": {"process_settings": {"TWISTED_REACTOR_ENABLED": False}},
}
HTTP_LIBRARIES = {"_aiohttp": "aiohttp", "_httpx": "httpx"}


def reactorless_handlers():
    """Return settings for our handler if the library of Scrapy's own handler is missing."""
    for handler, library in HTTP_LIBRARIES.items():
        if find_spec(f"scrapy.core.downloader.handlers.{handler}"):
            if find_spec(library):
                return {}
            break
    return {"http": "tests.crawl.handlers.UrllibDownloadHandler"}


@pytest.fixture(
    scope="module",
    params=[
        "asyncio",
        "select",
        "none",
        pytest.param("asyncio, CrawlerProcess", marks=pytest.mark.thorough),
    ],
)
def results(request, every_index, site, tmp_path_factory):
    site.put("/linked", page("kite"))
    for number, name in enumerate(("mill", "bees", "tram", "茶园")):
        links = ["/linked", "/0", "/0"]  # with two, the page would be one of a chain
        site.put(f"/{number}", page(name, links=links))
        site.put(f"/{number}-copy", page(name, copy=1, links=links))
        site.put(f"/{number}-failing", page(("ice", "clock", "石桥", "paper")[number]))
    urls = {
        style: [site.url(f"/{number}{kind}") for kind in ("", "-copy", "-failing")]
        for number, style in enumerate(STYLES)
    }
    requests = [
        {"url": url, "callback": style, "errback": "failing" not in url}
        for style in STYLES
        for url in urls[style]
    ]
    settings = {}
    if request.param == "none":
        settings["DOWNLOAD_HANDLERS"] = reactorless_handlers()
    failing = [f"/{number}-failing" for number in range(len(STYLES))]
    crawls = {
        name: Crawl(requests, settings | more, arguments={"failing": failing})
        for name, more in {
            "drop": {},
            "tag": {"SIMHASH_ACTION": "tag", "SIMHASH_FOLLOW": False},
        }.items()
    }
    crawls["nothing"] = Crawl(
        [
            {"url": site.url("/0"), "callback": "parse_nothing"},
            {"url": site.url("/0-copy"), "callback": "parse_nothing"},
        ],
        settings,
    )
    directory = tmp_path_factory.mktemp("callbacks")
    return run_named(directory, crawls, **REACTORS[request.param])


def test_crawls_end_well(results):
    for result in results.values():
        assert (result.error, result.finish_reason) == (None, "finished")
        assert not result.lines("WARNING", "imhash")
        assert not [name for name in result.simhash_stats() if name.startswith("errors/")]


def test_copies_are_dropped(results, site):
    result = results["drop"]
    originals = [f"/{number}" for number in range(len(STYLES))]
    assert [path for path in result.seen() if path in originals] == originals
    assert result.seen("errback") == [f"{path}-copy" for path in originals]
    scraped = [item["url"] for item in result.items if "from" not in item]
    assert sorted(scraped) == sorted(map(site.url, [*originals, "/linked"]))


def test_copies_are_tagged_and_their_links_are_not_followed(results, site):
    result = results["tag"]
    for number in range(len(STYLES)):
        event = result.event(f"/{number}-copy")
        assert event["verdict"]["representative"] == site.url(f"/{number}")
        assert event["flags"] == ["near-duplicate"]
        assert site.url(f"/{number}-copy") in {item["url"] for item in result.items}
    assert result.stat("dropped_requests") == 3 * len(STYLES)
    assert result.seen().count("/linked") == 1


def test_pages_whose_callback_raises_are_not_stored(results):
    for name in ("drop", "tag"):
        result = results[name]
        assert result.stats["spider_exceptions/count"] == len(STYLES)
        # The originals, and /linked.
        assert result.stat("index/size") == len(STYLES) + 1


def test_callbacks_may_return_nothing(results):
    # At the end of a crawl without items, a copy is tried, too.
    assert results["nothing"].seen() == ["/0", "/0-copy"]
    assert results["nothing"].stat("index/size") == 1
