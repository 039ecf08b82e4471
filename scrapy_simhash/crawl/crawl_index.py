"""Settle the pages (or the items) of one crawl in its index, which is opened and ended here, and
keep dropped copies until it is known that they are not needed.

To *settle* a page is to confirm its observation in the index, or to discard it.
"""

from __future__ import annotations

import logging
from collections import Counter
from time import time
from typing import TYPE_CHECKING, Any, Literal

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.crawl_report import (
    EMPTY_FIELDS,
    UNMATCHED_SELECTORS,
    UnmatchedNames,
    warn_of_dropped,
    warn_of_passed,
)
from scrapy_simhash.crawl.index_calls import IndexCalls
from scrapy_simhash.crawl.opening import open_for_crawl
from scrapy_simhash.crawl.retries import MAX_HELD, DroppedCopy, Retries, is_retry
from scrapy_simhash.crawl.settlement import Contents
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.errors import SimhashError, StorageError
from scrapy_simhash.index import PageToObserve
from scrapy_simhash.index.history import Crawl
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.policy import PASS, Action, outcome_of, stands_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.opening import CrawlStarts
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.index import Index, Observation
    from scrapy_simhash.index.rules import Text
    from scrapy_simhash.policy import KeptReason, MayGive, Outcome
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)


class CrawlIndex:
    """The index of one crawl for its pages, or for its items, and what becomes of these in it.

    If the index fails, the error is counted and the page passes: no page is lost, and no crawl
    stops. All this holds for items, too.

    :param what: ``page`` or ``item``.
    :param schedule: schedules a request that repeats a dropped page.
    :param may_give: see `Retries`.
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
        may_give: Callable[[str, Request, Response | None], Collection[MayGive]] = lambda *_: (),
    ) -> None:
        self._is_for_pages = is_for_pages = what == "page"
        self._what = what
        self._settings = settings
        self._detector = detector
        self._identity = identity
        self.stats = stats
        self.errors = errors
        self.policy = settings.policy if is_for_pages else settings.item_policy
        self.calls = IndexCalls(None, errors)
        """Calls to the index. `open` replaces this object."""
        self.location = settings.index_location(what)
        rules = Rules(settings.preset.max_distance, settings.preset.confirmation)
        self.contents = Contents(rules)
        self.retries = Retries(
            self._observe_again,
            schedule,
            rules,
            may_give=may_give,
            take_back=stats.take_back,
            max_left=MAX_HELD if is_for_pages else 0,
        )
        scheme = settings.preset.scheme
        selectors = *scheme.select, *scheme.remove, *settings.distinct_selectors
        self.unmatched = (
            UnmatchedNames(selectors, UNMATCHED_SELECTORS, errors)
            if is_for_pages
            else UnmatchedNames(settings.item_fields, EMPTY_FIELDS, errors)
        )
        self._cluster_limit: int = settings("SIMHASH_CLUSTER_LIMIT") if is_for_pages else 0
        self._keeps_texts = is_for_pages and bool(settings("SIMHASH_KEEP_TEXT"))
        self._crawl = Crawl(0, 0)  # `open` replaces it
        # Keys of pages whose callbacks gave only a request for the page under another query.
        self._replaced: LocalCache[str, None] = LocalCache(MAX_HELD)
        # Key → copy whose callback ran late, and gave nothing.
        self._ran_late: LocalCache[str, DroppedCopy] = LocalCache(MAX_HELD)
        self._asked_late: LocalCache[str, None] = LocalCache(MAX_HELD)
        # Names of arguments with which copies passed.
        self._passed_for_arguments: Counter[str] = Counter()

    @property
    def index(self) -> Index | None:
        """The open index; None before `open`, and after it was closed."""
        return self.calls.index

    def open(self, starts: CrawlStarts) -> None:
        """Open the index of the settings.

        :raises SimhashError: the index cannot be opened.
        """

        def warn(message: str, *arguments: object) -> None:
            self.stats.count("index_does_not_fit")
            self.errors.warn(message, *arguments)

        settings, scheme = self._settings, self._detector.scheme
        index, self.location = open_for_crawl(self.location, scheme, settings, starts, warn)
        patience_s = None if settings.redis is None else settings("SIMHASH_REDIS_LEASE_S")
        self.calls = IndexCalls(index, self.errors, patience_s=patience_s)
        self._crawl = Crawl(index.crawl_start, int(time()))
        if self._keeps_texts:
            index.texts.max_bytes = settings("SIMHASH_KEEP_TEXT")

    def end(self, *, finished: bool) -> None:
        """Write the crawl into the history of the index, count its size, and log the results of the
        crawl and the warnings on which a user may act.

        :param finished: the crawl ended by itself, without a limit or a signal.
        """
        if self.index is None:
            return
        self._crawl.ended_s, self._crawl.finished = int(time()), finished
        try:
            self.stats.index_size(self.index.end_crawl(*self._crawl.note()))
        except StorageError as error:
            self.errors.count_error("history", error, str(self.location))
            self.calls.tell("the end of the crawl", len, self.stats.index_size)
        if self.stats.counted("checked") or self.stats.skipped:
            summary = self.stats.summary(f"{self._what}s", self.policy.action)
            logger.info("%s", summary, extra={"spider": self.errors.spider})
        self.unmatched.warn()
        gives_items = self._what == "item" or self.retries.gives_items
        warn_of_passed(self.errors, self.stats, self._passed_for_arguments)
        warn_of_dropped(self.errors, self.stats, f"{self._what}s", self.location, gives_items)

    def count_outcome(
        self, verdict: Verdict, action: Action, reason: KeptReason | None = None
    ) -> None:
        """Count what is done with a judged page, also in the near-duplicate log. Warn once if its
        cluster is a flood now: more often a ban page, a soft 404 or a broken extraction than real
        copies.
        """
        if reason in (None, "flood") and self.is_flood(verdict):
            representative = verdict.representative or ""
            self.errors.warn_once(
                f"flood of {representative}",
                "simhash: more than %d pages are near-duplicates of %s. A ban page, a soft 404 or "
                "a broken extraction? Further copies of it are tagged, not dropped "
                "(SIMHASH_CLUSTER_LIMIT). `scrapy simhash compare` shows it beside %s",
                self._cluster_limit,
                loggable(representative),
                loggable(verdict.key),
            )
        self.stats.acted(verdict, action, reason)
        outcome, observation = outcome_of(verdict, action), verdict.observation
        if outcome is not None and verdict.kind != "unchanged" and observation is not None:
            self.calls.acted(observation, outcome)

    def is_flood(self, verdict: Verdict) -> bool:
        """Return True if a near-duplicate would exceed SIMHASH_CLUSTER_LIMIT."""
        copies = self.stats.copies[verdict.representative or ""]
        return verdict.kind == "near-duplicate" and 0 < self._cluster_limit <= copies

    def came_again(self, key: str, page: Text | None, other: str | None = None) -> None:
        """Record that a page arrived, perhaps again.

        :param page: the content; None if it cannot be judged.
        :param other: key of the page whose callback requested this one under another query. If it
            gave nothing else, this is the same page.
        """
        self._ran_late.pop(key, None)
        for one in [key] if other is None or other not in self._replaced else [key, other]:
            if one in self.contents or one in self.retries:
                self.contents.came_again(one, page)
                self.retries.came_again(one, page, key)

    def settle_page(self, page: PageState, confirmed: bool) -> None:
        """Settle the observation of a page that is done."""
        verdict, observation = page.verdict, page.observation
        if verdict is None or observation is None:
            return
        if page.other_url and page.given.outputs == 1:
            self._replaced[page.key] = None
        if page.given.outputs == 0 and not page.dropped and is_retry(page.request):
            self._ran_late[page.key] = DroppedCopy(observation, page.request)
        is_partly_dropped = page.action.call and page.action != PASS and page.reason is None
        takes_place = page.called_for_items and page.gave_items
        action, follow = page.action, page.action.follow
        if page.called_for_items or (is_partly_dropped and not action.items):
            passes = is_partly_dropped and page.given.outputs > page.withheld
            action = Action(follow or passes, items=False, follow=follow)
            action = PASS if page.gave_items else action
            reason = page.reason or "values"
            self.count_outcome(verdict, action, reason if page.gave_items else None)
        if page.called_for_items or is_partly_dropped:
            if page.withheld and not takes_place:
                self._keep_withheld(observation, page, outcome_of(verdict, action))
            if observation.provisional:
                return  # `act_on` has discarded it
        if stands_in(verdict, page.reason) and not page.gave_items and not page.failed:
            if verdict.kind != "unchanged":
                self.discard(observation, refused=page.refused)
                return
            confirmed = True
        elif confirmed and not page.dropped:
            self.contents.handled(observation, gave_items=page.gave_items)
        self.settle(observation, confirmed, page)

    def settle(
        self, observation: Observation, confirmed: bool, page: PageState | None = None
    ) -> None:
        """Confirm or discard an observation; then release its held copies, or request one again.

        :param page: None for an item.
        """
        if self.index is None:
            return
        if not confirmed:
            self.stats.count("discarded")
            self.mark_not_judged(observation.key)
            self.discard(observation, refused=page is not None and page.refused)
            return
        if page is not None and observation.kind != "near-duplicate":  # whose text is stored
            self.keep_text(observation.key, page.title, page.text)
        gave_items = page is None or page.gave_items
        self.calls.confirm(
            observation,
            lambda _: self.retries.confirmed(observation, gave_items=gave_items),
            gave_items=gave_items,
        )

    def discard(self, observation: Observation, *, refused: bool = False) -> None:
        """Discard a page, and then request its copies. For `refused` see `Retries.discarded`."""
        self.calls.discard(
            observation, lambda _: self.retries.discarded(observation, refused=refused)
        )

    def _keep_withheld(
        self, observation: Observation, page: PageState, outcome: Outcome | None
    ) -> None:
        """Keep a copy of whose output something was withheld, in case that its representative
        fails. Otherwise, its callback need not run again.
        """
        gave: Sequence[MayGive] = ("items", "requests") if page.given.said.count else ("requests",)
        copy = DroppedCopy(observation, page.request, gave, outcome=outcome)
        representative, called_for_items = observation.representative, page.called_for_items
        if called_for_items and self.contents.is_refused(observation):  # since it arrived
            self.retries.request([copy])
        elif observation.provisional:
            self.retries.look_again([copy])
        elif representative is not None and (called_for_items or not page.action.items):
            answered = called_for_items or observation.earlier.gave_items
            self.retries.leave(representative, copy, answered=answered)

    def _observe_again(
        self, copies: Sequence[DroppedCopy], then: Callable[[Sequence[Observation] | None], None]
    ) -> None:
        """Look again what dropped copies are.

        :param then: called with observations, or with None if the index is closed or fails.
        """

        def observe(index: Index) -> list[Observation]:
            return [
                index.foresee(
                    PageToObserve(
                        one.key, one.fingerprint, one.evidence, self._identity.scope_filter(one.key)
                    ),
                    in_this_crawl=True,
                )
                for one in (copy.seen for copy in copies)
            ]

        self.calls.tell(copies[0].seen.key, observe, then)

    def mark_not_judged(self, key: str) -> None:
        """Record that an indexed page cannot be judged now, so that it does not count as gone."""

        def record(index: Any) -> None:
            if index.entry(key) is not None:
                self._crawl.failed(key)

        self.calls.tell(key, record)

    def keep_text(self, key: str, title: str, text: str) -> None:
        """Store the text of a page in the index, if SIMHASH_KEEP_TEXT says so."""
        try:
            texts = self.index.texts if self._keeps_texts and self.index is not None else None
            if texts is not None and not texts.keep(key, KeptText(title, text)):
                self.stats.count("texts_not_kept")
        except SimhashError as error:
            self.errors.count_error("texts", error, key)
