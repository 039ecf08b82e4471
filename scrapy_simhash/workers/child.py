"""Receive messages in a worker process, and answer them one at a time.

A worker is a fresh interpreter, not a fork, and does not import the main module of its parent. It
trusts its parent, but not the other way round: messages and answers are pickled, each after its
length, and the parent unpickles no class but those of results (`process.py`).
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from io import BufferedReader

# The alarm kills a worker at this multiple of the time-out, if its parent has not done so.
ALARM_FACTOR = 2
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The number of bytes of a message or an answer, which follow.
LENGTH = struct.Struct("!Q")
# The first byte of an answer: a result follows, or the message of an error in UTF-8;
# or MEMORY alone: the job took too much memory, and the worker exits.
RESULT, ERROR, MEMORY = b"R", b"E", b"M"
# Upper limit for the memory of a worker (heap and stacks), where the system enforces it, as Linux
# does. With jieba's dictionary and a page of 8 MB, a worker takes less than half of it.
MAX_MEMORY_BYTES = 1 << 30


def serve(file_descriptor: int) -> NoReturn:
    """Answer messages until the parent closes its socket or dies, or an error occurs. Exit.

    :param file_descriptor: that of the socket to the parent.
    """
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
    os.set_inheritable(file_descriptor, False)  # noqa: FBT003 - it takes no name
    try:
        _serve(socket.socket(fileno=file_descriptor))
    except (struct.error, OSError):
        pass  # the parent closed the socket or died, perhaps in the middle of a message
    except BaseException:  # noqa: BLE001 - the outermost handler
        sys.excepthook(*sys.exc_info())
    finally:
        # Threads of an extractor must not keep the process alive.
        os._exit(1)


def _serve(parent: socket.socket) -> None:
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    messages = parent.makefile("rb")
    first = _next_message(messages)
    try:
        serve, spec, timeout_ms = pickle.loads(first)  # noqa: S301 - from the parent
        compute_result = serve(spec)
    except BaseException as error:  # noqa: BLE001 - an extractor may raise anything
        _send(parent, _error_answer(error))
        return
    # The parent kills a worker that hangs, but may be dead itself. Then the kernel must: a regular
    # expression that hangs blocks all Python code of the worker, signal handlers too.
    alarm_s = ALARM_FACTOR * timeout_ms / 1000
    answer = RESULT  # an empty result: the worker is ready
    while answer != MEMORY:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(parent, answer)
        message = _next_message(messages)
        signal.setitimer(signal.ITIMER_REAL, alarm_s)
        try:
            result = compute_result(pickle.loads(message))  # noqa: S301 - from the parent
            answer = RESULT + pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            answer = MEMORY
        except BaseException as error:  # noqa: BLE001 - an extractor may even exit
            answer = _error_answer(error)
    _send(parent, answer)


def _next_message(messages: BufferedReader) -> bytes:
    """Read a message. :raises struct.error: the parent closed its socket."""
    return messages.read(*LENGTH.unpack(messages.read(LENGTH.size)))


def _send(parent: socket.socket, answer: bytes) -> None:
    parent.sendall(LENGTH.pack(len(answer)) + answer)


def _error_answer(error: BaseException) -> bytes:
    return ERROR + f"{type(error).__name__}: {error}".encode("utf-8", "surrogatepass")
