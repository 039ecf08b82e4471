"""The site that a page belongs to: the registered domain of its URL."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


def hostname_of(key: str) -> str:
    """Return the host, without a port, of the first URL in a page's key; empty if it has none."""
    for part in key.split():
        if "://" in part:
            try:
                return urlsplit(part).hostname or ""
            except ValueError:  # brackets that are no IPv6 address
                return ""
    return ""


@lru_cache(maxsize=65536)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host, or the host itself if it has none."""
    parts: Any = _extractor()(host)
    return f"{parts.domain}.{parts.suffix}" if parts.domain and parts.suffix else host


def site_of(key: str) -> str:
    """Return the registered domain of the first URL in a page's key; empty if it has none."""
    host = hostname_of(key)
    return registered_domain(host) if host else ""


@lru_cache(maxsize=1)
def _extractor() -> Callable[[str], Any]:
    from tldextract import TLDExtract

    # The list that comes with the package: nothing is fetched, nothing is written.
    # Blogs under one private suffix, such as blogspot.com, are sites of their own.
    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
