"""Start, use and end one worker process from its parent."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.channel import Channel
from scrapy_simhash.workers.child import ALARM_FACTOR, PARENTS_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Self

Content = TypeVar("Content")
Result = TypeVar("Result")

START_TIMEOUT_S = 60.0
# Threads of numpy would compete with the other workers.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_WAIT_S = 0.05
# Runs before this package can be imported: sets the import path of the parent, without the working
# directory, and an alarm in case the start hangs and the parent is dead.
_BOOTSTRAP = """
import sys
if sys.path[0] == "":
    del sys.path[0]
import json, signal, socket
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
connected = socket.socket(fileno=int(sys.argv[1]))
length = int.from_bytes(connected.recv(8, socket.MSG_WAITALL), "big")
path = connected.recv(length, socket.MSG_WAITALL) if length else b""
if not path:
    sys.exit()
sys.path[:] = json.loads(path)
from scrapy_simhash.workers.child import serve
serve(connected)
"""

# Without -P, Python 3.13.0 cannot import if the working directory was deleted.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()


class WorkerTimeout(Exception):
    """Raised if a worker does not answer in time."""


@dataclass(frozen=True, kw_only=True)
class Work(Generic[Content, Result]):
    """What the workers of a pool do, and how their messages are written.

    :param server: ``module:function`` that the worker imports. The function takes `job_spec`, and
        returns a function that answers a message with values for JSON.
    :param timeout_ms: wall-clock limit for one job. A worker whose parent is dead exits after
        twice this time.
    :param encode: returns the parts of the message for a job.
    :param decode: returns the result from the answer.
    :param lost: returns the result of a job whose worker did not answer, from the reason:
        ``timeout`` or ``worker_died``.
    :param without_workers: how to do without workers, for errors.
    """

    server: str
    job_spec: dict[str, Any]
    timeout_ms: int
    encode: Callable[[Content], Iterable[bytes]]
    decode: Callable[[Any], Result]
    lost: Callable[[str], Result]
    without_workers: str


class WorkerProcess(Generic[Content, Result]):
    """A worker process, seen from its parent.

    :raises WorkerError: the process cannot be started.
    """

    def __init__(self, work: Work[Content, Result]) -> None:
        self._work = work
        self._ready = False
        timeout_ms = work.timeout_ms
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError(
                f"no Python interpreter is available to start workers: {work.without_workers}"
            )
        spec = {"server": work.server, "job_spec": work.job_spec, "timeout_ms": timeout_ms}
        messages = [json.dumps(content).encode("ascii") for content in (_import_path(), spec)]
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise WorkerError(f"a worker cannot be started ({error})") from error
        # The worker inherits the mask: a signal may arrive before the worker can ignore it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, PARENTS_SIGNALS)
        try:
            # Without a time-out, sending blocks if the worker has stopped reading.
            send_timeout = struct.pack("ll", 1 + timeout_ms // 1000, 0)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, send_timeout)
            # Receive in short waits and count these: if the parent is suspended, only one wait
            # counts towards the time-out of the message.
            self._wait_s = min(timeout_ms / 1000, _WAIT_S)
            receive_timeout = struct.pack("ll", 0, math.ceil(self._wait_s * 1e6))
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, receive_timeout)
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [
                    *(sys.executable, *_SAFE_PATH, "-c", _BOOTSTRAP),
                    *(str(theirs.fileno()), str(ALARM_FACTOR * START_TIMEOUT_S)),
                ],
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
        self._channel = Channel(ours)
        # `wait_until_ready` reports a worker that has died already.
        with suppress(OSError):
            for message in messages:
                self._channel.send(message)

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def wait_until_ready(self) -> Self:
        """Wait until the worker can take messages, and return it.

        :raises WorkerError: it failed before its first message.
        """
        if not self._ready:
            try:
                answer = self._receive(START_TIMEOUT_S)
            except (EOFError, OSError, ValueError, WorkerTimeout) as error:
                self.end()
                raise WorkerError(
                    f"a worker did not start (exit code {self._process.returncode}): see "
                    f"its output on standard error, or {self._work.without_workers}"
                ) from error
            if "error" in answer:
                self.end()
                # The advice comes first, because logs may cut the rest.
                raise WorkerError(
                    f"a worker did not start ({self._work.without_workers}; custom components must "
                    "be in an importable module, not in the script that runs): " + answer["error"]
                )
            self._ready = True
        return self

    def ask(self, content: Content) -> None:
        """Send a job. Call `answer` before the next call.

        :raises OSError: the worker died or has stopped reading; call `end` then.
        """
        self._channel.send(*self._work.encode(content))

    def answer(self, timeout_s: float, on_wait: Callable[[], object] = lambda: None) -> Result:
        """Return the result of the job.

        :param on_wait: called twenty times a second until the answer arrives.
        :raises WorkerTimeout: the worker did not answer in time; call `end` then.
        :raises EOFError, OSError: the worker died; call `end` then.
        :raises WorkerError: the job failed; the worker can be used further.
        """
        answer = self._receive(timeout_s, on_wait)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return self._work.decode(answer["answer"])

    def kill(self) -> None:
        """Send SIGKILL; a pending call of another thread raises EOFError."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, close the channel and reap the process."""
        self._process.kill()
        self._channel.close()
        self._process.wait()

    def _receive(
        self, timeout_s: float, on_wait: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        while True:
            try:
                answer: dict[str, Any] = json.loads(self._channel.receive())
            except BlockingIOError:  # noqa: PERF203 - the loop usually runs once
                on_wait()
                timeout_s -= self._wait_s
                if timeout_s <= 0:
                    raise WorkerTimeout from None
            else:
                return answer


def _import_path() -> list[str]:
    """Return the import path of this process. Python, too, ignores entries that are not text."""
    path = [entry for entry in sys.path if isinstance(entry, str)]
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:  # the working directory was deleted
        return [entry for entry in path if entry]
