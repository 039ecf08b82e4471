"""Judge the pages (or the items) of one crawl, act on their verdicts, settle them, and keep dropped
copies until it is known that they are not needed.

To *settle* a page is to confirm its observation in the index, or to discard it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.advice import warn_of_arguments, warn_of_copies
from scrapy_simhash.crawl.contents import Contents
from scrapy_simhash.crawl.dropped_copies import DroppedCopy
from scrapy_simhash.crawl.retries import ITEM_META_KEY, MAX_HELD, META_KEY, Retries, is_retry
from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.evidence import UNLIKE_ANY
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.policy import PASS, STAND_IN_REASONS, Action, stands_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Text
    from scrapy_simhash.policy import Circumstances, KeptReason, NoRetry
    from scrapy_simhash.verdict import Verdict


class Judging:
    """The verdicts on pages of one crawl, or on its items, and what is done with them.

    :param lane: the index of these pages or items.
    :param schedule: schedules a request that repeats a dropped page.
    """

    def __init__(self, lane: Lane, schedule: Callable[[Request], None]) -> None:
        is_for_pages = lane.what == "page"
        settings = lane.settings
        self.lane = lane
        rules = Rules(settings.max_distance, settings.confirmation)
        self.contents = Contents(rules)
        self.retries = Retries(
            self._observe_again,
            schedule,
            rules,
            meta_key=META_KEY if is_for_pages else ITEM_META_KEY,
            max_answered=MAX_HELD if is_for_pages else 0,
        )
        # Key → copy whose callback ran late, and gave nothing.
        self._gave_nothing: LocalCache[str, DroppedCopy] = LocalCache(MAX_HELD)
        self._stats = lane.stats
        # Response → (verdict of an index on the network, finalizer that discards it). The index is
        # asked before it is known whether a callback will get the page.
        self._early: WeakKeyDictionary[Response, tuple[Verdict, Any]] = WeakKeyDictionary()
        # Names of arguments with which copies passed.
        self._passed_for_arguments: Counter[str] = Counter()
        self._cluster_limit = settings.cluster_limit if is_for_pages else 0

    async def ask_early(self, key: str, page: PageFingerprint, response: Response) -> None:
        """Ask an index on the network before a callback is known; keep the verdict for `judge`. If
        no callback gets the page, it is discarded when its response is deleted.
        """
        verdict = await self.lane.ask(key, page)
        if verdict is not None:
            discard = finalize(response, self._discard_early, verdict)
            discard.atexit = False
            self._early[response] = verdict, discard

    def judge(
        self, key: str, page: PageFingerprint, canonical: str | None, response: Response
    ) -> Verdict | None:
        """Record the verdict of an embedded index, or the one that `ask_early` kept; return it.

        :param canonical: the canonical URL that the page names, see `canonical_url`.
        :return: None if the index is closed or failed.
        """
        if self.lane.calls.in_threads:
            verdict, discard = self._early.pop(response, (None, None))
            verdict = verdict if discard is not None and discard.detach() else None
        else:
            verdict = self.lane.ask_now(key, page)
        return None if verdict is None else self.lane.record_verdict(verdict, page, canonical)

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
        preferred = verdict.canonical == "page" and self.lane.settings.prefer_canonical
        no_retry: NoRetry | None = "held_too_many" if self.retries.full else None
        action, reason = self.lane.policy.decide(
            verdict,
            replace(
                around,
                preferred=preferred,
                is_flood=self._is_flood(verdict),
                refused=self.contents.is_refused(observation),
                gives_items=self.retries.gives_items or around.rescheduled,
                no_retry="no_page" if request is None else no_retry,
            ),
        )
        if verdict.kind == "near-duplicate" and observation is not None:
            self._make_pending(observation, preferred=preferred, reason=reason)
        if reason in (None, "flood"):
            self._count_copy(verdict)
        if reason in ("no_items", "values"):
            if observation is not None and observation.provisional:
                self.lane.calls.tell(verdict.key, lambda index: index.discard(observation))
            return action, reason  # counted when it is known whether the page gives items
        if reason is not None:
            self._stats.count_kept(verdict, reason)
        if reason == "request":
            self._passed_for_arguments.update(around.arguments)
        self.lane.count_outcome(verdict, action)
        if action != PASS and request is not None and observation is not None:
            if not action.call:
                self._keep_dropped(observation, request, response)
            # Otherwise `settle_page` keeps it, if the callback gave something that was withheld.
            if observation.provisional:
                self.lane.calls.discard(observation)
        return action, reason

    def arrived(self, key: str, page: Text | None) -> None:
        """Record that a page arrived, perhaps again. See `Contents.arrived` and
        `Retries.answered`.

        :param page: the content; None if it cannot be judged.
        """
        self._gave_nothing.pop(key, None)
        self.contents.arrived(key, page)
        self.retries.answered(key, page)

    def begin_giving(self) -> None:
        """Record that the crawl takes items from pages."""
        if not self.retries.gives_items:
            self.retries.begin_giving()

    def idle(self) -> bool:
        """Discard verdicts that no callback took; return True if dropped copies still wait."""
        self._discard_all_early()
        self.lane.calls.hurry()
        self._request_refused()
        return self.retries.idle()

    async def finish(self, *, pausing: bool) -> None:
        """Request the copies that are still held. Wait until all calls of the index have ended.

        :param pausing: the crawl was not idle before, so it may go on later.
        """
        self._discard_all_early()
        await self.lane.calls.finish()
        self.retries.close(pausing=pausing)
        await self.lane.calls.finish()

    def end(self, *, finished: bool) -> None:
        """End the crawl of the lane, and log the warnings on which a user may act."""
        lane = self.lane
        if lane.index is None:
            return
        lane.end(finished=finished)
        warn_of_arguments(lane.errors, self._stats, self._passed_for_arguments)
        warn_of_copies(lane.errors, self._stats, f"{lane.what}s", lane.location)

    def settle_page(self, page: PageState, confirmed: bool) -> None:
        """Settle the observation of a page that is done."""
        verdict, observation = page.verdict, page.observation
        if verdict is None or observation is None:
            return
        if page.reason is None and page.action != PASS:  # its callback has run all the same
            if page.withheld:
                self._keep_withheld(observation, page)
            if observation.provisional:
                return  # `act_on` has settled it
        if page.outputs == 0 and not page.dropped and is_retry(page.request):
            self._gave_nothing[page.key] = DroppedCopy.of(observation, page.request)
        if page.reason in ("no_items", "values"):
            self._count_called(page, verdict, page.reason)
            if observation.provisional:
                return  # `act_on` has settled it
        if stands_in(verdict, page.reason) and not page.gave_items and not page.failed:
            self._settle_in_index(observation, verdict.kind == "unchanged", page)
            return
        if confirmed and not page.dropped:
            self.contents.handled(observation, gave_items=page.gave_items)
        self.settle(observation, confirmed, page)

    def settle(
        self, observation: Observation, confirmed: bool, page: PageState | None = None
    ) -> None:
        """Confirm or discard an observation; then release its held copies, or request one again.

        :param page: None for an item.
        """
        if self.lane.index is None:
            return
        if not confirmed:
            self._stats.count("discarded")
            self.lane.mark_not_judged(observation.key)
        self._settle_in_index(observation, confirmed, page)

    def _settle_in_index(
        self, observation: Observation, confirmed: bool, page: PageState | None = None
    ) -> None:
        key, calls = observation.key, self.lane.calls
        gave_items = page is None or page.gave_items

        def is_to_call(copy: DroppedCopy) -> bool:
            """Return True if the callback of a copy is to run, although the page is confirmed."""
            if page is None:
                return False
            return page.has_foreign or (page.leads_on and not copy.called)

        def settle_copies(_: None) -> None:
            if confirmed:
                self.retries.confirmed(
                    key, observation, gave_items=gave_items, is_to_call=is_to_call
                )
            else:
                self.retries.discarded(key, refused=page is not None and page.asked_again)
            self.retries.settled(key)

        if not confirmed:
            calls.discard(observation, settle_copies)
            return
        if page is not None and observation.kind != "near-duplicate":  # whose text is stored
            self.lane.keep_text(key, page.title, page.text)
        calls.confirm(observation, settle_copies, gave_items=gave_items)

    def _request_refused(self) -> None:
        """Request the copies whose callbacks gave nothing for a content that the spider has refused
        elsewhere. As they ran late, the spider may have asked for its failed pages before.
        """
        copies = [*self._gave_nothing.values()]
        self._gave_nothing.clear()
        for copy in copies:
            if self.contents.is_refused(copy):
                self.retries.request(copy)

    def _count_called(self, page: PageState, verdict: Verdict, reason: KeptReason) -> None:
        """Count the outcome of a copy whose callback has run for what its original did not give."""
        if page.gave_items:
            self._stats.count_kept(verdict, reason)
            self.lane.count_outcome(verdict, PASS)
            return
        self._count_copy(verdict)
        follow = page.action.follow
        self.lane.count_outcome(verdict, Action(call=follow, items=False, follow=follow))
        observation, representative = verdict.observation, verdict.representative
        if page.withheld and observation is not None and representative is not None:
            copy = DroppedCopy.of(observation, page.request, called=True)
            if self.contents.is_refused(observation):  # since the page arrived
                self.retries.request(copy)
            elif observation.provisional:
                self.retries.look_again(copy)
            else:
                self.retries.leave(representative, copy, answered=True)

    def _keep_withheld(self, observation: Observation, page: PageState) -> None:
        """Keep a copy of whose output something was withheld, in case that its representative
        fails. Otherwise, its callback need not run again.
        """
        copy = DroppedCopy.of(observation, page.request, called=True)
        representative = observation.representative
        if observation.provisional:
            self.retries.look_again(copy)
        elif representative is not None and not page.action.items:
            self.retries.leave(representative, copy, answered=observation.earlier.gave_items)

    def _keep_dropped(
        self, observation: Observation, request: Request, response: Response | None
    ) -> None:
        """Keep a dropped copy, in case that its representative fails."""
        copy = DroppedCopy.of(observation, request)
        # It waits for its representative, or for an earlier response with the same key.
        awaited = observation.representative or observation.key
        if observation.provisional:
            self.retries.hold(awaited, copy, response)
        elif observation.kind == "near-duplicate":
            answered = observation.earlier.gave_items
            self.retries.leave(awaited, copy, response, answered=answered)

    def _make_pending(
        self, observation: Observation, *, preferred: bool, reason: KeptReason | None
    ) -> None:
        """Make a copy pending that may be stored, because its representative does not stand for
        further copies of its kind, or because the page is preferred.
        """
        is_unanswered = reason in STAND_IN_REASONS and not observation.earlier.gave_items
        if preferred or reason == "depth" or is_unanswered:
            self.lane.calls.tell(observation.key, lambda index: index.supersede(observation))
        elif reason == "request" and observation.evidence.request != UNLIKE_ANY:
            self.lane.calls.tell(observation.key, lambda index: index.accept(observation))

    def _observe_again(
        self, copies: Sequence[DroppedCopy], then: Callable[[Sequence[Observation] | None], None]
    ) -> None:
        """Observe dropped copies again, leaving none pending, and no line in the log.

        :param then: called with the observations, or with None if the index is closed or fails.
        """

        def observe(index: Any) -> list[Observation]:
            observations = []
            for copy in copies:
                in_scope = self.lane.identity.scope_filter(copy.key)
                seen = index.observe(copy.key, copy.fingerprint, copy.evidence, in_scope=in_scope)
                index.discard(seen)
                index.acted(seen, None)  # the log has the line of the first look
                observations.append(seen)
            return observations

        self.lane.calls.tell(copies[0].key, observe, then)

    def _discard_early(self, verdict: Verdict) -> None:
        """Discard the observation of a page that no callback got. May run in any thread."""
        calls, observation = self.lane.calls, verdict.observation
        if observation is not None and calls.in_threads:
            calls.call_in_loop(self._settle_in_index, observation, False)  # noqa: FBT003 - discard

    def _discard_all_early(self) -> None:
        """Discard the pages that no callback will get, because the crawl is idle."""
        for _, discard in [*self._early.values()]:
            discard()
        self._early.clear()

    def _is_flood(self, verdict: Verdict) -> bool:
        """Return True if a near-duplicate would exceed SIMHASH_CLUSTER_LIMIT."""
        copies = self._stats.copies[verdict.representative or ""]
        return verdict.kind == "near-duplicate" and 0 < self._cluster_limit <= copies

    def _count_copy(self, verdict: Verdict) -> None:
        """Count a near-duplicate in its cluster, and warn once if the cluster is a flood now: more
        often a ban page, a soft 404 or a broken extraction than real copies.
        """
        if (representative := verdict.representative) is None:
            return
        if self._is_flood(verdict):
            self.lane.errors.warn_once(
                f"flood of {representative}",
                "simhash: more than %d pages are near-duplicates of %s. A ban page, a soft 404 or "
                "a broken extraction? Further copies of it are tagged, not dropped "
                "(SIMHASH_CLUSTER_LIMIT). `scrapy simhash compare` shows it beside %s",
                self._cluster_limit,
                loggable(representative),
                loggable(verdict.key),
            )
        self._stats.count_copy(representative)
