"""Explain why two pages within k bits are not confirmed to be copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.commands.output import percent

if TYPE_CHECKING:
    from scrapy_simhash.confirmation import Confirmation, Evidence
    from scrapy_simhash.index import Match

DIFFERENT_NAMES = "they are pages of one site, and their names differ"


def unconfirmed_because(confirmation: Confirmation, one: Evidence, other: Evidence) -> list[str]:
    """Return the reasons against a copy; an empty list for a copy."""
    from scrapy_simhash.confirmation import names_agree

    [(similarity, confirmed)] = confirmation.similarities(one, [other])
    if confirmed:
        return []
    reasons = []
    if similarity is not None and similarity < confirmation.min_resemblance:
        reasons.append(_below(confirmation))
    if confirmation.same_name and not names_agree(one, other):
        reasons.append(DIFFERENT_NAMES)
    return reasons


def match_unconfirmed_because(confirmation: Confirmation, match: Match) -> str:
    """Return why a match is only similar; an empty string for a copy."""
    if match.confirmed:
        return ""
    similarity = match.similarity
    if similarity is not None and similarity < confirmation.min_resemblance:
        return _below(confirmation)
    return DIFFERENT_NAMES


def _below(confirmation: Confirmation) -> str:
    """Return the reason for a similarity that is too low."""
    return f"their similarity is below {percent(confirmation.min_resemblance)}"
