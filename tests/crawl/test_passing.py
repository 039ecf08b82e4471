"""Responses that are not judged pass unchanged, and are counted by reason."""

from collections import Counter

import pytest
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles
from tests.crawl.spiders import PagesSpider


class FilesSpider(PagesSpider):
    def __init__(self, *args, files, **kwargs):
        super().__init__(*args, **kwargs)
        self.files = files

    def parse(self, response):
        self.note(response)
        yield {"url": response.url, "file_urls": self.files}


class InlineSpider(PagesSpider):
    """Downloads two more pages in its callback, with the meta of the first."""

    def __init__(self, *args, side, no_callback, **kwargs):
        super().__init__(*args, **kwargs)
        self.side = [Request(side), Request(no_callback, callback=NO_CALLBACK)]

    async def parse(self, response):
        self.note(response)
        for request in self.side:
            request = request.replace(meta=response.meta)  # noqa: PLW2901
            self.note(await self.crawler.engine.download_async(request), "inline")
        yield {"url": response.url}


@pytest.fixture(scope="module")
def results(site, module_path):
    html = page("mill")
    site.put("/page", html)
    put_articles(site, "/copy mill 1", "/opted-out mill 2", "/opted-out-again mill 3")
    site.put("/json", '{"text": "' + "many words " * 50 + '"}', content_type="application/json")
    site.put("/text", "many words " * 50, content_type="text/plain")
    site.put("/xml", f"<?xml version='1.0'?><a>{'words ' * 50}</a>", content_type="text/xml")
    site.put("/binary", bytes(range(256)) * 20, content_type="application/octet-stream")
    site.put("/mislabelled", '{"html": "<p>' + "many words " * 50 + '</p>"}')
    site.put("/gone", html, status=410)
    site.put("/failing", html, status=503)
    site.put("/none", b"", status=204)
    site.put("/empty", b"")
    site.put("/robots.txt", "User-agent: *\nDisallow: /private\n", content_type="text/plain")
    put_articles(site, "/private bees", "/file.html mill 4", "/side mill 5", "/no-callback mill 6")
    site.put("/unmarked", page("tram"), content_type=None)
    accepted = {"handle_httpstatus_list": [410, 503]}
    url = site.url
    crawls = {
        "kinds": Crawl(
            [
                url("/page"),
                {"url": url("/opted-out"), "meta": {"dont_simhash": True}},
                {"url": url("/opted-out-again"), "meta": {"dont_simhash": True}},
                *map(url, ("/json", "/text", "/xml", "/binary", "/none", "/empty", "/mislabelled")),
                {"url": url("/gone"), "meta": accepted},
                {"url": url("/failing"), "meta": accepted},
                url("/unmarked"),
                url("/copy"),
            ]
        ),
        "robots": Crawl([url("/page"), url("/private")], {"ROBOTSTXT_OBEY": True}),
        "files": Crawl(
            [url("/page")],
            {
                "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 300},
                "FILES_STORE": str(module_path / "files"),
            },
            spider=f"{__name__}.FilesSpider",
            arguments={"files": [url("/file.html")]},
        ),
        "inline": Crawl(
            [url("/page"), url("/copy")],
            spider=f"{__name__}.InlineSpider",
            arguments={"side": url("/side"), "no_callback": url("/no-callback")},
        ),
    }
    return run_named(module_path, crawls)


def skipped(result):
    prefix = "skipped/"
    return {
        name.removeprefix(prefix): count
        for name, count in result.simhash_stats().items()
        if name.startswith(prefix)
    }


@pytest.mark.parametrize("name", ["kinds", "robots", "files", "inline"])
def test_crawls_end_without_errors(results, name):
    result = results[name]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert not result.lines("ERROR")
    assert not [stat for stat in result.simhash_stats() if stat.startswith("errors/")]


def test_responses_without_a_verdict_reach_callbacks_untouched_and_are_counted(results):
    result = results["kinds"]
    expected = (
        "/opted-out /opted-out-again /json /text /xml /binary /none /empty /gone /failing".split()
    )
    for path in expected:
        event = result.event(path)
        assert (event["verdict"], event["flags"]) == (None, []), path
    assert "/copy" not in result.seen()
    verdict = result.event("/mislabelled")["verdict"]
    assert verdict == {"kind": "skipped", "reason": "not_html"}
    assert skipped(result) == {"dont_simhash": 2, "not_html": 5, "status": 2, "empty": 2}
    # /json and similar paths have enough words, and would be near-duplicates of each other.
    assert (result.stat("checked"), result.stat("index/size")) == (3, 2)


def test_html_without_a_content_type_is_judged(results):
    assert results["kinds"].event("/unmarked")["verdict"]["kind"] == "new"


def test_robots_txt_is_read_and_obeyed(results, site):
    result = results["robots"]
    assert result.seen() == ["/page"]
    assert result.stats["robotstxt/forbidden"] == 1
    assert skipped(result) == {"no_callback": 1}


def test_media_pipelines_get_their_files(results, module_path):
    result = results["files"]
    [item] = result.items
    [file] = item["files"]
    stored = (module_path / "files" / file["path"]).read_text(encoding="utf-8")
    assert stored == page("mill", copy=4)
    assert result.simhash_stats()["skipped/no_callback"] == 1
    assert result.stat("checked") == 1


def test_inline_downloads_pass_without_a_verdict_even_from_copied_meta(results):
    result = results["inline"]
    assert Counter(result.seen("inline")) == {"/side": 1, "/no-callback": 1}
    assert result.seen() == ["/page"]
    for path in ("/side", "/no-callback"):
        event = result.event(path, "inline")
        assert (event["flags"], event["verdict"]) == ([], None), path
    # Inline downloads are neither judged nor stored; the page of the callback is.
    assert result.event("/page")["verdict"]["kind"] == "new"
    assert (result.stat("checked"), result.stat("index/size")) == (2, 1)
