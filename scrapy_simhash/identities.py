"""Identities: what a page declares to be about, such as the article number of a product.

Two pages that declare different identities of one kind are no copies, whatever their texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.evidence import Evidence

_BYTES = 8
# Kinds, as the first byte of a stored identity. From `_WITHIN_SITE` on, they tell only pages of
# one site apart: sites give the articles that they share numbers and headlines of their own.
_WITHIN_SITE = 128
_KINDS = {"gtin": 1, "sku": 2, "mpn": 3, "productid": 4, "identifier": 128, "name": 129}


def identity_bytes(identities: Iterable[tuple[str, str]]) -> bytes:
    """Return identities as bytes: for each, its kind (1 byte) and a hash of its value (7 bytes).

    :param identities: (kind, value), with kinds of `_KINDS`, and one value of each kind.
    """
    return b"".join(
        bytes((_KINDS[kind],)) + xxh3_64_digest(value.encode("utf-8", "surrogatepass"))[1:]
        for kind, value in identities
    )


def identities_differ(one: Evidence, other: Evidence) -> bool:
    """Return True if two pages declare different identities of one kind."""
    first, second = one.identity, other.identity
    if first == second or not first or not second:
        return False
    is_one_site = one.site == other.site
    values = {first[at]: first[at : at + _BYTES] for at in range(0, len(first), _BYTES)}
    for at in range(0, len(second), _BYTES):
        kind = second[at]
        if is_one_site or kind < _WITHIN_SITE:
            value = values.get(kind)
            if value is not None and value != second[at : at + _BYTES]:
                return True
    return False
