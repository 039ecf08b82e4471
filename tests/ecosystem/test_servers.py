"""Crawls that Scrapyd starts, and crawls whose queue is scrapy-redis'."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.crawl.harness import Crawl, child_environment, run
from tests.crawl.pages import put_articles
from tests.crawl.test_switching_on import write_project
from tests.index.redis_servers import free_port, needs_redis

pytestmark = pytest.mark.thorough
SETTINGS = """
SPIDER_MODULES = ["shop.spider"]
ADDONS = {"scrapy_simhash.Addon": 500}
SIMHASH_ENABLED = True
SIMHASH_REPORT = "report.html"
CONCURRENT_REQUESTS = 1
FEEDS = {"items.jsonl": {"format": "jsonlines"}}
"""


@pytest.fixture(scope="module")
def urls(site):
    return put_articles(site, "/mill mill", "/copy mill 1", "/bees bees")


def eventually(condition, process):
    """Return the first true value of a condition, as long as the process runs."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, process.stdout.read()
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("not within two minutes")


@contextmanager
def scrapyd(directory):
    """Run Scrapyd in a project; yields a function that asks it."""
    port = free_port()
    (directory / "scrapy.cfg").write_text(
        f"[settings]\nshop = shop.settings\n[scrapyd]\nhttp_port = {port}\npoll_interval = 0.1\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapyd"],
        cwd=directory,
        env=child_environment()
        | {"PYTHONPATH": f"{directory}:{child_environment()['PYTHONPATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def ask(service, data=None):
        body = None if data is None else urlencode(data).encode()
        try:
            with urlopen(f"http://127.0.0.1:{port}/{service}", body, timeout=30) as answer:
                return json.load(answer)
        except URLError:
            return None

    try:
        eventually(lambda: ask("daemonstatus.json"), process)
        yield ask, process
    finally:
        process.terminate()
        process.communicate()


def test_scrapyd(urls, tmp_path):
    pytest.importorskip("scrapyd", reason="`make test-ecosystem` installs it")
    write_project(tmp_path, SETTINGS)
    with scrapyd(tmp_path) as (ask, process):
        job = {"project": "shop", "spider": "pages", "urls": " ".join(urls)}
        assert ask("schedule.json", job)["status"] == "ok"
        eventually(lambda: ask("listjobs.json?project=shop")["finished"], process)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [item["url"] for item in items] == [urls[0], urls[2]]
    [log] = tmp_path.glob("logs/shop/pages/*.log")
    assert "1 near-duplicates" in log.read_text()
    assert (tmp_path / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").exists()
    assert (tmp_path / "report.html").exists()


@needs_redis
def test_scrapy_redis(urls, redis_server, tmp_path):
    pytest.importorskip("scrapy_redis", reason="`make test-ecosystem` installs it")
    settings = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "REDIS_URL": redis_server.url,
        "SIMHASH_INDEX": "redis",
        "SIMHASH_INCREMENTAL": True,
    }
    first, second = run(tmp_path, Crawl(urls[:1], settings), Crawl(urls[1:], settings))
    assert first.seen() == ["/mill"], first.log
    assert second.seen() == ["/bees"], second.log
    assert second.stat("near_duplicate") == 1
    assert second.stats["scheduler/enqueued/redis"] == 2
