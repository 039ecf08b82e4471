"""Browser pages in the meta of dropped pages are closed; `tests/ecosystem` has the real package."""

import asyncio
from types import SimpleNamespace

from scrapy import Request

from scrapy_simhash.crawl.browser_pages import close_browser_pages


class BrowserPage:
    def __init__(self, error=None):
        self.error, self.closed = error, 0

    async def close(self):
        self.closed += 1
        if self.error:
            raise self.error


def test_browser_pages_are_closed_and_errors_are_counted():
    errors = []
    log = SimpleNamespace(count_error=lambda *error: errors.append(error))
    crash = RuntimeError("the browser is gone")
    page, crashed, other = BrowserPage(), BrowserPage(crash), BrowserPage()
    meta = {"playwright_page": page, "its_page": crashed, "next_page": 2, "connection": other}

    async def close():
        close_browser_pages(Request("http://a/", meta=meta), log)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(close())
    assert [page.closed, crashed.closed, other.closed] == [1, 1, 0]
    assert errors == [("browser_page", crash, "http://a/")]
