"""When is a page done? Once its output has ended and all of its items are settled.

Until then its entry in the index is pending. It is confirmed if its callback ended by itself and
nothing failed; else it is discarded, so that it never stands in the way of its copies. Content for
which callbacks ask again, such as a ban page, is discarded until a callback makes something of it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.index import Observation
    from scrapy_simhash.policy import Action
    from scrapy_simhash.verdict import Verdict

_REMEMBERED_REFUSED = 1000


@dataclass(eq=False)
class PageState:
    """A page on its way through the callback and the pipelines.

    :param key: the page's identity.
    :param verdict: None for a page that was not judged, whose items are.
    :param request: of the page.
    :param outputs: requests and items of the callback.
    :param handled: the callback's output (or for a dropped page its errback's) ended by itself.
    :param items: items that went on to the pipelines, in all, also those that middlewares added.
    :param unsettled: those of them that the pipelines are not done with.
    :param ended: no more output comes.
    :param refused: callbacks have asked again for content like this.
    :param item_observations: id of an item → what the index of items holds as pending for it.
    """

    key: str
    verdict: Verdict | None
    action: Action
    request: Request
    outputs: int = 0
    handled: bool = False
    items: int = 0
    unsettled: int = 0
    ended: bool = False
    failed: bool = False
    refused: bool = False
    handed_over: set[int] = field(default_factory=set)
    item_observations: dict[int, Observation] = field(default_factory=dict)
    replaced_observations: list[Observation] = field(default_factory=list)


@dataclass(frozen=True)
class Origin:
    """Where an item came from: the page, and its place among the page's items."""

    page: PageState
    ordinal: int


class Settlement:
    """Follows pages from verdict to confirm or discard.

    :param settle: called with (observation, confirmed) when the fate of a page is known.
    :param settle_item: the same for items that have verdicts of their own.
    :param finished: called with (page, whether it was handled without an error) at its end.
    :param max_distance: k.
    """

    def __init__(
        self,
        settle: Callable[[Observation, bool], None],
        settle_item: Callable[[Observation, bool], None],
        finished: Callable[[PageState, bool], None],
        max_distance: int,
    ) -> None:
        self._settle = settle
        self._settle_item = settle_item
        self._finished = finished
        self._max_distance = max_distance
        # Fingerprints of content for which callbacks asked again.
        self._refused: deque[int] = deque(maxlen=_REMEMBERED_REFUSED)
        self._by_response: WeakKeyDictionary[Response, PageState] = WeakKeyDictionary()
        self._open: set[PageState] = set()
        # Items may be of any class, also without weak references, and are found by identity.
        self._origins: dict[int, tuple[Any, Origin]] = {}
        self._without_page: dict[int, tuple[Any, Observation]] = {}

    def begin(
        self,
        response: Response,
        key: str,
        verdict: Verdict | None,
        action: Action,
        request: Request,
    ) -> PageState:
        """Return the state of a page that a callback (or errback) is about to see.

        :param request: repeated if an item of the page has to come again.
        """
        page = PageState(key, verdict, action, request)
        self._by_response[response] = page
        self._open.add(page)
        return page

    def recognize_refused(self, page: PageState, before: int | None) -> None:
        """Compare a page with content for which callbacks asked again.

        :param before: fingerprint of the content for which the page's own callback asked again.
            If it still has that content, it stands for nothing, whatever its callback makes of it.
        """
        if page.verdict is None or page.verdict.fingerprint is None:
            return
        fingerprint = page.verdict.fingerprint
        page.failed = before is not None and self._near(fingerprint, before)
        page.refused = any(self._near(fingerprint, other) for other in self._refused)

    def page(self, response: Response | None) -> PageState | None:
        """The state of a response's page; None if it has no verdict."""
        return None if response is None else self._by_response.get(response)

    def item_yielded(self, page: PageState, item: Any) -> None:
        """An item of a page is on its way to the pipelines."""
        self._origins[id(item)] = (item, Origin(page, page.items))
        page.handed_over.add(id(item))
        page.items += 1
        page.unsettled += 1

    def take_origin(self, item: Any) -> Origin | None:
        """Where an item came from; known once, and only for the very object that was yielded."""
        known = self._origins.get(id(item))
        if known is None or known[0] is not item:
            return None
        del self._origins[id(item)]
        known[1].page.handed_over.discard(id(item))
        return known[1]

    def item_observed(self, page: PageState | None, item: Any, observation: Observation) -> None:
        """An item has a pending entry of its own, to be settled with it.

        :param page: None for an item of ``start()``.
        """
        if page is None:
            self._without_page[id(item)] = (item, observation)
            return
        previous = page.item_observations.get(id(item))
        if previous is not None:  # of an item that is gone, whose identity this one inherited
            page.replaced_observations.append(previous)
        page.item_observations[id(item)] = observation

    def item_settled(
        self, response: Response | None, item: Any, *, kept: bool, failed: bool
    ) -> None:
        """The pipelines are done with an item: kept, dropped on purpose, or failed."""
        page = self.page(response)
        if page is None:
            known = self._without_page.get(id(item))
            if known is not None and known[0] is item:
                del self._without_page[id(item)]
                self._settle_item(known[1], kept)
            return
        observation = page.item_observations.pop(id(item), None)
        if observation is not None:
            self._settle_item(observation, kept)
        page.unsettled -= 1
        page.failed = page.failed or failed
        self._close_if_done(page)

    def asked_again(self, page: PageState) -> None:
        """The callback asks for its own page again: what it got was not the content."""
        page.failed = True
        if page.verdict is not None and page.verdict.fingerprint is not None and not page.refused:
            page.refused = True
            self._refused.append(page.verdict.fingerprint)

    def output_ended(self, page: PageState) -> None:
        """No more output of a page comes."""
        page.ended = True
        self._close_if_done(page)

    def close(self) -> None:
        """The crawl is over: what was handled without an error is confirmed, the rest is not."""
        for page in list(self._open):
            self._finish(page)
        for _, observation in self._without_page.values():
            self._settle_item(observation, True)  # noqa: FBT003 - another object was scraped
        self._without_page.clear()

    def _close_if_done(self, page: PageState) -> None:
        if page.ended and page.unsettled <= 0 and page in self._open:
            self._finish(page)

    def _finish(self, page: PageState) -> None:
        self._open.discard(page)
        for identity in page.handed_over:
            self._origins.pop(identity, None)
        page.handed_over.clear()
        # Left over are items that a later pipeline replaced by another object.
        for observation in [*page.replaced_observations, *page.item_observations.values()]:
            self._settle_item(observation, True)  # noqa: FBT003 - confirmed
        kept = page.handled and not page.failed and not (page.refused and not page.outputs)
        if page.verdict is not None and page.verdict.observation is not None:
            self._settle(page.verdict.observation, kept)
        self._finished(page, kept)

    def _near(self, one: int, other: int) -> bool:
        return hamming_distance(one, other) <= self._max_distance
