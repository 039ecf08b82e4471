"""The two middlewares: one fingerprints pages off the event loop, the other acts on verdicts.

The downloader middleware cannot know whether a spider callback will get a response (inline
downloads and default callbacks look alike there), so it never drops. Only responses for
callbacks reach the spider middleware, which asks the index and acts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread

from scrapy_simhash.crawl.exceptions import NearDuplicatePage
from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.stats import printable
from scrapy_simhash.policy import PASS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.detector import PageFingerprint

VERDICT_META_KEY = "simhash"
OPT_OUT_META_KEY = "dont_simhash"
IDENTITY_META_KEY = "simhash_key"
FLAG = "near-duplicate"


class SimhashDownloaderMiddleware:
    """Extracts and fingerprints pages in a thread; passes every response on untouched."""

    def __init__(self, extension: SimhashExtension) -> None:
        self._extension = extension

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make a middleware."""
        return cls(SimhashExtension.of(crawler))

    def process_request(self, request: Request) -> None:
        """Take away a verdict that a spider copied from another page's meta."""
        request.meta.pop(VERDICT_META_KEY, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Fingerprint the page, or count why not."""
        extension = self._extension
        if extension.index is None:  # it could not be opened, and the spider is closing
            return response
        reason = self._reason_to_skip(request, response)
        if reason is not None:
            extension.stats.skip(reason)
            return response
        try:
            page = await run_in_thread(self._fingerprint, response)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            extension.failed("fingerprint", error, response.url)
            return response
        extension.stats.time(page)
        if page.way:
            extension.stats.count(f"extraction/{page.way}")
        if page.skipped is not None:
            extension.stats.skip(page.skipped)
        if page.error is not None:
            extension.stats.count("errors/extraction")
            extension.warn_once(
                "extraction",
                "simhash: no text of %s: %s. Further ones are counted.",
                printable(response.url),
                printable(page.error),
            )
        extension.pages[response] = page
        return response

    def _reason_to_skip(self, request: Request, response: Response) -> str | None:
        for reason, applies in (
            ("dont_simhash", bool(request.meta.get(OPT_OUT_META_KEY))),
            ("no_callback", request.callback is NO_CALLBACK),  # robots.txt, media pipelines
            ("status", not 200 <= response.status < 300),  # noqa: PLR2004 - success
            ("empty", not response.body),
            ("not_html", not isinstance(response, HtmlResponse)),
            ("too_large", len(response.body) > self._extension.settings.max_bytes),
        ):
            if applies:
                return reason
        return None

    def _fingerprint(self, response: Response) -> PageFingerprint:
        # In the thread, for finding out an undeclared encoding takes long.
        try:
            return self._extension.detector.fingerprint_page(response.text)
        except SystemExit as error:
            # Of somebody's extractor. It would end the thread, and nobody would hear of it.
            raise RuntimeError(f"SystemExit({error}) in extraction") from error


class SimhashSpiderMiddleware:
    """Asks the index about pages on their way to a callback, and acts on the verdict."""

    def __init__(self, extension: SimhashExtension, crawler: Crawler) -> None:
        self._extension = extension
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make a middleware."""
        return cls(SimhashExtension.of(crawler), crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Start nothing if the index could not be opened: the spider is closing."""
        if self._extension.index is not None:
            async for request_or_item in start:
                yield request_or_item

    def process_spider_input(self, response: Response) -> None:
        """Judge the page. :raises NearDuplicatePage: its callback is not to run."""
        request = response.request
        if request is None:  # pragma: no cover - Scrapy always sets it
            return
        request.meta.pop(VERDICT_META_KEY, None)  # of an earlier response to this request
        extension = self._extension
        page = extension.pages.pop(response, None)
        if page is None:
            return
        if page.skipped is not None:
            request.meta[VERDICT_META_KEY] = {"kind": "skipped", "reason": page.skipped}
            return
        key = self._identity(request)
        verdict = extension.judge(key, page)
        if verdict is None:
            request.meta[VERDICT_META_KEY] = {"kind": "skipped", "reason": "index_error"}
            return
        request.meta[VERDICT_META_KEY] = verdict.to_dict()
        if verdict.kind == "near-duplicate":
            response.flags.append(FLAG)
        action = extension.settings.policy.decide(verdict)
        if action.call:
            extension.settlement.begin(response, key, verdict, action)
            return
        extension.stats.count("dropped")
        extension.settlement.begin(response, key, verdict, PASS)  # for the output of an errback
        raise NearDuplicatePage(response, verdict)

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Let through what the action allows, and learn whether the page was handled."""
        page = self._page(response)
        try:
            for request_or_item in result:
                if self._passes(page, request_or_item):
                    yield request_or_item
        except Exception:
            self._failed(page)
            raise
        self._exhausted(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """The same for callbacks and middlewares that are asynchronous."""
        page = self._page(response)
        try:
            async for request_or_item in result:
                if self._passes(page, request_or_item):
                    yield request_or_item
        except Exception:
            self._failed(page)
            raise
        self._exhausted(page)

    def process_spider_exception(
        self, response: Response, exception: Exception
    ) -> Iterable[Any] | None:
        """Swallow our own exception; any other means that the page was not handled."""
        page = self._extension.settlement.page(response)
        if isinstance(exception, NearDuplicatePage):
            self._exhausted(page)
            return ()
        self._failed(page)
        return None

    def _page(self, response: Response) -> PageState | None:
        settlement = self._extension.settlement
        page = settlement.page(response)
        if page is None and self._extension.item_index is not None and response.request:
            # Not judged, but its items are.
            return settlement.begin(response, self._identity(response.request), None, PASS)
        return page

    def _passes(self, page: PageState | None, request_or_item: Any) -> bool:
        if page is None or request_or_item is None:
            return True
        if isinstance(request_or_item, Request):
            if not page.action.follow:
                self._extension.stats.count("dropped_requests")
            return page.action.follow
        if not page.action.items:
            self._extension.stats.count("dropped_items")
            return False
        self._extension.settlement.item_yielded(page, request_or_item)
        return True

    def _exhausted(self, page: PageState | None) -> None:
        if page is not None:
            self._extension.settlement.output_exhausted(page)

    def _failed(self, page: PageState | None) -> None:
        if page is not None:
            self._extension.settlement.output_failed(page)

    def _identity(self, request: Request) -> str:
        """The page's identity: what the request says, its URL, or its request fingerprint."""
        key = request.meta.get(IDENTITY_META_KEY)
        if key:
            return str(key)
        if request.method == "GET" and not request.body:
            return urldefrag(request.url).url
        fingerprint: bytes = self._crawler.request_fingerprinter.fingerprint(request)
        return f"{request.method} {urldefrag(request.url).url} {fingerprint.hex()}"
