"""Trust what a site's sitemap says about changes, once verdicts have confirmed it.

A page is *unmodified* if its ``lastmod`` lies before the time at which a crawl last saw it. While a
sitemap is not trusted, unmodified pages are requested, and their verdicts show whether it is right.
Once it was right often enough, such pages are spared, except a random share
(SIMHASH_URL_EXPLORE).
"""

from __future__ import annotations

import random
from copy import copy
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy.utils.datatypes import LocalCache
from w3lib.url import safe_url_string

from scrapy_simhash.sites import site_of
from scrapy_simhash.url_rules.evidence import RuleEvidence
from scrapy_simhash.url_rules.rows import decode_evidence, encode_evidence, summed

if TYPE_CHECKING:
    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.index.base import Entry

_REMEMBERED_PAGES = 200_000
_EXPECTED_PAGES = 10_000
_MAX_CLOCK_DIFFERENCE = timedelta(hours=1)
# For times without a time zone, and dates: a day may end 36 hours after its midnight in UTC.
_MAX_ZONE_DIFFERENCE = timedelta(hours=36)


class LastmodTrust:
    """The ``lastmod`` of pages in one crawl, and the evidence for each site's sitemap."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._random = random.Random()  # noqa: S311 - a sample
        # Key → Unix time. The page is unmodified if a crawl saw it at that time or later.
        self._pages: LocalCache[str, int] = LocalCache(_REMEMBERED_PAGES)
        # Keys of unmodified pages that are requested.
        self._expected: LocalCache[str, None] = LocalCache(_EXPECTED_PAGES)
        self._sites: dict[str, RuleEvidence] = {}
        self._stored: dict[str, RuleEvidence] = {}  # the evidence that was last read or saved

    def remember(self, url: object, lastmod: object) -> None:
        """Remember when a page was last modified. Invalid URLs and times are ignored.

        The latest time counts, so that the sitemap of another site cannot hide a modification.
        """
        certain_from_s = _certain_from_s(str(lastmod))
        if certain_from_s is None:
            return
        try:
            key = urldefrag(safe_url_string(str(url))).url
        except ValueError:
            return
        self._pages[key] = max(certain_from_s, self._pages.get(key) or 0)

    def knows(self, key: str) -> bool:
        """Return True if a sitemap gave a valid time for a page."""
        return key in self._pages

    def stored_evidence(self, index: Any, key: str) -> bytes | None:
        """Return the row with the evidence for a page's site; None if missing or read before."""
        site = site_of(key)
        row: bytes | None = None if site in self._sites else index.side_row("sitemaps", site)
        return row

    def spares(self, key: str, entry: Entry, stored: bytes | None) -> bool:
        """Return True if a page is unmodified and need not be requested.

        :param stored: the result of `stored_evidence`.
        """
        certain_from_s = self._pages.get(key)
        if certain_from_s is None or entry.last_seen_s < certain_from_s:
            return False
        site = site_of(key)
        if site not in self._sites:
            self._stored[site] = _decoded(stored)
            self._sites[site] = copy(self._stored[site])
        if self._sites[site].holds and self._random.random() >= self._lane.settings.url_explore:
            return True
        self._expected[key] = None
        return False

    def spared(self, key: str) -> None:
        """Count a page that is not requested, because `spares` returned True."""
        self._sites[site_of(key)].spared += 1
        self._lane.stats.count("conditional/spared")

    def arrived(self, key: str, *, unchanged: bool | None) -> None:
        """Count for or against a sitemap that called a requested page unmodified.

        :param unchanged: True counts for the sitemap, False against it; None, for a page that
            failed, does not count.
        """
        if key not in self._expected:
            return
        del self._expected[key]
        if unchanged is None:
            return
        self._sites[site_of(key)].count(same=unchanged, is_new_page=True)
        if not unchanged:
            self._lane.stats.count("conditional/lastmod_wrong")

    def save(self) -> None:
        """Add the new evidence to the index."""
        for site, evidence in self._sites.items():
            before = self._stored[site]
            if evidence != before:
                self._stored[site] = copy(evidence)
                self._lane.calls.tell(site, partial(_add, site, self._stored[site], before))


def _add(site: str, mine: RuleEvidence, before: RuleEvidence, index: Any) -> None:
    """Add the changes from `before` to `mine` to the evidence for a site in the index."""
    index.change_side_row(
        "sitemaps", site, lambda row: encode_evidence(summed(mine, before, _decoded(row)))
    )


def _decoded(row: bytes | None) -> RuleEvidence:
    """Return the evidence in a row; no evidence if the row is damaged or missing."""
    try:
        return RuleEvidence() if row is None else decode_evidence(row)
    except ValueError:
        return RuleEvidence()


def _certain_from_s(lastmod: str) -> int | None:
    """Return the Unix time from which a crawl certainly sees the modification, in any time zone and
    with any clock; None if `lastmod` is invalid.
    """
    text = lastmod.strip()
    try:
        time = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
        if time.tzinfo is None:
            return int((time.replace(tzinfo=timezone.utc) + _MAX_ZONE_DIFFERENCE).timestamp())
        return int((time + _MAX_CLOCK_DIFFERENCE).timestamp())
    except (ValueError, OverflowError):
        return None
