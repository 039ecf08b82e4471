"""Decide when a page is done: its output has ended, and all of its items are through the pipelines.

Until then the observation of the page is pending in the index. It is confirmed if the output was
read to its end and nothing failed. Otherwise it is discarded, so that copies of the page can pass.

If the spider asks for a page again, it has *refused* its content, such as a ban page: the callback
repeats the request, or downloads the page again itself and gets other content. Later pages with
refused content are discarded, too, unless their callbacks return something.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.policy import PASS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.refused import RefusedContents
    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Text
    from scrapy_simhash.policy import Action, KeptReason
    from scrapy_simhash.verdict import Verdict


@dataclass(eq=False)
class PageState:
    """A page on its way through the callback and the pipelines.

    :param key: the page's key in the index.
    :param verdict: None for a page that was not judged.
    :param action: decides which output of the callback passes.
    :param request: downloads the page again if it is scheduled.
    :param dropped: the callback does not run.
    :param outputs: number of requests and items that the callback returned.
    :param handled: the output of the callback (or errback) was read to its end, or the callback did
        not run, because the page was dropped.
    :param items: number of items that went to the pipelines, also those that middlewares added.
    :param unsettled: number of items that are still in the pipelines.
    :param ended: no more output comes.
    :param failed: the callback, a middleware or a pipeline failed, or the content was refused.
    :param refused: the spider has refused such content.
    :param asked_again: the spider has asked for this page again.
    :param gave_items: the pipelines kept an item of the page.
    :param reason: why the page passes, although its content was seen.
    :param withheld: number of items and requests that were dropped, although the callback gave
        them.
    :param awaited: pages at work that this one is a copy of. Until one of them gives an item, or
        another copy of it does, the items of this one pass: the callback may gather what several
        pages say.
    :param stand_in: the copy that has given items while this page had given none.
    :param other_url: the callback has requested the same page under a URL with another query.
    :param in_transit: ids of the yielded items that have not reached `SimhashPipeline`.
    :param item_observations: id of an item → its pending observation.
    :param replaced_observations: observations of items whose id now belongs to another item.
    """

    key: str
    verdict: Verdict | None
    action: Action
    request: Request
    dropped: bool = False
    outputs: int = 0
    handled: bool = False
    items: int = 0
    unsettled: int = 0
    ended: bool = False
    failed: bool = False
    refused: bool = False
    asked_again: bool = False
    gave_items: bool = False
    reason: KeptReason | None = None
    withheld: int = 0
    awaited: Sequence[PageState] = ()
    stand_in: PageState | None = None
    other_url: bool = False
    in_transit: set[int] = field(default_factory=set)
    item_observations: dict[int, Observation] = field(default_factory=dict)
    replaced_observations: list[Observation] = field(default_factory=list)

    def withholds_item(self) -> bool:
        """Return True if the next item of the callback is to be dropped."""
        if self.action.items:
            return False
        for page in self.awaited:
            if page.gave_items or page.unsettled or page.stand_in not in (None, self):
                return True
            page.stand_in = self
        return not self.awaited


class Settlement:
    """The pages in progress, from their verdicts until they are confirmed or discarded.

    :param settle_page: called with (page, confirmed) when an observed page is done.
    :param settle_item: called with (observation, confirmed) when a judged item is done.
    :param on_finished: called with (page, confirmed) when any page is done.
    :param refused: contents that the spider has refused.
    """

    def __init__(
        self,
        settle_page: Callable[[PageState, bool], None],
        settle_item: Callable[[Observation, bool], None],
        on_finished: Callable[[PageState, bool], None],
        refused: RefusedContents,
    ) -> None:
        self._settle_page = settle_page
        self._settle_item = settle_item
        self._on_finished = on_finished
        self._refused = refused
        self._rules = refused.rules
        self._by_response: WeakKeyDictionary[Response, PageState] = WeakKeyDictionary()
        self._open: set[PageState] = set()
        # By id of the item, because its class may have no hash or no weak references: item, page,
        # and the position of the item among those of the page.
        self._origins: dict[int, tuple[Any, PageState, int]] = {}
        # By id of the item: item, and its pending observation.
        self._without_page: dict[int, tuple[Any, Observation]] = {}
        self._may_have_failed_without_page = False

    def begin(self, response: Response, page: PageState) -> PageState:
        """Follow a page that a callback (or errback) is about to see. Return the page."""
        self._by_response[response] = page
        self._open.add(page)
        return page

    def follow_callback(
        self, response: Response, key: str, verdict: Verdict, action: Action, request: Request
    ) -> PageState:
        """Follow a page by its verdict and the action on it. Return its state."""
        observation = verdict.observation
        waits = action != PASS and observation is not None and observation.provisional
        if waits and not action.call:
            verdict = replace(verdict, observation=None)  # settled already
        # What an errback gives passes.
        page = PageState(key, verdict, action if action.call else PASS, request)
        page.dropped = not action.call
        if waits:
            page.awaited = self.at_work(verdict.representative or key)
        return self.begin(response, page)

    def recognize_refused(self, page: PageState, refused: int | None) -> None:
        """Compare a page with refused content.

        :param refused: fingerprint of the content that the callback refused when it requested this
            page again, or None. A page that still has this content fails, whatever its callback
            returns.
        """
        if page.verdict is None or page.verdict.fingerprint is None:
            return
        fingerprint = page.verdict.fingerprint
        page.failed = (
            refused is not None
            and hamming_distance(fingerprint, refused) <= self._rules.max_distance
        )
        page.refused = self._refused.has(page.verdict.observation)

    def downloaded(self, key: str, page: Text | None) -> None:
        """Record that a page arrived that was requested by engine methods. If the callback of an
        earlier response with other content is still at work, it has refused that content.

        :param page: the content; None if it cannot be judged.
        """
        for earlier in self.at_work(key):
            verdict = earlier.verdict
            observed = None if verdict is None else verdict.observation
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
        self._origins[id(item)] = (item, page, page.items)
        page.in_transit.add(id(item))
        page.items += 1
        page.unsettled += 1

    def take_origin(self, item: Any) -> tuple[PageState | None, int]:
        """Return and forget the page of an item, and the item's position on it, from 0.

        The page is None for an object that no callback yielded.
        """
        yielded, page, ordinal = self._origins.get(id(item), (None, None, 0))
        if page is None or yielded is not item:
            return None, 0
        del self._origins[id(item)]
        page.in_transit.discard(id(item))
        return page, ordinal

    def item_observed(self, page: PageState | None, item: Any, observation: Observation) -> None:
        """Record the pending observation of an item.

        :param page: None for an item of ``start()``, and for an object by which a pipeline before
            `SimhashPipeline` replaced an item.
        """
        if page is None:
            self._without_page[id(item)] = (item, observation)
            return
        previous = page.item_observations.get(id(item))
        if previous is not None:  # of an item that was deleted; the new item has its id
            page.replaced_observations.append(previous)
        page.item_observations[id(item)] = observation

    def item_settled(
        self, response: Response | None, item: Any, *, kept: bool, failed: bool
    ) -> None:
        """Record that the pipelines kept an item, dropped it on purpose, or failed.

        :param item: the last object if the item was kept, else the object that was yielded.
        """
        page = self.page(response)
        observed, observation = self._without_page.get(id(item), (None, None))
        if observation is not None and observed is item:
            del self._without_page[id(item)]
        else:
            observation = None if page is None else page.item_observations.pop(id(item), None)
        if observation is not None:
            self._settle_item(observation, kept)
        elif failed and (page is None or id(item) in page.in_transit):
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
        page.failed = page.asked_again = page.refused = True
        if page.verdict is not None and page.verdict.observation is not None:
            self._refused.add(page.verdict.observation)

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
        for _, observation in self._without_page.values():
            self._settle_item(observation, not self._may_have_failed_without_page)
        self._without_page.clear()

    def _close_if_done(self, page: PageState) -> None:
        if page.ended and page.unsettled <= 0 and page in self._open:
            self._finish(page)

    def _finish(self, page: PageState) -> None:
        self._open.discard(page)
        page.ended = True
        for item_id in page.in_transit:
            self._origins.pop(item_id, None)
        page.in_transit.clear()
        # No signal names these items, because a later pipeline replaced them by other objects.
        for observation in [*page.replaced_observations, *page.item_observations.values()]:
            self._settle_item(observation, True)  # noqa: FBT003 - confirmed
        confirmed = page.handled and not page.failed and not (page.refused and not page.outputs)
        if page.verdict is not None and page.verdict.observation is not None:
            self._settle_page(page, confirmed)
        self._on_finished(page, confirmed)
