"""Judge the pages (or the items) of one crawl, and act on their verdicts."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from scrapy_simhash.crawl.crawl_index import CrawlIndex
from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.crawl.identity import CanonicalUrls
from scrapy_simhash.crawl.retries import DroppedCopy
from scrapy_simhash.crawl.settlement import CALLED_FOR_ITEMS
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.documents.escaping import nearness
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.evidence import UNLIKE_ANY
from scrapy_simhash.index import PageToObserve
from scrapy_simhash.policy import PASS, Action, stands_in
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation
    from scrapy_simhash.policy import Circumstances, KeptReason, NoRetry
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)


class Judging(CrawlIndex):
    """The verdicts on pages of one crawl, or on its items, and what is done with them. For the
    parameters see `CrawlIndex`.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._debug: bool = self._settings("SIMHASH_DEBUG")
        self._prefers_canonical: bool = self._settings("SIMHASH_PREFER_CANONICAL")
        self._canonical_urls = CanonicalUrls()
        # Response → verdict of an index on the network, which is asked before it is known whether a
        # callback will get the page.
        self._early: dict[ref[Response], Verdict] = {}

    async def ask(self, key: str, page: PageFingerprint) -> Verdict | None:
        """Return the verdict of the index, not counted; None if the index is closed or fails."""
        answer = await result_of(self._observe(key, page))
        return None if answer is None else self._detector.verdict(*answer)

    def _observe(self, key: str, page: PageFingerprint) -> Future[tuple[Observation, float] | None]:
        fingerprint: Any = page.fingerprint  # pages without one are skipped before
        in_scope = self._identity.scope_filter(key)
        return self.calls.observe(PageToObserve(key, fingerprint, evidence_of(key, page), in_scope))

    async def ask_early(self, key: str, page: PageFingerprint, response: Response) -> None:
        """Ask an index on the network before a callback is known; keep the verdict for `judge`. If
        no callback gets the page, it is discarded after its response is deleted.
        """
        self._discard_early()
        verdict = await self.ask(key, page)
        if verdict is not None:
            self._early[ref(response)] = verdict

    def _discard_early(self, *, is_idle: bool = False) -> None:
        """Discard the pages that no callback got; in an idle crawl, no callback will get more."""
        for response in [one for one in self._early if is_idle or one() is None]:
            if (observation := self._early.pop(response).observation) is not None:
                self.discard(observation)

    def judge(self, key: str, page: PageFingerprint, response: Response) -> Verdict | None:
        """Record the verdict of an embedded index, or the one that `ask_early` kept; return it.

        :return: None if the index is closed or failed.
        """
        if self.calls.in_threads:
            verdict = self._early.pop(ref(response), None)
        else:
            answer = self._observe(key, page).result()
            verdict = None if answer is None else self._detector.verdict(*answer)
        return None if verdict is None else self.record(verdict, page, response)

    def record(
        self, verdict: Verdict, page: PageFingerprint, response: Response | None = None
    ) -> Verdict:
        """Count a verdict, keep the text of a near-duplicate, and return the verdict with
        `canonical`.

        :param response: None for an item.
        """
        if verdict.kind == "near-duplicate":  # now, because few are confirmed later
            self.keep_text(verdict.key, page.title, page.text)
        verdict = self._canonical_urls.completed(verdict, page.canonical, response)
        if self._count_verdict(verdict) or self._debug:
            self._log(verdict)
        return verdict

    def _count_verdict(self, verdict: Verdict) -> bool:
        sequence = -1 if verdict.observation is None else verdict.observation.sequence
        self._crawl.judged(site_of(verdict.key), sequence)
        return self.stats.judged(verdict)

    def record_given(self, verdict: Verdict, action: Action) -> None:
        """Count a verdict that is not from the index, such as on an error page, and its outcome."""
        self._count_verdict(verdict)
        self.count_outcome(verdict, action)

    def _log(self, verdict: Verdict) -> None:
        like = verdict.representative or verdict.similar_to
        if like is None:
            return
        is_copy = verdict.kind == "near-duplicate"
        rest = f": {loggable(verdict.reason or '')}"
        logger.info(
            "simhash: %s %s %s %s %s at %s%s",
            "near-duplicate" if is_copy else "similar",
            self._what,
            loggable(verdict.key),
            "of" if is_copy else "to",
            loggable(like),
            nearness(verdict.distance, verdict.similarity),
            rest if self._debug else " (others are counted; SIMHASH_DEBUG shows all)",
            extra={"spider": self.errors.spider},
        )

    def act_on(
        self,
        verdict: Verdict,
        request: Request | None,
        around: Callable[[], Circumstances],
        response: Response | None = None,
    ) -> tuple[Action, KeptReason | None]:
        """Decide what to do with a page, and count the outcome. Return the result of the policy.

        :param request: repeats the page; None for an item of ``start()``.
        :param around: returns the circumstances, as far as this object does not know them.
        :param response: the response of a page; None for an item.
        """
        observation, action, reason = verdict.observation, PASS, None
        if self.policy.seen(verdict):
            preferred = verdict.canonical == "page" and self._prefers_canonical
            no_retry: NoRetry | None = "held_too_many" if self.retries.full else None
            found = around()
            action, reason = self.policy.decide(
                verdict,
                replace(
                    found,
                    preferred=preferred,
                    is_flood=self.is_flood(verdict),
                    refused=self.contents.is_refused(observation),
                    gives_items=self.retries.gives_items or found.rescheduled,
                    no_retry="no_page" if request is None else no_retry,
                ),
            )
            if observation is not None and verdict.kind == "near-duplicate":
                if preferred or stands_in(verdict, reason) or reason == "depth":
                    self.calls.tell(observation.key, lambda index: index.supersede(observation))
                elif reason == "request" and observation.evidence.request != UNLIKE_ANY:
                    self.calls.tell(observation.key, lambda index: index.accept(observation))
            if reason == "request":
                self._passed_for_arguments.update(found.arguments)
        is_called_for_items = reason in CALLED_FOR_ITEMS
        # If the callback of a copy runs, its outcome is counted when it is known what it gives.
        if not is_called_for_items and not (
            self._is_for_pages and action.call and not action.items
        ):
            self.count_outcome(verdict, action, reason)
            # If the callback runs, `settle_page` keeps it if something that it gave was withheld.
            if observation is not None and request is not None and not action.call:
                copy = DroppedCopy(observation, request)
                if response is not None:
                    self.retries.responses.keep(copy, response)
                # It waits for its representative, or for an earlier response with the same key.
                awaited = observation.representative or observation.key
                if observation.provisional:
                    self.retries.hold(awaited, copy)
                elif observation.kind == "near-duplicate":
                    answered = observation.earlier.gave_items
                    self.retries.leave(awaited, copy, answered=answered)
        is_passing = action == PASS and not is_called_for_items
        if observation is not None and observation.provisional and not is_passing:
            self.calls.discard(observation)
        return action, reason

    def idle(self) -> bool:
        """Discard verdicts that no callback took, and request copies that are needed now. Return
        True if dropped copies still wait.
        """
        self._discard_early(is_idle=True)
        self.calls.is_urgent = True
        # The spider may have asked for its failed pages before the callbacks of these ran.
        late = [copy for copy in self._ran_late.values() if self.contents.is_refused(copy.seen)]
        # Each key once, else without end.
        late = [copy for copy in late if copy.seen.key not in self._asked_late]
        self._ran_late.clear()
        self._asked_late.update(dict.fromkeys(copy.seen.key for copy in late))
        self.retries.request(late)
        return self.retries.idle(is_settling=self.calls.is_busy)

    async def finish(self, *, pausing: bool) -> None:
        """Discard verdicts that no callback took, and request the copies that are still held. Wait
        until all calls of the index have ended.

        :param pausing: the crawl was not idle before, so it may go on later.
        """
        self._discard_early(is_idle=True)
        await self.calls.finish()
        self.retries.close(pausing=pausing)
        await self.calls.finish()
        self.calls.call_in_loop()
