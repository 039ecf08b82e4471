"""Spidermon sees the plugin's stats when the spider closes, and AutoThrottle its responses."""

from __future__ import annotations

import pytest

from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def urls(site):
    return [
        site.put("/mill", page("mill")),
        site.put("/copy", page("mill", copy=1)),
        site.put("/bees", page("bees")),
    ]


def test_spidermon(urls, tmp_path):
    pytest.importorskip("spidermon", reason="`make test-ecosystem` installs it")
    settings = {
        "SPIDERMON_ENABLED": True,
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_SPIDER_CLOSE_MONITORS": ["tests.ecosystem.monitors.Suite"],
    }
    few, many = run(
        tmp_path,
        Crawl(requests=urls, settings=settings, name="few"),
        Crawl(requests=urls[:2], settings=settings, name="many"),
    )
    assert few.lines("test_few_pages_are_copies... OK"), few.log
    assert many.lines("test_few_pages_are_copies... FAIL"), many.log
    for result in (few, many):
        assert result.lines("test_the_index_has_the_pages... OK"), result.log


def test_autothrottle(urls, tmp_path):
    settings = {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_DEBUG": True,
        "AUTOTHROTTLE_START_DELAY": 0,
        "AUTOTHROTTLE_MAX_DELAY": 0.01,
    }
    [result] = run(tmp_path, Crawl(requests=urls, settings=settings))
    assert result.seen() == ["/mill", "/bees"]
    # Dropped pages count, too: the site had to answer them.
    assert len(result.lines("slot: ", "latency")) == len(urls)
