"""What a crawl takes while it runs: memory, and how late its event loop is, second by second."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
import tracemalloc
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals

from soak_lib.memory import descendants, index_bytes, rss_bytes, traced_growth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from typing_extensions import Self

_INTERVAL_S = 1.0
_NAP_S = 0.005
# Lags are counted in bins, so that the sampler itself does not grow; the last takes all above.
_BIN_MS = 0.1
_BINS = 200_000
WARM_UP_SHARE = 0.1
_TRACED_FRAMES = 3


class Lags:
    """How much later than asked for the event loop came back, in all."""

    def __init__(self) -> None:
        self._counts = array("L", bytes(array("L").itemsize * _BINS))
        self._count = 0
        self._max_ms = 0.0

    def add(self, lag_ms: float) -> None:
        """Add the lag of one sleep."""
        self._counts[min(int(lag_ms / _BIN_MS), _BINS - 1)] += 1
        self._count += 1
        self._max_ms = max(self._max_ms, lag_ms)

    def percentile(self, share: float) -> float:
        """The lag in ms that so many naps don't exceed, to a tenth of a millisecond above."""
        left = share * self._count
        for place, count in enumerate(self._counts):
            left -= count
            if count and left <= 0:
                return min((place + 1) * _BIN_MS, self._max_ms)
        return 0.0

    def summary(self) -> dict[str, float]:
        """p50, p99 and the largest."""
        return {
            "p50_ms": round(self.percentile(0.5), 2),
            "p99_ms": round(self.percentile(0.99), 2),
            "max_ms": round(self._max_ms, 2),
        }


class WaitedForCpu:
    """How long the event loop's thread was ready to run and had no CPU: on a busy machine most of
    its lag is that. Always 0 where the system does not say.
    """

    def __init__(self) -> None:
        try:
            name = f"/proc/self/task/{threading.get_native_id()}/schedstat"
            self._file: int | None = os.open(name, os.O_RDONLY)
        except OSError:
            self._file = None

    def ms(self) -> float:
        """Return the time so far."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 100, 0).split()[1]) / 1e6

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Sampler:
    """A Scrapy extension that writes a line of JSON a second, and one more at the end.

    The settings SOAK_FILE, SOAK_PAGES and SOAK_TRACE tell it where, how many pages are to come,
    and whether to trace allocations, which makes the crawl several times as slow.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._wanted = crawler.settings.getint("SOAK_PAGES")
        self._file = Path(crawler.settings["SOAK_FILE"]).open("a", encoding="ascii")  # noqa: SIM115
        self._received = bytearray(self._wanted + 1)
        self._pages = 0
        self._lags, self._own_lags = Lags(), Lags()
        self._recent_ms: list[tuple[float, float]] = []
        self._waited: WaitedForCpu | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._began_s = time.monotonic()
        self._warm: dict[str, Any] | None = None
        self._end: dict[str, Any] | None = None
        self._trace = crawler.settings.getbool("SOAK_TRACE")
        self._traced: tracemalloc.Snapshot | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawl, as Scrapy asks for it."""
        sampler = cls(crawler)
        for handler, signal in (
            (sampler.engine_started, signals.engine_started),
            (sampler.response_received, signals.response_received),
            (sampler.spider_idle, signals.spider_idle),
            (sampler.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(handler, signal=signal)
        return sampler

    def engine_started(self) -> None:
        """Scrapy's signal."""
        if self._trace:
            tracemalloc.start(_TRACED_FRAMES)
        self._began_s = time.monotonic()
        self._waited = WaitedForCpu()
        loop = asyncio.get_event_loop()
        self._tasks = [loop.create_task(self._nap()), loop.create_task(self._sample())]

    def response_received(self, response: Response, request: Request) -> None:
        """Scrapy's signal."""
        self._pages += 1
        number = int(response.url.rsplit("/", 1)[1])
        if response.status == 200 and number <= self._wanted:
            self._received[number] = 1

    def spider_idle(self) -> None:
        """Scrapy's signal: all pages are there, and the index is still open."""
        for task in self._tasks:
            task.cancel()
        if self._end is None:
            self._write(self._second())
            self._end = self._snapshot()
            self._warm = self._warm or self._end  # a crawl of a second or two
            if self._traced is not None:
                self._end["traced"] = traced_growth(self._traced)

    def engine_stopped(self) -> None:
        """Scrapy's signal."""
        failures = [
            repr(task.exception())
            for task in self._tasks
            if task.done() and not task.cancelled() and task.exception() is not None
        ]
        stats = self._crawler.stats
        assert stats is not None
        missing = [number for number in range(1, self._wanted + 1) if not self._received[number]]
        spider = self._crawler.spider
        self._write(
            {
                "end": {
                    "warm": self._warm,
                    "end": self._end,
                    "lag": self._lags.summary(),
                    "own_lag": self._own_lags.summary(),
                    "failures": failures,
                    "missing": missing,
                    "skipped": getattr(spider, "skipped", {}),
                    "stats": {
                        name: value
                        for name, value in stats.get_stats().items()
                        if isinstance(value, (int, float, str))
                    },
                }
            }
        )
        self._file.close()
        if self._waited is not None:
            self._waited.close()

    async def _nap(self) -> None:
        assert self._waited is not None
        while True:
            before_s, waited_ms = time.perf_counter(), self._waited.ms()
            await asyncio.sleep(_NAP_S)
            lag_ms = max(1000 * (time.perf_counter() - before_s - _NAP_S), 0.0)
            own_lag_ms = max(lag_ms - (self._waited.ms() - waited_ms), 0.0)
            self._lags.add(lag_ms)
            self._own_lags.add(own_lag_ms)
            self._recent_ms.append((lag_ms, own_lag_ms))

    async def _sample(self) -> None:
        due_s = time.monotonic()
        while True:
            due_s = max(due_s + _INTERVAL_S, time.monotonic())
            await asyncio.sleep(due_s - time.monotonic())
            self._write(self._second())
            if self._warm is None and self._pages >= WARM_UP_SHARE * self._wanted:
                self._warm = {}
                # Looking into the buffer takes long; in a thread it holds nobody up for long.
                self._warm = await asyncio.to_thread(self._snapshot)
                if self._trace:
                    self._traced = tracemalloc.take_snapshot()

    def _second(self) -> dict[str, Any]:
        lags_ms = sorted(lag_ms for lag_ms, _ in self._recent_ms) or [0.0]
        own_lag_ms = max((own_ms for _, own_ms in self._recent_ms), default=0.0)
        self._recent_ms.clear()
        stats = self._crawler.stats
        assert stats is not None
        workers = list(descendants())
        return {
            "second": round(time.monotonic() - self._began_s, 2),
            "pages": self._pages,
            "stored": stats.get_value("simhash/new", 0),
            "rss_bytes": rss_bytes("self"),
            "workers": len(workers),
            "workers_rss_bytes": sum(map(rss_bytes, workers)),
            "cpu_s": round(time.process_time(), 2),
            "lag_p99_ms": round(lags_ms[int(0.99 * (len(lags_ms) - 1))], 2),
            "lag_max_ms": round(lags_ms[-1], 2),
            "own_lag_max_ms": round(own_lag_ms, 2),
        }

    def _snapshot(self) -> dict[str, Any]:
        """Memory, and what of it the index holds."""
        return {
            "pages": self._pages,
            "rss_bytes": rss_bytes("self"),
            "workers_rss_bytes": sum(map(rss_bytes, descendants())),
            **index_bytes(),
        }

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
