"""Spidermon sees the plugin's stats when the spider closes, and AutoThrottle its responses."""

from __future__ import annotations

import re

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


SUITE = {
    "SPIDERMON_ENABLED": True,
    "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
    "SPIDERMON_SPIDER_CLOSE_MONITORS": ["scrapy_simhash.monitors.SimhashMonitorSuite"],
    "SIMHASH_MONITOR_MIN_PAGES": 3,
}


def outcomes(result) -> dict[str, str]:
    """Return test of Spidermon → OK, FAIL, SKIPPED or ERROR."""
    found = (re.search(r"Monitor/test_(\w+)\.\.\. (\w+)", line) for line in result.log.splitlines())
    return {match[1]: match[2] for match in found if match}


@pytest.fixture(scope="module")
def monitored(site, module_path):
    """Crawl five pages, then the same ones as copies of each other, then broken ones."""
    pytest.importorskip("spidermon", reason="`make test-ecosystem` installs it")
    names = ("mill", "bees", "paper", "tram", "ice")
    urls = [site.put(f"/page/{name}", page(name)) for name in names]
    [first] = run(module_path, Crawl(requests=urls, settings=SUITE))
    for number, name in enumerate(names):
        site.put(f"/page/{name}", page("clock", copy=number or None))
    flood = SUITE | {"SIMHASH_CLUSTER_LIMIT": 2}
    broken = [site.put(f"/broken/{number}", "<html><body></body></html>") for number in range(3)]
    few = SUITE | {"SIMHASH_MONITOR_MIN_PAGES": 100}
    off = SUITE | {"SIMHASH_ENABLED": False}
    return [
        first,
        *run(
            module_path,
            Crawl(requests=urls, settings=flood),
            Crawl(requests=broken, settings=SUITE, name="broken"),
            Crawl(requests=urls, settings=few, name="few"),
            Crawl(requests=urls, settings=off, name="off"),
        ),
    ]


def test_a_good_crawl_passes(monitored):
    assert outcomes(monitored[0]) == {
        "few_near_duplicates": "OK",
        "few_pages_of_a_url_pattern_are_alike": "OK",
        "as_many_near_duplicates_as_before": "SKIPPED",
        "no_floods": "OK",
        "pages_have_a_text": "OK",
        "few_error_pages": "OK",
        "the_index_did_not_fail": "OK",
    }, monitored[0].log
    assert monitored[0].lines("no earlier crawl is known")


def test_copies_and_floods_fail(monitored):
    assert outcomes(monitored[1]) == {
        "few_near_duplicates": "FAIL",
        "few_pages_of_a_url_pattern_are_alike": "FAIL",
        "as_many_near_duplicates_as_before": "FAIL",
        "no_floods": "FAIL",
        "pages_have_a_text": "OK",
        "few_error_pages": "OK",
        "the_index_did_not_fail": "OK",
    }, monitored[1].log
    assert monitored[1].lines("80% of 5 pages of all sites are near-duplicates")
    assert monitored[1].lines("0% were in the crawl before")
    assert monitored[1].lines("4 of 5 pages of 127.0.0.1", "are like each other")
    assert monitored[1].lines("pages beyond SIMHASH_CLUSTER_LIMIT: 2")


def test_a_failing_extraction_fails(monitored):
    found = outcomes(monitored[2])
    assert (found["pages_have_a_text"], found["few_error_pages"]) == ("FAIL", "SKIPPED")
    assert monitored[2].lines("3 of 3 pages have no text")


def test_too_few_pages_and_a_crawl_without_the_plugin_are_skipped(monitored):
    few, off = map(outcomes, monitored[3:])
    assert few.pop("no_floods") == few.pop("the_index_did_not_fail") == "OK"
    assert few.pop("few_pages_of_a_url_pattern_are_alike") == "OK"
    assert set(few.values()) == set(off.values()) == {"SKIPPED"}
    assert len(off) == 7


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
