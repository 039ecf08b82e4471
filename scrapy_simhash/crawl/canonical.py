"""Compare the canonical URLs that pages name with the pages of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from scrapy.http import TextResponse
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.response import get_base_url
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_simhash.sites import has_route

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simhash.verdict import Verdict

# Scrapy's URLLENGTH_LIMIT. Comparing a URL of megabytes would block the event loop for seconds.
MAX_CANONICAL_CHARACTERS = 2083
_REMEMBERED = 100_000


class CanonicalUrls:
    """The canonical URLs that the representatives of a crawl name."""

    def __init__(self) -> None:
        # Key of a page → the canonical URL that it names.
        self._named: LocalCache[str, str] = LocalCache(_REMEMBERED)

    def completed(self, verdict: Verdict, href: str, response: Response | None) -> Verdict:
        """Return a verdict with `canonical` set; if the page is no copy, remember what it names.

        :param href: the canonical URL, as the page writes it; empty without one.
        :param response: the page; None for an item, which names nothing.
        """
        representative = verdict.representative
        if representative is None:
            self._named.pop(verdict.key, None)
            if href and response is not None and href not in (verdict.key, response.url):
                # Most are absolute: they are made comparable when the page has a copy.
                is_absolute = href.startswith(("http://", "https://"))
                named = href if is_absolute else canonical_url(response, href)
                if named is not None and len(named) <= MAX_CANONICAL_CHARACTERS:
                    self._named[verdict.key] = named
            return verdict
        if response is not None and canonical_url(response, href) == comparable(representative):
            return replace(verdict, canonical="representative")
        named = self._named.get(representative)
        if named is not None and comparable(named) == comparable(verdict.key):
            return replace(verdict, canonical="page")
        return verdict


def canonical_url(response: Response, href: str) -> str | None:
    """Return a page's canonical URL, absolute and `comparable`; None if it is unusable, or
    the URL of the page itself.
    """
    if not 0 < len(href) <= MAX_CANONICAL_CHARACTERS or not isinstance(response, TextResponse):
        return None
    if href == response.url:  # that of most pages, and then it says nothing
        return None
    try:
        # The base comes from the first 4 KB of the page, as in Scrapy's link extractors.
        url = urljoin(get_base_url(response), safe_url_string(href))
    except ValueError:
        return None
    return comparable(url) if url.startswith(("http://", "https://")) else None


def comparable(url: str) -> str:
    """Return a URL as `canonicalize_url` rewrites it, or unchanged if it is invalid."""
    try:
        canonical: str = canonicalize_url(url, keep_fragments=has_route(url))
    except ValueError:
        return url
    return canonical
