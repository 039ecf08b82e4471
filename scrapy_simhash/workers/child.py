"""Receive jobs in a worker process, and answer them one at a time.

A worker is a fresh interpreter, not a fork, and does not import the main module of its parent. It
trusts its parent, but not the other way round: jobs and answers are pickled, each after its length,
and the parent unpickles no class but those of results (`pool.py`).
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGTSTP)
# The number of bytes of a job or an answer, which follow.
LENGTH = struct.Struct("!Q")
# The exit code of a worker whose job took too much memory.
OUT_OF_MEMORY = 77
# Upper limit for the memory of a worker (heap and stacks), where the system enforces it, as Linux
# does. With jieba's dictionary and a page of 8 MB, a worker takes less than half of it.
MAX_MEMORY_BYTES = 1 << 30


def serve(file_descriptor: int, start_timeout_s: float) -> NoReturn:
    """Answer jobs until the parent closes its socket or dies, or an error occurs. Exit.

    :param file_descriptor: that of the socket to the parent.
    :param start_timeout_s: time limit for the start.
    """
    # A terminal or a service manager signals all processes, but only the parent decides when to
    # stop. The parent blocked these signals before it started the worker.
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Keep the output of extractors out of the parent's standard output.
    sys.stdout = sys.stderr
    with suppress(OSError):  # standard error may be closed
        os.dup2(2, 1)
    # A process that an extractor starts would inherit the socket and hide the worker's death.
    os.set_inheritable(file_descriptor, False)  # noqa: FBT003 - it takes no name
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    # Open until the exit: the parent kills a worker that has closed it, and would see no exit code.
    parent = socket.socket(fileno=file_descriptor)
    exit_code = 1
    try:
        _serve(parent, start_timeout_s)
    except MemoryError:
        exit_code = OUT_OF_MEMORY
    except (struct.error, OSError):
        pass  # the parent closed the socket or died, perhaps in the middle of a job
    except BaseException:  # noqa: BLE001 - the outermost handler
        sys.excepthook(*sys.exc_info())
    finally:
        # Threads of an extractor must not keep the process alive.
        os._exit(exit_code)


def _serve(parent: socket.socket, limit_s: float) -> None:
    """Answer jobs. The first one starts the work, and its answer is that the worker is ready."""
    compute_result: Callable[[Any], object] | None = None
    jobs = parent.makefile("rb")
    while True:
        job = _next_job(jobs)
        # The kernel kills a worker that takes longer, also if the parent is dead or busy. A regular
        # expression that hangs would block signal handlers and threads. The parent kills a worker
        # whose extractor prevents this (`pool.py`).
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # an extractor may have changed it
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        result = None
        try:
            content = pickle.loads(job)  # noqa: S301 - from the parent
            if compute_result is None:
                serve, spec, timeout_ms = content
                compute_result, limit_s = serve(spec), timeout_ms / 1000
                gc.freeze()
                gc.set_threshold(20_000)  # a page makes thousands of objects, and no cycle
            else:
                result = compute_result(content)
            answer = pickle.dumps((result, ""), pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            raise
        except BaseException as raised:  # noqa: BLE001 - an extractor may even exit
            error = f"{type(raised).__name__}: {raised}"
            answer = pickle.dumps((None, error), pickle.HIGHEST_PROTOCOL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        parent.sendall(LENGTH.pack(len(answer)) + answer)


def _next_job(jobs: BufferedReader) -> bytes:
    """Read a job. :raises struct.error: the parent closed its socket."""
    return jobs.read(*LENGTH.unpack(jobs.read(LENGTH.size)))
