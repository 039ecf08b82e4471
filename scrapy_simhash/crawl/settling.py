"""Settle the pages (or the items) of one crawl, and keep dropped copies until it is known that
they are not needed.

To *settle* a page is to confirm its observation in the index, or to discard it. If the index fails,
the error is counted and the page passes: no page is lost, and no crawl stops. All this holds for
items, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.dropped_copies import DroppedCopy
from scrapy_simhash.crawl.index_calls import IndexCalls
from scrapy_simhash.crawl.refused import RefusedContents
from scrapy_simhash.crawl.retries import ITEM_META_KEY, MAX_HELD, META_KEY, Retries
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.evidence import UNLIKE_ANY
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.policy import PASS, STAND_IN_REASONS, Action, outcome_of, stands_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.history import CrawlHistory
    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.rules import Text
    from scrapy_simhash.index.texts import KeptText
    from scrapy_simhash.policy import KeptReason
    from scrapy_simhash.verdict import Verdict

_REMEMBERED_CONTENTS = 10_000


class SettlingLane:
    """The part of a `Lane` that settles pages and keeps dropped copies.

    :param what: ``page`` or ``item``.
    :param schedule: schedules a request that repeats a dropped page.
    """

    def __init__(
        self,
        what: Literal["page", "item"],
        settings: SimhashSettings,
        *,
        identity: Identity,
        stats: CrawlStats,
        errors: ErrorLog,
        schedule: Callable[[Request], None],
    ) -> None:
        is_for_pages = what == "page"
        self.what = what
        self.settings = settings
        self.identity = identity
        self.stats = stats
        self.errors = errors
        rules = Rules(settings.max_distance, settings.confirmation)
        self.refused = RefusedContents(rules)
        # Key of a page → its content, and True if it gave items.
        self._contents: LocalCache[str, tuple[Text, bool]] = LocalCache(_REMEMBERED_CONTENTS)
        self.retries = Retries(
            self._observe_again,
            schedule,
            rules,
            meta_key=META_KEY if is_for_pages else ITEM_META_KEY,
            max_answered=MAX_HELD if is_for_pages else 0,
        )
        self.calls = IndexCalls(None, errors)
        """Calls to the index. `Lane.open` and `Lane.close` replace this object."""
        self.history: CrawlHistory | None = None
        self._max_text_bytes = settings.keep_text_bytes if is_for_pages else 0
        # Sequence number of an observation → text of its page, which is not settled yet.
        self._held_texts: dict[int, KeptText] = {}

    @property
    def index(self) -> ObservingIndex | RedisIndex | None:
        """The open index; None before `open` and after `close`."""
        return self.calls.index

    def answered(self, key: str, page: Text | None) -> None:
        """Record that a page arrived, perhaps again. If it has other content now, the earlier
        content was that of a wrong page, and counts as refused. See `Retries.answered`.

        :param page: the content; None if it cannot be judged.
        """
        earlier, gave_items = self._contents.get(key, (None, False))
        if earlier is not None and (
            page is None or not self.refused.rules.same_text(earlier, page)
        ):
            self.refused.add(earlier, for_good=gave_items)
            del self._contents[key]
        self.retries.answered(key, page)

    def begin_giving(self) -> None:
        """Record that the crawl takes items from pages."""
        if not self.retries.gives_items:
            self.retries.begin_giving()

    def settle_page(self, page: PageState, confirmed: bool) -> None:
        """Settle the observation of a page that is done."""
        verdict = page.verdict
        if verdict is None or verdict.observation is None:
            return
        observation = verdict.observation
        if page.reason is None and page.action != PASS:  # its callback has run all the same
            if page.withheld:
                self._keep_withheld(observation, page)
            if observation.provisional:
                return  # `act_on` has settled it
        if page.reason == "no_items":
            self._count_without_items(page, verdict)
        if stands_in(verdict, page.reason) and not page.gave_items and not page.failed:
            self._settle_index(observation, confirmed=verdict.kind == "unchanged", page=page)
            return
        if page.dropped:
            pass  # its callback has not run
        elif confirmed:
            self._contents[observation.key] = observation, page.gave_items
            if page.gave_items:
                self.refused.remove(observation)
        self.settle(observation, confirmed, page=page)

    def _count_without_items(self, page: PageState, verdict: Verdict) -> None:
        """Count the outcome of a copy of a page that gave no items."""
        if page.gave_items:
            self.stats.count_kept(verdict, "no_items")
            self._count_outcome(verdict, PASS)
            return
        follow = page.action.follow
        self._count_outcome(verdict, Action(call=follow, items=False, follow=follow))
        observation, representative = verdict.observation, verdict.representative
        if page.withheld and observation is not None and representative is not None:
            copy = DroppedCopy.of(observation, page.request)
            if self.refused.has(observation):  # since the page arrived
                self.retries.request(copy)
            else:
                self.retries.leave(representative, copy, answered=True)

    def _keep_withheld(self, observation: Observation, page: PageState) -> None:
        """Keep a copy of whose output something was withheld, in case that its representative
        fails. Otherwise, its callback need not run again.
        """
        copy, representative = DroppedCopy.of(observation, page.request), observation.representative
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
            self.calls.tell(observation.key, lambda index: index.supersede(observation))
        elif reason == "request" and observation.evidence.request != UNLIKE_ANY:
            self.calls.tell(observation.key, lambda index: index.accept(observation))

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
        self._settle_index(observation, confirmed, page=page)

    def _settle_index(
        self,
        observation: Observation,
        confirmed: bool,
        *,
        settles_copies: bool = True,
        page: PageState | None = None,
    ) -> None:
        gave_items = page is None or page.gave_items

        def settle_copies(_: None) -> None:
            if confirmed:
                self.retries.confirmed(observation.key, observation, gave_items=gave_items)
            else:
                refused = page is not None and page.asked_again
                self.retries.discarded(observation.key, refused=refused)
            self.retries.settled(observation.key)

        then = settle_copies if settles_copies else None
        text = self._held_texts.pop(observation.sequence, None)
        if not confirmed:
            self.calls.tell(observation.key, lambda index: index.discard(observation), then)
            return
        if text is not None:
            self._store_text(self.index, observation.key, text)
        self.calls.confirm(observation, then, gave_items=gave_items)

    def _store_text(self, index: Any, key: str, text: KeptText) -> None:
        try:
            index.texts.max_bytes = self._max_text_bytes
            if not index.texts.keep(key, text):
                self.stats.count("texts_not_kept")
        except SimhashError as error:
            self.errors.count_error("texts", error, key)

    def _count_outcome(self, verdict: Verdict, action: Action) -> None:
        self.stats.count_outcome(verdict, action)
        outcome, observation = outcome_of(verdict, action), verdict.observation
        if outcome is not None and verdict.kind != "unchanged" and observation is not None:
            self.calls.tell(verdict.key, lambda index: index.acted(observation, outcome))

    def mark_not_judged(self, key: str) -> None:
        """Record that an indexed page cannot be judged now, so that it does not count as gone."""
        if (history := self.history) is not None:

            def record(entry: Entry | None) -> None:
                if entry is not None:
                    history.crawl.failed(key)

            self.calls.tell(key, lambda index: index.entry(key), record)

    def _observe_again(
        self, copies: Sequence[DroppedCopy], then: Callable[[Sequence[Observation] | None], None]
    ) -> None:
        """Observe dropped copies again, leaving none pending, and no line in the log.

        :param then: called with the observations, or with None if the index is closed or fails.
        """

        def observe(index: Any) -> list[Observation]:
            observations = []
            for copy in copies:
                in_scope = self.identity.scope_filter(copy.key)
                seen = index.observe(copy.key, copy.fingerprint, copy.evidence, in_scope=in_scope)
                index.discard(seen)
                index.acted(seen, None)  # the log has the line of the first look
                observations.append(seen)
            return observations

        self.calls.tell(copies[0].key, observe, then)
