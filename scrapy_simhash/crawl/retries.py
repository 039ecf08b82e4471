"""Request dropped copies again if the page that they are copies of fails, or gave nothing.

A near-duplicate may be dropped while its representative is still in its callback or in the
pipelines (*pending*). If the representative fails, its copies are requested again, one after the
other, until one is confirmed. If a requested copy now has other content, for example because all
copies were ban pages, the other copies are requested at once.

If the representative gave no items, it does not stand for its copies: they are requested again.
But a crawl may take no items from pages at all. So while it has given none, such copies are only
remembered (*unanswered*); they are requested when the first item is given, or at once if the
representative is requested again and comes with other content. At the end of a crawl that gave no
items, some unanswered copies of each URL pattern are requested: their callbacks may give items.

Where only the callback of a copy is to run after all, its response is used again, if there was room
to keep it. So its page is not downloaded twice.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from scrapy_simhash.crawl.dropped_copies import CopiesByPage, DroppedCopy, KeptResponses
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text

    Answer: TypeAlias = Callable[[Sequence[Observation] | None], None]
    Observe: TypeAlias = Callable[[Sequence["DroppedCopy"], Answer], None]

META_KEY = "simhash_second_chance"
ITEM_META_KEY = "simhash_item_second_chance"
MAX_HELD = 10_000
_TRIED_COPIES = 10


def is_retry(request: Request) -> bool:
    """Return True if a request was scheduled by a `Retries`."""
    return META_KEY in request.meta or ITEM_META_KEY in request.meta


class Retries:
    """Dropped copies, held until their representatives are confirmed or discarded.

    :param observe: observes copies again, and calls a function with the observations, or with None
        if the index fails.
    :param schedule: schedules a request.
    :param rules: conditions for a page to be a copy.
    :param meta_key: marks the requests that this object schedules.
    :param max_held: upper limit for copies that are held or requested; see `full`. As many more are
        remembered as unanswered; further ones are forgotten.
    :param max_answered: upper limit for copies of pages that gave items, or whose callbacks have
        run. They are requested again if their representative is requested again and comes with
        other content. If there are too many, those of the oldest representative are forgotten.
    """

    def __init__(
        self,
        observe: Observe,
        schedule: Callable[[Request], None],
        rules: Rules,
        *,
        meta_key: str = META_KEY,
        max_held: int = MAX_HELD,
        max_answered: int = MAX_HELD,
    ) -> None:
        self._observe = observe
        self._schedule = schedule
        self._rules = rules
        self._meta_key = meta_key
        self._max_held = max_held
        self._count = 0  # copies that are not released
        self._held = CopiesByPage()  # of pending pages
        # Token in the request → (copy that was requested, copies that wait for its outcome).
        self._requested: dict[str, tuple[DroppedCopy, Sequence[DroppedCopy]]] = {}
        self._unanswered = CopiesByPage()  # of pages that gave no items
        self._max_answered = max_answered
        # Copies that need not be requested, unless their page was a wrong one.
        self._answered = CopiesByPage()
        # Copies of the former contents of pages that have other contents now.
        self._dropped_for_former = CopiesByPage()
        # URL pattern → number of its unanswered copies that were tried at the end of the crawl.
        self._tried: Counter[str] = Counter()
        self._responses = KeptResponses()
        # Token in the request → the response that answers it.
        self._answers: dict[str, Response] = {}
        self._open_questions = 0
        self._closing = False
        self.gives_items = False
        """The crawl has given items from pages. Set by `begin_giving`."""

    @property
    def full(self) -> bool:
        """Return True if no further copy can be held."""
        return self._count >= self._max_held

    def hold(
        self, representative: str, copy: DroppedCopy, response: Response | None = None
    ) -> None:
        """Hold a copy while its representative is pending. The caller checks `full` first.

        :param response: answers a later request for the copy, unless that needs a new response.
        """
        self._count += 1
        self._responses.keep(copy, response)
        self._held.add(representative, copy)

    def leave(
        self,
        representative: str,
        copy: DroppedCopy,
        response: Response | None = None,
        *,
        answered: bool,
    ) -> None:
        """Remember a copy that is dropped for good, unless its representative was a wrong page.

        :param response: see `hold`.
        :param answered: the representative gave items, or the callback of the copy has run.
        """
        if not answered:
            if self._unanswered.count < self._max_held:
                self._unanswered.add(representative, copy)
                self._responses.keep(copy, response)
            return
        self._responses.take(copy)
        earlier = self._answered.take(representative)
        self._answered.add(representative, *earlier, copy)  # the youngest is last
        while self._answered.count > self._max_answered:
            self._answered.take(self._answered.pages()[0])

    def begin_giving(self) -> None:
        """Record that the crawl gives items: request the copies of pages that gave none."""
        self.gives_items = True
        for key in self._unanswered.pages():
            self._look_again(self._take(key))

    def confirmed(
        self,
        key: str,
        page: Text | None = None,
        *,
        gave_items: bool = True,
        is_to_call: Callable[[DroppedCopy], bool] = lambda _: False,
    ) -> None:
        """Release the copies of a confirmed page, or ask for them if it gave no items.

        :param page: the confirmed content. Copies of other content that is pending under the same
            key stay held. None releases all copies.
        :param is_to_call: returns True for a copy whose callback is to run all the same.
        """
        released = self._held.take(
            key, lambda copy: page is None or self._rules.is_copy(copy, page)
        )
        for copy in self._distinct([copy for copy in released if is_to_call(copy)]):
            self._request(copy, (), anew=False)
        released = [copy for copy in released if not is_to_call(copy)]
        self._count -= len(released)
        if gave_items or not self.gives_items:
            for copy in released:
                self.leave(key, copy, answered=gave_items)
            return
        self._count += len(released)
        self._look_again(released)

    def discarded(self, key: str, *, refused: bool = False) -> None:
        """Request one copy of a page that failed, unless the index has another page like it.

        :param refused: the spider has asked for the page again, so its content was a wrong one:
            request all copies.
        """
        self._look_again(self._held.take(key), all_at_once=refused)

    def answered(self, key: str, page: Text | None) -> None:
        """Record that a page arrived. If it has other content now than its dropped copies, these
        were dropped for a wrong page, and are all requested.

        :param page: the content; None if it cannot be judged.
        """

        def differs(copy: DroppedCopy) -> bool:
            return page is None or not self._rules.same_text(copy, page)

        unanswered, answered = self._take(key, differs), self._answered.take(key, differs)
        self._count += len(answered)
        copies = self._distinct([*unanswered, *answered])
        if copies and page is not None:
            # Until the page is settled, the index still has its former content.
            self._dropped_for_former.add(key, *copies)
            return
        for copy in copies:
            self._request(copy, ())

    def settled(self, key: str | None = None) -> None:
        """Request the copies that were dropped for the former content of a settled page.

        :param key: None for the copies of all pages.
        """
        for page in self._dropped_for_former.pages() if key is None else [key]:
            for copy in self._dropped_for_former.take(page):
                self._request(copy, ())

    def answer_to(self, request: Request) -> Response | None:
        """Return the response of a copy that answers a request of this object; None without one."""
        token = request.meta.get(self._meta_key)
        return None if token is None else self._answers.pop(token, None)

    def request(self, copy: DroppedCopy) -> None:
        """Request a copy now."""
        self._count += 1
        self._request(copy, ())

    def call(self, request: Request, response: Response) -> None:
        """Schedule a request, which is answered with a response."""
        token = uuid4().hex
        self._answers[token] = response
        meta = request.meta | {self._meta_key: token}
        self._schedule(request.replace(dont_filter=True, meta=meta))

    def look_again(self, copy: DroppedCopy) -> None:
        """Request a copy, hold it or release it, as the index says now."""
        self._count += 1
        self._look_again([copy])

    def requested_by_callback(self, key: str) -> None:
        """Release the held copies with this key, because a callback requests the page again."""
        for awaited in self._held.pages():
            self._count -= len(self._held.take(awaited, lambda copy: copy.key == key))

    def _take(
        self, key: str, is_taken: Callable[[DroppedCopy], bool] = lambda _: True
    ) -> Sequence[DroppedCopy]:
        """Take and return the unanswered copies of a page for which `is_taken` returns True."""
        taken = self._unanswered.take(key, is_taken)
        self._count += len(taken)
        return taken

    def arrived(self, request: Request, page: Text | None) -> bool:
        """Record that a page arrived, or will not. Return True if its request was a retry, even one
        that was scheduled before a pause.

        :param page: what was observed; None if the page was not judged.
        """
        token = request.meta.pop(self._meta_key, None)
        requested = self._requested.pop(token, None)
        if requested is not None:
            copy, waiting = requested
            self._count -= 1
            is_changed = page is not None and not self._rules.same_text(copy, page)
            self._look_again(waiting, all_at_once=is_changed)
        return token is not None

    def idle(self) -> bool:
        """Request copies that still wait; return True if the idle crawl must go on.

        In an idle crawl, requested pages that have not arrived will not arrive, and pages that are
        still pending belong to another crawl that shares the index.
        """
        self.settled()
        self._look_again_at_all()
        if not self.gives_items:
            self._try_patterns()
        return bool(self._requested or self._open_questions or self._held)

    def _try_patterns(self) -> None:
        """Request an unanswered copy of each URL pattern, unless enough were requested before.

        More than one in the end, because a spider may give an item when it has seen several pages:
        first those of one representative.
        """
        patterns = set()
        for key in self._unanswered.pages():
            copy = self._unanswered.first(key)
            pattern = url_pattern(copy.request.url)
            if pattern not in patterns and self._tried[pattern] < _TRIED_COPIES:
                patterns.add(pattern)
                self._tried[pattern] += 1
                self._take(key, {copy}.__contains__)
                self._request(copy, (), anew=False)

    def close(self, *, pausing: bool = False) -> None:
        """Schedule requests for all copies that wait, because the crawl ends or pauses.

        :param pausing: the crawl may go on later, so unanswered copies are requested, too.
        """
        self._closing = True
        self.settled()
        self._look_again_at_all()
        if pausing and not self.gives_items:
            for key in self._unanswered.pages():
                for copy in self._distinct(self._take(key)):
                    self._request(copy, ())

    def _look_again_at_all(self) -> None:
        requested = [*self._requested.values()]
        held = [self._held.take(key) for key in self._held.pages()]
        self._requested.clear()
        self._answers.clear()
        self._count -= len(requested)
        for copies in [waiting for _, waiting in requested] + held:
            self._look_again(copies)

    def _look_again(self, copies: Sequence[DroppedCopy], *, all_at_once: bool = False) -> None:
        """Request copies that the index lacks, hold copies of pending pages, release the others."""
        if copies:
            self._open_questions += 1
            self._observe(copies, partial(self._sort_out, copies, all_at_once))

    def _sort_out(
        self,
        copies: Sequence[DroppedCopy],
        all_at_once: bool,
        observations: Sequence[Observation] | None,
    ) -> None:
        self._open_questions -= 1
        missing: list[DroppedCopy] = []
        uncalled: set[DroppedCopy] = set()  # only their callbacks are missing
        answers: Sequence[Observation | None] = observations or [None] * len(copies)
        for copy, observation in zip(copies, answers, strict=True):
            if observation is None or observation.kind in ("new", "changed"):
                missing.append(copy)
                continue
            awaited, earlier = observation.representative or observation.key, observation.earlier
            if observation.provisional and earlier.same_request:
                if self._closing:  # this crawl cannot wait for the other one
                    missing.append(copy)
                else:
                    self._held.add(awaited, copy)
            elif not earlier.same_request or (not earlier.gave_items and self.gives_items):
                missing.append(copy)
                uncalled.add(copy)
            else:
                self._count -= 1
                self.leave(awaited, copy, answered=earlier.gave_items)
        distinct = self._distinct(missing)
        if all_at_once or self._closing:
            for copy in distinct:
                self._request(copy, ())
        elif distinct:
            first, *others = distinct
            self._request(first, others, anew=first not in uncalled)

    def _distinct(self, copies: Sequence[DroppedCopy]) -> Sequence[DroppedCopy]:
        """Return one copy for each request, because items of one page share its request."""
        distinct = [*{id(copy.request): copy for copy in copies}.values()]
        self._count -= len(copies) - len(distinct)
        return distinct

    def _request(
        self, copy: DroppedCopy, waiting: Sequence[DroppedCopy], *, anew: bool = True
    ) -> None:
        """Request a copy.

        :param waiting: copies that wait for the outcome.
        :param anew: download the page, even if its response was kept.
        """
        token = uuid4().hex
        self._requested[token] = copy, waiting
        response = self._responses.take(copy)
        if response is not None and not anew:
            self._answers[token] = response
        meta = copy.request.meta | {self._meta_key: token}
        self._schedule(copy.request.replace(dont_filter=True, meta=meta))
