"""One worker process, seen from its parent. No method but `end` waits for the process."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import ALARM_FACTOR, IGNORED_SIGNALS, LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

Content = TypeVar("Content")
Result = TypeVar("Result")

START_TIMEOUT_S = 60.0
# More threads of numpy would compete with the other workers. The environment may set more.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_READ_BYTES = 1 << 18  # upper limit of one read
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
        reader = _AnswerReader(BytesIO(answer))
        reader.classes = {(one.__module__, one.__qualname__): one for one in self.result_classes}
        result: Result = reader.load()
        return result


class _AnswerReader(pickle.Unpickler):
    """Reads an answer, which a page that has taken over the worker may have forged."""

    classes: dict[tuple[str, str], type]

    def find_class(self, module: str, name: str) -> Any:
        found = self.classes.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"an answer of a worker contains {module}.{name}")
        return found


@dataclass(eq=False)
class Job(Generic[Content, Result]):
    """A job that waits, or that a worker has.

    :param deaths: number of workers that died while they worked on it.
    """

    make_content: Callable[[], Content]
    future: Future[Result]
    deaths: int = 0


class WorkerProcess(Generic[Content, Result]):
    """A worker process, with the jobs that it has.

    :param now_s: the time of the start, on the clock of the pool.
    :raises WorkerError: the process cannot be started.
    """

    def __init__(self, work: Work[Content, Result], now_s: float = 0.0) -> None:
        self.is_ready = False
        self.jobs: deque[Job[Content, Result]] = deque()
        """The jobs without an answer. The worker works on the first one."""
        self.unsent = memoryview(b"")
        """What the socket has not taken yet: `flush` when it can be written to."""
        self._work = work
        self._since_s = now_s  # when it was started, or began to work on its first job
        self._received = bytearray()
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError(
                f"no Python interpreter is available to start workers: {work.without_workers}"
            )
        try:
            self._socket, theirs = socket.socketpair()
        except OSError as error:
            raise WorkerError(f"a worker cannot be started ({error})") from error
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
        except (OSError, ValueError) as error:
            self._socket.close()
            raise WorkerError(f"a worker cannot be started ({error})") from error
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
                self.unsent = self.unsent[self._socket.send(self.unsent) :]
        except BlockingIOError:
            pass
        except OSError:  # the worker has died: `receive` gives its last answers, and raises
            self.unsent = memoryview(b"")

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
        message = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self.unsent = memoryview(b"".join((self.unsent, LENGTH.pack(len(message)), message)))
        self.flush()


def _import_path() -> list[str]:
    """Return `sys.path` with the working directory for ``""``, or without it if it was deleted."""
    path = [entry for entry in sys.path if isinstance(entry, str)]  # Python ignores others, too
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:
        return [entry for entry in path if entry]
