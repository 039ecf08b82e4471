"""Crawls of the demo site that are killed, and crawls on the same index that finish."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from example.demosite.scoring import families_of

from tests.crawl.harness import child_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from example.demosite import DemoServer, Site
    from scrapy.crawler import Crawler

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 8
DEADLINE_S = 180
SETTINGS = (
    'ITEM_PIPELINES={"tests.example.killed_crawls.FlushingPipeline": 900}',
    "DOWNLOAD_DELAY=0",
    f"CONCURRENT_REQUESTS_PER_DOMAIN={CONCURRENCY}",
    "DEPTH_LIMIT=6",  # the calendar has no end
    "LOG_LEVEL=ERROR",
    "TELNETCONSOLE_ENABLED=False",
)


class FlushingPipeline:
    """Writes each item to FLUSHED_ITEMS, as a line of JSON, before its page is confirmed."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - for the whole crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FlushingPipeline:
        return cls(crawler.settings["FLUSHED_ITEMS"])

    def process_item(self, item: Any) -> Any:
        self._file.write(json.dumps(item) + "\n")
        self._file.flush()
        return item

    def close_spider(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class Moment:
    """When a crawl is killed: some time after so many items were flushed.

    :param items: with none, the time is counted from the making of the index.
    :param workers: SIMHASH_WORKERS of the crawl that is killed.
    :param workers_after: those of the next.
    """

    items: int
    delay_s: float
    workers: int
    workers_after: int


def moments(seed: int, count: int, most_items: int) -> list[Moment]:
    """Return random moments, one in each part of a crawl."""
    rng = random.Random(seed)
    bounds = [part * most_items // count for part in range(count + 1)]
    return [
        Moment(rng.randrange(low, high), rng.uniform(0, 0.12), rng.randrange(2), rng.randrange(2))
        for low, high in pairwise(bounds)
    ]


@dataclass(frozen=True)
class Outcome:
    """The content that the killed crawl kept, and the next one."""

    moment: Moment
    killed: bool
    before: set[str]
    after: set[str]


class Crawls:
    """Crawls on one index.

    :param settings: of all of them.
    """

    def __init__(self, server: DemoServer, directory: Path, settings: Sequence[str]) -> None:
        self._server = server
        self._directory = directory
        self._settings = settings
        self.index = directory / "simhash" / "spiders" / "site"
        directory.mkdir(parents=True)

    def whole(self, *, workers: int = 0) -> set[str]:
        """Return the content that a crawl keeps if it is not killed."""
        items = self._directory / "whole.jsonl"
        with self._started(items, workers) as process:
            assert process.wait(DEADLINE_S) == 0
        return self._families(items)

    def killed(self, moment: Moment) -> Outcome:
        """Kill a crawl, and start it again."""
        items = self._directory / "killed.jsonl"
        with self._started(items, moment.workers) as process:
            latest = time.monotonic() + DEADLINE_S
            while process.poll() is None and not self._has_come(moment, items):
                assert time.monotonic() < latest
                time.sleep(0.001)
            time.sleep(moment.delay_s)  # any moment will do
            process.kill()
            killed = process.wait() == -signal.SIGKILL
            before = self._families(items)
            after = self.whole(workers=moment.workers_after)
        return Outcome(moment, killed, before, after)

    def _has_come(self, moment: Moment, items: Path) -> bool:
        if not moment.items:
            return (self.index / "manifest.json").exists()
        return items.exists() and items.read_bytes().count(b"\n") >= moment.items

    def _families(self, items: Path) -> set[str]:
        if not items.exists():
            return set()
        # An incomplete last line does not count.
        lines = items.read_text(encoding="utf-8").split("\n")[:-1]
        site: Site = self._server.site
        return families_of(site, [json.loads(line)["url"] for line in lines])

    @contextmanager
    def _started(self, items: Path, workers: int) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "scrapy", "crawl", "site"]
        command += ["-a", f"url={self._server.start_urls}"]
        for setting in (
            *SETTINGS,
            f"FLUSHED_ITEMS={items}",
            f"SIMHASH_DIR={self._directory / 'simhash'}",
            f"SIMHASH_WORKERS={workers}",
            *self._settings,
        ):
            command += ["-s", setting]
        process = subprocess.Popen(
            command,
            cwd=ROOT / "example_project",
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
