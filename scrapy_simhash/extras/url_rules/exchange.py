"""Exchange rules with duplicate-url-discarder, in its JSON format.

The format can express only rules that remove parameters or the first path segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_simhash.extras.url_rules.learner import EVERY_SITE
from scrapy_simhash.sites import registered_domain

if TYPE_CHECKING:
    from scrapy_simhash.extras.url_rules.evidence import RuleRecord
    from scrapy_simhash.extras.url_rules.rewriting import Rule

_ORDER = 100  # duplicate-url-discarder applies rules by ascending order


def to_discarder(site: str, rule: Rule, record: RuleRecord) -> dict[str, Any] | None:
    """Return a rule in the format of duplicate-url-discarder; None if the format cannot express it.

    A learned rule that does not hold on the whole site is limited to the patterns on which it
    holds. Without such a pattern, the result is None.
    """
    kind, *words = rule[0]
    patterns = [""]
    if record.origin == "learned" and not record.total.holds:
        # The format has no wildcards for parameters.
        patterns = [
            name for name, evidence in record.patterns.items() if evidence.holds and "?" not in name
        ]
    if len(rule) > 1 or not patterns or any(not word or word[0] == ";" for word in words):
        return None
    changes: dict[str, Any]
    if kind == "drop":
        include = [site + pattern for pattern in patterns] if site else [""]
        changes = {"processor": "queryRemoval", "args": words}
    elif kind == "segment" and not set("/#*") & set(words[0]):
        include = [f"{site}/{words[0]}{pattern}" for pattern in patterns]
        changes = {"processor": "subpathRemoval", "args": [0]}
    else:
        return None
    return {"order": _ORDER, "urlPattern": {"include": include}, **changes}


def from_discarder(rules: Any) -> tuple[list[tuple[str, Rule]], int]:
    """Return (site, rule) for rules of duplicate-url-discarder, and how many rules were left out.

    The site of a rule for all sites is empty. A rule for several sites gives several pairs. Rules
    are left out that do not remove parameters, are for a part of a site, or have exceptions.

    :raises ValueError: the argument is not a list of such rules.
    """
    pairs: list[tuple[str, Rule]] = []
    left_out = 0
    try:
        for plain in rules:
            args, pattern = plain.get("args") or (), plain["urlPattern"]
            names = sorted({name for name in args if isinstance(name, str) and name})
            sites = [_site_from(text) for text in pattern["include"]]
            removes_params = plain["processor"] == "queryRemoval" and names
            if not removes_params or pattern.get("exclude") or None in sites:
                left_out += 1
                continue
            pairs += [(site, (("drop", *names),)) for site in sites if site is not None]
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"no list of rules of duplicate-url-discarder ({error!r})") from error
    return pairs, left_out


def _site_from(pattern: str) -> str | None:
    """Return the site that a pattern stands for; None if it does not stand for a whole site."""
    if not pattern:
        return EVERY_SITE
    parts = urlsplit(pattern if "//" in pattern else f"//{pattern}")
    site = registered_domain(parts.hostname or "")
    is_whole = site and parts.hostname == site and parts.path in ("", "/") and not parts.query
    return site if is_whole else None
