"""The downloader middleware: fingerprints pages, and answers requests with kept pages.

It never drops a downloaded page, because it cannot know whether a callback will get the response: a
request without a callback is for the spider's `parse`, or an *inline download*, whose response
`await engine.download(request)` returns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.extensions.closespider import CloseSpider
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash import signals
from scrapy_simhash.crawl.arguments import CARRIED_META_KEY, with_request
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.crawl.identity import (
    OPT_OUT_META_KEY,
    OTHER_URL_META_KEY,
    VERDICT_META_KEY,
)
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.index import PageToObserve

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.detector import PageFingerprint

FLAG = "near-duplicate"
# Indexed pages with these statuses count as gone; other pages that cannot be judged do not.
_GONE_STATUSES = (404, 410)


class SimhashDownloaderMiddleware(Component):
    """The downloader middleware: fingerprints pages, and answers requests with kept pages."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._signals = crawl.crawler.signals
        self._fingerprinter = crawl.fingerprinter
        self._fingerprinted = crawl.fingerprinted
        self._max_bytes = crawl.settings("SIMHASH_MAX_BYTES")
        self._identity = crawl.identity
        self._arguments = crawl.arguments
        self._pages = crawl.pages
        self._settlement = crawl.settlement
        self._waiting = crawl.waiting
        self._page_limits = crawl.crawler.get_extension(CloseSpider)
        self._request_ended = crawl.request_ended
        # Request for a dropped copy → the kept response of that copy.
        self._answers: WeakKeyDictionary[Request, Response] = WeakKeyDictionary()

    def process_request(self, request: Request) -> Response | None:
        """Return the response that was kept for a request, or None."""
        request.meta.pop(VERDICT_META_KEY, None)  # of another page, whose meta the spider copied
        self._waiting.requested(request)
        answer = self._pages.retries.answer_to(request)
        if answer is not None:
            self._answers[request] = answer
            if self._page_limits is not None:  # it has counted this page
                self._page_limits.counter["pagecount"] -= 1
                self._page_limits.counter["pagecount_since_last_item"] -= 1
            return _again(answer, request)
        return None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Fingerprint a page, or count the reason not to. Return the response."""
        answer = self._answers.pop(request, None)
        if answer is not None:  # other middlewares have seen it already, and may have changed it
            response = _again(answer, request)
        page, key = await self._fingerprint(request, response), self._identity.key(request)
        if _is_success(response):
            self._compare_with_earlier(request, key, page)
        if (page is None or page.skipped) and response.status not in _GONE_STATUSES:
            self._pages.mark_not_judged(key)
        if page is None:
            self._request_ended(request)
        elif page.fingerprint is not None and self._pages.calls.in_threads:
            page = with_request(page, request, self._arguments.hash(request))
            await self._pages.ask_early(key, page, response)
            self._fingerprinted[response] = page, None
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Record that the page of a failed or spared request will not arrive."""
        self._pages.mark_not_judged(self._identity.key(request))
        self._request_ended(request)

    def _compare_with_earlier(
        self, request: Request, key: str, page: PageFingerprint | None
    ) -> None:
        """Compare a page with an earlier one under its key, whose copies may have been dropped for
        a content that the spider did not want.
        """
        if self._pages.index is None or request.callback is NO_CALLBACK:
            return
        text = None
        if page is not None and page.fingerprint is not None:
            text = PageToObserve(key, page.fingerprint, evidence_of(key, page))
        if CARRIED_META_KEY not in request.meta:  # no spider output: perhaps an inline download
            self._settlement.downloaded(key, text)
        self._pages.came_again(key, text, request.meta.get(OTHER_URL_META_KEY))

    async def _fingerprint(self, request: Request, response: Response) -> PageFingerprint | None:
        """Return the fingerprint of a page, and keep it for the spider middleware."""
        pages = self._pages
        if pages.index is None:  # pages are not judged, or the index is not open
            return None
        reasons = {
            "dont_simhash": request.meta.get(OPT_OUT_META_KEY),
            "no_callback": request.callback is NO_CALLBACK,  # robots.txt, media pipelines
            "status": not _is_success(response),
            "empty": not response.body,
            "not_html": not isinstance(response, HtmlResponse),
            "too_large": len(response.body) > self._max_bytes,
        }
        reason = next((reason for reason, applies in reasons.items() if applies), None)
        if reason is not None or not isinstance(response, HtmlResponse):
            pages.stats.skip(reason or "not_html")
            return None
        try:
            page, is_cached = await self._fingerprinter.fingerprint(response)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            pages.errors.count_error("fingerprint", error, response.url)
            return None
        results = await self._signals.send_catch_log_async(
            signals.page_fingerprinted, request=request, response=response, page=page
        )
        given = next((result for _, result in results if isinstance(result, tuple)), None)
        if given is not None:
            # Without a fingerprint, the index is not asked. The page does not count as skipped.
            page = replace(page, fingerprint=None, skipped=None, title="", text="")
        self._fingerprinted[response] = page, given
        if is_cached:
            pages.stats.count("exact_duplicate")
        pages.stats.fingerprinted(page)
        if page.way:
            pages.stats.count(f"extraction/{page.way}")
        if page.error is not None:
            pages.errors.count_error("extraction", page.error, response.url)
        if page.tokens:
            pages.unmatched.count(page.unmatched)
        return page


def _is_success(response: Response) -> bool:
    return 200 <= response.status < 300  # noqa: PLR2004


def _again(response: Response, request: Request) -> Response:
    """Return a response as it arrived, for another request."""
    again = response.replace(flags=[flag for flag in response.flags if flag != FLAG])
    again.request = request
    return again
