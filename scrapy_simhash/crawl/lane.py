"""Judge the pages (or the items) of one crawl, and decide what to do with them.

`scrapy_simhash.crawl.settling` does what follows.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.advice import warn_of_arguments, warn_of_copies
from scrapy_simhash.crawl.canonical import CanonicalUrls
from scrapy_simhash.crawl.history import CrawlHistory
from scrapy_simhash.crawl.index_calls import IndexCalls, ThreadedCalls
from scrapy_simhash.crawl.opening import open_in_directory, open_in_redis
from scrapy_simhash.crawl.settling import SettlingLane
from scrapy_simhash.crawl.unclaimed import UnclaimedVerdicts
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.documents.escaping import nearness
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import PageToObserve, reset_index
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.policy import PASS, Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.jobdir import CrawlStarts
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import Detector, PageFingerprint
    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.policy import Circumstances, KeptReason, NoRetry
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)

# The cluster whose last copy is oldest is forgotten first, so a growing flood is kept.
_REMEMBERED_CLUSTERS = 10_000


class Lane(SettlingLane):
    """The index, policy, stats and retries of one crawl's pages, or of its items.

    For the parameters see `SettlingLane`.
    """

    def __init__(
        self,
        what: Literal["page", "item"],
        settings: SimhashSettings,
        detector: Detector,
        *,
        identity: Identity,
        stats: CrawlStats,
        errors: ErrorLog,
        schedule: Callable[[Request], None],
    ) -> None:
        super().__init__(
            what, settings, identity=identity, stats=stats, errors=errors, schedule=schedule
        )
        is_for_pages = what == "page"
        self.detector = detector
        self.policy = settings.policy if is_for_pages else settings.item_policy
        # Names of arguments with which copies passed.
        self._passed_for_arguments: Counter[str] = Counter()
        self.size_at_opening = 0
        self.location = settings.index_location(what)
        self._unclaimed = UnclaimedVerdicts(self._discard_unclaimed)
        self._cluster_limit = settings.cluster_limit if is_for_pages else 0
        # Representative → number of its copies that were hidden, or tagged as the settings say.
        self._copies: LocalCache[str, int] = LocalCache(_REMEMBERED_CLUSTERS)
        self._canonical_urls = CanonicalUrls()

    def open(self, starts: CrawlStarts) -> None:
        """Open the index of the settings.

        :raises SimhashError: the index cannot be opened.
        """
        settings, redis = self.settings, self.settings.redis
        crawl_start = starts.crawl_start(str(self.location))
        resumed = crawl_start is not None
        options: dict[str, Any] = {
            "max_distance": settings.max_distance,
            "confirmation": settings.confirmation,
            "expected_pages": settings.expected_pages,
            "incremental": settings.policy.incremental,
            "crawl_start": crawl_start,
            "warn": self._warn_of_opening,
        }
        index: ObservingIndex | RedisIndex
        if redis is not None:
            index, self.location = open_in_redis(
                redis.address(self.what),
                self.detector.scheme,
                crawl=redis.crawl,
                lease_s=redis.lease_s,
                **options,
            )
            self.calls = ThreadedCalls(index, self.errors, patience_s=redis.lease_s)
            self.size_at_opening = index.size_at_opening
        else:
            directory = settings.directory if self.what == "page" else settings.item_directory
            # A resumed crawl must not delete the pages that it saw before the pause.
            if settings.reset and not resumed and reset_index(directory):
                self.errors.warn(
                    "simhash: SIMHASH_RESET deleted the index in %s; it is empty now", directory
                )
            index = open_in_directory(
                directory,
                self.detector.scheme,
                kind=settings.index_kind,
                **options,
            )
            self.calls = IndexCalls(index, self.errors)
            self.size_at_opening = len(index)
        starts.record(index)
        self.history = CrawlHistory(index)

    def _warn_of_opening(self, message: str, *arguments: object) -> None:
        self.stats.count("index_does_not_fit")
        self.errors.warn(message, *arguments)

    def idle(self) -> bool:
        """Discard verdicts that no callback took; return True if dropped copies still wait."""
        self._unclaimed.discard_all()
        self.calls.hurry()
        return self.retries.idle()

    async def finish(self, *, pausing: bool) -> None:
        """Request the copies that are still held. Wait until all calls of `tell` have ended.

        :param pausing: the crawl was not idle before, so it may go on later.
        """
        self._unclaimed.discard_all()
        await self.calls.finish()
        self.retries.close(pausing=pausing)
        await self.calls.finish()

    def close(self) -> None:
        """Close the index, if it is open. An error is counted."""
        try:
            self.calls.close()
        except StorageError as error:
            self.errors.count_error("index", error, "the end of the crawl")
        self.calls = IndexCalls(None, self.errors)

    def end(self, *, finished: bool) -> None:
        """Count and log the results of the crawl, and write its end into the history of the index.

        :param finished: the crawl ended by itself, without a limit or a signal.
        """
        if self.index is None:
            return
        ending = self.calls.now("the end of the crawl", lambda index: index.ending())
        if ending is not None:
            self.stats.index_size(ending.size)
            if self.history is not None:
                try:
                    self.history.close(ending.next_sequence, finished=finished)
                except StorageError as error:
                    self.errors.count_error("history", error, self.index.location)
        if self.stats.has_counts:
            summary = self.stats.summary(f"{self.what}s", self.policy.action)
            logger.info("%s", summary, extra={"spider": self.errors.spider})
        warn_of_arguments(self.errors, self.stats, self._passed_for_arguments)
        warn_of_copies(self.errors, self.stats, f"{self.what}s", self.location)

    async def ask(self, key: str, page: PageFingerprint) -> Verdict | None:
        """Return the verdict of the index, not counted; None if the index is closed or fails."""
        calls, fingerprint = self.calls, page.fingerprint
        if fingerprint is None or not isinstance(calls, ThreadedCalls):
            return self._judge_now(key, page)  # without a fingerprint, no index is called
        in_scope = self.identity.scope_filter(key)
        answer = await calls.observe(
            PageToObserve(key, fingerprint, evidence_of(key, page), in_scope)
        )
        return None if answer is None else self.detector.verdict(*answer)

    async def ask_early(self, key: str, page: PageFingerprint, response: Response) -> None:
        """Ask an index on the network before a callback is known; keep the verdict for `judge`."""
        verdict = await self.ask(key, page)
        if verdict is not None:
            self._unclaimed.put(response, verdict)

    def judge(
        self,
        key: str,
        page: PageFingerprint,
        canonical: str | None = None,
        response: Response | None = None,
    ) -> Verdict | None:
        """Record the verdict of an embedded index, or the one that `ask_early` kept; return it.

        :param canonical: the canonical URL that the page names, see `canonical_url`.
        :param response: the response for which `ask_early` kept a verdict.
        :return: None if the index is closed or failed.
        """
        if self.calls.in_threads:
            verdict = None if response is None else self._unclaimed.take(response)
        else:
            verdict = self._judge_now(key, page)
        return None if verdict is None else self.record_verdict(verdict, page, canonical)

    def record_verdict(
        self, verdict: Verdict, page: PageFingerprint, canonical: str | None = None
    ) -> Verdict:
        """Count a verdict, keep the text of the page, and return the verdict with `canonical`."""
        if self._max_text_bytes and verdict.observation is not None:
            text = KeptText(page.title, page.text)
            if verdict.kind == "near-duplicate":  # stored now, because few are confirmed later
                self._store_text(self.index, verdict.key, text)
            else:
                self._held_texts[verdict.observation.sequence] = text
        verdict = self._canonical_urls.completed(verdict, canonical)
        if self.history is not None:
            self.history.judged(verdict)
        if self.stats.count_verdict(verdict) or self.settings.debug:
            self._log(verdict)
        return verdict

    def count_verdict(self, verdict: Verdict, action: Action) -> None:
        """Count a verdict that is not from `judge`, such as on an error page, and its outcome."""
        if self.history is not None:
            self.history.judged(verdict)
        self.stats.count_verdict(verdict)
        self._count_outcome(verdict, action)

    def act_on(
        self,
        verdict: Verdict,
        request: Request | None,
        around: Circumstances,
        response: Response | None = None,
    ) -> tuple[Action, KeptReason | None]:
        """Decide what to do with a page, and count the outcome. Return the result of the policy.

        A copy of a pending page is held if the action hides it or a part of its output. It is
        requested again if that page fails, or gives no items.

        :param request: repeats the page; None for an item of ``start()``.
        :param around: the circumstances, as far as this object does not know them.
        :param response: the response of a page; None for an item.
        """
        observation = verdict.observation
        preferred = verdict.canonical == "page" and self.settings.prefer_canonical
        no_retry: NoRetry | None = "held_too_many" if self.retries.full else None
        action, reason = self.policy.decide(
            verdict,
            replace(
                around,
                preferred=preferred,
                is_flood=self._is_flood(verdict),
                refused=self.refused.has(observation),
                gives_items=self.retries.gives_items or around.rescheduled,
                no_retry="no_page" if request is None else no_retry,
            ),
        )
        if verdict.kind == "near-duplicate" and observation is not None:
            self._make_pending(observation, preferred=preferred, reason=reason)
        if reason in (None, "flood"):
            self._count_copy(verdict)
        if reason == "no_items":
            return action, reason  # counted when it is known whether the page gives items
        if reason is not None:
            self.stats.count_kept(verdict, reason)
        if reason == "request":
            self._passed_for_arguments.update(around.arguments)
        self._count_outcome(verdict, action)
        if action != PASS and request is not None and observation is not None:
            if not action.call:
                self._keep_dropped(observation, request, response)
            # Otherwise `settle_page` keeps it, if the callback gave something that was withheld.
            if observation.provisional:
                self._settle_index(observation, confirmed=False, settles_copies=False)
        return action, reason

    def _judge_now(self, key: str, page: PageFingerprint) -> Verdict | None:
        in_scope = self.identity.scope_filter(key)
        return self.calls.now(
            key, lambda index: self.detector.judge(index, key, page, in_scope=in_scope)
        )

    def _discard_unclaimed(self, verdict: Verdict) -> None:
        """Discard the observation of a page that no callback got. May run in any thread."""
        calls, observation = self.calls, verdict.observation
        if observation is not None and isinstance(calls, ThreadedCalls):
            calls.call_in_loop(self._settle_index, observation, False)  # noqa: FBT003 - discarded

    def _is_flood(self, verdict: Verdict) -> bool:
        """Return True if a near-duplicate would exceed SIMHASH_CLUSTER_LIMIT."""
        copies = self._copies.get(verdict.representative or "", 0)
        return verdict.kind == "near-duplicate" and 0 < self._cluster_limit <= copies

    def _count_copy(self, verdict: Verdict) -> None:
        """Count a near-duplicate in its cluster, and warn once if the cluster is a flood now: more
        often a ban page, a soft 404 or a broken extraction than real copies.
        """
        if (representative := verdict.representative) is None:
            return
        if self._is_flood(verdict):
            self.errors.warn_once(
                f"flood of {representative}",
                "simhash: more than %d pages are near-duplicates of %s. A ban page, a soft 404 or "
                "a broken extraction? Further copies of it are tagged, not dropped "
                "(SIMHASH_CLUSTER_LIMIT). `scrapy simhash compare` shows it beside %s",
                self._cluster_limit,
                loggable(representative),
                loggable(verdict.key),
            )
        copies = self._copies.pop(representative, 0)  # the youngest is last
        self._copies[representative] = copies + 1

    def _log(self, verdict: Verdict) -> None:
        like = verdict.representative or verdict.similar_to
        if like is None:
            return
        near_duplicate = verdict.kind == "near-duplicate"
        logger.info(
            "simhash: %s %s %s %s %s at %s%s",
            "near-duplicate" if near_duplicate else "similar",
            self.what,
            loggable(verdict.key),
            "of" if near_duplicate else "to",
            loggable(like),
            nearness(verdict.distance, verdict.similarity),
            f": {loggable(verdict.reason or '')}"
            if self.settings.debug
            else " (others are counted; SIMHASH_DEBUG shows all)",
            extra={"spider": self.errors.spider},
        )
