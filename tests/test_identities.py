"""Identities that pages declare."""

from __future__ import annotations

import pytest

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.identities import identities_differ, identity_bytes


def page(site=1, **identities):
    return Evidence(site=site, identity=identity_bytes(identities.items()))


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ({"sku": "a"}, {"sku": "a"}, False),
        ({"sku": "a"}, {"sku": "b"}, True),
        ({"sku": "a"}, {}, False),
        ({"sku": "a"}, {"mpn": "b"}, False),
        ({"sku": "a", "gtin": "1"}, {"gtin": "1"}, False),
        ({"sku": "a", "gtin": "1"}, {"gtin": "1", "sku": "b"}, True),
        ({"name": "a"}, {"name": "b"}, True),
    ],
)
def test_identities_of_one_kind_are_compared(one, other, differ):
    assert identities_differ(page(**one), page(**other)) is differ
    assert identities_differ(page(**other), page(**one)) is differ
    assert Confirmation().compare(page(**one), page(**other))[1] is not differ
    assert Confirmation(same_name=False).compare(page(**one), page(**other))[1] is True


def test_sites_give_what_they_share_identifiers_of_their_own():
    for kind, differ in (("identifier", False), ("name", False), ("gtin", True), ("sku", True)):
        assert identities_differ(page(1, **{kind: "a"}), page(2, **{kind: "b"})) is differ
