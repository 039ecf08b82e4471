"""One worker process, seen from its parent."""

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
# The path of the parent, before this package can be imported; nothing out of the working
# directory by chance; and an end to a start that hangs while the parent is dead.
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

# Else Python 3.13.0 stops at imports where the working directory was deleted.
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()


class WorkerTimeout(Exception):
    """A worker did not answer in time."""


class WorkerProcess:
    """A process that fingerprints pages.

    :param order: what it is to do; see `scrapy_simhash.workers.child`.
    :raises WorkerError: it cannot be started.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self._ready = False
        # A program that is frozen in one file would start itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("there is no Python to start workers with: set SIMHASH_WORKERS = 0")
        messages = [json.dumps(content).encode("ascii") for content in (_import_path(), order)]
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise WorkerError(f"a worker cannot be started ({error})") from error
        # Inherited: a signal for all processes may come before the worker can ignore it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, PARENTS_SIGNALS)
        try:
            # Sending blocks where the worker has stopped reading.
            send_timeout = struct.pack("ll", 1 + order["timeout_ms"] // 1000, 0)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, send_timeout)
            # Receiving waits this long at a time: of a time in which somebody has stopped the
            # crawl, one such wait counts.
            self._wait_s = min(order["timeout_ms"] / 1000, _WAIT_S)
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
        # A worker that is gone already is found out by `wait_until_ready`.
        with suppress(OSError):
            for message in messages:
                self._channel.send(message)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def wait_until_ready(self) -> Self:
        """:raises WorkerError: it died or gave up before its first page."""
        if not self._ready:
            try:
                answer = self._receive(START_TIMEOUT_S)
            except (EOFError, OSError, ValueError, WorkerTimeout) as error:
                self.end()
                raise WorkerError(
                    f"a worker did not start (exit code {self._process.returncode}): what it said "
                    "is on standard error; SIMHASH_WORKERS = 0 does without workers"
                ) from error
            if "error" in answer:
                self.end()
                # What to do comes first: logs may cut the rest.
                raise WorkerError(
                    "a worker did not start (SIMHASH_WORKERS = 0 does without; what it imports "
                    "must be a module of its own, not the script that runs): " + answer["error"]
                )
            self._ready = True
        return self

    def ask(self, page: Content) -> None:
        """Send a page or an item; each is to be answered before the next is sent.

        :param page: its text, or its bytes if they are UTF-8 without a byte order mark; or the
            texts of an item's fields.
        :raises OSError: the worker died, or has stopped reading. It is to be ended then.
        """
        self._channel.send(*encoded(page))

    def answer(
        self, timeout_s: float, meanwhile: Callable[[], object] = lambda: None
    ) -> PageFingerprint:
        """Return the page's fingerprint.

        :param meanwhile: called twenty times a second while there is none.
        :raises WorkerTimeout: no answer in time.
        :raises EOFError, OSError: the worker died. It is to be ended after either.
        :raises WorkerError: the fingerprint failed, and the worker is well.
        """
        answer = self._receive(timeout_s, meanwhile)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return page_from(answer["page"])

    def kill(self) -> None:
        """Send it the signal; who talks to it hears of it."""
        self._process.kill()

    def end(self) -> None:
        """Kill it, and take it away."""
        self._process.kill()
        self._channel.close()
        self._process.wait()

    def _receive(
        self, timeout_s: float, meanwhile: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        while True:
            try:
                answer: dict[str, Any] = json.loads(self._channel.receive())
            except BlockingIOError:  # noqa: PERF203 - it mostly runs once
                meanwhile()
                timeout_s -= self._wait_s
                if timeout_s <= 0:
                    raise WorkerTimeout from None
            else:
                return answer


def _import_path() -> list[str]:
    """Where this process imports from; Python, too, passes over what is no text."""
    path = [entry for entry in sys.path if isinstance(entry, str)]
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:  # the working directory was deleted
        return [entry for entry in path if entry]
