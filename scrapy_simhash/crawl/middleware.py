"""The middlewares: one fingerprints pages off the event loop, one acts on verdicts, and one sees
what becomes of a page.

The downloader middleware cannot know whether a spider callback will get a response (inline
downloads and default callbacks look alike there), so it never drops. Only responses for
callbacks reach the spider middlewares. One of them is the last before the callback, so that no
other middleware refuses a page after it was judged, or answers for a callback that failed. The
other is the last before the engine, so that no item goes to the pipelines uncounted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.exceptions import NearDuplicatePage
from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.identity import canonical_url
from scrapy_simhash.crawl.second_chances import DroppedCopy
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.policy import PASS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.policy import Action
    from scrapy_simhash.verdict import Verdict

VERDICT_META_KEY = "simhash"
OPT_OUT_META_KEY = "dont_simhash"
ASKED_AGAIN_META_KEY = "simhash_asked_again"
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
        if extension.index is None:  # pages are not judged, or the index could not be opened
            extension.arrived(request)
            return response
        reason = self._reason_to_skip(request, response)
        if reason is not None or not isinstance(response, HtmlResponse):
            extension.stats.skip(reason or "not_html")
            extension.arrived(request)
            return response
        try:
            page, seen_before = await extension.fingerprinter.fingerprint(response)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            extension.failed("fingerprint", error, response.url)
            extension.arrived(request)
            return response
        if seen_before:
            extension.stats.count("exact_duplicate")
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
        if page.tokens:
            extension.unmatched_selectors.seen(page.unmatched)
        extension.pages[response] = page
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """A page that was asked for again does not come."""
        self._extension.arrived(request)

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


class _SpiderMiddleware:
    """What both spider middlewares do: look at each output of a page on its way past."""

    def __init__(self, extension: SimhashExtension) -> None:
        self._extension = extension

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Let through what passes, and learn how the output ends."""
        page = self._page(response)
        try:
            for request_or_item in result:
                if page is None or self._passes(page, response, request_or_item):
                    yield request_or_item
        except BaseException:  # GeneratorExit, too: nobody reads the rest
            self._broke(page)
            raise
        self._ended(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """The same for callbacks and middlewares that are asynchronous."""
        page = self._page(response)
        try:
            async for request_or_item in result:
                if page is None or self._passes(page, response, request_or_item):
                    yield request_or_item
        except BaseException:  # GeneratorExit, too: nobody reads the rest
            self._broke(page)
            raise
        self._ended(page)

    def _page(self, response: Response) -> PageState | None:
        settlement = self._extension.settlement
        page = settlement.page(response)
        if page is None and self._extension.item_index is not None and response.request:
            # Not judged, but its items are.
            key = self._extension.identity.key(response.request)
            return settlement.begin(response, key, None, PASS, response.request)
        return page

    def _passes(self, page: PageState, response: Response, request_or_item: Any) -> bool:
        raise NotImplementedError

    def _ended(self, page: PageState | None) -> None:
        raise NotImplementedError

    def _broke(self, page: PageState | None) -> None:
        raise NotImplementedError


class SimhashOutputMiddleware(_SpiderMiddleware):
    """Stands on the engine's side of all other spider middlewares, and sees what leaves them:
    each item on its way to the pipelines, whoever made it, and the end of a page's output.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make a middleware."""
        extension = SimhashExtension.of(crawler)
        extension.follows_output = True
        return cls(extension)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Start nothing if the index could not be opened: the spider is closing."""
        if self._extension.close_reason is None:
            async for request_or_item in start:
                yield request_or_item

    def process_spider_exception(self, response: Response, exception: Exception) -> None:  # noqa: ARG002
        """Note an exception that no middleware answered for."""
        self._broke(self._extension.settlement.page(response))

    def _passes(self, page: PageState, response: Response, request_or_item: Any) -> bool:
        extension = self._extension
        if not isinstance(request_or_item, Request):
            if request_or_item is not None:
                extension.settlement.item_yielded(page, request_or_item)
        elif extension.identity.asks_again(response, request_or_item):
            extension.settlement.asked_again(page)
            extension.second_chances.asked_for(page.key)
            # It may be confirmed by now, where a middleware asks and not the callback.
            request_or_item.meta[ASKED_AGAIN_META_KEY] = page.verdict and page.verdict.fingerprint
        return True

    def _ended(self, page: PageState | None) -> None:
        if page is not None:
            self._extension.settlement.output_ended(page)

    def _broke(self, page: PageState | None) -> None:
        if page is not None:
            page.failed = True
            self._extension.settlement.output_ended(page)


class SimhashSpiderMiddleware(_SpiderMiddleware):
    """Stands next to the spider: judges pages just before their callback, acts on the verdict,
    and sees how the callback ends before any other middleware can answer for it.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make a middleware.

        :raises SettingsError: its other half is missing.
        """
        extension = SimhashExtension.of(crawler)
        if not extension.follows_output:
            raise SettingsError(
                "SPIDER_MIDDLEWARES",
                dict(crawler.settings.getdict("SPIDER_MIDDLEWARES")),
                "scrapy_simhash.crawl.middleware.SimhashOutputMiddleware is needed in it, before "
                "all others",
            )
        return cls(extension)

    def process_spider_input(self, response: Response) -> None:
        """Judge the page. :raises NearDuplicatePage: its callback is not to run."""
        request = response.request
        if request is None:  # pragma: no cover - Scrapy always sets it
            return
        request.meta.pop(VERDICT_META_KEY, None)  # of an earlier response to this request
        by_itself = ASKED_AGAIN_META_KEY in request.meta
        # Callbacks may copy the meta to other requests. A repetition of this one keeps the mark:
        # without it, a ban page that is reported after the last retry would be confirmed.
        repeatable = request.copy() if by_itself else request
        refused = request.meta.pop(ASKED_AGAIN_META_KEY, None)
        extension = self._extension
        page = extension.pages.pop(response, None)
        if page is None or extension.index is None:
            return
        if page.skipped is not None:
            extension.arrived(request)
            request.meta[VERDICT_META_KEY] = {"kind": "skipped", "reason": page.skipped}
            return
        key = extension.identity.key(request)
        verdict = extension.index.judge(key, page, canonical_url(response, page.canonical))
        if verdict is None:
            extension.arrived(request)
            request.meta[VERDICT_META_KEY] = {"kind": "skipped", "reason": "index_error"}
            return
        request.meta[VERDICT_META_KEY] = verdict.to_dict()
        if verdict.kind == "near-duplicate":
            response.flags.append(FLAG)
        asked_again = extension.arrived(request, verdict.observation) or by_itself
        action = self._action(verdict, repeatable, page.excerpt, asked_again=asked_again)
        extension.index.acted(verdict, action)
        observation = verdict.observation
        if action != PASS and observation is not None and observation.provisional:
            # It waits for another page, and does not stand for itself.
            extension.index.settle(observation, confirmed=False)
            verdict = replace(verdict, observation=None)
        if action.call:
            state = extension.settlement.begin(response, key, verdict, action, repeatable)
            extension.settlement.recognize_refused(state, refused)
            extension.page_passages.arrived(state, page.text)
            return
        extension.settlement.begin(response, key, verdict, PASS, repeatable)  # for an errback
        raise NearDuplicatePage(response, verdict)

    def process_spider_exception(
        self, response: Response, exception: Exception
    ) -> Iterable[Any] | None:
        """Swallow our own exception, and note any other before somebody answers for it."""
        page = self._extension.settlement.page(response)
        if isinstance(exception, NearDuplicatePage):
            self._ended(page)
            return ()
        if page is not None:
            page.failed = True
        return None

    def _action(
        self, verdict: Verdict, request: Request, excerpt: str, *, asked_again: bool
    ) -> Action:
        """What the policy says, unless there is a reason to keep the page all the same."""
        extension = self._extension
        flood = False
        if verdict.kind == "near-duplicate" and verdict.representative is not None:
            flood = extension.clusters.is_flood(verdict.representative, verdict.key)
            if flood:
                self._warn_of_flood(verdict, excerpt)
        superseding = verdict.canonical == "page" and extension.settings.prefer_canonical
        if superseding and extension.index is not None:
            extension.index.supersede(verdict)
        action = extension.settings.policy.decide(verdict)
        if action == PASS:
            return action
        reason = None
        dropped = not action.items
        if dropped and superseding:
            reason = "canonical"
        elif dropped and flood:
            reason = "flood"
        elif dropped and request.method != "GET":  # forms whose answers resemble each other
            reason = "method"
        elif asked_again and verdict.kind != "near-duplicate":
            reason = "rescheduled"  # unchanged, but its callback did not run
        elif not self._hold(verdict, request):
            reason = "held_too_many"
        if reason is None:
            return action
        extension.stats.kept(verdict, reason)
        return PASS

    def _hold(self, verdict: Verdict, request: Request) -> bool:
        """Keep the request of a copy whose representative may still fail."""
        observation = verdict.observation
        if observation is None or not observation.provisional:
            return True
        copy = DroppedCopy(verdict.key, observation.fingerprint, observation.evidence, request)
        awaited = verdict.representative or verdict.key  # or an earlier response under its key
        return self._extension.second_chances.hold(awaited, copy)

    def _warn_of_flood(self, verdict: Verdict, excerpt: str) -> None:
        representative = verdict.representative or ""
        self._extension.warn_once(
            f"flood of {representative}",
            "simhash: more than %d pages are near-duplicates of %s. A ban page, a soft 404 or a "
            "broken extraction? Its further copies are tagged, not dropped "
            "(SIMHASH_CLUSTER_LIMIT). The last one, %s, begins: %s",
            self._extension.settings.cluster_limit,
            printable(representative),
            printable(verdict.key),
            printable(excerpt),
        )

    def _passes(self, page: PageState, response: Response, request_or_item: Any) -> bool:
        if request_or_item is None:
            return True
        page.outputs += 1
        if not isinstance(request_or_item, Request):
            if not page.action.items:
                self._extension.stats.count("dropped_items")
            return page.action.items
        if self._extension.identity.asks_again(response, request_or_item):
            return True
        if not page.action.follow:
            self._extension.stats.count("dropped_requests")
        return page.action.follow

    def _ended(self, page: PageState | None) -> None:
        if page is not None:
            page.handled = True

    def _broke(self, page: PageState | None) -> None:
        """Leave the page unhandled."""
