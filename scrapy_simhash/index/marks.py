"""Marks: 64 bits of a page's evidence, beside its fingerprint in the tables.

Pages of one template are near each other, and thousands of them may be within k of a page. Most
cannot be its copies, because they have names of their own. Marks tell these apart
(`scrapy_simhash.index.tables.crowds`) before any entry is read and decoded.

From the most significant bit, a mark has the key of the name (32 bits, see `decisive_key` in
`scrapy_simhash.names.agreement`), the site (20) and the request (12); 0 stands for unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.evidence import UNLIKE_ANY
from scrapy_simhash.names.agreement import decisive_key

if TYPE_CHECKING:
    from scrapy_simhash.evidence import Evidence

KEY_BITS, SITE_BITS, REQUEST_BITS = 32, 20, 12
UNLIKE_ANY_REQUEST = (1 << REQUEST_BITS) - 1
KIND = 1
"""The bit of a key that is equal for keys that can be compared."""


def mark_of(evidence: Evidence) -> int:
    """Return the mark of a page."""
    decisive = decisive_key(evidence)
    # Of 64 bits, the key keeps the upper 31 and the lowest one.
    key = decisive >> 33 << 1 | decisive & KIND
    if decisive and not key:
        key = 2
    site = evidence.site and (evidence.site % (1 << SITE_BITS) or 1)
    return (key << SITE_BITS | site) << REQUEST_BITS | _request(evidence.request)


def without_name(mark: int) -> int:
    """Return a mark without the name, for rules that do not compare names."""
    return mark & (1 << SITE_BITS + REQUEST_BITS) - 1


def _request(request: bytes) -> int:
    if not request:
        return 0
    if request == UNLIKE_ANY:
        return UNLIKE_ANY_REQUEST
    return int.from_bytes(request, "big") % (UNLIKE_ANY_REQUEST - 1) + 1
