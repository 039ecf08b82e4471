"""Fingerprint passages, and say within which distance similar ones are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import EmptyText
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from scrapy_simhash.fingerprint import Fingerprint

# Characters and pairs of them, each counted once. An edited word would change too many of the few
# words of a sentence; an edited character changes at most three features.
SCHEME = Scheme(bits=256, tokenizer="characters-and-pairs", weighting="uniform")
BYTES = SCHEME.bits // 8
# These tables find all copies within 50 bits of short passages with one or two edited characters,
# and 97.5 % of those with 51 to 60 bits (1,500 passages of real pages each).
PLAN = TablePlan(SCHEME.bits, blocks=14, prefix_bits=16, probes=384)
MAX_DISTANCE = 50
# With fewer letters and digits, one edit may change a fifth of all bits.
MIN_CHARACTERS = 8
# Two edited characters of a passage with fewer letters and digits change more bits.
_SHORT_CHARACTERS = 25
MAX_REACH = 70


def fingerprint_of(passage: str) -> Fingerprint | None:
    """Return the fingerprint of a passage; None if it is too short or has no features."""
    if sum(map(str.isalnum, passage)) < MIN_CHARACTERS:
        return None
    try:
        return SCHEME.certain_fingerprint(SCHEME.tokens(passage))
    except EmptyText:
        return None


def reach_of(passage: str) -> int:
    """Return the distance in bits within which a passage is looked up."""
    is_short = sum(map(str.isalnum, passage)) < _SHORT_CHARACTERS
    return MAX_REACH if is_short else MAX_DISTANCE
