"""Trust what a site's sitemap says about changes, once verdicts have confirmed it.

A page is unmodified if its `lastmod` lies before the time at which a crawl saw it last. When the
page is asked for all the same, its verdict shows whether that is true. A site whose sitemap was
right often enough is trusted, but for a share of its pages (SIMHASH_URL_EXPLORE).
"""

from __future__ import annotations

import random
from copy import copy
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy.utils.datatypes import LocalCache
from w3lib.url import safe_url_string

from scrapy_simhash.sites import site_of
from scrapy_simhash.url_rules.evidence import Evidence
from scrapy_simhash.url_rules.rows import decode_evidence, encode_evidence, summed

if TYPE_CHECKING:
    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.index.base import Entry

_REMEMBERED_PAGES = 200_000
_EXPECTED_PAGES = 10_000
# Clocks differ, and a time without a zone may be in any.
_CLOCKS_DIFFER = timedelta(hours=1)
_ZONES_DIFFER = timedelta(hours=36)


class LastmodTrust:
    """What sitemaps say in one crawl, and how far they are trusted."""

    def __init__(self, settings: SimhashSettings, lane: Lane, stats: CrawlStats) -> None:
        self._explore = settings.url_explore
        self._lane = lane
        self._stats = stats
        self._random = random.Random()  # noqa: S311 - a sample
        # Page → Unix time from which on a crawl that saw it knows its content.
        self._pages: LocalCache[str, int] = LocalCache(_REMEMBERED_PAGES)
        # Pages that are asked for, although they should be unmodified.
        self._expected: LocalCache[str, None] = LocalCache(_EXPECTED_PAGES)
        self._sites: dict[str, Evidence] = {}
        self._stored: dict[str, Evidence] = {}

    def remember(self, url: object, lastmod: object) -> None:
        """Remember when a page was last modified. What makes no sense is ignored.

        The latest time counts, so that no other site's sitemap can make a page older.
        """
        known_from_s = _known_from_s(str(lastmod))
        if known_from_s is None:
            return
        try:
            key = urldefrag(safe_url_string(str(url))).url
        except ValueError:
            return
        self._pages[key] = max(known_from_s, self._pages.get(key) or 0)

    def knows(self, key: str) -> bool:
        """Return True if a sitemap has the page."""
        return key in self._pages

    def stored_evidence(self, index: Any, key: str) -> bytes | None:
        """Return what the index knows of a page's site, unless it was read already."""
        site = site_of(key)
        row: bytes | None = None if site in self._sites else index.side_row("sitemaps", site)
        return row

    def spares(self, key: str, entry: Entry, stored: bytes | None) -> bool:
        """Return True if a page need not be asked for.

        :param stored: see `stored_evidence`.
        """
        known_from_s = self._pages.get(key)
        if known_from_s is None or entry.last_seen_s < known_from_s:
            return False
        site = site_of(key)
        if site not in self._sites:
            self._stored[site] = _readable(stored)
            self._sites[site] = copy(self._stored[site])
        if self._sites[site].holds and self._random.random() >= self._explore:
            return True
        self._expected[key] = None
        return False

    def spared(self, key: str) -> None:
        """Count a page that was not asked for."""
        self._sites[site_of(key)].spared += 1
        self._stats.count("conditional/spared")

    def arrived(self, key: str, *, unchanged: bool | None) -> None:
        """Compare a page with what its sitemap says.

        :param unchanged: None if that is not known, because the page failed.
        """
        if key not in self._expected:
            return
        del self._expected[key]
        if unchanged is None:
            return
        self._sites[site_of(key)].count(same=unchanged, is_new_page=True)
        if not unchanged:
            self._stats.count("conditional/lastmod_wrong")

    def save(self) -> None:
        """Add what was learned to the index."""
        for site, evidence in self._sites.items():
            before = self._stored[site]
            if evidence != before:
                self._stored[site] = copy(evidence)
                self._lane.tell(site, _adding(site, copy(evidence), before))


def _adding(site: str, mine: Evidence, before: Evidence) -> Any:
    def change(row: bytes | None) -> bytes:
        return encode_evidence(summed(mine, before, _readable(row)))

    return lambda index: index.change_side_row("sitemaps", site, change)


def _readable(row: bytes | None) -> Evidence:
    """Return the evidence of a row; none if it is damaged or missing."""
    try:
        return Evidence() if row is None else decode_evidence(row)
    except ValueError:
        return Evidence()


def _known_from_s(lastmod: str) -> int | None:
    """Return the Unix time from which on a crawl has surely seen the modification."""
    text = lastmod.strip()
    try:
        time = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
        if time.tzinfo is None:
            return int((time.replace(tzinfo=timezone.utc) + _ZONES_DIFFER).timestamp())
        return int((time + _CLOCKS_DIFFER).timestamp())
    except (ValueError, OverflowError):
        return None
