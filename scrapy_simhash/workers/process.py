"""Start a worker process, and send jobs to it and receive its answers without waiting for it."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import IGNORED_SIGNALS, LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

START_TIMEOUT_S = 60.0
# More threads of numpy would compete with the other workers. The environment may set more.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_READ_BYTES = 1 << 18  # upper limit of one read
# The code of a worker until this package can be imported. It takes over the parent's `sys.path`
# first, so that no file in the working directory replaces a module of the standard library.
_BOOTSTRAP = """
import sys
sys.path[:] = {path!a}
from scrapy_simhash.workers.child import serve
serve({file_descriptor}, {timeout_s})
"""
# Without -P, imports fail in Python 3.13.0 if the working directory was deleted.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()


class Job(Future[Any]):
    """A job that waits, or that a worker has; the future of its result.

    :param make_content: returns what is sent to the worker.
    """

    def __init__(self, make_content: Callable[[], object]) -> None:
        super().__init__()
        self.make_content = make_content
        self.deaths = 0
        """Number of workers that died while they worked on it."""


class WorkerProcess:
    """A worker process, with the jobs that it has. No method but `end` waits for the process.

    :param start: what the worker gets first, see `scrapy_simhash.workers.child`.
    :raises WorkerError: there is no Python interpreter.
    :raises OSError, ValueError: the process cannot be started.
    """

    def __init__(self, start: object) -> None:
        self._start = Job(lambda: start)
        self.jobs: deque[Job] = deque()
        """The jobs without an answer. The worker works on the first one."""
        self.unsent = bytearray()
        """What the socket has not taken yet: `flush` when it can be written to."""
        self.silent_s = 0.0
        """How long no bytes went either way. The owner counts it."""
        self.was_unwatched = False
        """The owner was busy or suspended during the first job, and the worker perhaps, too."""
        self._received = bytearray()
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("no Python interpreter is available")
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)  # noqa: FBT003 - it takes no name
        # The worker inherits the mask, which blocks these signals until the worker ignores them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
        try:
            code = _BOOTSTRAP.format(
                path=_import_path(), file_descriptor=theirs.fileno(), timeout_s=START_TIMEOUT_S
            )
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *_SAFE_PATH, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**_ONE_THREAD, **os.environ},
            )
        except BaseException:
            self.socket.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self.take(self._start)

    @property
    def is_ready(self) -> bool:
        """Return True if the worker has started."""
        return not (self.jobs and self.jobs[0] is self._start)

    def take(self, job: Job) -> None:
        """Take a job. :raises Exception: the content of the job cannot be had."""
        content = pickle.dumps(job.make_content(), pickle.HIGHEST_PROTOCOL)
        self.unsent += LENGTH.pack(len(content)) + content  # both or, without memory, none
        self.flush()
        self.jobs.append(job)

    def flush(self) -> None:
        """Send as much as the socket takes."""
        try:
            while self.unsent:
                del self.unsent[: self.socket.send(self.unsent)]
                self.silent_s = 0.0
        except BlockingIOError:
            pass
        except OSError:  # the worker has died: `receive` gives its last answers, and raises
            self.unsent.clear()

    def receive(self) -> list[bytes]:
        """Return the answers that have arrived whole.

        :raises EOFError: the worker has died, and all its answers were returned.
        """
        try:
            content = self.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            content = b""
        if not content:
            raise EOFError
        self.silent_s = 0.0
        answers, received = [], self._received
        received += content
        while len(received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if end > len(received):
                break
            answers.append(bytes(received[LENGTH.size : end]))
            del received[:end]
        return answers

    def end(self) -> None:
        """Kill the process, close the socket and reap the process."""
        self.process.kill()
        self.socket.close()
        self.process.wait()


def _import_path() -> list[str]:
    """Return `sys.path` with the working directory for ``""``, or without it if it was deleted."""
    path = [entry for entry in sys.path if isinstance(entry, str)]  # Python ignores others, too
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:
        return [entry for entry in path if entry]
