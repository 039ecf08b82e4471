"""However a crawl ends, no worker is left, and the index holds what was confirmed."""

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scrapy_simhash import open_index
from scrapy_simhash.commands.main import main as index_command
from tests.crawl.harness import ADDONS, child_environment
from tests.crawl.worker_extractors import OBEDIENT, page_with
from tests.workers.watching import arrived, children_of, eventually, members_of, needs_proc

pytestmark = [needs_proc, pytest.mark.thorough]

SPIDER = """
import logging
from scrapy import Spider


class AnnouncingMiddleware:
    def process_response(self, request, response):
        logging.info("here is %s", response.url)
        return response


class EndSpider(Spider):
    name = "end"
    start_urls = [{url!r}]
    custom_settings = {settings!r} | {{"DOWNLOADER_MIDDLEWARES": {{AnnouncingMiddleware: 50}}}}

    def parse(self, response):
        yield {{"url": response.url}}
        for link in response.css("a.next::attr(href)").getall():
            yield response.follow(link)
"""
HANDLED = 5
HANDLED_PATHS = {f"/{number}" for number in range(HANDLED)}
QUEUED = ("/queued-1", "/queued-2", "/queued-3")
REACTORS = {
    "asyncio": [],
    "select": ["-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"],
    "none": ["-s", "TWISTED_REACTOR_ENABLED=False"],
}
# Long enough to send two signals on a busy machine, and to differ from an immediate end.
TIMEOUT_S = 2
NEVER_S = 300
AT_ONCE_S = 20
BAD = ("Traceback", "Unhandled", "CRITICAL", "never retrieved")


def put_pages(site, *, last, directory=None, barrier=None):
    """Put /0 to /4, each linked by the one before; the last one links to others. Return all paths."""
    links = {f"/{number}": [f"/{number + 1}"] for number in range(HANDLED - 1)}
    links |= {f"/{HANDLED - 1}": last, "/slow": ["/late"]}
    paths = [*sorted(HANDLED_PATHS), "/hanging", *QUEUED, "/slow", "/late"]
    for number, path in enumerate(paths):
        order = f"arrive {directory}" if path == "/hanging" else ""
        body = page_with(order, number=number, links=links.get(path, ()))
        site.put(path, body, barrier=barrier if path in ("/slow", *QUEUED) else None)
    site.hits.clear()
    return paths


def stored(site, directory, paths):
    index = directory / "simhash" / "spiders" / "end"
    assert index_command(["index", "check", "--index", str(index)]) == 0
    with open_index(index, create=False) as opened:
        found = {path for path in paths if opened.entry(site.url(path)) is not None}
        assert len(opened) == len(found)
    return found


@dataclass
class RunningCrawl:
    """A crawl in its own process group, as in a terminal."""

    process: subprocess.Popen[bytes]
    directory: Path

    @property
    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def send(self, number):
        os.killpg(self.process.pid, number)

    def wait_for_jam(self, barrier):
        """Let a page block the worker, with others behind it."""
        eventually(lambda: arrived(self.directory))
        barrier.wait()
        eventually(lambda: all(f"{path}\n" in self.log for path in QUEUED))

    def ends(self, within_s):
        """Return the exit code."""
        code = self.process.wait(within_s)
        eventually(lambda: not members_of(self.process.pid), AT_ONCE_S)
        return code


@contextmanager
def crawling(site, directory, *, timeout_s=TIMEOUT_S, reactor="asyncio"):
    """Crawl from /0 on; killed when the block ends."""
    spider = directory / "end_spider.py"
    settings = {
        "ADDONS": ADDONS,
        "SIMHASH_ENABLED": True,
        "SIMHASH_DIR": str(directory / "simhash"),
        "SIMHASH_EXTRACTOR": OBEDIENT,
        "SIMHASH_TIMEOUT_MS": timeout_s * 1000,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
    }
    spider.write_text(SPIDER.format(url=site.url("/0"), settings=settings))
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "runspider", spider, *REACTORS[reactor]],
            cwd=directory,
            env=child_environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield RunningCrawl(process, directory)
        finally:
            process.kill()
            process.wait()


def assert_graceful(crawl, code, reason):
    assert code == 0
    assert f"Spider closed ({reason})" in crawl.log
    assert "simhash/index/size" in crawl.log
    # Not with two signals: Scrapy 2.15 without a reactor then logs the tasks that it dropped.
    assert "ERROR" not in crawl.log
    assert not [bad for bad in BAD if bad in crawl.log]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal(site, tmp_path, number):
    """The crawl waits for the page in progress, and requests no further one."""
    barrier = threading.Barrier(2, timeout=60)
    paths = put_pages(site, last=["/slow"], barrier=barrier)
    with crawling(site, tmp_path) as crawl:
        eventually(lambda: site.hit("/slow"))
        [_worker] = children_of(crawl.process.pid)
        crawl.send(number)
        eventually(lambda: f"Received {number.name}" in crawl.log)
        barrier.wait()
        assert_graceful(crawl, crawl.ends(AT_ONCE_S), "shutdown")
        assert "simhash/workers_replaced" not in crawl.log
    assert stored(site, tmp_path, paths) >= HANDLED_PATHS
    assert not site.hit("/late")


@pytest.mark.parametrize("reactor", ["asyncio", "none"])
def test_a_signal_while_a_page_hangs(site, tmp_path, reactor):
    """The crawl waits until the time-out; the pages behind are not lost."""
    barrier = threading.Barrier(1 + len(QUEUED), timeout=60)
    paths = put_pages(site, last=["/hanging", *QUEUED], directory=tmp_path, barrier=barrier)
    with crawling(site, tmp_path, reactor=reactor) as crawl:
        crawl.wait_for_jam(barrier)
        crawl.send(signal.SIGINT)
        assert_graceful(crawl, crawl.ends(TIMEOUT_S + AT_ONCE_S), "shutdown")
        assert "'simhash/skipped/timeout': 1" in crawl.log
        assert "'simhash/workers_replaced': 1" in crawl.log
    assert stored(site, tmp_path, paths) == HANDLED_PATHS | {*QUEUED}


@pytest.mark.parametrize("reactor", REACTORS)
def test_two_signals_while_a_page_hangs(site, tmp_path, reactor):
    """The crawl waits neither for the page nor for those behind it."""
    barrier = threading.Barrier(1 + len(QUEUED), timeout=60)
    paths = put_pages(site, last=["/hanging", *QUEUED], directory=tmp_path, barrier=barrier)
    with crawling(site, tmp_path, timeout_s=NEVER_S, reactor=reactor) as crawl:
        crawl.wait_for_jam(barrier)
        [_worker] = children_of(crawl.process.pid)
        crawl.send(signal.SIGINT)
        eventually(lambda: "shutting down gracefully" in crawl.log)
        crawl.send(signal.SIGINT)
        crawl.ends(AT_ONCE_S)
        assert "Received SIGINT twice" in crawl.log
        assert not [bad for bad in BAD if bad in crawl.log]
        assert not re.search(r"\[scrapy_simhash\S*\] (?!INFO)", crawl.log)
    assert stored(site, tmp_path, paths) == HANDLED_PATHS
