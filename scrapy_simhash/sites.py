"""Find the page and the site of a URL: the URL without its anchor, and its registered domain."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


def hostname_of(key: str) -> str:
    """Return the host, without a port, of the first URL in a key; empty if there is none."""
    for part in key.split():
        scheme, mark, rest = part.partition("://")
        if mark:
            try:
                # `urlsplit` caches its results. Without the path, the cache helps more often.
                return urlsplit(f"{scheme}://{rest.partition('/')[0]}").hostname or ""
            except ValueError:  # brackets without an IPv6 address
                return ""
    return ""


def has_route(url: str) -> bool:
    """Return True if the fragment of a URL is a route of an app in the browser: ``#/…``, ``#!…``.

    Other fragments name a place on the page.
    """
    return url.partition("#")[2].startswith(("/", "!"))


def page_url(url: str) -> str:
    """Return a URL without its fragment, unless that is a route. :raises ValueError: not a URL."""
    return url if has_route(url) else urldefrag(url).url


@lru_cache(maxsize=65536)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host; the host itself if it has none."""
    parts: Any = _extractor()(host)
    return f"{parts.domain}.{parts.suffix}" if parts.domain and parts.suffix else host


def site_of(key: str) -> str:
    """Return the `registered_domain` of the first URL in a key; empty if there is none."""
    host = hostname_of(key)
    return registered_domain(host) if host else ""


@lru_cache(maxsize=1)
def _extractor() -> Callable[[str], Any]:
    from tldextract import TLDExtract

    # The bundled suffix list needs no network and no files. Private suffixes, such as blogspot.com,
    # make each blog a site.
    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
