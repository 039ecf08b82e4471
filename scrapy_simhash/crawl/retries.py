"""Request dropped copies again if the page that they are copies of fails, or gave nothing.

A dropped copy is in one of these states::

    held         its page is pending: still in its callback or in the pipelines, or requested
    requested    it was scheduled, and its page has not arrived yet
    left         its page was confirmed: not needed, unless the page gave no items, or was wrong

If the page of held copies fails, one of them is requested, and the others wait for it; if that one
fails, too, the next one. If it now has other content, for example because all were ban pages, the
others are requested at once. If the page gave no items, its copies are requested once the crawl
gives items, because a crawl may take no items from pages at all. At the end of one that gave none,
some copies of each URL pattern are requested: their callbacks may give items. If a page comes again
with other content, the copies of its former content are requested once the index has the new one.

Where only the callback of a copy is to run after all, its response is used again, if it is one of
the last ones. So its page is not downloaded twice.
"""

from __future__ import annotations

from collections import Counter
from copy import copy as shallow_copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text
    from scrapy_simhash.policy import MayGive, Outcome

    Answer: TypeAlias = Callable[[Sequence[Observation] | None], None]
    Observe: TypeAlias = Callable[[Sequence["DroppedCopy"], Answer], None]

META_KEY = "simhash_second_chance"
MAX_HELD = 10_000
_TRIED_COPIES = 10
_MAX_RESPONSE_BYTES = 16 << 20


def repeated(
    request: Request, meta: dict[str, Any] | None = None, *, dont_filter: bool | None = None
) -> Request:
    """Return a request for the same page, with dicts of its own for meta and ``cb_kwargs``.

    `Request.replace` would lose what a subclass adds, or fail for want of an argument, and take
    four times as long, because it parses and escapes the URL again.
    """
    again = shallow_copy(request)
    again._meta = dict(request.meta if meta is None else meta)  # noqa: SLF001
    again._cb_kwargs = dict(request.cb_kwargs)  # noqa: SLF001
    again.dont_filter = request.dont_filter if dont_filter is None else dont_filter
    return again


def is_retry(request: Request) -> bool:
    """Return True if a request was scheduled by a `Retries`."""
    return META_KEY in request.meta


@dataclass(eq=False)
class DroppedCopy:
    """A page (or item) that was dropped as a copy of another one.

    :param seen: the copy as it was observed.
    :param request: repeats the page, or the page of the item.
    :param gave: what its callback has given already, as far as it passed: the callback has run, and
        only a part of the output was dropped.
    :param answered: its page gave items, or its callback has run. Such a copy is needed only if its
        page was a wrong one.
    :param outcome: under which it was counted.
    """

    seen: Observation
    request: Request
    gave: Collection[MayGive] = ()
    answered: bool = False
    outcome: Outcome | None = "dropped"


class _CopiesByPage(dict[str, list[DroppedCopy]]):
    """Dropped copies by the key of the page that they are copies of, oldest page first."""

    count = 0

    def add(self, key: str, *copies: DroppedCopy) -> None:
        if copies:
            self.setdefault(key, []).extend(copies)
            self.count += len(copies)

    def take(
        self, key: str, is_taken: Callable[[DroppedCopy], bool] = lambda _: True
    ) -> list[DroppedCopy]:
        """Remove and return the copies of a page for which `is_taken` returns True."""
        taken, left = list[DroppedCopy](), list[DroppedCopy]()
        for copy in self.pop(key, []):
            (taken if is_taken(copy) else left).append(copy)
        if left:
            self[key] = left
        self.count -= len(taken)
        return taken

    def take_all(
        self, is_taken: Callable[[DroppedCopy], bool] = lambda _: True
    ) -> list[list[DroppedCopy]]:
        """Remove and return the copies of each page for which `is_taken` returns True."""
        return [self.take(key, is_taken) for key in [*self]]


class KeptResponses(dict[DroppedCopy, "Response"]):
    """The last responses of dropped copies, up to 16 MB."""

    _bytes = 0

    def keep(self, copy: DroppedCopy, response: Response) -> None:
        """Keep the response of a copy, and forget the oldest ones if there is no room."""
        self[copy] = response
        self._bytes += len(response.body)
        while self._bytes > _MAX_RESPONSE_BYTES:
            self.take(next(iter(self)))

    def take(self, copy: DroppedCopy) -> Response | None:
        """Remove and return the response of a copy; None if it was not kept."""
        response = self.pop(copy, None)
        self._bytes -= 0 if response is None else len(response.body)
        return response


class Retries:
    """Dropped copies, which are requested again if they turn out to be needed.

    :param observe: observes copies again, and calls a function with the observations, or with None
        if the index fails.
    :param schedule: schedules a request.
    :param rules: conditions for a page to be a copy.
    :param may_give: returns what the callback of a copy may give that its page did not give, see
        `scrapy_simhash.crawl.copies.Copies.may_give`.
    :param take_back: called with a copy that was counted, and has arrived again.
    :param max_held: upper limit for copies that are held or requested; see `full`.
    :param max_left: upper limit for copies of confirmed pages. If there are too many, the oldest
        ones of a page are forgotten.
    """

    def __init__(
        self,
        observe: Observe,
        schedule: Callable[[Request], None],
        rules: Rules,
        *,
        may_give: Callable[[str, Request, Response | None], Collection[MayGive]] = lambda *_: (),
        take_back: Callable[[DroppedCopy], None] = lambda _: None,
        max_held: int = MAX_HELD,
        max_left: int = MAX_HELD,
    ) -> None:
        self._observe = observe
        self._schedule = schedule
        self._rules = rules
        self._may_give = may_give
        self._take_back = take_back
        self._max_held = max_held
        self._max_left = max_left
        self._held = _CopiesByPage()
        self._left = _CopiesByPage()
        # Token in the request → the copy that was requested, and the response that answers it.
        self._requested: dict[str, tuple[DroppedCopy, Response | None]] = {}
        self.responses = KeptResponses()
        # URL pattern → number of its copies that were tried at the end of the crawl.
        self._tried: Counter[str] = Counter()
        self._open_questions = 0
        # (key under which a page that came again is settled later, fingerprint) → the key that it
        # came again for, and its content.
        self._came: LocalCache[tuple[str, int], tuple[str, Text]] = LocalCache(MAX_HELD)
        self._closing = False
        self.gives_items = False
        """The crawl has given items from pages. Set by `begin_giving`."""

    def __contains__(self, key: str) -> bool:
        """Return True if copies of a page are remembered that were dropped for good."""
        return key in self._left

    @property
    def waiting(self) -> int:
        """Return the number of copies that are held or requested."""
        return self._held.count + len(self._requested)

    @property
    def full(self) -> bool:
        """Return True if no further copy can be held."""
        return self.waiting >= self._max_held

    def hold(self, page: str, copy: DroppedCopy) -> None:
        """Hold a copy while its page is pending. The caller checks `full` first."""
        self._held.add(page, copy)

    def leave(self, page: str, copy: DroppedCopy, *, answered: bool) -> None:
        """Remember a copy that is dropped for good, unless its page was a wrong one.

        :param answered: see `DroppedCopy`.
        """
        copy.answered = answered
        self._left.add(page, copy)
        while self._left.count > self._max_left:
            oldest, copies = next(iter(self._left.items()))
            self._left.take(oldest, {copies[0]}.__contains__)

    def begin_giving(self) -> None:
        """Record that the crawl gives items: request the copies of pages that gave none."""
        if self.gives_items:
            return
        self.gives_items = True
        for copies in self._left.take_all(lambda copy: not copy.answered):
            self.look_again(copies)

    def confirmed(self, seen: Observation, *, gave_items: bool = True) -> None:
        """Release the copies of a confirmed page, but ask for those whose callbacks may give more,
        or for all if the page gave no items.

        Copies of other content that is pending under the same key stay held.
        """
        needed, others = list[DroppedCopy](), list[DroppedCopy]()
        for copy in self._held.take(seen.key, lambda copy: self._rules.is_copy(copy.seen, seen)):
            (needed if self._is_needed(seen.key, copy) else others).append(copy)
        self.request(needed, anew=False)
        self._request_outdated(seen.key, seen.fingerprint)
        if self.gives_items and not gave_items:
            self.look_again(others)
        else:
            for copy in others:
                self.leave(seen.key, copy, answered=gave_items)

    def _is_needed(self, key: str, copy: DroppedCopy) -> bool:
        """Return True if the callback of a copy may give more than its page and than it gave."""
        may_give = self._may_give(key, copy.request, self.responses.get(copy))
        return not set(may_give) <= set(copy.gave)

    def discarded(self, page: Observation, *, refused: bool = False) -> None:
        """Request one copy of a page that failed, unless the index has another page like it.

        :param refused: the spider has asked for the page again, so its content was a wrong one:
            request all copies.
        """
        self._request_outdated(page.key, page.fingerprint)
        self.look_again(self._held.take(page.key), all_at_once=refused)

    def _request_outdated(self, under: str, fingerprint: int) -> None:
        """If a page came with other content, request the copies of the former one."""
        came = self._came.pop((under, fingerprint), None)
        if came is not None:
            key, page = came
            for one in {key, under}:
                self.request(self._left.take(one, partial(self._is_outdated, page)))

    def _is_outdated(self, page: Text, copy: DroppedCopy) -> bool:
        return not self._rules.same_text(copy.seen, page)

    def came_again(self, key: str, page: Text | None, under: str) -> None:
        """Record that a page arrived, perhaps again. If it has other content now than its dropped
        copies, these were dropped for a wrong page, and are all requested: when the new content is
        settled, because the index has the former one until then.

        :param page: the content; None if it cannot be judged.
        :param under: key under which the page came and will be settled, mostly `key`.
        """
        if page is None:  # it will not be settled
            self.request(self._left.take(key))
            return
        self._came[under, page.fingerprint] = key, page
        for copy in self._left.get(key, ()):  # until then, they need no other answer
            copy.answered = copy.answered or self._is_outdated(page, copy)

    def requested_by_callback(self, key: str) -> None:
        """Release the held copies with this key, because a callback requests the page again."""
        self._held.take_all(lambda copy: copy.seen.key == key)

    def arrived(self, token: str, page: Text | None) -> None:
        """Record that the page of a request arrived, or will not.

        :param token: the value under `META_KEY`. It may be that of another object.
        :param page: what was observed; None if the page was not judged.
        """
        copy, _ = self._requested.pop(token, (None, None))
        if copy is not None:
            self._take_back(copy)
            is_changed = page is not None and self._is_outdated(page, copy)
            self.look_again(self._held.take(copy.seen.key), all_at_once=is_changed)

    def answer_to(self, request: Request) -> Response | None:
        """Return the response of a copy that answers a request of this object; None without one."""
        token = request.meta.get(META_KEY, "")
        copy, answer = self._requested.get(token, (None, None))
        if copy is not None:
            self._requested[token] = copy, None
        return answer

    def idle(self, *, is_settling: bool = False) -> bool:
        """Request copies that still wait; return True if the idle crawl must go on.

        In an idle crawl, requested pages that have not arrived will not arrive, and pages that are
        still pending belong to another crawl that shares the index.

        :param is_settling: pages are being confirmed or discarded. Held copies wait for that.
        """
        if not (is_settling and self._held.count):
            self._look_again_at_all()
            if not self.gives_items:
                self._try_patterns()
        return bool(self.waiting or self._open_questions)

    def close(self, *, pausing: bool = False) -> None:
        """Schedule requests for all copies that wait, because the crawl ends or pauses.

        :param pausing: the crawl may go on later, so unanswered copies are requested, too.
        """
        self._closing = True
        self._look_again_at_all()
        if pausing and not self.gives_items:
            for copies in self._left.take_all(lambda copy: not copy.answered):
                self.request(copies)

    def request(
        self, copies: Sequence[DroppedCopy], *, anew: bool = True, mark: str | None = None
    ) -> None:
        """Request copies now. Items of one page share its request, which is made once.

        :param anew: download the pages, even if their responses were kept.
        :param mark: key that the meta of the requests gets. The copies may be remembered as left.
        """
        if mark is not None:
            self._left.take_all(copies.__contains__)
        for copy in {id(copy.request): copy for copy in copies}.values():
            response = self.responses.take(copy)
            token = uuid4().hex
            self._requested[token] = copy, None if anew else response
            meta = copy.request.meta | {META_KEY: token} | ({mark: True} if mark else {})
            self._schedule(repeated(copy.request, meta, dont_filter=True))

    def look_again(self, copies: Sequence[DroppedCopy], *, all_at_once: bool = False) -> None:
        """Request copies that the index lacks, hold copies of pending pages, release the others."""
        if copies:
            self._open_questions += 1
            self._observe(copies, partial(self._sort_out, copies, all_at_once))

    def _look_again_at_all(self) -> None:
        self._requested.clear()
        for under, fingerprint in [*self._came]:  # whatever became of it
            self._request_outdated(under, fingerprint)
        for copies in self._held.take_all():
            self.look_again(copies)

    def _sort_out(
        self,
        copies: Sequence[DroppedCopy],
        all_at_once: bool,
        observations: Sequence[Observation] | None,
    ) -> None:
        self._open_questions -= 1
        # Copies of pages that cannot speak for them.
        called = list[DroppedCopy]()
        # Copies to request, and False for those of which only the callback is missing.
        missing: list[tuple[DroppedCopy, bool]] = []
        answers: Sequence[Observation | None] = observations or [None] * len(copies)
        for copy, observation in zip(copies, answers, strict=True):
            if observation is None or observation.kind in ("new", "changed"):
                missing.append((copy, True))
                continue
            page, earlier = observation.representative or observation.key, observation.earlier
            is_pending = observation.provisional and earlier.same_request
            if is_pending and self._closing:  # this crawl cannot wait for the other one
                missing.append((copy, True))
            elif is_pending:
                self._held.add(page, copy)
            elif earlier.same_request and (earlier.gave_items or not self.gives_items):
                if self._is_needed(page, copy):
                    called.append(copy)
                    continue
                self.leave(page, copy, answered=earlier.gave_items)
            else:
                missing.append((copy, False))
        self.request(called, anew=False)
        if all_at_once or self._closing:
            self.request([copy for copy, _ in missing])
        elif missing:
            (first, anew), *others = missing
            self.request([first], anew=anew)
            waiting = [copy for copy, _ in others if copy.request is not first.request]
            self._held.add(first.seen.key, *waiting)

    def _try_patterns(self) -> None:
        """Request an unanswered copy of each URL pattern, unless enough were requested before.

        More than one in the end, because a spider may give an item when it has seen several pages:
        first those of one page. The last ones first, because they may lead to others.
        """
        patterns = set()
        for key, copies in reversed([*self._left.items()]):
            copy = next((one for one in reversed(copies) if not one.answered), None)
            pattern = "" if copy is None else url_pattern(copy.request.url)
            if copy and pattern not in patterns and self._tried[pattern] < _TRIED_COPIES:
                patterns.add(pattern)
                self._tried[pattern] += 1
                self.request(self._left.take(key, {copy}.__contains__), anew=False)
