"""Crawls that Scrapyd starts, and crawls whose queue is scrapy-redis'."""

import json
import subprocess
import sys
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.crawl.harness import Crawl, child_environment, run
from tests.crawl.pages import put_articles
from tests.crawl.test_switching_on import write_project
from tests.index.redis_servers import free_port, needs_redis
from tests.workers.watching import eventually

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


def test_scrapyd(urls, tmp_path):
    pytest.importorskip("scrapyd", reason="`make test-ecosystem` installs it")
    write_project(tmp_path, SETTINGS)
    port = free_port()
    (tmp_path / "scrapy.cfg").write_text(
        f"[settings]\nshop = shop.settings\n[scrapyd]\nhttp_port = {port}\npoll_interval = 0.1\n"
    )
    path = f"{tmp_path}:{child_environment()['PYTHONPATH']}"
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapyd"], cwd=tmp_path, env=child_environment(PYTHONPATH=path)
    )

    def ask(service, data=None):
        body = None if data is None else urlencode(data).encode()
        try:
            with urlopen(f"http://127.0.0.1:{port}/{service}", body, timeout=30) as answer:
                return json.load(answer)
        except URLError:
            return None

    try:
        eventually(lambda: ask("daemonstatus.json"))
        job = {"project": "shop", "spider": "pages", "urls": " ".join(urls)}
        assert ask("schedule.json", job)["status"] == "ok"
        eventually(lambda: ask("listjobs.json?project=shop")["finished"])
    finally:
        process.terminate()
        process.wait()
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
