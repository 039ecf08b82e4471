"""Call the index of a crawl: at once if it is embedded, in threads if it is on the network."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, finalize

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.errors import IndexUnreachable, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_simhash.crawl.stats import ErrorLog
    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.verdict import Verdict

_ASK_THREADS = 16
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

    async def soon(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """Call the index, and return the answer. An index on the network is called in a thread."""
        return self.now(key, ask)

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

    async def finish(self) -> None:
        """Wait until all calls of `tell` have ended."""

    def close(self) -> None:
        """Close the index. :raises StorageError: the index fails."""
        if self.index is not None:
            self.index.close()


class ThreadedCalls(IndexCalls):
    """Calls to an index on the network, in threads, so that the event loop never waits.

    After a call of `soon` could not reach the index, `soon` answers None at once for five seconds.
    Calls of `tell` are retried, because they settle pages that are in progress.

    :param patience_s: how long a call of `tell` is retried while the index cannot be reached.
    """

    in_threads = True

    def __init__(
        self, index: ObservingIndex | RedisIndex, errors: ErrorLog, *, patience_s: float
    ) -> None:
        super().__init__(index, errors)
        self._location = index.location
        self._patience_s = patience_s
        self._ask_threads = ThreadPoolExecutor(_ASK_THREADS, "simhash-ask")
        # One thread each, because calls with the same key must use one thread to keep their order.
        self._tell_threads = [
            ThreadPoolExecutor(1, f"simhash-tell-{number}") for number in range(_TELL_THREADS)
        ]
        self._waiting_tells = 0
        self._all_done: Future[None] | None = None
        self._ending = Event()
        self._unreachable: IndexUnreachable | None = None  # the last error
        self._next_attempt_s = 0.0
        self.call_in_loop = _loop_caller()
        """A function that calls another in the event loop. Any thread may use it."""

    async def soon(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """See `IndexCalls`."""
        if self._unreachable is not None and time.monotonic() < self._next_attempt_s:
            self._errors.count_error("index", self._unreachable, key)
            return None
        try:
            answer = await result_of(self._ask_threads.submit(ask, self.index))
        except StorageError as error:
            self._errors.count_error("index", error, key)
            if isinstance(error, IndexUnreachable):
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
        if self._unreachable is not None:
            self._unreachable = None
            self._errors.warn("simhash: index %s answers again", self._location)
        return answer

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """See `IndexCalls`."""
        self._waiting_tells += 1
        thread = self._tell_threads[hash(key) % _TELL_THREADS]
        thread.submit(self._call_with_retries, ask).add_done_callback(
            lambda future: self.call_in_loop(self._end_tell, key, future, then)
        )

    async def finish(self) -> None:
        """See `IndexCalls`. Calls that fail from now on are not retried."""
        self._ending.set()
        while self._waiting_tells:
            self._all_done = Future()
            await result_of(self._all_done)

    def close(self) -> None:
        """See `IndexCalls`."""
        self._ending.set()
        for threads in (self._ask_threads, *self._tell_threads):
            threads.shutdown()
        super().close()

    def _call_with_retries(self, ask: Callable[[Any], _Result]) -> _Result:
        last_attempt_s = time.monotonic() + self._patience_s
        while True:
            try:
                return ask(self.index)
            except IndexUnreachable:  # noqa: PERF203 - a call takes milliseconds
                if time.monotonic() > last_attempt_s or self._ending.wait(_PAUSE_S):
                    raise

    def _end_tell(
        self, key: str, future: Future[_Result], then: Callable[[_Result | None], None] | None
    ) -> None:
        answer = None
        try:
            answer = future.result()
        except StorageError as error:
            self._errors.count_error("index", error, key)
        finally:
            self._waiting_tells -= 1
            if then is not None:
                then(answer)
            if not self._waiting_tells and self._all_done is not None:
                self._all_done.set_result(None)
                self._all_done = None


class UnclaimedVerdicts:
    """Verdicts of an index on the network, which is asked before it is known whether a callback
    will get the page. If none does, as for inline downloads, the verdict is discarded when its
    response is deleted.

    :param discard: called in any thread with each verdict that was not taken.
    """

    def __init__(self, discard: Callable[[Verdict], None]) -> None:
        self._discard = discard
        # Response → (verdict, finalizer that calls `discard` with the verdict).
        self._kept: WeakKeyDictionary[Response, tuple[Verdict, Any]] = WeakKeyDictionary()

    def put(self, response: Response, verdict: Verdict) -> None:
        """Keep the verdict on a response."""
        finalizer = finalize(response, self._discard, verdict)
        finalizer.atexit = False
        self._kept[response] = verdict, finalizer

    def take(self, response: Response) -> Verdict | None:
        """Return and forget the verdict on a response; None if there is none."""
        verdict, finalizer = self._kept.pop(response, (None, None))
        return verdict if finalizer is not None and finalizer.detach() else None

    def close(self) -> None:
        """Discard all verdicts. Call this when the crawl is idle, so no callback will take them."""
        for _, finalizer in [*self._kept.values()]:
            finalizer()
        self._kept.clear()


def _loop_caller() -> Callable[..., Any]:
    """Return a function that calls another one in the event loop, from any thread."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor

    call: Callable[..., Any] = reactor.callFromThread
    return call
