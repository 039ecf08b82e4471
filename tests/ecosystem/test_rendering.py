"""Download handlers that render pages: the plugin judges what they return."""

from __future__ import annotations

import json
import os
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.chromium import browser_path
from tests.crawl.harness import ADDONS, IN_ORDER, Crawl, crawled, run
from tests.crawl.pages import page
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
    urls = [site.put(f"/copy/{number}", page("mill", copy=number)) for number in range(4)]
    urls.append(site.put("/bees", page("bees")))
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


class ZyteAPI(BaseHTTPRequestHandler):
    """Zyte API as far as a crawl asks it: `browserHtml`, or the body of the response."""

    pages: dict[str, str]

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        html = self.pages[asked["url"]]
        answer = {"url": asked["url"], "statusCode": 200}
        if asked.get("browserHtml"):
            answer["browserHtml"] = html
        else:
            answer["httpResponseBody"] = b64encode(html.encode()).decode()
            answer["httpResponseHeaders"] = [
                {"name": "content-type", "value": "text/html; charset=utf-8"}
            ]
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def zyte_api():
    addresses = [f"https://mill.example/{name}" for name in ("mill", "copy", "bees")]
    handler = type(
        "Handler",
        (ZyteAPI,),
        {
            "pages": dict(
                zip(addresses, (page("mill"), page("mill", copy=1), page("bees")), strict=True)
            )
        },
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", addresses
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("parameters", [{"browserHtml": True}, {"httpResponseBody": True}], ids=str)
def test_scrapy_zyte_api(zyte_api, tmp_path, parameters):
    pytest.importorskip("scrapy_zyte_api", reason="`make test-ecosystem` installs it")
    api, addresses = zyte_api
    settings = {
        "ADDONS": {**ADDONS, "scrapy_zyte_api.Addon": 400},
        "ZYTE_API_URL": api,
        "ZYTE_API_KEY": "none of anybody's",
    }
    requests = [{"url": url, "meta": {"zyte_api_automap": parameters}} for url in addresses]
    result = crawled(tmp_path, requests, settings)
    assert result.seen() == ["/mill", "/bees"], result.log
    assert result.event("/mill")["flags"] == ["zyte-api"]
    assert (result.stat("new"), result.stat("near_duplicate")) == (2, 1)
