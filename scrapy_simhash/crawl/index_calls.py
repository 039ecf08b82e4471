"""Call the index of a crawl: at once if it is embedded, in threads if it is on the network."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.crawl.group_commit import GroupCommit
from scrapy_simhash.errors import IndexUnreachable, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.crawl.stats import ErrorLog
    from scrapy_simhash.index import Observation, ObservingIndex, PageToObserve
    from scrapy_simhash.index.redis.index import RedisIndex

# More threads make smaller groups; with fewer, pages wait longer for a free one. If a call takes
# 100 ms, 4 threads make a page wait 10 to 20 ms at 40 to 160 pages per second.
_OBSERVE_THREADS = 4
_TELL_THREADS = 4
# Pause before the next attempt to reach an index.
_PAUSE_S = 5.0

_Result = TypeVar("_Result")


class IndexCalls:
    """Calls to an embedded index, in the event loop.

    Methods take a key, which errors name, and a function that gets the index and returns an answer.
    The answer is None if there is no index, or if the function raises StorageError, which is
    counted.
    """

    in_threads = False

    def __init__(self, index: ObservingIndex | RedisIndex | None, errors: ErrorLog) -> None:
        self.index = index
        self._errors = errors

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
        """Call the index after all earlier `tell`s with this key; call `then` with the answer."""
        answer = self.now(key, ask)
        if then is not None:
            then(answer)

    def confirm(
        self,
        observation: Observation,
        then: Callable[[None], None] | None = None,
        *,
        gave_items: bool = True,
    ) -> None:
        """Confirm an observation as by `tell`. If this fails, discard it, so that it does not stay
        pending. For `gave_items` see `Index.confirm`.
        """

        def confirm(index: Any) -> None:
            try:
                index.confirm(observation, gave_items=gave_items)
            finally:
                index.discard(observation)

        self.tell(observation.key, confirm, then)

    def hurry(self) -> None:
        """Retry calls only for a few more seconds, because the crawl waits for them."""

    async def finish(self) -> None:
        """Wait until all calls of `tell` and `confirm` have ended."""

    def close(self) -> None:
        """Close the index. :raises StorageError: the index fails."""
        if self.index is not None:
            self.index.close()


class ThreadedCalls(IndexCalls):
    """Calls to an index on the network, in threads, so that the event loop never waits.

    One call observes, or confirms, all pages that wait for a thread (`GroupCommit`). After a call
    of `observe` could not reach the index, `observe` answers None at once for five seconds. Calls
    of `tell` and `confirm` are retried, because they settle pages that are in progress.

    :param patience_s: for how much of an outage these calls are retried.
    """

    in_threads = True

    def __init__(
        self, index: ObservingIndex | RedisIndex, errors: ErrorLog, *, patience_s: float
    ) -> None:
        super().__init__(index, errors)
        self._location = index.location
        self._patience_s = patience_s
        self._observing = GroupCommit(_OBSERVE_THREADS, "simhash-observe")
        self._telling = GroupCommit(_TELL_THREADS, "simhash-tell")
        self._waiting_tells = 0
        self._all_done: Future[None] | None = None
        self._ending = Event()
        self._unreachable: IndexUnreachable | None = None  # the last error
        self._next_attempt_s = 0.0
        self._ended_outages = 0
        self._away_since_s: float | None = None  # the beginning of an outage, by `tell`
        self._is_urgent = False
        self._not_stored = 0
        self.call_in_loop = _loop_caller()
        """A function that calls another in the event loop. Any thread may use it."""

    async def observe(self, page: PageToObserve) -> tuple[Observation, float] | None:
        """Return the observation of a page, and the duration of the call in milliseconds.

        One call may observe several pages. The answer is None if the call fails, or if the index
        was unreachable a moment ago.
        """
        self._is_urgent = False  # the crawl is not idle
        last_error, ended_outages = self._unreachable, self._ended_outages
        if last_error is not None and time.monotonic() < self._next_attempt_s:
            self._errors.count_error("index", last_error, page.key)
            return None
        try:
            answer = await result_of(self._observing.submit(page.key, self._observe_all, page))
        except StorageError as error:
            self._errors.count_error("index", error, page.key)
            # An error of a call from before the end of an outage does not begin another one.
            if isinstance(error, IndexUnreachable) and ended_outages == self._ended_outages:
                self._next_attempt_s = time.monotonic() + _PAUSE_S
                if self._unreachable is None:
                    self._errors.warn(
                        "simhash: %s. Pages pass without a verdict until it answers; it is asked "
                        "again every %g s",
                        error,
                        _PAUSE_S,
                    )
                self._unreachable = error
            return None
        # If the call was submitted before the last error, the index may still be unreachable.
        if last_error is not None and last_error is self._unreachable:
            self._unreachable = None
            self._ended_outages += 1
            self._errors.warn("simhash: index %s answers again", self._location)
        return answer

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """See `IndexCalls`."""
        self._tell(key, lambda _: [self._call_with_retries(ask)], None, then)

    def confirm(
        self,
        observation: Observation,
        then: Callable[[None], None] | None = None,
        *,
        gave_items: bool = True,
    ) -> None:
        """See `IndexCalls`."""
        # Functions that differ, because one call of the index confirms a group.
        confirm_all = self._confirm_all if gave_items else self._confirm_without_items
        self._tell(observation.key, confirm_all, observation, then)

    def _tell(
        self,
        key: str,
        call: Callable[[Sequence[Any]], Sequence[_Result]],
        request: Any,
        then: Callable[[_Result | None], None] | None,
    ) -> None:
        self._waiting_tells += 1
        self._telling.submit(key, call, request).add_done_callback(
            lambda future: self.call_in_loop(
                self._end_tell, key, future, then, call == self._confirm_all
            )
        )

    def hurry(self) -> None:
        """See `IndexCalls`."""
        self._is_urgent = True

    async def finish(self) -> None:
        """See `IndexCalls`. Calls that fail from now on are not retried."""
        self._ending.set()
        while self._waiting_tells:
            self._all_done = Future()
            await result_of(self._all_done)
        index: Any = self.index
        index.stop_waiting()  # what follows is called in the event loop
        if self._not_stored:
            self._errors.warn(
                "simhash: %d handled pages or items were not stored, because index %s could not be "
                "reached: the next crawl counts them as new",
                self._not_stored,
                self._location,
            )
            self._not_stored = 0

    def close(self) -> None:
        """See `IndexCalls`."""
        self._ending.set()
        self._observing.close()
        self._telling.close()
        super().close()

    def _observe_all(self, pages: Sequence[PageToObserve]) -> list[tuple[Observation, float]]:
        """Return the observations of pages, each with the duration of the one call."""
        index: Any = self.index
        started = time.perf_counter()
        observations = index.observe_all(pages)
        duration_ms = (time.perf_counter() - started) * 1000
        return [(observation, duration_ms) for observation in observations]

    def _confirm_without_items(self, observations: Sequence[Observation]) -> list[None]:
        return self._confirm_all(observations, gave_items=False)

    def _confirm_all(
        self, observations: Sequence[Observation], *, gave_items: bool = True
    ) -> list[None]:
        """Confirm observations. If this fails, discard them, unless `GroupCommit` calls this again
        for each alone.
        """
        index: Any = self.index
        try:
            self._call_with_retries(
                lambda index: index.confirm_all(observations, gave_items=gave_items)
            )
        except BaseException as error:
            if len(observations) == 1 or isinstance(error, IndexUnreachable):
                with suppress(StorageError):  # then their leases end
                    index.discard_all(observations)
            raise
        return [None] * len(observations)

    def _call_with_retries(self, ask: Callable[[Any], _Result]) -> _Result:
        while True:
            try:
                answer = ask(self.index)
            except IndexUnreachable:  # noqa: PERF203 - a call takes milliseconds
                away_since_s = self._away_since_s = self._away_since_s or time.monotonic()
                patience_s = (
                    min(self._patience_s, _PAUSE_S) if self._is_urgent else self._patience_s
                )
                if time.monotonic() - away_since_s > patience_s or self._ending.wait(_PAUSE_S):
                    raise
            else:
                self._away_since_s = None
                return answer

    def _end_tell(
        self,
        key: str,
        future: Future[_Result],
        then: Callable[[_Result | None], None] | None,
        is_confirmation: bool,
    ) -> None:
        answer = None
        try:
            answer = future.result()
        except StorageError as error:
            self._errors.count_error("index", error, key)
            self._not_stored += is_confirmation and isinstance(error, IndexUnreachable)
        finally:
            self._waiting_tells -= 1
            if then is not None:
                then(answer)
            if not self._waiting_tells and self._all_done is not None:
                self._all_done.set_result(None)
                self._all_done = None


def _loop_caller() -> Callable[..., Any]:
    """Return a function that calls another one in the event loop, from any thread."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor

    call: Callable[..., Any] = reactor.callFromThread
    return call
