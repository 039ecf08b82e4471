"""Download handlers that render pages: the plugin judges what they return."""

import json
import os
from base64 import b64encode

import pytest

from tests.chromium import browser_path
from tests.crawl.harness import ADDONS, IN_ORDER, Crawl, crawled, run
from tests.crawl.pages import page, put_articles
from tests.crawl.site import Answer
from tests.crawl.spiders import PagesSpider

pytestmark = pytest.mark.thorough
DRAWN = "<html><head><title>Loading</title></head><body><script>{}</script></body></html>"


def drawn_by_script(html):
    text = json.dumps(html).replace("</", "<\\/")
    return DRAWN.format(f"document.open(); document.write({text}); document.close();")


def playwright_settings():
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    return {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {
            "executable_path": browser_path(),
            # Chromium's sandbox does not work for root.
            "args": ["--no-sandbox"] if os.geteuid() == 0 else [],
        },
    }


class PageClosingSpider(PagesSpider):
    """A spider whose callback closes the browser page."""

    async def parse(self, response):
        await response.meta["playwright_page"].close()
        for output in super().parse(response):
            yield output


@pytest.mark.skipif(browser_path() is None, reason="no browser: apt-get install chromium")
def test_scrapy_playwright(site, tmp_path):
    pytest.importorskip("scrapy_playwright", reason="`make test-ecosystem` installs it")
    urls = [
        site.put("/mill", drawn_by_script(page("mill"))),
        site.put("/copy", drawn_by_script(page("mill", copy=1))),
        site.put("/bees", drawn_by_script(page("bees"))),
    ]
    settings = playwright_settings()
    requests = [{"url": url, "meta": {"playwright": True}} for url in urls]
    rendered, raw = run(
        tmp_path, Crawl(requests, settings, name="rendered"), Crawl(urls, settings, name="raw")
    )
    assert rendered.seen() == ["/mill", "/bees"]
    assert (rendered.stat("new"), rendered.stat("near_duplicate")) == (2, 1)
    assert raw.stat("skipped/no_text") == len(urls)


@pytest.mark.skipif(browser_path() is None, reason="no browser: apt-get install chromium")
@pytest.mark.parametrize("errback", [False, True])
def test_browser_pages_of_dropped_pages_are_closed(site, tmp_path, errback):
    """More pages are dropped than a browser may have open."""
    pytest.importorskip("scrapy_playwright", reason="`make test-ecosystem` installs it")
    urls = put_articles(site, *(f"/copy/{n} mill {n}" for n in range(4)), "/bees bees")
    requests = [
        {
            "url": url,
            "errback": errback,
            "meta": {"playwright": True, "playwright_include_page": True},
        }
        for url in urls
    ]
    settings = playwright_settings() | {
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1,
        "CLOSESPIDER_TIMEOUT": 60,
    }
    result = crawled(
        tmp_path,
        requests,
        settings | IN_ORDER,
        spider="tests.ecosystem.test_rendering.PageClosingSpider",
    )
    assert result.finish_reason == "finished"
    assert result.seen() == ["/copy/0", "/bees"]


@pytest.mark.parametrize("wanted", ["browserHtml", "httpResponseBody"])
def test_scrapy_zyte_api(site, tmp_path, wanted):
    pytest.importorskip("scrapy_zyte_api", reason="`make test-ecosystem` installs it")
    urls = [f"https://mill.example/{name}" for name in ("mill", "copy", "bees")]
    answers = []
    for url, html in zip(urls, (page("mill"), page("mill", copy=1), page("bees")), strict=True):
        answer = {"url": url, "statusCode": 200, wanted: html}
        if wanted == "httpResponseBody":
            answer[wanted] = b64encode(html.encode()).decode()
            content_type = "text/html; charset=utf-8"
            answer["httpResponseHeaders"] = [{"name": "content-type", "value": content_type}]
        headers = {"Content-Type": "application/json"}
        answers.append(Answer(json.dumps(answer).encode(), headers=headers))
    # The spider asks for one page after the other.
    api = site.put_turns("/extract", *answers)
    settings = {
        "ADDONS": {**ADDONS, "scrapy_zyte_api.Addon": 400},
        "ZYTE_API_URL": api.removesuffix("extract"),
        "ZYTE_API_KEY": "none of anybody's",
    }
    requests = [{"url": url, "meta": {"zyte_api_automap": {wanted: True}}} for url in urls]
    result = crawled(tmp_path, requests, settings)
    assert result.seen() == ["/mill", "/bees"], result.log
    assert result.event("/mill")["flags"] == ["zyte-api"]
    assert (result.stat("new"), result.stat("near_duplicate")) == (2, 1)
