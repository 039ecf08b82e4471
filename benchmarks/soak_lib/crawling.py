"""The crawl, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy.http import TextResponse


class Task(NamedTuple):
    """The job of one crawl.

    :param url: of the site.
    :param directory: where its index and its log go.
    :param report: a file to which it adds lines of JSON.
    :param action: ``drop`` or ``tag``; ``off`` crawls without the plugin.
    :param workers: None for the default.
    """

    url: str
    pages: int
    directory: str
    report: str
    action: str
    workers: int | None
    concurrency: int
    trace: bool


class SoakSpider(Spider):
    """Requests one page after the other."""

    name = "soak"
    url = ""
    pages = 0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.skipped: defaultdict[str, list[int]] = defaultdict(list)

    async def start(self) -> AsyncIterator[Request]:
        """Yield a request when there is room; 100,000 at once would fill the memory."""
        for number in range(1, self.pages + 1):
            if self.crawler.engine is not None and self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            yield Request(f"{self.url}/{number}")

    def parse(self, response: TextResponse) -> Iterator[dict[str, Any]]:
        """Yield an item for each page that passes."""
        number = int(response.url.rsplit("/", 1)[1])
        verdict = response.meta.get("simhash") or {}
        if verdict.get("kind") == "skipped":
            self.skipped[verdict["reason"]].append(number)
        yield {"number": number, "title": response.css("title::text").get()}


def settings_of(task: Task) -> dict[str, Any]:
    """Return the settings of a crawl."""
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": task.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": task.concurrency,
        # Twisted keeps timers that were cancelled until their time has come: at Scrapy's 180 s,
        # those of 50,000 pages, which is what would grow.
        "DOWNLOAD_TIMEOUT": 15,
        "EXTENSIONS": {"soak_lib.sampling.Sampler": 900},
        "LOG_FILE": f"{task.directory}/crawl.log",
        "LOG_LEVEL": "INFO",
        "MEMUSAGE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "SOAK_FILE": task.report,
        "SOAK_PAGES": task.pages,
        "SOAK_TRACE": task.trace,
    }
    if task.action != "off":
        settings |= {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "SIMHASH_ENABLED": True,
            "SIMHASH_ACTION": task.action,
            "SIMHASH_DIR": f"{task.directory}/simhash",
        }
        if task.workers is not None:
            settings["SIMHASH_WORKERS"] = task.workers
    return settings


def run(script: Path, task: Task) -> None:
    """Crawl in a new process. :raises subprocess.CalledProcessError: it failed.

    :param script: the one that calls `main`.
    """
    command = [sys.executable, str(script), "--crawl", json.dumps(task)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def main(task: Task) -> None:
    """Crawl."""
    process = AsyncCrawlerProcess(settings_of(task))
    process.crawl(SoakSpider, url=task.url, pages=task.pages)
    process.start()
