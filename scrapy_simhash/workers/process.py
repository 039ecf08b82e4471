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
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.channel import Channel
from scrapy_simhash.workers.child import ALARM_FACTOR, PARENTS_SIGNALS, Content, encoded, page_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from scrapy_simhash.detector import PageFingerprint

START_TIMEOUT_S = 60.0
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


class WorkerProcess:
    """A worker process that fingerprints pages.

    :param job_spec: the job specification; see `scrapy_simhash.workers.child`.
    :raises WorkerError: the process cannot be started.
    """

    def __init__(self, job_spec: dict[str, Any]) -> None:
        self._ready = False
        # In a frozen program, sys.executable is the program itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError(
                "no Python interpreter is available to start workers: set SIMHASH_WORKERS = 0"
            )
        messages = [json.dumps(content).encode("ascii") for content in (_import_path(), job_spec)]
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise WorkerError(f"a worker cannot be started ({error})") from error
        # The worker inherits the mask: a signal may arrive before the worker can ignore it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, PARENTS_SIGNALS)
        try:
            # Without a time-out, sending blocks if the worker has stopped reading.
            send_timeout = struct.pack("ll", 1 + job_spec["timeout_ms"] // 1000, 0)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, send_timeout)
            # Receive in short waits and count these: if the crawl is suspended, only one wait
            # counts towards the time-out of the page.
            self._wait_s = min(job_spec["timeout_ms"] / 1000, _WAIT_S)
            receive_timeout = struct.pack("ll", 0, math.ceil(self._wait_s * 1e6))
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, receive_timeout)
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [
                    *(sys.executable, *_SAFE_PATH, "-c", _BOOTSTRAP),
                    *(str(theirs.fileno()), str(ALARM_FACTOR * START_TIMEOUT_S)),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
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
        """Wait until the worker can take pages, and return it.

        :raises WorkerError: it failed before its first page.
        """
        if not self._ready:
            try:
                answer = self._receive(START_TIMEOUT_S)
            except (EOFError, OSError, ValueError, WorkerTimeout) as error:
                self.end()
                raise WorkerError(
                    f"a worker did not start (exit code {self._process.returncode}): see "
                    "its output on standard error, or set SIMHASH_WORKERS = 0 to use no workers"
                ) from error
            if "error" in answer:
                self.end()
                # The advice comes first, because logs may cut the rest.
                raise WorkerError(
                    "a worker did not start (set SIMHASH_WORKERS = 0 to use no workers; custom "
                    "components must be in an importable module, not in the script that runs): "
                    + answer["error"]
                )
            self._ready = True
        return self

    def ask(self, page: Content) -> None:
        """Send a page or an item. Call `answer` before the next call.

        :param page: its text, or its bytes if they are UTF-8 without a byte order mark; or the
            texts of an item's fields.
        :raises OSError: the worker died or has stopped reading; call `end` then.
        """
        self._channel.send(*encoded(page))

    def answer(
        self, timeout_s: float, on_wait: Callable[[], object] = lambda: None
    ) -> PageFingerprint:
        """Return the page's fingerprint.

        :param on_wait: called twenty times a second until the answer arrives.
        :raises WorkerTimeout: the worker did not answer in time; call `end` then.
        :raises EOFError, OSError: the worker died; call `end` then.
        :raises WorkerError: the fingerprint failed; the worker can be used further.
        """
        answer = self._receive(timeout_s, on_wait)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return page_from(answer["page"])

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
