"""Find the page and the site of a URL: the URL without its anchor, and its registered domain."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urldefrag, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

Scope = Literal["all", "domain", "host"]
"""Where the representative of a page may be: see SIMHASH_SCOPE."""

_DOTS = re.compile("[\u3002\uff0e\uff61]")
_PUNYCODE = "xn--"
# Longer than any rule and its registered domain, so that hostile hosts cost no more.
_MAX_LABELS = 12


def hostname_of(key: str) -> str:
    """Return the host, without a port, of the first URL in a key; empty if there is none."""
    for part in key.split():
        scheme, mark, rest = part.partition("://")
        if mark:
            return _hostname(f"{scheme}://{rest.partition('/')[0]}")
    return ""


@lru_cache(maxsize=4096)
def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # brackets without an IPv6 address
        return ""


def has_route(url: str) -> bool:
    """Return True if the fragment of a URL is a route of an app in the browser: ``#/…``, ``#!…``.

    Other fragments name a place on the page.
    """
    return url.partition("#")[2].startswith(("/", "!"))


def page_url(url: str) -> str:
    """Return a URL without its fragment, unless that is a route. :raises ValueError: not a URL."""
    return url if "#" not in url or has_route(url) else urldefrag(url).url


@lru_cache(maxsize=65536)
def registered_domain(host: str) -> str:
    """Return the registered domain of a host; the host itself if it has none.

    Private suffixes, such as blogspot.com, make each blog a site.
    """
    labels = _DOTS.sub(".", host).rstrip(".").split(".")[-_MAX_LABELS:]
    names = list(map(_unicode_label, labels))
    rules = _suffix_rules()
    for at in range(len(labels)):
        suffix = ".".join(names[at:])
        if f"!{suffix}" in rules:  # an exception to a rule with *
            return ".".join(labels[at:])
        if suffix in rules or f"*.{suffix.partition('.')[2]}" in rules:
            return ".".join(labels[at - 1 :]) if at and labels[at - 1] else host
    return host


def site_of(key: str) -> str:
    """Return the `registered_domain` of the first URL in a key; empty if there is none."""
    host = hostname_of(key)
    return registered_domain(host) if host else ""


def scope_filter(scope: Scope, key: str) -> Callable[[str], bool] | None:
    """Return a function that returns True for keys in the scope of a page's key.

    Return None if all keys are in scope.
    """
    if scope == "all":
        return None
    scope_of = site_of if scope == "domain" else hostname_of
    own = scope_of(key)
    return lambda other: scope_of(other) == own


def _unicode_label(label: str) -> str:
    label = label.lower()
    if label.startswith(_PUNYCODE):
        with suppress(UnicodeError):
            return label.removeprefix(_PUNYCODE).encode("ascii").decode("punycode")
    return label


@lru_cache(maxsize=1)
def _suffix_rules() -> frozenset[str]:
    """Return the rules of the public suffix list in tldextract: ``co.uk``, ``*.ck``, ``!www.ck``.

    The list is read without its package, which takes 150 ms to import requests and build a trie.
    """
    spec: Any = find_spec("tldextract")
    path = Path(spec.origin).with_name(".tld_set_snapshot")
    lines = spec.loader.get_data(str(path)).decode("utf-8").splitlines()
    return frozenset(line.split()[0] for line in lines if line and not line.startswith("//"))
