"""Monitors of Spidermon that read the plugin's stats."""

from spidermon import Monitor, MonitorSuite
from spidermon.contrib.monitors.mixins import StatsMonitorMixin


class Near(Monitor, StatsMonitorMixin):
    def test_few_pages_are_copies(self):
        pages = self.stats["simhash/new"] + self.stats["simhash/near_duplicate"]
        assert self.stats["simhash/near_duplicate"] / pages < 0.5

    def test_the_index_has_the_pages(self):
        assert self.stats["simhash/index/size"] == self.stats["simhash/new"]


class Suite(MonitorSuite):
    monitors = [Near]  # noqa: RUF012 - Spidermon's own form
