"""Call a pool of workers in the event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import create_looping_call, is_asyncio_available

from scrapy_simhash.workers.pool import STEP_INTERVAL_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.workers.pool import WorkerPool


class WorkerLoop:
    """Calls a pool's `step` in the event loop: at each answer, and at intervals.

    A reader (IReadDescriptor) of Twisted's reactor if the event loop is not asyncio's.
    """

    def __init__(self, pool: WorkerPool[Any, Any]) -> None:
        self._pool = pool
        self._intervals = create_looping_call(pool.step)
        self._intervals.start(STEP_INTERVAL_S, now=False)
        self._stop_reading: Callable[[], object]
        if is_asyncio_available():
            loop = asyncio.get_running_loop()
            loop.add_reader(pool.fileno(), pool.step)
            self._stop_reading = partial(loop.remove_reader, pool.fileno())
        else:
            reactor: Any = import_module("twisted.internet.reactor")
            reactor.addReader(self)
            self._stop_reading = partial(reactor.removeReader, self)

    def close(self) -> None:
        """Call `step` no more. The pool must be open."""
        if self._intervals.running:
            self._intervals.stop()
        self._stop_reading()

    def fileno(self) -> int:
        """Return the file descriptor that the reactor is to watch."""
        return self._pool.fileno()

    def doRead(self) -> None:  # noqa: N802 - the reactor calls it
        """Read answers."""
        self._pool.step()

    def connectionLost(self, reason: object) -> None:  # noqa: N802 - the reactor calls it
        """Do nothing: the reactor ends."""

    def logPrefix(self) -> str:  # noqa: N802 - the reactor calls it
        """Return a name for the log."""
        return "simhash workers"
