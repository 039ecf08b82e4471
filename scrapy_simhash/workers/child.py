"""Receive messages in a worker process, and answer them one at a time.

A worker is a fresh interpreter, not a fork, and does not import the main module of its parent. It
receives its specification as JSON. Messages and answers are bytes, and nothing is unpickled, so
page content cannot run code.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# The alarm kills a worker at this multiple of the time-out, if its parent has not done so.
ALARM_FACTOR = 2
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The first byte of an answer: a result follows, or the message of an error in UTF-8;
# or MEMORY alone: the job took too much memory, and the worker exits.
RESULT, ERROR, MEMORY = b"R", b"E", b"M"
# Upper limit for the memory of a worker (heap and stacks), where the system enforces it, as Linux
# does. With jieba's dictionary and a page of 8 MB, a worker takes less than half of it.
MAX_MEMORY_BYTES = 1 << 30


def serve(parent: Connection[Any, Any]) -> NoReturn:
    """Answer messages until the parent closes the connection or dies, or an error occurs. Exit."""
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
    os.set_inheritable(parent.fileno(), False)  # noqa: FBT003 - it takes no name
    try:
        _serve(parent)
    except (EOFError, OSError):
        pass  # the parent closed the connection or died, perhaps in the middle of a message
    except BaseException:  # noqa: BLE001 - the outermost handler
        traceback.print_exc()
    finally:
        # Threads of an extractor must not keep the process alive.
        os._exit(1)


def _serve(parent: Connection[Any, Any]) -> None:
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    spec = json.loads(parent.recv_bytes())
    module, _, name = spec["server"].partition(":")
    try:
        compute_answer = getattr(import_module(module), name)(spec["job_spec"])
    except BaseException as error:  # noqa: BLE001 - an extractor may raise anything
        parent.send_bytes(_error_answer(error))
        return
    answer = RESULT  # an empty result: the worker is ready
    while True:
        parent.send_bytes(answer)
        # The parent kills a worker that hangs, but may be dead itself. Then the kernel must: a
        # regular expression that hangs blocks all Python code of the worker, signal handlers too.
        signal.setitimer(signal.ITIMER_REAL, 0)
        message = parent.recv_bytes()
        signal.setitimer(signal.ITIMER_REAL, ALARM_FACTOR * spec["timeout_ms"] / 1000)
        try:
            answer = RESULT + compute_answer(message)
        except MemoryError:
            parent.send_bytes(MEMORY)
            return
        except BaseException as error:  # noqa: BLE001 - an extractor may even exit
            answer = _error_answer(error)


def _error_answer(error: BaseException) -> bytes:
    return ERROR + f"{type(error).__name__}: {error}".encode("utf-8", "surrogatepass")
