"""Identities: what a page declares to be about, such as the article number of a product.

Two pages that declare different identities of one kind are no copies, whatever their texts. What a
user names in SIMHASH_DISTINCT_BY makes up one more kind.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest, xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy_simhash.evidence import Evidence

IDENTITY_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "sku": "sku",
        "mpn": "mpn",
        "productid": "productid",
        "productgroupid": "productid",
        "identifier": "identifier",
        **dict.fromkeys(("isbn", "ean", "upc", "gtin"), "gtin"),
        **{f"gtin{digits}": "gtin" for digits in ("8", "12", "13", "14")},
    }
)
"""The property of a thing, or the field of a record, in lower case → the kind of identity."""
_MAX_CHARACTERS = 200
_NOT_IN_GTIN = re.compile(r"\D")
# Sites write the time of an event with or without its zone.
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=t|\Z)")
_BYTES = 8
# Kinds, as the first byte of a stored identity. From `_WITHIN_SITE` on, they tell only pages of
# one site apart: sites give the articles that they share numbers and headlines of their own.
_WITHIN_SITE = 128
_KINDS = {"gtin": 1, "sku": 2, "mpn": 3, "productid": 4, "identifier": 128}
_NAMES = ("name", "title", "subheading", "picture", "crumb", "label", "lead")
_OTHERS = (
    "color size embedded parameter startdate streetaddress addresslocality fact time image choice "
    "formula material pattern file price"
).split()
_KINDS.update({name: kind for kind, name in enumerate((*_NAMES, *_OTHERS), 129)})
# Kinds from 64 to 127: the values that a user chose. Each choice has its own kind, so that after a
# change of the setting, old values are not compared with new ones.
_CHOSEN = 64


def identity_bytes(identities: Iterable[tuple[str, str]]) -> bytes:
    """Return identities as bytes: for each, its kind (1 byte) and a hash of its value (7 bytes).

    :param identities: (kind, value), with kinds of `_KINDS`. A kind may have several values.
    """
    return b"".join(
        bytes((_KINDS[kind],)) + xxh3_64_digest(value.encode("utf-8", "surrogatepass"))[1:]
        for kind, value in identities
    )


def identities_of_record(texts: Mapping[str, str], text: str) -> list[tuple[str, str]]:
    """Return the identities of a record, from fields such as ``sku`` in upper or lower case.

    An ``identifier`` may be the number of the record. So it counts only if the text contains it.

    :param texts: field → text.
    :param text: the text that is compared.
    """
    found: dict[str, str] = {}
    for name, value in texts.items():
        identity = identity_of(IDENTITY_FIELDS.get(name.lower(), ""), value)
        if identity and (identity[0] != "identifier" or identity[1] in text.casefold()):
            found.setdefault(*identity)
    return list(found.items())


def identity_of(kind: str, text: str) -> tuple[str, str] | None:
    """Return an identity in a form in which equal ones are equal; None if it says nothing."""
    text = " ".join(text.split()).casefold()[:_MAX_CHARACTERS]
    if kind == "gtin":
        text = _NOT_IN_GTIN.sub("", text).lstrip("0")
    elif kind == "startdate" and (day := _DAY.match(text)):
        text = day[0]
    return (kind, text) if kind and text else None


def chosen_identity(values: Mapping[str, Sequence[str]]) -> bytes:
    """Return the values that SIMHASH_DISTINCT_BY chose as one identity; no bytes for no choice.

    A missing value is a value, too: a product without a colour is not the red one.

    :param values: selector or field → its values, in order.
    """
    if not values:
        return b""
    names = sorted(values)
    kind = _CHOSEN + _hash(names) % _CHOSEN
    value = _hash([part for name in names for part in (name, *values[name])])
    return bytes((kind,)) + value.to_bytes(8, "big")[1:]


def chosen_values_differ(one: Evidence, other: Evidence) -> bool:
    """Return True if SIMHASH_DISTINCT_BY finds different values on two pages, or has seen only one
    of them: the other one may have any value.
    """
    first, second = (
        [
            page.identity[at : at + _BYTES]
            for at in range(0, len(page.identity), _BYTES)
            if _CHOSEN <= page.identity[at] < _WITHIN_SITE
        ]
        for page in (one, other)
    )
    return first != second


def identities_differ(one: Evidence, other: Evidence, *, is_same_text: bool = False) -> bool:
    """Return True if two pages have identities of one kind, and none of these in common.

    :param is_same_text: their texts are equal, as far as is known, so that pictures and files
        count, too. Sites rename these.
    """
    first, second = one.identity, other.identity
    if first == second or not first or not second:
        return False
    is_one_site = one.site == other.site
    values, other_values = (
        {page[at : at + _BYTES] for at in range(0, len(page), _BYTES)} for page in (first, second)
    )
    kinds = {value[0] for value in values} & {value[0] for value in other_values}
    kinds -= {value[0] for value in values & other_values}
    if not is_same_text:
        kinds -= {_KINDS["image"], _KINDS["file"]}
    return any(is_one_site or kind < _WITHIN_SITE for kind in kinds)


def _hash(parts: Iterable[str]) -> int:
    # A separator that no part contains, so that ("ab", "c") is not ("a", "bc").
    return xxh3_64_intdigest(
        "\n".join(" ".join(part.split()) for part in parts).encode("utf-8", "surrogatepass")
    )
