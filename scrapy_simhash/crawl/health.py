"""Judge a crawl by its near-duplicates, floods, extraction failures, error pages and index errors.

`scrapy_simhash.monitors` shows the findings to Spidermon.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.escaping import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_simhash.crawl.settings_reader import SettingsReader
    from scrapy_simhash.index.history import CrawlRow, PageCounts
    from scrapy_simhash.url_patterns import PatternCount

MONITOR_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "SIMHASH_MONITOR_MIN_PAGES": 100,
        "SIMHASH_MONITOR_MAX_NEAR_DUPLICATES": 0.5,
        "SIMHASH_MONITOR_MAX_CHANGE": 0.2,
        "SIMHASH_MONITOR_MAX_FLOODED": 0,
        "SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS": 0.05,
        "SIMHASH_MONITOR_MAX_ERROR_PAGES": 0.1,
    }
)
_MAX_SHOWN_FINDINGS = 5
_FAILED_EXTRACTIONS = ("no_text", "extraction_error", "timeout", "worker_died")


def read_limits(read: SettingsReader) -> Mapping[str, Any]:
    """Return the SIMHASH_MONITOR_* settings by name. :raises SettingsError: one is invalid."""
    lowest = {"SIMHASH_MONITOR_MIN_PAGES": 1, "SIMHASH_MONITOR_MAX_FLOODED": 0}
    whole_numbers = {name: read.whole(name, low, 1 << 32) for name, low in lowest.items()}
    shares = {name: read.share(name) for name in MONITOR_SETTINGS if name not in lowest}
    return shares | whole_numbers


class NotJudged(Exception):
    """The reason why a crawl cannot be judged, such as too few pages."""


@dataclass(frozen=True)
class CrawlHealth:
    """The counts of a crawl, with a method for each check.

    A check returns its findings as text, which is empty if nothing is wrong. It raises `NotJudged`
    if the counts that it needs are missing, or if there are too few pages for a share.

    :param limits: the settings of `read_limits` by name.
    :param stats: Scrapy's stats; a missing one counts as zero.
    :param crawl: counts of the crawl, or of this process if the crawl has several or was resumed;
        None if no index of pages was open, or its history failed.
    :param previous: the last earlier crawl that finished (finish reason ``finished``), or None.
    :param patterns: URL patterns whose pages may share a template.
    """

    limits: Mapping[str, Any]
    stats: Mapping[str, Any]
    crawl: CrawlRow | None
    previous: CrawlRow | None
    patterns: Sequence[PatternCount]

    def near_duplicates(self) -> str:
        """Find shares of near-duplicates that are too high, among all pages or those of a site."""
        limit = "SIMHASH_MONITOR_MAX_NEAR_DUPLICATES"
        high = [
            f"{_share(now):.0%} of {now.judged:,} pages of {where} are near-duplicates"
            for where, now, _ in self._counts()
            if _share(now) > self.limits[limit]
        ]
        return _joined(high, limit)

    def url_patterns(self) -> str:
        """Find URL patterns with too many pages that are near-duplicates or similar to others."""
        limit = "SIMHASH_MONITOR_MAX_NEAR_DUPLICATES"
        high = [
            f"{alike:,} of {pages:,} pages of {printable(pattern)} are like each other"
            for pattern, pages, alike, *_ in self.patterns
            if alike > self.limits[limit] * pages
        ]
        return _joined(high, limit)

    def change(self) -> str:
        """Find shares of near-duplicates that differ too much from those of the crawl before."""
        if self.previous is None and self.crawl is not None:
            raise NotJudged("no earlier crawl is known that ended by itself")
        limit = "SIMHASH_MONITOR_MAX_CHANGE"
        changed = [
            f"{_share(now):.0%} of the pages of {where} are near-duplicates, and "
            f"{_share(before):.0%} were in the crawl before"
            for where, now, before in self._counts()
            if before is not None
            and before.judged >= self._min_pages
            and abs(_share(now) - _share(before)) > self.limits[limit]
        ]
        return _joined(changed, limit)

    def floods(self) -> str:
        """Find pages that were not dropped, because their cluster exceeds SIMHASH_CLUSTER_LIMIT."""
        pages, limit = self._stat("kept/flood"), "SIMHASH_MONITOR_MAX_FLOODED"
        if pages <= self.limits[limit]:
            return ""
        return _joined([f"pages beyond SIMHASH_CLUSTER_LIMIT: {pages:,}"], limit)

    def extraction(self) -> str:
        """Find too high a share of pages from which no text was extracted."""
        failed = sum(self._stat(f"skipped/{reason}") for reason in _FAILED_EXTRACTIONS)
        pages = self._stat("checked") + self._stat("skipped/few_tokens") + failed
        limit = "SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS"
        return self._too_many(failed, pages, "have no text", limit)

    def error_pages(self) -> str:
        """Find too high a share of error pages with status 200."""
        errors, pages = self._stat("error_page"), self._stat("checked")
        limit = "SIMHASH_MONITOR_MAX_ERROR_PAGES"
        return self._too_many(errors, pages, "are error pages", limit)

    def index(self) -> str:
        """Find errors of an index, including an index that could not be opened."""
        failures = [
            f"simhash/{name} is {self._stat(name)}"
            for name in ("locked", "unreachable", "errors/index")
            if self._stat(name)
        ]
        return _joined(failures, "look for `simhash:` in the log")

    @property
    def _min_pages(self) -> int:
        pages: int = self.limits["SIMHASH_MONITOR_MIN_PAGES"]
        return pages

    def _stat(self, name: str) -> int:
        return int(self.stats.get(f"simhash/{name}", 0))

    def _counts(self) -> Iterator[tuple[str, PageCounts, PageCounts | None]]:
        """Yield (where, counts, counts of the crawl before or None): for all sites together, then
        for each site with enough pages, if there are several sites.
        """
        crawl, before = self.crawl, self.previous
        if crawl is None:
            raise NotJudged("no index was open, or its history cannot be written")
        self._require(crawl.pages.judged)
        yield "all sites", crawl.pages, None if before is None else before.pages
        for site, counts in crawl.sites.items() if len(crawl.sites) > 1 else ():
            if counts.judged >= self._min_pages:
                yield site, counts, None if before is None else before.sites.get(site)

    def _require(self, pages: int) -> None:
        if pages < self._min_pages:
            raise NotJudged(
                f"{pages} pages are fewer than SIMHASH_MONITOR_MIN_PAGES ({self._min_pages})"
            )

    def _too_many(self, count: int, pages: int, what: str, limit: str) -> str:
        """Return the finding that `count` pages are `what`, if their share exceeds the limit."""
        self._require(pages)
        if count <= self.limits[limit] * pages:
            return ""
        return _joined([f"{count:,} of {pages:,} pages {what}"], limit)


def _share(counts: PageCounts) -> float:
    return counts.near_duplicates / counts.judged if counts.judged else 0.0


def _joined(findings: Sequence[str], remedy: str) -> str:
    if not findings:
        return ""
    further = len(findings) - _MAX_SHOWN_FINDINGS
    more = f"; and {further} more" if further > 0 else ""
    return f"{'; '.join(findings[:_MAX_SHOWN_FINDINGS])}{more} ({remedy})"
