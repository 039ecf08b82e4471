"""Runs crawls in a process of their own: ``python -m tests.crawl.run_crawl scenario.json out.json``.

The scenario names a process class and groups of crawls: groups run one after the other, the
crawls of a group at once. What happened is written as JSON, one result per crawl; see
`tests.crawl.harness`.
"""

import asyncio
import io
import json
import logging
import sys
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.settings.default_settings import TWISTED_REACTOR
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import Deferred

PROCESSES = {one.__name__: one for one in (AsyncCrawlerProcess, CrawlerProcess)}
LOG_FORMAT = "%(levelname)s [%(name)s] %(message)s"


class Recorder:
    """Listens to one crawl."""

    def __init__(self, crawler, log):
        self._crawler = crawler
        self._log = log
        self._spider = None
        self._told = {"items": [], "dropped": [], "item_errors": []}
        self._told |= {"finish_reason": None, "error": None}
        for name in (
            "spider_opened",
            "spider_closed",
            "item_scraped",
            "item_dropped",
            "item_error",
        ):
            crawler.signals.connect(getattr(self, name), signal=getattr(signals, name))

    def spider_opened(self, spider):
        self._spider = spider

    def spider_closed(self, spider, reason):
        self._told["finish_reason"] = reason

    def item_scraped(self, item):
        self._told["items"].append(_plain_item(item))

    def item_dropped(self, item, exception):
        dropped = {"item": _plain_item(item), "exception": type(exception).__name__}
        self._told["dropped"].append(dropped)

    def item_error(self, failure):
        self._told["item_errors"].append(repr(failure.value))

    def ended(self, failure):
        if failure is not None:
            error = failure.value
            self._told["error"] = {"type": type(error).__name__, "message": str(error)}

    def result(self):
        stats = None
        with suppress(RuntimeError):  # newer Scrapys raise if the crawl did not get that far
            stats = self._crawler.stats
        return self._told | {
            "events": getattr(self._spider, "events", []),
            "stats": {} if stats is None else stats.get_stats(),
            "log": self._log.getvalue(),
        }


class Run:
    """Groups of crawls in one process."""

    def __init__(self, scenario):
        self._groups = scenario["groups"]
        self._settings = settings = scenario["process_settings"]
        if scenario["process"] == "CrawlerProcess":
            install_reactor(settings.get("TWISTED_REACTOR", TWISTED_REACTOR))
        self._process = PROCESSES[scenario["process"]](Settings(settings))
        self._recorders = []
        self._handler = logging.StreamHandler()

    def results(self):
        self._next_group()
        self._process.start()
        return [recorder.result() for recorder in self._recorders]

    def _next_group(self):
        if not self._groups:
            return
        group = self._groups.pop(0)
        log = self._new_log()
        running = len(group)

        def done(failure, recorder):
            nonlocal running
            recorder.ended(failure)
            running -= 1
            if not running:
                self._next_group()

        for crawl in group:
            crawler = Crawler(_spider_class(crawl), Settings(self._settings | crawl["settings"]))
            recorder = Recorder(crawler, log)
            self._recorders.append(recorder)
            crawling = self._process.crawl(crawler, **crawl["arguments"])
            if isinstance(crawling, asyncio.Task):
                crawling = Deferred.fromFuture(crawling)
            crawling.addBoth(done, recorder)

    def _new_log(self):
        log = io.StringIO()
        logging.getLogger().removeHandler(self._handler)
        self._handler = logging.StreamHandler(log)
        self._handler.setLevel(logging.INFO)
        self._handler.setFormatter(logging.Formatter(LOG_FORMAT))
        logging.getLogger().addHandler(self._handler)
        return log


def _spider_class(crawl):
    spider_class = load_object(crawl["spider"])
    attributes = {"name": crawl["name"]}
    if crawl["custom_settings"] is not None:
        attributes["custom_settings"] = crawl["custom_settings"]
    return type(spider_class.__name__, (spider_class,), attributes)


def _plain_item(item):
    if not ItemAdapter.is_item(item):
        return {"object": type(item).__name__}
    return ItemAdapter(item).asdict()


def _as_json(value):
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else repr(value)


def main(scenario_path, result_path):
    scenario = json.loads(Path(scenario_path).read_text(encoding="utf-8"))
    # A crawl that waits while it is idle looks again after this time, not after 5 s.
    ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.1
    if scenario["setup"] is not None:
        load_object(scenario["setup"])()
    # Lone surrogates survive as escapes.
    results = json.dumps(Run(scenario).results(), default=_as_json)
    Path(result_path).write_text(results, encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
