"""Call the index of a crawl: in the event loop if it is embedded, in a thread if it is on the
network.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simhash.crawl.call_thread import PAUSE_S, CallThread
from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.errors import IndexUnreachable, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.crawl.call_thread import Together
    from scrapy_simhash.crawl.stats import ErrorLog
    from scrapy_simhash.index import Index, Observation, PageToObserve
    from scrapy_simhash.index.base import Action

_Result = TypeVar("_Result")
Then: TypeAlias = "Callable[[Any], None]"

_AWAY = "simhash: %s. Pages pass without a verdict until it answers; it is asked again every %g s"


class IndexCalls:
    """The calls of a crawl to its index, in the event loop or in a thread.

    Methods take a key, which errors name, and a function that gets the index and returns an answer.
    The answer is None if there is no index, or if the call raises StorageError, which is counted.

    :param patience_s: for an index on the network, for how much of an outage calls are repeated
        that settle pages; None for an embedded index.
    """

    def __init__(
        self,
        index: Index | None,
        errors: ErrorLog,
        *,
        patience_s: float | None = None,
    ) -> None:
        self.index = index
        self._errors = errors
        self._thread: CallThread | None = None
        self._waiting = self._not_stored = 0
        self._all_done: Future[None] | None = None
        if index is not None and patience_s is not None:
            self._thread = CallThread(index, patience_s, self._warn_of_outage)
            self.call_in_loop = _loop_caller()
            """A function that calls another in the event loop. Any thread may use it."""

    @property
    def in_threads(self) -> bool:
        """The index is on the network, and only `observe` asks it."""
        return self._thread is not None

    async def observe(self, page: PageToObserve) -> tuple[Observation, float] | None:
        """Return the observation of a page, and the duration of the call in milliseconds. On a
        network, one call may observe several pages.
        """
        if self._thread is None:
            return self.observe_now(page)
        self._thread.set_urgent(False)  # the crawl is not idle
        call = self._thread.submit(page.key, _observe_all, page, is_patient=False)
        try:
            answer: tuple[Observation, float] = await result_of(call)
        except StorageError as error:
            self._errors.count_error("index", error, page.key)
            return None
        return answer

    def observe_now(self, page: PageToObserve) -> tuple[Observation, float] | None:
        """Do the same as `observe` in the event loop."""
        return self.now(page.key, lambda index: _observe_all(index, [page])[0])

    def now(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """Call the index in the event loop, and return the answer."""
        if self.index is None:
            return None
        try:
            return ask(self.index)
        except StorageError as error:
            self._errors.count_error("index", error, key)
            return None

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """Call the index after all earlier calls with this key; call `then` with the answer."""
        self._tell(key, lambda index, _: [ask(index)], None, then)

    def confirm(
        self, observation: Observation, then: Then | None = None, *, gave_items: bool = True
    ) -> None:
        """Confirm an observation as by `tell`. If this fails, discard it, so that it does not stay
        pending. For `gave_items` see `Index.confirm`.
        """
        self._tell(observation.key, _CONFIRM[gave_items], observation, then)

    def discard(self, observation: Observation, then: Then | None = None) -> None:
        """Discard an observation as by `tell`."""
        self._tell(observation.key, _DISCARD, observation, then)

    def acted(self, observation: Observation, action: Action) -> None:
        """Record what was done with a page as by `tell`; see `Index.acted`."""
        self._tell(observation.key, _ACTED, (observation, action))

    def hurry(self) -> None:
        """Repeat calls only for a few more seconds, because the crawl waits for them."""
        if self._thread is not None:
            self._thread.set_urgent(True)

    async def finish(self) -> None:
        """Wait until all calls of the other methods have ended. From now on, none is repeated."""
        if self._thread is None:
            return
        self._thread.end()
        while self._waiting:
            self._all_done = Future()
            await result_of(self._all_done)
        index: Any = self.index
        index.stop_waiting()  # what follows is called in the event loop
        if self._not_stored:
            self._errors.warn(
                "simhash: %d handled pages or items were not stored, because index %s could not be "
                "reached: the next crawl counts them as new",
                self._not_stored,
                index.location,
            )
            self._not_stored = 0

    def close(self) -> None:
        """Close the index. :raises StorageError: the index fails."""
        if self._thread is not None:
            self._thread.close()
        if self.index is not None:
            self.index.close()

    def _tell(self, key: str, together: Together, argument: Any, then: Then | None = None) -> None:
        if self._thread is not None:
            self._waiting += 1
            self._thread.submit(key, together, argument).add_done_callback(
                lambda call: self.call_in_loop(
                    self._end, key, together, argument, call.result, then
                )
            )
        elif self.index is not None:
            self._end(
                key,
                together,
                argument,
                lambda: (together(self.index, [argument]) or [None])[0],
                then,
            )
        elif then is not None:
            then(None)

    def _end(
        self,
        key: str,
        together: Together,
        argument: Any,
        result: Callable[[], Any],
        then: Then | None,
    ) -> None:
        answer = None
        try:
            answer = result()
        except StorageError as error:
            if together is not _FORGET:  # else leases end
                self._errors.count_error("index", error, key)
            if together in _CONFIRM:
                self._not_stored += isinstance(error, IndexUnreachable)
                self._tell(key, _FORGET, argument)
        finally:
            self._waiting -= self._thread is not None
            if then is not None:
                then(answer)
            if not self._waiting and self._all_done is not None:
                self._all_done.set_result(None)
                self._all_done = None

    def _warn_of_outage(self, error: IndexUnreachable | None) -> None:
        index: Any = self.index
        if error is None:
            message: tuple[Any, ...] = ("simhash: index %s answers again", index.location)
        else:
            message = (_AWAY, error, PAUSE_S)
        with suppress(RuntimeError):  # the loop is closed
            self.call_in_loop(self._errors.warn, *message)


def _observe_all(index: Any, pages: Sequence[PageToObserve]) -> list[tuple[Observation, float]]:
    """Return the observations of pages, each with the duration of the one call."""
    started = time.perf_counter()
    observations = index.observe_all(pages)
    duration_ms = (time.perf_counter() - started) * 1000
    return [(observation, duration_ms) for observation in observations]


def _call(method: str, index: Any, arguments: Sequence[Any], **options: Any) -> None:
    getattr(index, method)(arguments, **options)


_CONFIRM = [partial(_call, "confirm_all", gave_items=gave_items) for gave_items in (False, True)]
_DISCARD = partial(_call, "discard_all")
_FORGET = partial(_call, "discard_all")  # after an error that was counted
_ACTED = partial(_call, "acted_all")


def _loop_caller() -> Callable[..., Any]:
    """Return a function that calls another one in the event loop, from any thread."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor

    call: Callable[..., Any] = reactor.callFromThread
    return call
