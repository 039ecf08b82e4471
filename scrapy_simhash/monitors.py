"""Spidermon monitors for the counts of a crawl (`scrapy_simhash.crawl.health`).

    SPIDERMON_SPIDER_CLOSE_MONITORS = ["scrapy_simhash.monitors.SimhashMonitorSuite"]

This module needs the extra ``spidermon``.
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
        """Fail if `find` returns a problem. Skip the test if it cannot judge the crawl."""
        extension = self.data.crawler.get_extension(SimhashExtension)
        if extension is None:
            self.skipTest("SIMHASH_ENABLED is off")
        try:
            if problem := find(extension.health(self.data.stats)):
                self.fail(problem)
        except NotJudged as reason:
            self.skipTest(str(reason))


class NearDuplicatesMonitor(_HealthMonitor):
    """Monitors of the share of near-duplicates, its change since the last crawl, and floods."""

    def test_few_near_duplicates(self) -> None:
        """Fail if too many pages of the crawl, or of one site, are near-duplicates.

        The limit is SIMHASH_MONITOR_MAX_NEAR_DUPLICATES.
        """
        self.check(CrawlHealth.near_duplicates)

    def test_few_pages_of_a_url_pattern_are_alike(self) -> None:
        """Fail if too many pages of one URL pattern are near others of the pattern.

        The limit is SIMHASH_MONITOR_MAX_NEAR_DUPLICATES.
        """
        self.check(CrawlHealth.url_patterns)

    def test_as_many_near_duplicates_as_before(self) -> None:
        """Fail if the share in the crawl or in one site changed by more than
        SIMHASH_MONITOR_MAX_CHANGE.
        """
        self.check(CrawlHealth.change)

    def test_no_floods(self) -> None:
        """Fail if more than SIMHASH_MONITOR_MAX_FLOODED pages passed because of floods."""
        self.check(CrawlHealth.floods)


class PagesMonitor(_HealthMonitor):
    """Monitors of pages without a text, and of error pages."""

    def test_pages_have_a_text(self) -> None:
        """Fail if more pages have no text than SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS allows."""
        self.check(CrawlHealth.extraction)

    def test_few_error_pages(self) -> None:
        """Fail if there are more error pages than SIMHASH_MONITOR_MAX_ERROR_PAGES allows."""
        self.check(CrawlHealth.error_pages)


class IndexMonitor(_HealthMonitor):
    """A monitor of the indexes of the crawl."""

    def test_the_index_did_not_fail(self) -> None:
        """Fail if another process used an index, or if an index was unreachable or failed."""
        self.check(CrawlHealth.index)


class SimhashMonitorSuite(MonitorSuite):  # type: ignore[misc]
    """All monitors of this module, for the end of a crawl."""

    monitors = (NearDuplicatesMonitor, PagesMonitor, IndexMonitor)
