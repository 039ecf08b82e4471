"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A worker that hangs is killed, and a dead worker is replaced. Other workers are not affected: each
has its own socket and its own thread in the parent. The pools of the standard library do not fit.
One dead process breaks a `concurrent.futures` pool, and `multiprocessing` imports the main module
again, so scripts without a ``__main__`` guard would start themselves.
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
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import Content, Result, WorkerProcess, WorkerTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.workers.process import Work

# Upper limit of the pause after a worker failed to start.
_LONGEST_PAUSE_S = 60.0
# A job whose worker dies is retried once, because the job may not be the cause.
_ATTEMPTS = 2
# Answers are delivered in batches: waking an event loop for each page costs up to 50 % more CPU
# time. Batches are small, because the loop can do nothing else while it handles a batch.
_BATCH_ANSWERS = 8
_MAX_DELAY_S = 0.05


@dataclass(frozen=True, eq=False)
class _Job(Generic[Content, Result]):
    """A job in the queue.

    :param content: returns the content, and caches it.
    :param future: the future of the result.
    """

    content: Callable[[], Content]
    future: Future[Result]


class _Worker(threading.local):
    """The worker of the current thread, and what its thread keeps for it.

    :param asked_job: the last job that was sent to the worker in advance.
    :param answers: functions that deliver an answer each.
    :param since_s: time of the first of `answers`.
    :param failures: number of failed starts since the last successful one.
    :param error: message of the last failed start. The exception is not stored, because its
        traceback refers to pages, which would stay in memory.
    :param not_before_s: time before which no start is tried. The pause doubles with each failure.
    """

    def __init__(self) -> None:
        self.process: WorkerProcess[Any, Any] | None = None
        self.asked_job: _Job[Any, Any] | None = None
        self.answers: list[Callable[[], None]] = []
        self.since_s = 0.0
        self.failures = 0
        self.error = ""
        self.not_before_s = 0.0


class WorkerPool(Generic[Content, Result]):
    """A pool of worker processes that share a queue, and start with the pool.

    :param workers: number of processes, at least 1.
    :param batch_answers: upper limit of answers that the thread of a worker delivers together.
    """

    def __init__(
        self,
        work: Work[Content, Result],
        workers: int,
        *,
        batch_answers: int = _BATCH_ANSWERS,
    ) -> None:
        self._work = work
        self._batch_answers = batch_answers
        self._jobs: deque[_Job[Content, Result]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.replaced = 0
        """Number of workers that died, or were killed after a time-out or an error."""
        self._worker = _Worker()
        self._processes: set[WorkerProcess[Content, Result]] = set()
        self._threads = [
            # Daemon threads, so that a forced exit of the interpreter does not wait for them.
            threading.Thread(target=self._run, name=f"simhash worker {number}", daemon=True)
            for number in range(workers)
        ]
        self._owner = os.getpid()
        # A crawl that is forced to stop does not call close().
        atexit.register(self._at_exit)
        for thread in self._threads:
            thread.start()

    def submit(self, make_content: Callable[[], Content]) -> Future[Result]:
        """Queue a job, and return a future of its result.

        The future raises WorkerError if the pool is closed, no worker can be started, or the job
        failed in the worker. It also raises errors of `make_content` and of `Work`'s functions.

        :param make_content: returns the content of the job. A thread of the pool calls it when it
            takes the job, so that queued pages are not held in memory twice.
        """
        future: Future[Result] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(_closed_error())
            else:
                self._jobs.append(_Job(cache(make_content), future))
                self._changed.notify()
        return future

    def close(self) -> None:
        """Kill all workers at once. The futures of unfinished jobs raise WorkerError."""
        self._stop()
        for thread in self._threads:
            thread.join()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # a fork must not kill the workers of its parent
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
                job.future.set_exception(_closed_error())

    def _run(self) -> None:
        """Run jobs with one worker, in a thread of its own, until the pool is closed."""
        worker = self._worker
        try:
            job = self._next_job()
            while job is not None:
                answer = self._run_job(job)
                if not worker.answers:
                    worker.since_s = time.monotonic()
                worker.answers.append(answer)
                self._deliver_late()
                # Give the worker its next job first, because delivering waits for other threads.
                job = self._ask_ahead()
                # Deliver if the batch is full, the queue is short, or the worker is idle.
                if job is None or len(worker.answers) >= min(self._batch_answers, len(self._jobs)):
                    self._deliver()
                job = job or self._next_job()
        finally:
            self._deliver()
            self._end_worker()

    def _next_job(self) -> _Job[Content, Result] | None:
        """Start the worker, wait for a job and return it; None if the pool was closed."""
        # Start the worker first: until it is ready, other workers can take the job.
        with suppress(Exception):  # `_result` calls `_started` again, and reports the error
            self._started()
        return self._take_job(wait=True)

    def _take_job(self, *, wait: bool) -> _Job[Content, Result] | None:
        """Return the first job; None if the pool is closed or, without `wait`, no job is queued."""
        with self._changed:
            while True:
                if wait:
                    self._changed.wait_for(lambda: self._jobs or self._closed)
                if self._closed or not self._jobs:
                    return None
                job = self._jobs.popleft()
                if job.future.set_running_or_notify_cancel():
                    return job

    def _ask_ahead(self) -> _Job[Content, Result] | None:
        """Take a job, send it to the worker in advance, and return it; None without a job."""
        process = self._worker.process
        if process is None or (job := self._take_job(wait=False)) is None:
            return None
        with suppress(BaseException):  # `_result` tries again, and raises the error
            content = job.content()
            try:
                process.ask(content)
                self._worker.asked_job = job
            except BaseException:
                self._replace_worker()
                raise
        return job

    def _run_job(self, job: _Job[Content, Result]) -> Callable[[], None]:
        """Run a job. Return a function that sets the result or the error of its future."""
        try:
            return partial(job.future.set_result, self._result(job))
        except BaseException as error:  # noqa: BLE001 - the future raises it
            return partial(job.future.set_exception, error)

    def _result(self, job: _Job[Content, Result]) -> Result:
        content = job.content()
        for _ in range(_ATTEMPTS):
            process = self._started()
            try:
                if self._worker.asked_job is not job:
                    process.ask(content)
                return process.answer(self._work.timeout_ms / 1000, self._deliver_late)
            except WorkerTimeout:
                self._replace_worker()
                return self._work.lost_result("timeout")
            except (EOFError, OSError):
                self._replace_worker()
            except WorkerError:
                raise  # the worker can take the next job
            except BaseException:  # a late answer would be taken for the next job's answer
                self._replace_worker()
                raise
        return self._work.lost_result("worker_died")

    def _deliver_late(self) -> None:
        """Deliver all answers if the first one has waited too long."""
        if time.monotonic() - self._worker.since_s >= _MAX_DELAY_S:
            self._deliver()

    def _deliver(self) -> None:
        answers, self._worker.answers = self._worker.answers, []
        for deliver in answers:
            deliver()

    def _started(self) -> WorkerProcess[Content, Result]:
        """Return the worker, and start it if necessary.

        :raises WorkerError: the pool is closed, the worker cannot be started, or the pause after a
            failed start is not over.
        """
        worker = self._worker
        if worker.process is None:
            if time.monotonic() < worker.not_before_s:
                raise WorkerError(worker.error)
            try:
                with self._changed:
                    if self._closed:
                        raise _closed_error()
                    worker.process = WorkerProcess(self._work)
                    self._processes.add(worker.process)
                # Without the lock, because a large specification may block.
                worker.process.wait_until_ready()
            except BaseException as error:
                self._end_worker()
                worker.failures += 1
                pause_s = min(2.0**worker.failures, _LONGEST_PAUSE_S)
                worker.error = str(error) or type(error).__name__
                worker.not_before_s = time.monotonic() + pause_s
                raise
            worker.failures = 0
        return worker.process

    def _replace_worker(self) -> None:
        """Kill the worker and count it as replaced; raise WorkerError if the pool is closed."""
        self._end_worker()
        with self._changed:
            if self._closed:
                raise _closed_error()
            self.replaced += 1

    def _end_worker(self) -> None:
        worker = self._worker
        worker.asked_job = None
        if worker.process is not None:
            worker.process.end()
            with self._changed:
                self._processes.discard(worker.process)
            worker.process = None


def _closed_error() -> WorkerError:
    return WorkerError("the workers were closed")
