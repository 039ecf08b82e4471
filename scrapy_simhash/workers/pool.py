"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A worker that hangs or takes too much memory is killed, and a dead worker is replaced. Other workers
are not affected: each has its own socket and its own thread in the parent. The pools of the
standard library do not fit. One dead process breaks a `concurrent.futures` pool, and
`multiprocessing` imports the main module again, so scripts without a ``__main__`` guard would start
themselves.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import Content, JobLost, Result, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from scrapy_simhash.workers.process import Work

    Job: TypeAlias = tuple[Callable[[], Content], Future[Result]]

# Upper limit of the pause after a worker failed to start.
_LONGEST_PAUSE_S = 60.0
# A job whose worker dies is retried once, because the job may not be the cause.
_ATTEMPTS = 2


class WorkerPool(Generic[Content, Result]):
    """A pool of worker processes that share a queue, and start with the pool.

    :param workers: number of processes, at least 1.
    """

    def __init__(self, work: Work[Content, Result], workers: int) -> None:
        self._work = work
        self._jobs: SimpleQueue[Job[Content, Result] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self.replaced = 0
        """Number of workers that died, or were killed after a time-out or an error."""
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
        with self._lock:
            if self._closed:
                future.set_exception(_closed_error())
            else:
                self._jobs.put((make_content, future))
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
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()
        for _ in self._threads:
            self._jobs.put(None)  # after the jobs that wait, which fail now

    def _run(self) -> None:
        """Run jobs with one worker, in a thread of its own, until the pool is closed."""
        worker = _Worker(self)
        try:
            while True:
                # Start the worker first: until it is ready, other workers can take the job.
                with suppress(Exception):  # `result` calls it again, and reports the error
                    worker.started()
                if (job := self._jobs.get()) is None:
                    return
                make_content, future = job
                if future.set_running_or_notify_cancel():
                    try:
                        future.set_result(worker.result(make_content))
                    except BaseException as error:  # noqa: BLE001 - the future raises it
                        future.set_exception(error)
                del job, make_content, future  # the page must not stay in memory
        finally:
            worker.end()

    def start_process(self) -> WorkerProcess[Content, Result]:
        """Start a worker process. :raises WorkerError: the pool is closed, or no process starts."""
        with self._lock:
            if self._closed:
                raise _closed_error()
            process = WorkerProcess(self._work)
            self._processes.add(process)
        return process

    def end_process(self, process: WorkerProcess[Content, Result], *, replaces: bool) -> None:
        """End a worker process. :raises WorkerError: another is to replace it, but the pool is
        closed.
        """
        process.end()
        with self._lock:
            self._processes.discard(process)
            if replaces and self._closed:
                raise _closed_error()
            self.replaced += replaces

    def lost_result(self, reason: str) -> Result:
        """Return the result of a job without an answer."""
        return self._work.lost_result(reason)


class _Worker(Generic[Content, Result]):
    """The worker process of one thread, which is started again when it is lost."""

    def __init__(self, pool: WorkerPool[Content, Result]) -> None:
        self._pool = pool
        self._process: WorkerProcess[Content, Result] | None = None
        # Number of failed starts since the last successful one. The pause doubles with each.
        self._failures = 0
        # Message of the last failed start. The exception is not stored, because its traceback
        # refers to pages, which would stay in memory.
        self._error = ""
        self._not_before_s = 0.0

    def result(self, make_content: Callable[[], Content]) -> Result:
        """Run a job. :raises WorkerError: see `WorkerPool.submit`."""
        content = make_content()
        for _ in range(_ATTEMPTS):
            process = self.started()
            try:
                return process.run(content)
            except JobLost as lost:
                self._replace(process)
                return self._pool.lost_result(lost.reason)
            except (EOFError, OSError):
                self._replace(process)
            except WorkerError:
                raise  # the worker can take the next job
            except BaseException:  # a late answer would be taken for the next job's answer
                self._replace(process)
                raise
        return self._pool.lost_result("worker_died")

    def started(self) -> WorkerProcess[Content, Result]:
        """Return the process, and start it if necessary.

        :raises WorkerError: the pool is closed, the worker cannot be started, or the pause after a
            failed start is not over.
        """
        if self._process is not None:
            return self._process
        if time.monotonic() < self._not_before_s:
            raise WorkerError(self._error)
        try:
            self._process = self._pool.start_process()
            self._process.wait_until_ready()
        except BaseException as error:
            self.end()
            self._failures += 1
            pause_s = min(2.0**self._failures, _LONGEST_PAUSE_S)
            self._error = str(error) or type(error).__name__
            self._not_before_s = time.monotonic() + pause_s
            raise
        self._failures = 0
        return self._process

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            self._pool.end_process(process, replaces=False)

    def _replace(self, process: WorkerProcess[Content, Result]) -> None:
        self._process = None
        self._pool.end_process(process, replaces=True)


def _closed_error() -> WorkerError:
    return WorkerError("the workers were closed")
