"""Start, use and end one worker process from its parent."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import ALARM_FACTOR, ERROR, IGNORED_SIGNALS, MEMORY, RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Self

Content = TypeVar("Content")
Result = TypeVar("Result")

START_TIMEOUT_S = 60.0
# More threads of numpy would compete with the other workers. The environment may set more.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_WAIT_S = 0.05  # upper limit of one wait for an answer
# The code of a worker until this package can be imported. It first removes the entry "" from its
# `sys.path`, so that no file in the working directory replaces a module of the standard library.
# Then it takes over the parent's `sys.path`. If a start hangs and the parent is dead, the alarm
# kills the worker.
_BOOTSTRAP = """
import sys
if sys.path[0] == "":
    del sys.path[0]
import json, signal
from multiprocessing.connection import Connection
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
parent = Connection(int(sys.argv[1]))
try:
    sys.path[:] = json.loads(parent.recv_bytes())
except EOFError:
    sys.exit()
from scrapy_simhash.workers.child import serve
serve(parent)
"""
# Without -P, imports fail in Python 3.13.0 if the working directory was deleted.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()


class JobLost(Exception):
    """Raised if a worker cannot answer. :param reason: ``timeout`` or ``memory``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Work(Generic[Content, Result]):
    """The work of worker processes. A job is one message to a worker and the worker's answer.

    :param server: ``module:function`` that the worker imports. The function takes `job_spec`, and
        returns a function that takes a message and returns the answer, both as bytes.
    :param timeout_ms: wall-clock limit for one job. In case the parent is dead, the worker also has
        an alarm, which kills it after twice this time.
    :param encode: returns the message for the content of a job, in parts.
    :param decode: returns the result from the answer.
    :param lost_result: returns the result of a job without an answer, from the reason: ``timeout``,
        ``memory`` or ``worker_died``.
    :param without_workers: advice for error messages, such as "use --workers 1".
    """

    server: str
    job_spec: dict[str, Any]
    timeout_ms: int
    encode: Callable[[Content], Iterable[bytes]]
    decode: Callable[[bytes], Result]
    lost_result: Callable[[str], Result]
    without_workers: str


class WorkerProcess(Generic[Content, Result]):
    """A worker process, seen from its parent.

    :raises WorkerError: the process cannot be started.
    """

    def __init__(self, work: Work[Content, Result]) -> None:
        self._work = work
        self.is_ready = False
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError(
                f"no Python interpreter is available to start workers: {work.without_workers}"
            )
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise WorkerError(f"a worker cannot be started ({error})") from error
        # The worker inherits the mask, which blocks these signals until the worker ignores them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
        try:
            # Without a limit, a worker that stops in the middle of a message blocks its parent.
            limit = struct.pack("ll", 1 + work.timeout_ms // 1000, 0)
            for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                ours.setsockopt(socket.SOL_SOCKET, option, limit)
            arguments = [str(theirs.fileno()), str(ALARM_FACTOR * START_TIMEOUT_S)]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *_SAFE_PATH, "-c", _BOOTSTRAP, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**_ONE_THREAD, **os.environ},
            )
        except (OSError, ValueError) as error:
            ours.close()
            raise WorkerError(f"a worker cannot be started ({error})") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self._channel: Connection[Any, Any] = Connection(ours.detach())

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def wait_until_ready(self) -> Self:
        """Send the specification, wait until the worker can take messages, and return it.

        :raises WorkerError: it died, could not load its server, or was not ready within 60 s.
        """
        try:
            self._send_spec()
            self._receive(START_TIMEOUT_S)
        except (EOFError, OSError, ValueError, JobLost) as error:
            self.end()
            cause = f"(exit code {self._process.returncode})"
            if isinstance(error, JobLost):  # the exit code would be that of our SIGKILL
                cause = f"within {START_TIMEOUT_S:g} s"
            raise WorkerError(
                f"a worker did not start {cause}: see its output on standard error, or "
                f"{self._work.without_workers}"
            ) from error
        except WorkerError as error:
            self.end()
            # The advice comes first, because logs may cut the rest.
            raise WorkerError(
                f"a worker did not start ({self._work.without_workers}; custom components must "
                f"be in an importable module, not in the script that runs): {error}"
            ) from None
        self.is_ready = True
        return self

    def run(self, content: Content) -> Result:
        """Run a job, and return its result.

        :raises JobLost: the worker did not answer in time, or takes too much memory; call `end`.
        :raises EOFError, OSError: the worker died, or did not read in time; call `end` then.
        :raises WorkerError: the job failed in the worker, which can take the next job.
        :raises ValueError: the answer is damaged; call `end` then.
        """
        self._channel.send_bytes(b"".join(self._work.encode(content)))
        return self._work.decode(self._receive(self._work.timeout_ms / 1000))

    def kill(self) -> None:
        """Send SIGKILL. A call that waits in another thread then raises an error."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, close the channel and reap the process."""
        self._process.kill()
        self._channel.close()
        self._process.wait()

    def _send_spec(self) -> None:
        work = self._work
        spec = {"server": work.server, "job_spec": work.job_spec, "timeout_ms": work.timeout_ms}
        with suppress(OSError):  # if the worker has died already, no answer follows
            for content in (_import_path(), spec):
                self._channel.send_bytes(json.dumps(content).encode("ascii"))

    def _receive(self, timeout_s: float) -> bytes:
        """Return the worker's next answer. For errors see `run`."""
        # Waits are counted, not time: if the parent was suspended, that is only one wait.
        while not self._channel.poll(min(timeout_s, _WAIT_S)):
            timeout_s -= _WAIT_S
            if timeout_s <= 0:
                raise JobLost("timeout")
        try:
            answer = self._channel.recv_bytes()
        except BlockingIOError:  # the worker has stopped in the middle of its answer
            raise JobLost("timeout") from None
        kind, content = answer[:1], answer[1:]
        if kind == MEMORY:
            raise JobLost("memory")
        if kind == ERROR:
            raise WorkerError(content.decode("utf-8", "surrogatepass"))
        if kind != RESULT:
            raise ValueError(f"the answer of a worker is damaged: it begins with {answer[:20]!r}")
        return content


def _import_path() -> list[str]:
    """Return `sys.path` with the working directory for ``""``, or without it if it was deleted."""
    path = [entry for entry in sys.path if isinstance(entry, str)]  # Python ignores others, too
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:
        return [entry for entry in path if entry]
