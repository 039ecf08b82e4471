"""Two spider middlewares: one acts on verdicts, one records the output of pages.

Only responses for callbacks reach them. `SimhashSpiderMiddleware` is next to the callback, so that
no other middleware rejects a page after it was judged, or handles an exception of the callback
first. `SimhashOutputMiddleware` is next to the engine, so that it sees every item.

If a callback repeats its request, it has *refused* the page, see `scrapy_simhash.crawl.settlement`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse

from scrapy_simhash import signals
from scrapy_simhash.crawl.arguments import CARRIED_META_KEY, with_request
from scrapy_simhash.crawl.asking_again import running
from scrapy_simhash.crawl.downloader_middleware import FLAG
from scrapy_simhash.crawl.exceptions import NearDuplicatePage
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.crawl.identity import (
    ASKED_AGAIN_META_KEY,
    OTHER_URL_META_KEY,
    REFUSED_META_KEY,
    VERDICT_META_KEY,
    has_other_query,
    has_password,
)
from scrapy_simhash.crawl.retries import is_retry, repeated
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.crawl.waiting import CALLED_AFTER_ALL_META_KEY
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.policy import PASS, Circumstances

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.http import Response

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.verdict import Verdict

_MARKS = REFUSED_META_KEY, ASKED_AGAIN_META_KEY, CALLED_AFTER_ALL_META_KEY, OTHER_URL_META_KEY


class _SpiderMiddleware(Component):
    """A spider middleware that filters the output of a page, and records how the output ends."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._settlement = crawl.settlement
        self._identity = crawl.identity
        self._arguments = crawl.arguments
        self._asking_again = crawl.asking_again
        self._pages = crawl.pages
        self._items = crawl.items

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Yield the requests and items for which `_passes` returns True; record how they end."""
        with self._output(response) as page:
            for request_or_item in result:
                if self._passes(page, response, request_or_item):
                    yield request_or_item
            yield from self._rest(page)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Do the same as `process_spider_output` for asynchronous output."""
        with self._output(response) as page:
            async for request_or_item in result:
                if self._passes(page, response, request_or_item):
                    yield request_or_item
            for request_or_item in self._rest(page):
                yield request_or_item

    @contextmanager
    def _output(self, response: Response) -> Iterator[PageState | None]:
        page, request = self._settlement.page(response), response.request
        if page is None and request is not None and self._items.index is not None:
            # The page was not judged, but its items will be.
            key = self._identity.key(request)
            page = self._settlement.begin(response, PageState(key, None, PASS, request))
        failed = True  # also if nobody reads the rest of the output
        try:
            yield page
            failed = False
        finally:
            if page is not None:
                self._output_ended(page, failed=failed)

    def _passes(self, page: PageState | None, response: Response, request_or_item: Any) -> bool:
        raise NotImplementedError

    def _rest(self, page: PageState | None) -> Iterable[Any]:  # noqa: ARG002
        """Return items and requests that pass at the end of the output."""
        return ()

    def _output_ended(self, page: PageState, *, failed: bool) -> None:
        raise NotImplementedError


class SimhashOutputMiddleware(_SpiderMiddleware):
    """The spider middleware next to the engine: records the items and requests that all other
    middlewares let pass, and the end of a page's output.
    """

    def __init__(self, crawl: SimhashExtension) -> None:
        super().__init__(crawl)
        crawl.has_output_middleware = True
        self._waiting = crawl.waiting

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the output of ``start()``."""
        async for request_or_item in start:
            if isinstance(request_or_item, Request):
                self._leaves_spider(request_or_item)
            yield request_or_item
        self._waiting.starting = False

    def process_spider_exception(self, response: Response, exception: Exception) -> None:  # noqa: ARG002
        """Record an exception that no middleware handled."""
        page = self._settlement.page(response)
        if page is not None:
            self._output_ended(page, failed=True)

    def _passes(self, page: PageState | None, response: Response, request_or_item: Any) -> bool:
        if isinstance(request_or_item, Request):
            self._leaves_spider(request_or_item, response)
            if page is not None and page.dropped:  # an errback asks again
                request_or_item.meta[ASKED_AGAIN_META_KEY] = True
            elif page is not None:
                self._see_request(page, response, request_or_item)
        elif request_or_item is not None:
            self._pages.retries.begin_giving()
            if page is not None:
                self._settlement.item_yielded(page, request_or_item)
        return True

    def _leaves_spider(self, request: Request, response: Response | None = None) -> None:
        self._arguments.leaves_spider(request, response)
        if self._asking_again.was_dropped(request):
            request.meta[ASKED_AGAIN_META_KEY] = True

    def _see_request(self, page: PageState, response: Response, request: Request) -> None:
        if self._identity.repeats(response, request):
            self._settlement.refuse(page)
            self._pages.retries.requested_by_callback(page.key)
            # If the index has the page already, an incremental crawl would drop it as unchanged.
            # This mark makes it reach the callback.
            # As a text, because queues outside of the process may take 64 bits only.
            observation = page.observation
            request.meta[REFUSED_META_KEY] = str(observation.fingerprint) if observation else ""
            return
        observation = page.observation
        if observation and page.given.outputs == 1 and has_other_query(response, request):
            page.other_url = self._arguments.hash(request) == observation.evidence.request
            if page.other_url:
                request.meta[OTHER_URL_META_KEY] = page.key

    def _output_ended(self, page: PageState, *, failed: bool) -> None:
        page.failed = page.failed or failed
        self._settlement.output_ended(page)


class SimhashSpiderMiddleware(_SpiderMiddleware):
    """The spider middleware next to the callback: judges pages, acts on verdicts, and records how
    callbacks end.

    :raises SettingsError: `SimhashOutputMiddleware` is missing, or comes after this one.
    """

    def __init__(self, crawl: SimhashExtension) -> None:
        super().__init__(crawl)
        settings = crawl.crawler.settings
        if not crawl.has_output_middleware:
            raise SettingsError(
                "SPIDER_MIDDLEWARES",
                dict(settings.getdict("SPIDER_MIDDLEWARES")),
                "must contain scrapy_simhash.crawl.middleware.SimhashOutputMiddleware, before all "
                "others",
            )
        self._depth_limited = settings.getint("DEPTH_LIMIT") > 0
        self._spare_item = crawl.spared_item
        self._signals = crawl.crawler.signals
        self._fingerprinted = crawl.fingerprinted
        self._request_ended = crawl.request_ended
        self._copies = crawl.copies

    def process_spider_input(self, response: Response) -> None:
        """Judge the page. :raises NearDuplicatePage: its callback must not run."""
        request: Any = response.request  # Scrapy always sets it
        request.meta.pop(VERDICT_META_KEY, None)  # of an earlier response to this request
        running.set(None)
        # The callback may copy the meta to other requests, so our marks are removed. Retries keep
        # them: without, a callback that gives up and yields an item would confirm a ban page.
        repeatable = repeated(request)
        refused, asked_again, waited_for, _ = (request.meta.pop(mark, None) for mark in _MARKS)
        key = self._identity.key(request)
        by_engine = CARRIED_META_KEY not in request.meta and not is_retry(request)  # `engine.crawl`
        asked_again = (by_engine and self._asking_again.claims(request)) or asked_again
        self._arguments.reaches_spider(response, request)
        page, given = self._fingerprinted.pop(response, (None, None))
        if page is None:
            return
        asked_with = page.evidence.request  # an index on the network was asked before
        if given is not None:  # by a handler of a signal
            verdict: Verdict | None = replace(given[0], key=key)
        else:
            request_hash = self._arguments.hash(repeatable)
            page = with_request(page, request, request_hash)
            verdict = self._pages.judge(key, page, response) if page.skipped is None else None
        observation = None if verdict is None else verdict.observation
        is_retried = self._request_ended(request, observation)
        if verdict is None:
            skipped = {"kind": "skipped", "reason": page.skipped or "index_error"}
            request.meta[VERDICT_META_KEY] = skipped
            return
        request.meta[VERDICT_META_KEY] = verdict.to_dict()
        if verdict.kind in (FLAG, "error-page"):
            response.flags.append(verdict.kind)

        def circumstances() -> Circumstances:
            may_give = self._copies.may_give(
                verdict.representative or key,
                request,
                response,
                is_pending=observation is not None and observation.provisional,
            )
            return Circumstances(
                method=request.method,
                has_password=lambda: has_password(response),
                asked_again=bool(asked_again),
                rescheduled=is_retried or refused is not None,
                request_has_changed=asked_with not in (b"", page.evidence.request)
                or self._is_shared(verdict, repeatable),
                arguments=tuple(chain.from_iterable(self._arguments.names(repeatable))),
                depth_limited=self._depth_limited,
                may_give=[*may_give, "requests"] if waited_for else may_give,
                # With a depth, a spider has copied the meta of such a request.
                is_start=bool(request.meta.get("is_start_request"))
                and not request.meta.get("depth"),
            )

        if given is not None:
            action, kept_reason = given[1], None
            self._pages.record_given(verdict, action)
        else:
            action, kept_reason = self._pages.act_on(verdict, repeatable, circumstances, response)
        state = PageState(
            key,
            verdict,
            action,
            repeatable,
            page.title,
            page.text,
            kept_reason,
            waited_for=bool(waited_for),
        )
        self._settlement.begin(response, state, int(refused) if refused else None)
        self._begin(state, response, request, by_engine=by_engine)

    def _begin(
        self, page: PageState, response: Response, request: Request, *, by_engine: bool
    ) -> None:
        """Let the callback of a page run. :raises NearDuplicatePage: it must not run."""
        running.set(page)
        if not page.dropped:
            self._copies.begins(page)
        else:
            self._asking_again.dropped(page, request, by_engine=by_engine)
        self._signals.send_catch_log(signals.page_judged, page=page, response=response)
        if page.dropped and page.verdict is not None:
            observation = page.verdict.observation
            if observation is None or observation.provisional or observation.earlier.gave_items:
                self._spared_item(page)
            raise NearDuplicatePage(response, page.verdict)

    def _spared_item(self, page: PageState) -> None:
        if page.verdict is not None and page.verdict.kind in ("near-duplicate", "unchanged"):
            self._spare_item()

    def _is_shared(self, verdict: Verdict, request: Request) -> bool:
        """Return True if the callback of the representative is at work on an object that the
        page's callback would get, too, as if it gathers what several pages say.
        """
        observation = verdict.observation
        if observation is None or not observation.provisional:
            return False
        return any(
            self._arguments.share_objects(request, page.request)
            for page in self._settlement.at_work(verdict.representative or verdict.key)
            if not page.ended
        )

    def process_spider_exception(
        self, response: Response, exception: Exception
    ) -> Iterable[Any] | None:
        """Swallow `NearDuplicatePage`; record other errors before a middleware handles them."""
        page = self._settlement.page(response)
        is_dropped = isinstance(exception, NearDuplicatePage)
        if page is not None:
            page.handled = page.handled or is_dropped
            page.failed = page.failed or not is_dropped
        return () if is_dropped else None

    def _passes(self, page: PageState | None, response: Response, request_or_item: Any) -> bool:
        if request_or_item is None or page is None:
            return True
        page.given.outputs += 1
        if isinstance(request_or_item, Request):
            return self._lets_request_pass(page, response, request_or_item)
        if self._copies.withholds_item(page, response, request_or_item):
            page.withheld += 1
            self._pages.stats.count("dropped_items")
            self._spared_item(page)
            return False
        return True

    def _lets_request_pass(self, page: PageState, response: Response, request: Request) -> bool:
        if page.dropped or self._identity.repeats(response, request):
            return True
        said = response.text if isinstance(response, TextResponse) else ""
        self._copies.gave_request(page, request, said)
        if not page.action.follow:
            page.kept_requests.append(request)
        return page.action.follow

    def _rest(self, page: PageState | None) -> Iterable[Any]:
        if page is None:
            return ()
        items, requests = self._copies.rest(page)
        if items:
            self._pages.stats.count("dropped_items", -len(items))
        if dropped_requests := len(page.kept_requests) - len(requests):
            self._pages.stats.count("dropped_requests", dropped_requests)
        return [*items, *requests]

    def _output_ended(self, page: PageState, *, failed: bool) -> None:
        page.handled = page.handled or not failed
        self._copies.ended(page, failed=failed)
