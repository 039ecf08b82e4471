"""Spidermon monitors for the counts of a crawl (`scrapy_simhash.crawl.health`).

    SPIDERMON_SPIDER_CLOSE_MONITORS = ["scrapy_simhash.monitors.SimhashMonitorSuite"]

Spidermon imports this file; it needs the extra ``spidermon``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spidermon import Monitor, MonitorSuite

from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.health import CrawlHealth, NotJudged

if TYPE_CHECKING:
    from collections.abc import Callable


class _HealthMonitor(Monitor):  # type: ignore[misc]
    def check(self, find: Callable[[CrawlHealth], str]) -> None:
        """Fail if `find` returns a problem. Skip the test if the crawl was not judged."""
        extension = self.data.crawler.get_extension(SimhashExtension)
        if extension is None:
            self.skipTest("SIMHASH_ENABLED is off")
        try:
            if problem := find(extension.health(self.data.stats)):
                self.fail(problem)
        except NotJudged as reason:
            self.skipTest(str(reason))


class NearDuplicatesMonitor(_HealthMonitor):
    """Near-duplicates of all pages, of each site and URL pattern, and compared with before."""

    def test_few_near_duplicates(self) -> None:
        """Compare shares of all pages and of each site with SIMHASH_MONITOR_MAX_NEAR_DUPLICATES."""
        self.check(CrawlHealth.near_duplicates)

    def test_few_pages_of_a_url_pattern_are_alike(self) -> None:
        """Compare shares of URL patterns with SIMHASH_MONITOR_MAX_NEAR_DUPLICATES."""
        self.check(CrawlHealth.url_patterns)

    def test_as_many_near_duplicates_as_before(self) -> None:
        """Compare the change since the last crawl with SIMHASH_MONITOR_MAX_CHANGE."""
        self.check(CrawlHealth.change)

    def test_no_floods(self) -> None:
        """Compare the flooded pages with SIMHASH_MONITOR_MAX_FLOODED."""
        self.check(CrawlHealth.floods)


class PagesMonitor(_HealthMonitor):
    """Pages: they have a text, and are no error pages."""

    def test_pages_have_a_text(self) -> None:
        """Compare the share without a text with SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS."""
        self.check(CrawlHealth.extraction)

    def test_few_error_pages(self) -> None:
        """Compare the share of error pages with SIMHASH_MONITOR_MAX_ERROR_PAGES."""
        self.check(CrawlHealth.error_pages)


class IndexMonitor(_HealthMonitor):
    """The index of the crawl."""

    def test_the_index_did_not_fail(self) -> None:
        """Fail if the index was not open, or reported an error."""
        self.check(CrawlHealth.index)


class SimhashMonitorSuite(MonitorSuite):  # type: ignore[misc]
    """All monitors, for the end of a crawl."""

    monitors = (NearDuplicatesMonitor, PagesMonitor, IndexMonitor)
