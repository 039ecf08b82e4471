"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A pool has no thread: its owner, such as an event loop, calls `step` when `fileno` can be read, and
every `STEP_INTERVAL_S`. Each worker has up to two jobs, so that it does not wait for the next one.
A worker that hangs or takes too much memory is killed, and a dead worker is replaced.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import (
    ALARM_FACTOR,
    ERROR,
    IGNORED_SIGNALS,
    LENGTH,
    MEMORY,
    RESULT,
)
from scrapy_simhash.workers.need import Need, available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


Content = TypeVar("Content")
Result = TypeVar("Result")

START_TIMEOUT_S = 60.0
# More threads of numpy would compete with the other workers. The environment may set more.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_READ_BYTES = 1 << 18  # upper limit of one read
_PARTS_AT_ONCE = 16  # of messages that are sent; systems have limits
# The code of a worker until this package can be imported. It first removes the entry "" from its
# `sys.path`, so that no file in the working directory replaces a module of the standard library.
# Then it takes over the parent's `sys.path`. If a start hangs and the parent is dead, the alarm
# kills the worker.
_BOOTSTRAP = """
import sys
if sys.path[0] == "":
    del sys.path[0]
import json, signal
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
sys.path[:] = json.loads(sys.argv[3])
from scrapy_simhash.workers.child import serve
serve(int(sys.argv[1]))
"""
# Without -P, imports fail in Python 3.13.0 if the working directory was deleted.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()


@dataclass(frozen=True, kw_only=True)
class Work(Generic[Content, Result]):
    """The work of worker processes. A job is one message to a worker and the worker's answer.

    :param serve: a function of a module. A worker calls it with `spec`, and the function that it
        returns with the content of each job, to get its result.
    :param result_classes: the classes that results contain, besides strings, numbers, tuples, …
    :param timeout_ms: wall-clock limit for one job. In case the parent is dead, the worker also has
        an alarm, which kills it after twice this time.
    :param lost_result: returns the result of a job without an answer, from the reason: ``timeout``,
        ``memory`` or ``worker_died``.
    :param without_workers: advice for error messages, such as "use --workers 1".
    """

    serve: Callable[[Any], Callable[[Content], Result]]
    spec: Any
    result_classes: tuple[type, ...]
    timeout_ms: int
    lost_result: Callable[[str], Result]
    without_workers: str

    def result(self, answer: bytes) -> Result:
        """Return the result in an answer. :raises pickle.UnpicklingError: it has other classes."""
        result: Result = _AnswerReader(answer, self.result_classes).load()
        return result


class _AnswerReader(pickle.Unpickler):
    """Reads an answer, which a page that has taken over the worker may have forged."""

    def __init__(self, answer: bytes, classes: Iterable[type]) -> None:
        super().__init__(BytesIO(answer))
        self._classes = {(one.__module__, one.__qualname__): one for one in classes}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._classes:
            raise pickle.UnpicklingError(f"an answer of a worker contains {module}.{name}")
        return self._classes[module, name]


@dataclass(eq=False)
class Job(Generic[Content, Result]):
    """A job that waits, or that a worker has.

    :param deaths: number of workers that died while they worked on it.
    """

    make_content: Callable[[], Content]
    future: Future[Result]
    deaths: int = 0


class WorkerProcess(Generic[Content, Result]):
    """A worker process, with the jobs that it has. No method but `end` waits for the process.

    :param now_s: the time of the start, on the clock of the pool.
    :raises WorkerError: there is no Python interpreter.
    :raises OSError, ValueError: the process cannot be started.
    """

    def __init__(self, work: Work[Content, Result], now_s: float = 0.0) -> None:
        self.is_ready = False
        self.jobs: deque[Job[Content, Result]] = deque()
        """The jobs without an answer. The worker works on the first one."""
        self.unsent: deque[memoryview] = deque()
        """What the socket has not taken yet: `flush` when it can be written to."""
        self._work = work
        self._since_s = now_s  # when it was started, or began to work on its first job
        self._received = bytearray()
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError(f"no Python interpreter is available: {work.without_workers}")
        self._socket, theirs = socket.socketpair()
        # The worker inherits the mask, which blocks these signals until the worker ignores them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
        try:
            self._socket.settimeout(0)  # calls do not wait
            alarm_s = str(ALARM_FACTOR * START_TIMEOUT_S)
            arguments = [str(theirs.fileno()), alarm_s, json.dumps(_import_path())]
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *_SAFE_PATH, "-c", _BOOTSTRAP, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**_ONE_THREAD, **os.environ},
            )
        except BaseException:
            self._socket.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self._send((work.serve, work.spec, work.timeout_ms))

    def fileno(self) -> int:
        """Return the file descriptor of the socket."""
        return self._socket.fileno()

    def is_late(self, now_s: float) -> bool:
        """Return True if its start, or its first job, has taken longer than its limit."""
        if not self.is_ready:
            return now_s - self._since_s >= START_TIMEOUT_S
        return bool(self.jobs) and 1000 * (now_s - self._since_s) >= self._work.timeout_ms

    def take(self, job: Job[Content, Result], now_s: float) -> None:
        """Take a job. :raises Exception: the content of the job cannot be had."""
        self._send(job.make_content())
        if not self.jobs:
            self._since_s = now_s
        self.jobs.append(job)

    def answered(self, now_s: float) -> Future[Result]:
        """Remove the first job, and return its future. The worker works on the next one."""
        self._since_s = now_s
        return self.jobs.popleft().future

    def flush(self) -> None:
        """Send as much as the socket takes."""
        try:
            while self.unsent:
                sent = self._socket.sendmsg(islice(self.unsent, _PARTS_AT_ONCE))
                while self.unsent and sent >= len(self.unsent[0]):
                    sent -= len(self.unsent.popleft())
                if sent:
                    self.unsent[0] = self.unsent[0][sent:]
        except BlockingIOError:
            pass
        except OSError:  # the worker has died: `receive` gives its last answers, and raises
            self.unsent.clear()

    def receive(self) -> list[bytes]:
        """Return the answers that have arrived whole.

        :raises EOFError: the worker has died, and all its answers were returned.
        """
        received, has_ended = self._received, False
        try:
            while content := self._socket.recv(_READ_BYTES):
                received += content
            has_ended = True
        except BlockingIOError:
            pass
        except OSError:
            has_ended = True
        answers = []
        while len(received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if end > len(received):
                break
            answers.append(bytes(received[LENGTH.size : end]))
            del received[:end]
        if has_ended and not answers:
            raise EOFError
        return answers

    def end(self) -> None:
        """Kill the process, close the socket and reap the process."""
        self.process.kill()
        self._socket.close()
        self.process.wait()

    def _send(self, value: object) -> None:
        # In parts, the body of a large page is not copied.
        parts: list[bytes] = []
        file: Any = SimpleNamespace(write=parts.append)
        pickle.Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
        length = LENGTH.pack(sum(map(len, parts)))
        self.unsent += map(memoryview, [length + parts[0], *parts[1:]])
        self.flush()


def _import_path() -> list[str]:
    """Return `sys.path` with the working directory for ``""``, or without it if it was deleted."""
    path = [entry for entry in sys.path if isinstance(entry, str)]  # Python ignores others, too
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:
        return [entry for entry in path if entry]


STEP_INTERVAL_S = 0.1
_JOBS_PER_WORKER = 2
# A job whose worker dies is retried once, because the job may not be the cause.
_MAX_DEATHS = 2
_PAUSE_S = 10.0  # after a worker failed to start
# Upper limit of the time that counts between two steps. In a longer time, this process was
# suspended or busy, and did not wait for workers.
_LONGEST_STEP_S = 1.0


class WorkerPool(Generic[Content, Result]):
    """A pool of worker processes that share a queue, and start with the pool.

    :param workers: number of processes, at least 1; None for as many as the jobs need, at most one
        for each core.
    """

    def __init__(self, work: Work[Content, Result], workers: int | None) -> None:
        self._work = work
        self._need = Need(available_cores()) if workers is None else None
        self._count = workers or 1
        self._queue: deque[Job[Content, Result]] = deque()
        self._workers: list[WorkerProcess[Content, Result]] = []
        self._selector = DefaultSelector()
        self.replaced = 0
        """Number of workers that died, or were killed after a time-out or an error."""
        self._now_s = 0.0
        self._stepped_s = time.monotonic()
        self._error = ""  # why no worker can be started now
        self._not_before_s = 0.0
        # A crawl that is forced to stop does not call close().
        self._end_all = weakref.finalize(self, _end, self._workers, os.getpid())
        self._go_on()

    def submit(self, make_content: Callable[[], Content]) -> Future[Result]:
        """Queue a job, and return a future of its result.

        The future raises WorkerError if the pool is closed, no worker can be started, or the job
        failed in the worker. It also raises errors of `make_content` and of `Work`'s functions.

        :param make_content: returns the content of the job. It is called when a worker takes the
            job, so that queued pages are not held in memory twice.
        """
        job = Job(make_content, Future[Result]())
        self._queue.append(job)
        self._go_on()
        return job.future

    def fileno(self) -> int:
        """Return a file descriptor that can be read when there is something to do for `step`."""
        return self._selector.fileno()

    def step(self, timeout_s: float = 0.0) -> None:
        """Read answers, hand out jobs, and replace workers that died or took too long.

        :param timeout_s: upper limit of the time to wait for an answer, at least 0.
        """
        for key, events in self._selector.select(timeout_s):
            if events & EVENT_WRITE:
                key.data.flush()
            if events & EVENT_READ:
                self._read(key.data)
        stepped_s = time.monotonic()
        self._now_s += min(stepped_s - self._stepped_s, _LONGEST_STEP_S)
        self._stepped_s = stepped_s
        for worker in [worker for worker in self._workers if worker.is_late(self._now_s)]:
            self._lose(worker, "timeout")
        if self._need is not None:
            ready = all(worker.is_ready for worker in self._workers)
            self._need.update(self._now_s, waits=bool(self._queue), ready=ready)
            self._count = self._need.workers
            idle = [worker for worker in self._workers if not worker.jobs]
            for worker in idle[: max(0, len(self._workers) - self._count)]:
                self._remove(worker)
        self._go_on()

    def close(self) -> None:
        """Kill all workers at once. The futures of unfinished jobs raise WorkerError."""
        self._error, self._not_before_s = "the workers were closed", math.inf
        self._end_all()
        for worker in self._workers:
            self._queue += worker.jobs
        self._workers.clear()
        self._selector.close()
        self._go_on()

    def _go_on(self) -> None:
        """Start missing workers. Give jobs that wait to workers, or fail them if there are none."""
        while len(self._workers) < self._count and self._now_s >= self._not_before_s:
            self._start()
        while self._queue:
            free = [w for w in self._workers if w.is_ready and len(w.jobs) < _JOBS_PER_WORKER]
            if self._workers and not free:
                break
            job = self._queue.popleft()
            if not (job.future.running() or job.future.set_running_or_notify_cancel()):
                continue
            try:
                if not free:
                    raise WorkerError(self._error)
                min(free, key=lambda worker: len(worker.jobs)).take(job, self._now_s)
            except BaseException as error:  # noqa: BLE001 - the future raises it
                job.future.set_exception(error)
        for worker in self._workers:
            events = EVENT_READ | EVENT_WRITE if worker.unsent else EVENT_READ
            self._selector.modify(worker, events, worker)

    def _remove(self, worker: WorkerProcess[Content, Result]) -> None:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.end()

    def _start(self) -> None:
        try:
            worker = WorkerProcess(self._work, self._now_s)
        except Exception as error:  # noqa: BLE001 - also if there is no memory
            self._failed_to_start(
                f"a worker cannot be started ({str(error) or type(error).__name__})"
            )
        else:
            self._workers.append(worker)
            self._selector.register(worker, EVENT_READ, worker)

    def _failed_to_start(self, message: str) -> None:
        self._error = message
        self._not_before_s = self._now_s + _PAUSE_S

    def _read(self, worker: WorkerProcess[Content, Result]) -> None:
        try:
            answers = worker.receive()
        except EOFError:
            self._lose(worker, "worker_died")
            return
        for kind, content in ((answer[:1], answer[1:]) for answer in answers):
            error = content.decode("utf-8", "backslashreplace") if kind == ERROR else ""
            # Without a job, nobody asked for an answer, so none can be trusted.
            is_asked = bool(worker.jobs) if worker.is_ready else not error
            if kind not in (RESULT, ERROR) or not is_asked:
                reason = error if error and not worker.is_ready else "worker_died"
                self._lose(worker, "memory" if kind == MEMORY else reason)
                return
            if worker.is_ready:
                future = worker.answered(self._now_s)
                try:
                    if error:
                        raise WorkerError(error)
                    future.set_result(self._work.result(content))
                except BaseException as raised:  # noqa: BLE001 - the future raises it
                    future.set_exception(raised)
            worker.is_ready = True

    def _lose(self, worker: WorkerProcess[Content, Result], reason: str) -> None:
        """End a worker. End its first job, or the attempt to start it; its other job waits again.

        :param reason: ``timeout``, ``memory``, ``worker_died``, or the error of its start.
        """
        self._remove(worker)
        if not worker.is_ready:
            if reason in ("timeout", "worker_died"):
                exit_code = worker.process.returncode
                cause = "it took too long" if reason == "timeout" else f"exit code {exit_code}"
                reason = f"{cause}; see its output on standard error"
            # The advice comes first, because logs may cut the rest.
            self._failed_to_start(
                f"a worker did not start ({self._work.without_workers}; custom components must be "
                f"in an importable module, not in the script that runs): {reason}"
            )
            return
        self.replaced += 1
        if worker.jobs:
            first = worker.jobs[0]
            first.deaths += 1
            if reason != "worker_died" or first.deaths == _MAX_DEATHS:
                worker.jobs.popleft().future.set_result(self._work.lost_result(reason))
        self._queue.extendleft(reversed(worker.jobs))


def _end(workers: Sequence[WorkerProcess[Content, Result]], owner: int) -> None:
    if os.getpid() == owner:  # a fork must not end the workers of its parent
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
