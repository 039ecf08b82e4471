"""Decide when a page is done: its output has ended, and all of its items are through the pipelines.

Until then the observation of the page is pending in the index. It is confirmed if the output was
read to its end and nothing failed. Otherwise it is discarded, so that copies of the page can pass.

If the spider asks for a page again, it has *refused* its content, such as a ban page: the callback
repeats the request, or downloads the page again itself and gets other content. Later pages with
refused content are discarded, too, unless their callbacks return something. They are not dropped as
copies, because the spider will ask for them again, too.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.given import Given
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.policy import PASS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.copies import Compared
    from scrapy_simhash.crawl.given import Said
    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text
    from scrapy_simhash.policy import Action, KeptReason
    from scrapy_simhash.verdict import Verdict

_REMEMBERED_PAGES = 10_000
_REMEMBERED_REFUSED = 1000
CALLED_FOR_ITEMS = ("no_items", "values")
"""Reasons for which the callback of a copy runs: its original did not give such items."""


@dataclass(eq=False)
class PageState:
    """A page on its way through the callback and the pipelines.

    :param key: the page's key in the index.
    :param verdict: None for a page that was not judged.
    :param action: decides which output of the callback passes. What an errback gives passes.
    :param request: downloads the page again if it is scheduled.
    :param title: title of the page, and `text` its main text, until the page is done. Empty if the
        crawl does not keep texts.
    :param reason: why the page passes, although its content was seen.
    :param given: what the callback gave.
    :param waited_for: a copy whose callback runs because the spider may wait for it.
    :param kept_requests: of a copy: may pass when the output has ended.
    :param handled: the output of the callback (or errback) was read to its end, or the callback did
        not run, because the page was dropped.
    :param items: number of items that went to the pipelines, also those that middlewares added.
    :param unsettled: number of items that are still in the pipelines.
    :param ended: no more output comes.
    :param failed: the callback, a middleware or a pipeline failed, or the content was refused.
    :param refused: the spider has asked for this page again.
    :param compared: of a copy: what its items are compared with, from the first one on.
    :param kept_items: pass when the output has ended, if it is unknown what the representative
        gave, and they are several or, after a pause, the page leads on.
    :param recorded_items: until the page is done, by id, each with what was added to
        `entries` and `items` of which `Said`, because a pipeline may change an item and then drop
        it.
    :param item_states: the items on their way to the pipeline, and the observed ones.
    :param gave_items: the pipelines kept an item of the page.
    :param withheld: number of items and requests that were dropped, although the callback gave
        them.
    :param awaited: pages at work that this one is a copy of. Until one of them gives an item, or
        another copy of it does, the items of this one pass: the callback may gather what several
        pages say.
    :param stand_in: the copy that has given items while this page had given none.
    :param other_url: the callback has requested the same page under a URL with another query.
    """

    key: str
    verdict: Verdict | None
    action: Action
    request: Request
    title: str = ""
    text: str = ""
    reason: KeptReason | None = None
    given: Given = field(default_factory=Given)
    waited_for: bool = False
    kept_requests: list[Request] = field(default_factory=list)
    handled: bool = False
    items: int = 0
    unsettled: int = 0
    ended: bool = False
    failed: bool = False
    refused: bool = False
    compared: Compared | None = None
    kept_items: list[Any] = field(default_factory=list)
    recorded_items: dict[int, tuple[Any, Sequence[Said], Sequence[int], array[int]]] = field(
        default_factory=dict
    )
    item_states: set[ItemState] = field(default_factory=set)
    gave_items: bool = False
    withheld: int = 0
    awaited: Sequence[PageState] = ()
    stand_in: PageState | None = None
    other_url: bool = False

    @property
    def observation(self) -> Observation | None:
        """The pending or seen content of the page; None if there is nothing to settle."""
        return None if self.verdict is None else self.verdict.observation

    @property
    def original(self) -> str:
        """The key of the page that this one is a copy of; its own key if it is none."""
        return (self.verdict and self.verdict.representative) or self.key

    @property
    def dropped(self) -> bool:
        """Return True if the callback does not run."""
        return not self.action.call

    @property
    def called_for_items(self) -> bool:
        """Return True if the callback of a copy runs for items that its original did not give."""
        return self.reason in CALLED_FOR_ITEMS

    def withholds_item(self) -> bool:
        """Return True if the next item of the callback is to be dropped."""
        if self.action.items or self.dropped:
            return False
        for page in self.awaited:
            if page.gave_items or page.unsettled or page.stand_in not in (None, self):
                return True
            page.stand_in = self
        return not self.awaited


@dataclass(eq=False)
class ItemState:
    """An item on its way to `SimhashPipeline`, or one with an observation until it is settled.

    :param item: the object that the callback yielded, or that an earlier pipeline made of it.
    :param page: None for an item of ``start()``, and for an object that no callback yielded.
    :param ordinal: position of the item among those of its page, from 0.
    :param observation: the pending content of the item, once `SimhashPipeline` has judged it.
    """

    item: Any
    page: PageState | None = None
    ordinal: int = 0
    observation: Observation | None = None


class Contents:
    """The contents of the last 10,000 handled pages, and the last 1,000 refused contents.

    :param rules: conditions for a page to be a copy.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        # Key of a page → its content, and True if it gave items.
        self._handled: LocalCache[str, tuple[Text, bool]] = LocalCache(_REMEMBERED_PAGES)
        # (content, True if it was refused although it gave items once)
        self._refused: deque[tuple[Text, bool]] = deque(maxlen=_REMEMBERED_REFUSED)

    def __contains__(self, key: str) -> bool:
        """Return True if a page was handled."""
        return key in self._handled

    def handled(self, page: Observation, *, gave_items: bool) -> None:
        """Record that a page was handled without an error. If it gave items, such content is not
        refused any more, unless it gave items before it was refused, too.
        """
        self._handled[page.key] = page, gave_items
        if gave_items and self._refused:
            others = [
                one for one in self._refused if one[1] or not self.rules.is_copy(page, one[0])
            ]
            self._refused = deque(others, _REMEMBERED_REFUSED)

    def came_again(self, key: str, page: Text | None) -> None:
        """Record that a page arrived, perhaps again. If it has other content now, the earlier
        content was that of a wrong page, and counts as refused.

        :param page: the content; None if it cannot be judged.
        """
        earlier, gave_items = self._handled.get(key, (None, False))
        if earlier is not None and (page is None or not self.rules.same_text(earlier, page)):
            del self._handled[key]
            self.refuse(earlier, gave_items=gave_items)

    def refuse(self, page: Text, *, gave_items: bool = False) -> None:
        """Record that the spider asks for a page again.

        :param gave_items: the page has given items.
        """
        if not any(
            gave >= gave_items and self.rules.is_copy(page, one) for one, gave in self._refused
        ):
            self._refused.append((page, gave_items))

    def is_refused(self, page: Text | None) -> bool:
        """Return True if such content was refused."""
        return page is not None and any(self.rules.is_copy(page, one) for one, _ in self._refused)


class Settlement:
    """The pages in progress, from their verdicts until they are confirmed or discarded.

    :param settle_item: called with (observation, confirmed) when a judged item is done.
    :param on_finished: called with (page, confirmed) when a page is done.
    :param contents: what the spider has refused.
    """

    def __init__(
        self,
        settle_item: Callable[[Observation, bool], None],
        on_finished: Callable[[PageState, bool], None],
        contents: Contents,
    ) -> None:
        self._settle_item = settle_item
        self._on_finished = on_finished
        self._contents = contents
        self._rules = contents.rules
        self._by_response: WeakKeyDictionary[Response, PageState] = WeakKeyDictionary()
        self._open: set[PageState] = set()
        # By id of the item, because its class may have no hash or no weak references. The same
        # object may be yielded twice.
        self._items: dict[int, list[ItemState]] = {}
        self._may_have_failed_without_page = False

    def begin(self, response: Response, page: PageState, refused: int | None = None) -> PageState:
        """Follow a page that a callback (or errback) is about to see. Return the page.

        :param refused: fingerprint of the content that the callback refused when it requested this
            page again, or None. A page that still has this content fails, whatever its callback
            returns.
        """
        self._by_response[response] = page
        self._open.add(page)
        verdict, observation = page.verdict, page.observation
        if verdict is not None and observation is not None:
            if page.action != PASS and observation.provisional:
                page.awaited = self.at_work(page.original)
                if page.dropped:  # `Judging` has settled it
                    page.verdict = replace(verdict, observation=None)
            if not page.dropped and refused is not None:
                k = self._rules.max_distance
                page.failed = hamming_distance(observation.fingerprint, refused) <= k
        return page

    def downloaded(self, key: str, page: Text | None) -> None:
        """Record that a page arrived that was requested by engine methods. If the callback of an
        earlier response with other content is still at work, it has refused that content.

        :param page: the content; None if it cannot be judged.
        """
        for earlier in self.at_work(key):
            observed = earlier.observation
            if observed is not None and (page is None or not self._rules.same_text(observed, page)):
                self.refuse(earlier)

    def page(self, response: Response | None) -> PageState | None:
        """Return the state of a response's page; None if `begin` was not called for it."""
        return None if response is None else self._by_response.get(response)

    def at_work(self, key: str) -> list[PageState]:
        """Return the pages under a key whose callbacks or items are at work."""
        return [page for page in self._open if page.key == key and not page.dropped]

    def item_yielded(self, page: PageState, item: Any) -> None:
        """Record an item that is on its way to the pipelines."""
        self._follow_item(ItemState(item, page, page.items))
        page.items += 1
        page.unsettled += 1

    def item_arrived(self, item: Any) -> ItemState:
        """Return the state of an item that has reached `SimhashPipeline`. Each state is returned
        once; the state of an object that no callback yielded has no page.
        """
        for state in self._items.get(id(item), ()):
            if state.observation is None:
                self._settle_items([state], confirmed=False)  # there is nothing to settle yet
                return state
        return ItemState(item)

    def item_observed(self, state: ItemState, observation: Observation) -> None:
        """Record the pending observation of an item."""
        state.observation = observation
        self._follow_item(state)

    def _follow_item(self, state: ItemState) -> None:
        self._items.setdefault(id(state.item), []).append(state)
        if state.page is not None:
            state.page.item_states.add(state)

    def item_settled(
        self, response: Response | None, item: Any, *, kept: bool, failed: bool
    ) -> None:
        """Record that the pipelines kept an item, dropped it on purpose, or failed.

        :param item: the last object if the item was kept, else the object that was yielded.
        """
        page = self.page(response)
        states = self._items.get(id(item), [])
        if len(states) == 1 and states[0].observation is not None:
            self._settle_items([*states], confirmed=kept)
        elif failed and (page is None or states):
            # A pipeline before `SimhashPipeline` failed, or replaced the item by another object.
            self._may_have_failed_without_page = True
        if page is None:
            return
        page.unsettled -= 1
        page.failed = page.failed or failed
        page.gave_items = page.gave_items or kept
        self._close_if_done(page)

    def refuse(self, page: PageState) -> None:
        """Record that the spider asks for a page again."""
        page.failed = page.refused = True
        if page.observation is not None:
            self._contents.refuse(page.observation)

    def output_ended(self, page: PageState) -> None:
        """Record that no more output of a page comes."""
        page.ended = True
        self._close_if_done(page)

    def close(self) -> None:
        """Finish all open pages, and the items that no signal named."""
        for page in list(self._open):
            self._finish(page)
        # No signal names these items: a later pipeline replaced them by other objects, or an
        # earlier one did, and then they failed.
        self._settle_items(
            [*chain(*self._items.values())], confirmed=not self._may_have_failed_without_page
        )

    def _close_if_done(self, page: PageState) -> None:
        if page.ended and page.unsettled <= 0 and page in self._open:
            self._finish(page)

    def _finish(self, page: PageState) -> None:
        self._open.discard(page)
        page.ended = True
        # No signal names these items: a later pipeline replaced them by other objects, or they are
        # the same object as another item. If anything failed, it may be one of them.
        self._settle_items([*page.item_states], confirmed=not page.failed)
        confirmed = page.handled and not page.failed
        if confirmed and not page.given.outputs and not page.dropped:
            confirmed = not self._contents.is_refused(page.observation)
        self._on_finished(page, confirmed)
        page.title, page.text, page.compared = "", "", None  # others may keep the page
        page.recorded_items.clear()

    def _settle_items(self, states: Sequence[ItemState], *, confirmed: bool) -> None:
        for state in states:
            self._items[id(state.item)].remove(state)
            if state.page is not None:
                state.page.item_states.discard(state)
            if not self._items[id(state.item)]:
                del self._items[id(state.item)]
            if state.observation is not None:
                self._settle_item(state.observation, confirmed)
