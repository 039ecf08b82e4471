"""Responses that are not judged pass unchanged, and are counted by reason."""

from collections import Counter

import pytest
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles
from tests.crawl.spiders import PagesSpider

WORDS = "many words " * 50  # enough to be judged, and near-duplicates of each other
# Path → body, content type and status of responses that are not judged, or not judged as HTML.
UNJUDGED = {
    "/json": (f'{{"text": "{WORDS}"}}', "application/json", 200),
    "/text": (WORDS, "text/plain", 200),
    "/xml": (f"<?xml version='1.0'?><a>{WORDS}</a>", "text/xml", 200),
    "/binary": (bytes(range(256)) * 20, "application/octet-stream", 200),
    "/none": (b"", "text/html", 204),
    "/empty": (b"", "text/html", 200),
    "/gone": (page("mill"), "text/html", 410),
    "/failing": (page("mill"), "text/html", 503),
}


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
    site.put("/robots.txt", "User-agent: *\nDisallow: /private\n", content_type="text/plain")
    mill, copy, private, file, side, no_callback, *out = put_articles(
        site,
        *("/page mill", "/copy mill 1", "/private bees", "/file.html mill 4", "/side mill 5"),
        *("/no-callback mill 6", "/opted-out mill 2", "/opted-out-again mill 3"),
    )
    requests = [mill, *({"url": url, "meta": {"dont_simhash": True}} for url in out)]
    for path, (body, content_type, status) in UNJUDGED.items():
        url = site.put(path, body, content_type=content_type, status=status)
        requests.append({"url": url, "meta": {"handle_httpstatus_list": [410, 503]}})
    requests.append(site.put("/mislabelled", f'{{"html": "<p>{WORDS}</p>"}}'))
    requests.append(site.put("/unmarked", page("tram"), content_type=None))
    files = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 300},
        "FILES_STORE": str(module_path / "files"),
    }
    crawls = {
        "kinds": Crawl([*requests, copy]),
        "robots": Crawl([mill, private], {"ROBOTSTXT_OBEY": True}),
        "files": Crawl(
            [mill],
            files,
            spider="tests.crawl.spiders.ItemsSpider",
            arguments={"items": {"/page": [{"file_urls": [file]}]}},
        ),
        "inline": Crawl(
            [mill, copy],
            spider=f"{__name__}.InlineSpider",
            arguments={"side": side, "no_callback": no_callback},
        ),
    }
    found = run_named(module_path, crawls)
    for result in found.values():
        assert (result.error, result.finish_reason) == (None, "finished")
        assert not result.lines("ERROR")
        assert not [stat for stat in result.simhash_stats() if stat.startswith("errors/")]
    return found


def skipped(result):
    return {
        name.removeprefix("skipped/"): count
        for name, count in result.simhash_stats().items()
        if name.startswith("skipped/")
    }


def test_responses_without_a_verdict_reach_callbacks_untouched_and_are_counted(results):
    result = results["kinds"]
    for path in (*UNJUDGED, "/opted-out", "/opted-out-again"):
        event = result.event(path)
        assert (event["verdict"], event["flags"]) == (None, []), path
    assert result.event("/mislabelled")["verdict"] == {"kind": "skipped", "reason": "not_html"}
    assert result.event("/unmarked")["verdict"]["kind"] == "new"  # HTML by its content
    assert "/copy" not in result.seen()
    assert skipped(result) == {"dont_simhash": 2, "not_html": 5, "status": 2, "empty": 2}
    assert (result.stat("checked"), result.stat("index/size")) == (3, 2)


def test_robots_txt_is_read_and_obeyed(results):
    result = results["robots"]
    assert result.seen() == ["/page"]
    assert result.stats["robotstxt/forbidden"] == 1
    assert skipped(result) == {"no_callback": 1}


def test_media_pipelines_get_their_files(results, module_path):
    result = results["files"]
    [[file]] = [item["files"] for item in result.items]
    stored = (module_path / "files" / file["path"]).read_text(encoding="utf-8")
    assert stored == page("mill", copy=4)
    assert (skipped(result), result.stat("checked")) == ({"no_callback": 1}, 1)


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
