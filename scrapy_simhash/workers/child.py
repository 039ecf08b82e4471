"""Receive messages in a worker process, and answer them one at a time.

A worker is a fresh interpreter, not a fork, and does not import the main module of its parent. Over
a socket, it receives its specification as JSON and then messages, and answers in JSON. Nothing is
unpickled, so page content cannot run code.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy_simhash.workers.channel import Channel

if TYPE_CHECKING:
    import socket

# The alarm kills a worker at this multiple of the time-out, if its parent has not done so.
ALARM_FACTOR = 2
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(connected: socket.socket) -> NoReturn:
    """Answer messages until the parent closes the socket or dies, or an error occurs. Then exit."""
    # A terminal or a service manager signals all processes, but only the parent decides when to
    # stop. The parent blocked these signals before it started the worker.
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED_SIGNALS)
    # Keep the output of extractors out of the parent's standard output.
    sys.stdout = sys.stderr
    with suppress(OSError):  # standard error may be closed
        os.dup2(2, 1)
    # A process that an extractor starts would inherit the socket and hide the worker's death.
    os.set_inheritable(connected.fileno(), False)  # noqa: FBT003 - it takes no name
    try:
        _serve(Channel(connected))
    except (EOFError, ConnectionError):
        pass  # the parent closed the socket or died
    except BaseException:  # noqa: BLE001 - the outermost handler
        traceback.print_exc()
    finally:
        # Threads of an extractor must not keep the process alive.
        os._exit(1)


def _serve(channel: Channel) -> None:
    process = os.getpid()
    spec = json.loads(channel.receive())
    module, _, name = spec["server"].partition(":")
    try:
        compute_answer = getattr(import_module(module), name)(spec["job_spec"])
    except BaseException as error:  # noqa: BLE001 - an extractor may raise anything
        _answer(channel, {"error": f"{type(error).__name__}: {error}"})
        return
    _set_alarm(0)
    _answer(channel, {"ready": True})
    while True:
        message = channel.receive()
        _set_alarm(ALARM_FACTOR * spec["timeout_ms"] / 1000)
        try:
            answer = {"answer": compute_answer(message)}
        except BaseException as error:  # noqa: BLE001 - an extractor may even exit
            answer = {"error": f"{type(error).__name__}: {error}"}
        if os.getpid() != process:
            return  # the extractor forked, and this is the fork: its SystemExit was caught above
        _answer(channel, answer)
        _set_alarm(0)


def _answer(channel: Channel, answer: dict[str, Any]) -> None:
    channel.send(json.dumps(answer).encode("ascii"))


def _set_alarm(seconds: float) -> None:
    """Let the kernel kill this process after `seconds`; 0 cancels the alarm.

    The parent kills a worker that hangs, but may be dead itself. A regular expression that hangs
    blocks all Python code of the worker, so only a signal without a Python handler ends the worker.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
