"""The log knows a dropped page, whatever happened to its crawl."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from scrapy_simhash.maintenance.explain import stored_about
from scrapy_simhash.maintenance.sources import opened_index
from tests.crawl.harness import child_environment
from tests.crawl.pages import page

SCRIPT = """
import os, signal, sys
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

class DyingSpider(Spider):
    name = "dying"

    async def start(self):
        for url in sys.argv[2:]:
            yield Request(url, errback=self.dropped)

    def parse(self, response):
        yield {"url": response.url}

    def dropped(self, failure):
        os.kill(os.getpid(), signal.SIGKILL)

process = AsyncCrawlerProcess({
    "ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_ENABLED": True, "SIMHASH_DIR": sys.argv[1],
    "CONCURRENT_REQUESTS": 1, "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING", "SIMHASH_WORKERS": 0,
})
process.crawl(DyingSpider)
process.start()
"""


@pytest.mark.thorough
def test_the_log_has_a_dropped_page_though_the_process_dies_at_once(site, tmp_path):
    original, copy = site.put("/mill", page("mill")), site.put("/copy", page("mill", copy=1))
    child = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path, original, copy],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    directory = tmp_path / "spiders" / "dying"
    with opened_index(directory) as index:
        _, [line] = stored_about(index, copy)
        _, of_original = stored_about(index, original)
    assert (line.representative, line.confirmed) == (original, True)
    assert line.action == "dropped"
    assert line.similarity > 0.9
    assert 0 < line.distance <= 36
    assert line.fingerprint.bit_count() > 0
    assert of_original == [line]
