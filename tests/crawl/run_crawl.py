"""Runs crawls in a process of their own: ``python -m tests.crawl.run_crawl scenario.json out.json``.

The scenario names a process class and groups of crawls: groups run one after the other, the
crawls of a group at once. What happened is written as JSON, one result per crawl; see
`tests.crawl.harness`.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.settings.default_settings import TWISTED_REACTOR
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor

LOG_FORMAT = "%(levelname)s [%(name)s] %(message)s"


class Recorder:
    """Listens to one crawl."""

    def __init__(self, crawler: Crawler, log: io.StringIO) -> None:
        self._crawler = crawler
        self._log = log
        self._spider: Any = None
        self.items: list[dict[str, Any]] = []
        self.dropped: list[dict[str, Any]] = []
        self.item_errors: list[str] = []
        self.finish_reason: str | None = None
        self.error: dict[str, str] | None = None
        for signal, handler in (
            (signals.spider_opened, self.spider_opened),
            (signals.spider_closed, self.spider_closed),
            (signals.item_scraped, self.item_scraped),
            (signals.item_dropped, self.item_dropped),
            (signals.item_error, self.item_error),
        ):
            crawler.signals.connect(handler, signal=signal)

    def spider_opened(self, spider: Any) -> None:
        self._spider = spider

    def spider_closed(self, spider: Any, reason: str) -> None:
        self.finish_reason = reason

    def item_scraped(self, item: Any) -> None:
        self.items.append(_plain_item(item))

    def item_dropped(self, item: Any, exception: Exception) -> None:
        self.dropped.append({"item": _plain_item(item), "exception": type(exception).__name__})

    def item_error(self, failure: Any) -> None:
        self.item_errors.append(repr(failure.value))

    def failed(self, error: BaseException) -> None:
        self.error = {"type": type(error).__name__, "message": str(error)}

    def result(self) -> dict[str, Any]:
        stats = None
        with suppress(RuntimeError):  # newer Scrapys raise if the crawl did not get that far
            stats = self._crawler.stats
        return {
            "events": getattr(self._spider, "events", []),
            "items": self.items,
            "dropped": self.dropped,
            "item_errors": self.item_errors,
            "stats": {} if stats is None else stats.get_stats(),
            "finish_reason": self.finish_reason,
            "error": self.error,
            "log": self._log.getvalue(),
        }


class Run:
    """Groups of crawls in one process."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self._groups = scenario["groups"]
        process_class = {
            "AsyncCrawlerProcess": AsyncCrawlerProcess,
            "CrawlerProcess": CrawlerProcess,
        }[scenario["process"]]
        settings = scenario["process_settings"]
        if process_class is CrawlerProcess:
            install_reactor(settings.get("TWISTED_REACTOR", TWISTED_REACTOR))
        self._process_settings = settings
        self._process: Any = process_class(Settings(settings))
        self._recorders: list[Recorder] = []
        self._handler: logging.Handler | None = None

    def results(self) -> list[dict[str, Any]]:
        self._next_group()
        self._process.start()
        return [recorder.result() for recorder in self._recorders]

    def _next_group(self) -> None:
        if not self._groups:
            return
        group = self._groups.pop(0)
        log = self._new_log()
        running = len(group)

        def done(recorder: Recorder, error: BaseException | None) -> None:
            nonlocal running
            if error is not None:
                recorder.failed(error)
            running -= 1
            if not running:
                self._next_group()

        for crawl in group:
            crawler = Crawler(
                _spider_class(crawl), Settings(self._process_settings | crawl["settings"])
            )
            recorder = Recorder(crawler, log)
            self._recorders.append(recorder)
            task = self._process.crawl(crawler, **crawl["arguments"])
            if isinstance(self._process, AsyncCrawlerProcess):
                task.add_done_callback(lambda task, r=recorder: done(r, task.exception()))
            else:
                task.addCallbacks(
                    lambda _, r=recorder: done(r, None),
                    lambda failure, r=recorder: done(r, failure.value),
                )

    def _new_log(self) -> io.StringIO:
        root = logging.getLogger()
        if self._handler is not None:
            root.removeHandler(self._handler)
        log = io.StringIO()
        self._handler = logging.StreamHandler(log)
        self._handler.setLevel(logging.INFO)
        self._handler.setFormatter(logging.Formatter(LOG_FORMAT))
        root.addHandler(self._handler)
        return log


def _spider_class(crawl: dict[str, Any]) -> type:
    spider_class = load_object(crawl["spider"])
    attributes: dict[str, Any] = {"name": crawl["name"]}
    if crawl["custom_settings"] is not None:
        attributes["custom_settings"] = crawl["custom_settings"]
    return type(spider_class.__name__, (spider_class,), attributes)


def _plain_item(item: Any) -> dict[str, Any]:
    if not ItemAdapter.is_item(item):
        return {"object": type(item).__name__}
    return ItemAdapter(item).asdict()


def _as_json(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else repr(value)


def main(scenario_path: str, result_path: str) -> None:
    scenario = json.loads(Path(scenario_path).read_text(encoding="utf-8"))
    # A crawl that waits while it is idle looks again after this time, not after 5 s.
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1
    if scenario["setup"] is not None:
        load_object(scenario["setup"])()
    run = Run(scenario)
    outcome = {
        "crawls": run.results(),
        "modules": [name for name in ("jieba", "plyvel", "readability") if name in sys.modules],
    }
    # Lone surrogates survive as escapes.
    Path(result_path).write_text(json.dumps(outcome, default=_as_json), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
