"""Judge a crawl by its counts: near-duplicates, floods, extraction, error pages, its index.

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
_SHOWN = 5
_ERROR_PAGES = "error_page"
_FAILED_EXTRACTIONS = ("no_text", "extraction_error", "timeout", "worker_died")


@dataclass(frozen=True, kw_only=True)
class HealthLimits:
    """The validated SIMHASH_MONITOR_* settings. A share is one of pages, from 0 to 1."""

    min_pages: int
    max_near_duplicates: float
    max_change: float
    max_flooded: int
    max_failed_extractions: float
    max_error_pages: float

    @classmethod
    def read(cls, read: SettingsReader) -> HealthLimits:
        """Return the settings. :raises SettingsError: one is wrong."""
        return cls(
            min_pages=read.whole("SIMHASH_MONITOR_MIN_PAGES", 1, 1 << 32),
            max_near_duplicates=read.share("SIMHASH_MONITOR_MAX_NEAR_DUPLICATES"),
            max_change=read.share("SIMHASH_MONITOR_MAX_CHANGE"),
            max_flooded=read.whole("SIMHASH_MONITOR_MAX_FLOODED", 0, 1 << 32),
            max_failed_extractions=read.share("SIMHASH_MONITOR_MAX_FAILED_EXTRACTIONS"),
            max_error_pages=read.share("SIMHASH_MONITOR_MAX_ERROR_PAGES"),
        )


class NotJudged(Exception):
    """Raised with the reason why a crawl cannot be judged, such as too few pages."""


@dataclass(frozen=True)
class CrawlHealth:
    """The counts of a crawl. Each method returns what is wrong, in words, or an empty text, and
    raises `NotJudged` where that cannot be known.

    :param stats: of Scrapy; a missing one counts as zero.
    :param crawl: counts of judged pages; None if no index was open.
    :param previous: the crawl before; None if none is known that ended by itself.
    :param patterns: URL patterns with enough pages that are like each other.
    """

    limits: HealthLimits
    stats: Mapping[str, Any]
    crawl: CrawlRow | None
    previous: CrawlRow | None
    patterns: Sequence[PatternCount]

    def near_duplicates(self) -> str:
        """Find too many near-duplicates, in all or on a site."""
        high = [
            f"{_share(now):.0%} of {now.judged:,} pages of {where} are near-duplicates"
            for where, now, _ in self._judged()
            if _share(now) > self.limits.max_near_duplicates
        ]
        return _words(high, "SIMHASH_MONITOR_MAX_NEAR_DUPLICATES")

    def url_patterns(self) -> str:
        """Find URL patterns too many of whose pages are like other pages of the pattern."""
        high = [
            f"{one.alike:,} of {one.pages:,} pages of {printable(one.pattern)} are like each other"
            for one in self.patterns
            if one.alike > self.limits.max_near_duplicates * one.pages
        ]
        return _words(high, "SIMHASH_MONITOR_MAX_NEAR_DUPLICATES")

    def change(self) -> str:
        """Find another share of near-duplicates than in the crawl before, in all or on a site."""
        if self.previous is None:
            raise NotJudged("no earlier crawl is known that ended by itself")
        changed = [
            f"{_share(now):.0%} of the pages of {where} are near-duplicates, and "
            f"{_share(before):.0%} were in the crawl before"
            for where, now, before in self._judged()
            if before is not None
            and before.judged >= self.limits.min_pages
            and abs(_share(now) - _share(before)) > self.limits.max_change
        ]
        return _words(changed, "SIMHASH_MONITOR_MAX_CHANGE")

    def floods(self) -> str:
        """Find clusters that grew beyond SIMHASH_CLUSTER_LIMIT."""
        pages = self._stat("kept/flood")
        found = [f"pages beyond SIMHASH_CLUSTER_LIMIT: {pages:,}"]
        return _words(found * (pages > self.limits.max_flooded), "SIMHASH_MONITOR_MAX_FLOODED")

    def extraction(self) -> str:
        """Find too many pages without a text."""
        failed = sum(self._stat(f"skipped/{reason}") for reason in _FAILED_EXTRACTIONS)
        pages = self._stat("checked") + self._stat("skipped/few_tokens") + failed
        return self._too_many(
            failed, pages, "no text", self.limits.max_failed_extractions, "FAILED_EXTRACTIONS"
        )

    def error_pages(self) -> str:
        """Find too many error pages that come with status 200."""
        errors, pages = self._stat(_ERROR_PAGES), self._stat("checked")
        return self._too_many(
            errors, pages, "only an error", self.limits.max_error_pages, "ERROR_PAGES"
        )

    def index(self) -> str:
        """Find out that an index failed, or was not open."""
        found = [
            f"simhash/{name} is {self._stat(name)}"
            for name in ("locked", "unreachable", "errors/index")
            if self._stat(name)
        ]
        return _words(found, "look for `simhash:` in the log")

    def _stat(self, name: str) -> int:
        return int(self.stats.get(f"simhash/{name}", 0))

    def _judged(self) -> Iterator[tuple[str, PageCounts, PageCounts | None]]:
        """Yield (where, counts, counts of the crawl before), for all sites, and for each of several
        sites with enough pages.
        """
        crawl, before = self.crawl, self.previous
        if crawl is None:
            raise NotJudged("no index was open, or its history cannot be written")
        self._require(crawl.pages.judged)
        yield "all sites", crawl.pages, None if before is None else before.pages
        for site, counts in crawl.sites.items() if len(crawl.sites) > 1 else ():
            if counts.judged >= self.limits.min_pages:
                yield site, counts, None if before is None else before.sites.get(site)

    def _require(self, pages: int) -> None:
        if pages < self.limits.min_pages:
            raise NotJudged(
                f"{pages} pages are fewer than SIMHASH_MONITOR_MIN_PAGES ({self.limits.min_pages})"
            )

    def _too_many(self, failed: int, pages: int, what: str, most: float, setting: str) -> str:
        self._require(pages)
        found = [f"{failed:,} of {pages:,} pages have {what}"] * (failed > most * pages)
        return _words(found, f"SIMHASH_MONITOR_MAX_{setting}")


def _share(counts: PageCounts) -> float:
    return counts.near_duplicates / counts.judged if counts.judged else 0.0


def _words(findings: Sequence[str], remedy: str) -> str:
    if not findings:
        return ""
    more = f"; and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    return f"{'; '.join(findings[:_SHOWN])}{more} ({remedy})"
