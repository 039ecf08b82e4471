"""The index of the pages (or the items) of one crawl: open it, ask it, count what it says."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.crawl.advice import EMPTY_FIELDS, UNMATCHED_SELECTORS, UnmatchedNames
from scrapy_simhash.crawl.canonical import CanonicalUrls
from scrapy_simhash.crawl.history import CrawlHistory
from scrapy_simhash.crawl.index_calls import IndexCalls
from scrapy_simhash.crawl.opening import open_in_directory, open_in_redis
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.documents.escaping import nearness
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.errors import SimhashError, StorageError
from scrapy_simhash.index import PageToObserve, reset_index
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.policy import outcome_of

if TYPE_CHECKING:
    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.jobdir import CrawlStarts
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import Detector, PageFingerprint
    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.policy import Action
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)


class Lane:
    """The index of one crawl's pages, or of its items.

    If the index fails, the error is counted and the page passes: no page is lost, and no crawl
    stops. All this holds for items, too.

    :param what: ``page`` or ``item``.
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
    ) -> None:
        is_for_pages = what == "page"
        self.what = what
        self.settings = settings
        self.detector = detector
        self.identity = identity
        self.stats = stats
        self.errors = errors
        self.policy = settings.policy if is_for_pages else settings.item_policy
        self.calls = IndexCalls(None, errors)
        """Calls to the index. `open` and `close` replace this object."""
        self.size_at_opening = 0
        self.location = settings.index_location(what)
        self._history: CrawlHistory | None = None
        self._max_text_bytes = settings.keep_text_bytes if is_for_pages else 0
        self._canonical_urls = CanonicalUrls()
        selectors = *settings.scheme.select, *settings.scheme.remove, *settings.distinct_selectors
        self.unmatched = (
            UnmatchedNames(selectors, UNMATCHED_SELECTORS, errors)
            if is_for_pages
            else UnmatchedNames(settings.item_fields, EMPTY_FIELDS, errors)
        )

    @property
    def index(self) -> ObservingIndex | RedisIndex | None:
        """The open index; None before `open` and after `close`."""
        return self.calls.index

    def open(self, starts: CrawlStarts) -> None:
        """Open the index of the settings.

        :raises SimhashError: the index cannot be opened.
        """
        settings, location = self.settings, self.location
        crawl_start = starts.crawl_start(str(location))
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
        if isinstance(location, RedisAddress):
            index, self.location = open_in_redis(
                location,
                self.detector.scheme,
                crawl=settings.redis_crawl,
                lease_s=settings.redis_lease_s,
                **options,
            )
            self.calls = IndexCalls(index, self.errors, patience_s=settings.redis_lease_s)
            self.size_at_opening = index.size_at_opening
        else:
            # A resumed crawl must not delete the pages that it saw before the pause.
            if settings.reset and not resumed and reset_index(location):
                self.errors.warn(
                    "simhash: SIMHASH_RESET deleted the index in %s; it is empty now", location
                )
            index = open_in_directory(
                location,
                self.detector.scheme,
                kind=settings.index_kind,
                **options,
            )
            self.calls = IndexCalls(index, self.errors)
            self.size_at_opening = len(index)
        starts.record(index)
        self._history = CrawlHistory(index)

    def _warn_of_opening(self, message: str, *arguments: object) -> None:
        self.stats.count("index_does_not_fit")
        self.errors.warn(message, *arguments)

    def close(self) -> None:
        """Close the index, if it is open. An error is counted."""
        try:
            self.calls.close()
        except StorageError as error:
            self.errors.count_error("index", error, "the end of the crawl")
        self.calls = IndexCalls(None, self.errors)

    def end(self, *, finished: bool) -> None:
        """Count the size of the index, write the end of the crawl into its history, and log the
        results of the crawl.

        :param finished: the crawl ended by itself, without a limit or a signal.
        """
        ending = self.calls.now("the end of the crawl", lambda index: index.ending())
        if ending is not None:
            self.stats.index_size(ending.size)
            if self._history is not None:
                try:
                    self._history.close(ending.next_sequence, finished=finished)
                except StorageError as error:
                    self.errors.count_error("history", error, str(self.location))
        if self.stats.has_counts:
            summary = self.stats.summary(f"{self.what}s", self.policy.action)
            logger.info("%s", summary, extra={"spider": self.errors.spider})
        self.unmatched.warn()

    def ask_now(self, key: str, page: PageFingerprint) -> Verdict | None:
        """Return the verdict of an embedded index; see `ask`."""
        in_scope = self.identity.scope_filter(key)
        return self.calls.now(
            key, lambda index: self.detector.judge(index, key, page, in_scope=in_scope)
        )

    async def ask(self, key: str, page: PageFingerprint) -> Verdict | None:
        """Return the verdict of the index, not counted; None if the index is closed or fails."""
        calls, fingerprint = self.calls, page.fingerprint
        if fingerprint is None or not calls.in_threads:
            return self.ask_now(key, page)  # without a fingerprint, no index is called
        in_scope = self.identity.scope_filter(key)
        answer = await calls.observe(
            PageToObserve(key, fingerprint, evidence_of(key, page), in_scope)
        )
        return None if answer is None else self.detector.verdict(*answer)

    def record_verdict(
        self, verdict: Verdict, page: PageFingerprint, canonical: str | None = None
    ) -> Verdict:
        """Count a verdict, keep the text of a near-duplicate, and return the verdict with
        `canonical`.
        """
        if verdict.kind == "near-duplicate":  # now, because few are confirmed later
            self.keep_text(verdict.key, page.title, page.text)
        verdict = self._canonical_urls.completed(verdict, canonical)
        if self._history is not None:
            self._history.judged(verdict)
        if self.stats.count_verdict(verdict) or self.settings.debug:
            self._log(verdict)
        return verdict

    def count_verdict(self, verdict: Verdict, action: Action) -> None:
        """Count a verdict that is not from the index, such as on an error page, and its outcome."""
        if self._history is not None:
            self._history.judged(verdict)
        self.stats.count_verdict(verdict)
        self.count_outcome(verdict, action)

    def count_outcome(self, verdict: Verdict, action: Action) -> None:
        """Count what is done with a judged page, also in the near-duplicate log."""
        self.stats.count_outcome(verdict, action)
        outcome, observation = outcome_of(verdict, action), verdict.observation
        if outcome is not None and verdict.kind != "unchanged" and observation is not None:
            self.calls.acted(observation, outcome)

    def mark_not_judged(self, key: str) -> None:
        """Record that an indexed page cannot be judged now, so that it does not count as gone."""
        if (history := self._history) is not None:

            def record(entry: Entry | None) -> None:
                if entry is not None:
                    history.crawl.failed(key)

            self.calls.tell(key, lambda index: index.entry(key), record)

    def keep_text(self, key: str, title: str, text: str) -> None:
        """Store the text of a page beside the index, if SIMHASH_KEEP_TEXT says so."""
        index: Any = self.index
        if not self._max_text_bytes or index is None:
            return
        try:
            index.texts.max_bytes = self._max_text_bytes
            if not index.texts.keep(key, KeptText(title, text)):
                self.stats.count("texts_not_kept")
        except SimhashError as error:
            self.errors.count_error("texts", error, key)

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
