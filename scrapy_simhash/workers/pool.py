"""WorkerPool: pages → fingerprints in processes of their own, each page under a time-out.

A worker that hangs is killed, one that dies is replaced, and the others never notice: each has a
socket and a thread to itself. A pool of `concurrent.futures` breaks as a whole when one process
dies, and `multiprocessing` runs the main module again, so that scripts without a ``__main__``
guard would start themselves. Nothing is forked.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import WorkerProcess, WorkerTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.scheme import Scheme

DEFAULT_TIMEOUT_MS = 10_000
_LONGEST_PAUSE_S = 60.0
# A page that takes a worker with it is given to a second one, for something else may have done it.
_ATTEMPTS = 2


@dataclass(frozen=True, eq=False)
class _Job:
    html: Callable[[], str]
    future: Future[PageFingerprint]


class WorkerPool:
    """Workers that share a queue. They start when the pool is made.

    :param workers: number of processes, at least 1.
    :param timeout_ms: for one page, by the wall clock.
    :param keep_text: see `Detector`, as for `sketches`.
    """

    def __init__(
        self,
        scheme: Scheme,
        *,
        min_tokens: int,
        workers: int,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        keep_text: bool = False,
        sketches: bool = True,
    ) -> None:
        self._order = {
            "scheme": scheme.to_dict(),
            "min_tokens": min_tokens,
            "keep_text": keep_text,
            "sketches": sketches,
            "timeout_ms": timeout_ms,
        }
        self._timeout_s = timeout_ms / 1000
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._replaced = 0
        self._processes: set[WorkerProcess] = set()
        self._threads = [
            # Daemons: an interpreter that is told to end at once does not wait for them.
            threading.Thread(target=self._work, name=f"simhash worker {number}", daemon=True)
            for number in range(workers)
        ]
        self._owner = os.getpid()
        # A crawl that is told to end at once closes nothing.
        atexit.register(self._at_exit)
        for thread in self._threads:
            thread.start()

    @property
    def replaced(self) -> int:
        """How many workers died, or were killed as they hung."""
        return self._replaced

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that there are now."""
        with self._changed:
            return [process.pid for process in self._processes]

    def fingerprint_page(self, html: Callable[[], str]) -> Future[PageFingerprint]:
        """Queue a page. It may come back skipped, as ``timeout`` or ``worker_died``.

        :param html: gives the page. Called in a thread of the pool when its turn has come, so
            that pages that wait take no memory twice; what it raises, the future raises.
        :raises WorkerError: (the future) no worker can be started, or the fingerprint failed for
            a reason that is not the page's.
        """
        future: Future[PageFingerprint] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(_closed())
                return future
            self._jobs.append(_Job(html, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """End the workers at once, hanging ones too; what waits raises WorkerError."""
        self._stop()
        for thread in self._threads:
            thread.join()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # not in a fork, which has none of the threads
            self._stop()

    def _stop(self) -> None:
        with self._changed:
            self._closed = True
            waiting = list(self._jobs)
            self._jobs.clear()
            for process in self._processes:
                process.kill()
            self._changed.notify_all()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(_closed())

    def _work(self) -> None:
        """One thread, and the worker that it keeps."""
        seat = _Seat(self._start, self._end)
        try:
            while (job := self._next_job(seat)) is not None:
                if job.future.set_running_or_notify_cancel():
                    try:
                        job.future.set_result(self._fingerprint(seat, job.html()))
                    except BaseException as error:  # noqa: BLE001 - for whoever waits for it
                        job.future.set_exception(error)
        finally:
            seat.leave()

    def _next_job(self, seat: _Seat) -> _Job | None:
        seat.prepare()  # before a page is taken that another worker could do
        with self._changed:
            while not self._jobs and not self._closed:
                self._changed.wait()
            return None if self._closed else self._jobs.popleft()

    def _fingerprint(self, seat: _Seat, html: str) -> PageFingerprint:
        for _ in range(_ATTEMPTS):
            process = seat.worker()
            try:
                return process.ask(html, self._timeout_s)
            except WorkerTimeout:
                self._lost(seat)
                return PageFingerprint(skipped="timeout")
            except (EOFError, OSError):
                self._lost(seat)
            except WorkerError:
                raise  # it is well
            except BaseException:  # memory, for one: the answer would be taken for the next page's
                self._lost(seat)
                raise
        return PageFingerprint(skipped="worker_died")

    def _lost(self, seat: _Seat) -> None:
        seat.leave()
        with self._changed:
            if self._closed:
                raise _closed()
            self._replaced += 1

    def _start(self) -> WorkerProcess:
        with self._changed:
            if self._closed:
                raise _closed()
            process = WorkerProcess(self._order)
            self._processes.add(process)
        try:
            return process.wait_until_ready()
        except BaseException:
            self._end(process)
            raise

    def _end(self, process: WorkerProcess) -> None:
        process.end()
        with self._changed:
            self._processes.discard(process)


def _closed() -> WorkerError:
    return WorkerError("the workers were closed")


class _Seat:
    """The place of a worker: it is filled again when it gets empty, not too often in a row."""

    def __init__(
        self, start: Callable[[], WorkerProcess], end: Callable[[WorkerProcess], None]
    ) -> None:
        self._start = start
        self._end = end
        self._process: WorkerProcess | None = None
        # Its text alone: an exception that is raised again and again keeps all pages it met.
        self._error: str | None = None
        self._failures = 0
        self._not_before_s = 0.0

    def prepare(self) -> None:
        """Start a worker before it is needed."""
        with suppress(Exception):  # the first page that needs it will say so
            self.worker()

    def worker(self) -> WorkerProcess:
        """:raises WorkerError: none could be started, now or a moment ago."""
        if self._process is None:
            if self._error is not None and time.monotonic() < self._not_before_s:
                raise WorkerError(self._error)
            try:
                self._process = self._start()
            except Exception as error:
                self._failures += 1
                pause_s = min(2.0**self._failures, _LONGEST_PAUSE_S)
                self._error, self._not_before_s = str(error), time.monotonic() + pause_s
                raise
            self._error, self._failures = None, 0
        return self._process

    def leave(self) -> None:
        """End the worker, if there is one."""
        if self._process is not None:
            self._end(self._process)
            self._process = None
