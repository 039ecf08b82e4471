"""Identify pages: their keys in the index, their scope, and the canonical URLs that they name."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy.http import TextResponse
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.response import get_base_url
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_simhash.sites import has_route, page_url, scope_filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.sites import Scope
    from scrapy_simhash.verdict import Verdict

IDENTITY_META_KEY = "simhash_key"
OPT_OUT_META_KEY = "dont_simhash"
VERDICT_META_KEY = "simhash"
# Marks a request by which a callback refuses a page and asks for it again. The value is the
# fingerprint of the refused page as a decimal text, empty if the page was not judged.
REFUSED_META_KEY = "simhash_refused"
# Marks a request that is made by, or because of, the errback of a dropped page.
ASKED_AGAIN_META_KEY = "simhash_asked_again"
# The key of the page whose callback requests the page under another query, such as ``?t=123``.
OTHER_URL_META_KEY = "simhash_other_url"
# Scrapy's URLLENGTH_LIMIT. Comparing a URL of megabytes would block the event loop for seconds.
MAX_CANONICAL_CHARACTERS = 2083
_REMEMBERED = 100_000
# The first character has one case, so that the search for it is fast.
_PASSWORD = re.compile(r"""<(?i:input\b[^>]{0,1000}?\btype\s*=\s*["']?\s*password\b)""")
_ABSOLUTE = re.compile("https?://[^/?#]")


class Identity:
    """The rules for the keys of pages, and for which pages are compared.

    :param request_fingerprint: returns Scrapy's fingerprint of a request.
    :param scope: compare ``all`` pages, or only pages of one registered ``domain`` or one ``host``.
    """

    def __init__(self, request_fingerprint: Callable[[Request], bytes], scope: Scope) -> None:
        self._request_fingerprint = request_fingerprint
        self._scope = scope

    def key(self, request: Request) -> str:
        """Return the key of a request's page: ``simhash_key`` of the meta, or else the URL.

        For a GET without a body, the `page_url` is the whole key. For other requests, the key also
        contains the method and the fingerprint of the request.
        """
        given = request.meta.get(IDENTITY_META_KEY)
        if given:
            if self._scope == "all" or "://" in str(given):
                return str(given)
            # `scope_filter` needs a URL in the key.
            parts = urlsplit(request.url)
            return f"{given} {parts.scheme}://{parts.netloc}/"
        if request.method == "GET" and not request.body:
            return page_url(request.url)
        fingerprint = self._request_fingerprint(request)
        return f"{request.method} {page_url(request.url)} {fingerprint.hex()}"

    def scope_filter(self, key: str) -> Callable[[str], bool] | None:
        """Return `scrapy_simhash.sites.scope_filter` for the key of a page."""
        return scope_filter(self._scope, key)

    def repeats(self, response: Response, request: Request) -> bool:
        """Return True if a callback's request repeats the page, as `get_retry_request` does."""
        original = response.request
        # Without `dont_filter`, it is a mere link to the page, which Scrapy's filter drops.
        if original is None or not request.dont_filter:
            return False
        redirected_urls = original.meta.get("redirect_urls", ())
        url = page_url(request.url)
        return url in redirected_urls or self.key(request) == self.key(original)


def has_other_query(response: Response, request: Request) -> bool:
    """Return True if the URL of a request differs from that of a page only in its query."""
    one, two = urlsplit(response.url), urlsplit(request.url)
    return one[:3] == two[:3] and one.query != two.query


def has_password(response: Response) -> bool:
    """Return True if a page has a field for a password."""
    return isinstance(response, TextResponse) and _PASSWORD.search(response.text) is not None


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
                named = href if _ABSOLUTE.match(href) else canonical_url(response, href)
                if named is not None and len(named) <= MAX_CANONICAL_CHARACTERS:
                    self._named[verdict.key] = named
            return verdict
        own = None if response is None else canonical_url(response, href)
        if own is not None and own == comparable(representative):
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
        url = safe_url_string(href)
        if not _ABSOLUTE.match(url):
            # The base comes from the first 4 KB of the page, as in Scrapy's link extractors.
            url = urljoin(get_base_url(response), url)
    except ValueError:
        return None
    return comparable(url) if _ABSOLUTE.match(url) else None


def comparable(url: str) -> str:
    """Return a URL as `canonicalize_url` rewrites it, or unchanged if it is invalid."""
    try:
        canonical: str = canonicalize_url(url, keep_fragments=has_route(url))
    except ValueError:
        return url
    return canonical
