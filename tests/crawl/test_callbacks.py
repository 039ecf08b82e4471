"""Spiders of every kind, under every reactor and under none."""

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
    requests = []
    names = ("mill ice", "bees clock", "tram 石桥", "茶园 paper")
    for number, (name, style) in enumerate(zip(map(str.split, names), STYLES, strict=True)):
        links = ["/linked", "/0", "/0"]  # with one or two, the callbacks of copies run
        for end, body in {
            "": page(name[0], links=links),
            "-copy": page(name[0], copy=1, links=links),
            "-failing": page(name[1]),
        }.items():
            url = site.put(f"/{number}{end}", body)
            requests.append({"url": url, "callback": style, "errback": end != "-failing"})
    failing = {"failing": [f"/{number}-failing" for number in range(len(STYLES))]}
    tag = {"SIMHASH_ACTION": "tag", "SIMHASH_FOLLOW": False}
    nothing = [{"url": site.url(path), "callback": "parse_nothing"} for path in ("/0", "/0-copy")]
    crawls = {
        "drop": Crawl(requests, arguments=failing),
        "tag": Crawl(requests, tag, arguments=failing),
        "nothing": Crawl(nothing),
    }
    found = run_named(tmp_path_factory.mktemp("callbacks"), crawls, **REACTORS[request.param])
    for result in found.values():
        assert (result.error, result.finish_reason) == (None, "finished")
        assert not result.lines("WARNING", "imhash")
        assert not [name for name in result.simhash_stats() if name.startswith("errors/")]
    return found


def test_copies_are_dropped(results, site):
    result = results["drop"]
    originals = [f"/{number}" for number in range(len(STYLES))]
    assert [path for path in result.seen() if path in originals] == originals
    assert result.seen("errback") == [f"{path}-copy" for path in originals]
    scraped = [item["url"] for item in result.items if "from" not in item]
    assert sorted(scraped) == sorted(map(site.url, [*originals, "/linked"]))
    assert result.stats["spider_exceptions/count"] == len(STYLES)
    # Pages whose callback raises are not stored.
    assert result.stat("index/size") == len(scraped)


def test_copies_are_tagged_and_their_links_are_not_followed(results, site):
    result = results["tag"]
    for number in range(len(STYLES)):
        event = result.event(f"/{number}-copy")
        assert event["verdict"]["representative"] == site.url(f"/{number}")
        assert site.url(f"/{number}-copy") in {item["url"] for item in result.items}
    assert result.stat("dropped_requests") == 3 * len(STYLES)
    assert result.seen().count("/linked") == 1


def test_callbacks_may_return_nothing(results):
    # At the end of a crawl without items, a copy is tried, too.
    assert results["nothing"].seen() == ["/0", "/0-copy"]
    assert results["nothing"].stat("index/size") == 1
