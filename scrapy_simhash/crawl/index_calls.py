"""Call the index of a crawl: at once if it is embedded, in threads if it is on the network."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar, cast
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

logger = logging.getLogger(__name__)

_ASKING_THREADS = 16
_SETTLING_THREADS = 4
# How long an index that cannot be reached is left alone.
_PAUSE_S = 5.0

_Result = TypeVar("_Result")


class IndexCalls:
    """Calls an embedded index in the event loop. A call that fails is counted, and answers None."""

    in_threads = False

    def __init__(self, index: ObservingIndex | RedisIndex, errors: ErrorLog) -> None:
        self.index = index
        self._errors = errors

    def now(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """Return an answer of an embedded index."""
        try:
            return ask(self.index)
        except StorageError as error:
            self._errors.failed("index", error, key)
            return None

    async def soon(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """Return an answer of any index."""
        return self.now(key, ask)

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """Call the index after all earlier calls with this key, and `then` with its answer."""
        answer = self.now(key, ask)
        if then is not None:
            then(answer)

    async def finish(self) -> None:
        """Wait until the index has been told everything."""

    def close(self) -> None:
        """Close the index."""
        self.index.close()


class ThreadedCalls(IndexCalls):
    """Calls an index on the network in threads, so that the event loop never waits for it.

    While the index cannot be reached, pages pass without being asked for, and it is tried again
    every few seconds. What pages in progress tell it is retried.

    :param patience_s: how long.
    """

    in_threads = True

    def __init__(
        self, index: ObservingIndex | RedisIndex, errors: ErrorLog, *, patience_s: float
    ) -> None:
        super().__init__(index, errors)
        self._patience_s = patience_s
        self._asking = ThreadPoolExecutor(_ASKING_THREADS, "simhash-ask")
        # One thread each, so that calls for a key keep their order.
        self._telling = [
            ThreadPoolExecutor(1, f"simhash-settle-{number}") for number in range(_SETTLING_THREADS)
        ]
        self._untold = 0
        self._all_told: Future[None] | None = None
        self._ending = Event()
        self._away: IndexUnreachable | None = None
        self._ask_again_s = 0.0
        self.in_loop = _caller_in_loop()
        """Calls a function in the event loop; may be called in any thread."""

    async def soon(self, key: str, ask: Callable[[Any], _Result]) -> _Result | None:
        """See `IndexCalls`."""
        if self._away is not None and time.monotonic() < self._ask_again_s:
            self._errors.failed("index", self._away, key)
            return None
        try:
            answer = await result_of(self._asking.submit(ask, self.index))
        except StorageError as error:
            self._errors.failed("index", error, key)
            if isinstance(error, IndexUnreachable):
                self._is_away(error)
            return None
        if self._away is not None:
            self._away = None
            logger.warning("simhash: index %s answers again", self.index.location)
        return answer

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """See `IndexCalls`."""
        self._untold += 1
        thread = self._telling[hash(key) % _SETTLING_THREADS]
        thread.submit(self._patiently, ask).add_done_callback(
            lambda future: self.in_loop(self._told, key, future, then)
        )

    async def finish(self) -> None:
        """See `IndexCalls`. What cannot be told now is given up."""
        self._ending.set()
        while self._untold:
            self._all_told = Future()
            await result_of(self._all_told)

    def close(self) -> None:
        """See `IndexCalls`."""
        self._ending.set()
        for threads in (self._asking, *self._telling):
            threads.shutdown()
        self.index.close()

    def _patiently(self, ask: Callable[[Any], _Result]) -> _Result:
        give_up_s = time.monotonic() + self._patience_s
        while True:
            try:
                return ask(self.index)
            except IndexUnreachable:  # noqa: PERF203 - a call takes milliseconds
                if time.monotonic() > give_up_s or self._ending.wait(_PAUSE_S):
                    raise

    def _told(
        self, key: str, future: Future[_Result], then: Callable[[_Result | None], None] | None
    ) -> None:
        answer = None
        try:
            answer = future.result()
        except StorageError as error:
            self._errors.failed("index", error, key)
        finally:
            self._untold -= 1
            if then is not None:
                then(answer)
            if not self._untold and self._all_told is not None:
                self._all_told.set_result(None)
                self._all_told = None

    def _is_away(self, error: IndexUnreachable) -> None:
        self._ask_again_s = time.monotonic() + _PAUSE_S
        if self._away is None:
            logger.warning(
                "simhash: %s. Pages pass without a verdict until it answers; it is asked again "
                "every %g s",
                error,
                _PAUSE_S,
                extra={"spider": self._errors.spider},
            )
        self._away = error


class Unclaimed:
    """Verdicts of pages that are on their way to a callback.

    An index on the network is asked before it is known whether a callback will get the page. If
    none does, as for inline downloads, the page is dropped when its response is garbage.

    :param drop: called with a verdict, in any thread.
    """

    def __init__(self, drop: Callable[[Verdict], None]) -> None:
        self._drop = drop
        # Each finalizer holds the verdict, and calls `drop` with it.
        self._finalizers: WeakKeyDictionary[Response, Any] = WeakKeyDictionary()

    def put(self, response: Response, verdict: Verdict) -> None:
        """Keep the verdict of a response."""
        finalizer: Any = finalize(response, self._drop, verdict)
        finalizer.atexit = False
        self._finalizers[response] = finalizer

    def take(self, response: Response) -> Verdict | None:
        """Return the verdict of a response, once."""
        finalizer = self._finalizers.pop(response, None)
        detached = None if finalizer is None else finalizer.detach()
        if detached is None:
            return None
        _, _, (verdict,), _ = detached
        return cast("Verdict", verdict)

    def close(self) -> None:
        """Drop all: the crawl is idle, and no callback will get them."""
        for finalizer in [*self._finalizers.values()]:
            finalizer()
        self._finalizers.clear()


def _caller_in_loop() -> Callable[..., Any]:
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor

    call: Callable[..., Any] = reactor.callFromThread
    return call
