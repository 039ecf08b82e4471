"""Group commit: a free thread answers all waiting requests with one call.

Databases write the transactions of many clients in this way. It needs no timer: the longer a call
takes, the more requests wait at its end, and the larger is the next group.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import IndexUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_GROUP = 32
# How many waiting requests are searched for a group. After an outage, thousands may wait.
_SEARCHED = 8 * MAX_GROUP

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


@dataclass(eq=False)
class _Waiting:
    """A request that waits for a thread."""

    key: str
    answer_all: Callable[[Sequence[Any]], Sequence[Any]]
    request: Any
    future: Future[Any] = field(default_factory=Future)


class GroupCommit:
    """Threads that answer requests, several with one call if several wait.

    If a thread is free, a request is answered at once. No request waits for others to come.
    Requests with the same key are answered in their order, never at the same time.

    :param threads: upper limit for the number of threads.
    :param name: beginning of the names of the threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._thread_count = threads
        self._threads = ThreadPoolExecutor(threads, name)
        self._lock = Lock()
        self._waiting: list[_Waiting] = []
        # Keys of the requests that threads are answering.
        self._busy_keys: set[str] = set()

    def submit(
        self,
        key: str,
        answer_all: Callable[[Sequence[_Request]], Sequence[_Answer]],
        request: _Request,
    ) -> Future[_Answer]:
        """Return a future of the answer to a request.

        :param answer_all: called in a thread with a list of requests; returns their answers in the
            same order. Only requests with the same function form a group. If a call for several
            raises IndexUnreachable, each request gets this error. After any other error, the
            function is called for each request alone.
        """
        waiting = _Waiting(key, answer_all, request)
        with self._lock:  # no thread looks before the request is added
            self._threads.submit(self._work)  # raises RuntimeError after `close`
            self._waiting.append(waiting)
        return waiting.future

    def close(self) -> None:
        """Wait until all requests are answered, and stop the threads."""
        self._threads.shutdown()

    def _work(self) -> None:
        """Answer groups until none can be taken. Requests with a busy key are left to the thread
        that is answering this key: it takes them next.
        """
        while group := self._take():
            running = [one for one in group if one.future.set_running_or_notify_cancel()]
            if running:
                _complete(running)
            with self._lock:
                self._busy_keys.difference_update(one.key for one in group)
                # These keys may have held requests back. Idle threads take their share of them.
                others = min(len(self._waiting), self._thread_count) - 1
            with suppress(RuntimeError):  # after `close`, this thread answers all
                for _ in range(others):
                    self._threads.submit(self._work)

    def _take(self) -> list[_Waiting]:
        """Remove the next group from the waiting requests, and return it."""
        group: list[_Waiting] = []
        left = []
        with self._lock:
            held_back = set(self._busy_keys)
            for one in self._waiting[:_SEARCHED]:
                fits = not group or (
                    one.answer_all == group[0].answer_all and len(group) < MAX_GROUP
                )
                if fits and one.key not in held_back:
                    group.append(one)
                else:
                    left.append(one)
                    held_back.add(one.key)  # later requests with this key must not overtake it
            self._waiting[:_SEARCHED] = left
            self._busy_keys.update(one.key for one in group)
        return group


def _complete(group: Sequence[_Waiting]) -> None:
    """Complete the futures of a group."""
    try:
        answers = group[0].answer_all([one.request for one in group])
        answered = list(zip(group, answers, strict=True))
    except BaseException as error:  # noqa: BLE001 - the callers wait, and get any error
        if len(group) == 1 or isinstance(error, IndexUnreachable):
            for one in group:
                one.future.set_exception(error)
            return
    else:
        for one, answer in answered:
            one.future.set_result(answer)
        return
    for one in group:  # a damaged page must not take the answers of others
        _complete([one])
