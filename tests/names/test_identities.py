"""Identities that pages declare."""

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.detector import Detector
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.extraction import extract
from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.names.identities import (
    chosen_identity,
    chosen_values_differ,
    identities_differ,
    identities_of_record,
    identity_bytes,
)
from scrapy_simhash.scheme import Scheme
from tests.samples import PARAGRAPHS

DETECTOR = Detector(Scheme.preset("wide"))
TEXT = " ".join(PARAGRAPHS)


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
    assert Confirmation().compare(page(**one), page(**other)).is_copy is not differ
    assert Confirmation(same_name=False).compare(page(**one), page(**other)).is_copy is True


def test_sites_give_what_they_share_identifiers_of_their_own():
    for kind, differ in (("identifier", False), ("name", False), ("gtin", True), ("sku", True)):
        assert identities_differ(page(1, **{kind: "a"}), page(2, **{kind: "b"})) is differ


class TestChosen:
    """What SIMHASH_DISTINCT_BY names."""

    @pytest.mark.parametrize(
        ("one", "other", "differ"),
        [
            ({".sku": ["A-1"]}, {".sku": [" A-1\n"]}, False),
            ({".sku": ["A-1"]}, {".sku": ["A-2"]}, True),
            ({".sku": ["A-1"]}, {".sku": []}, True),
            ({".sku": ["A", "1"]}, {".sku": ["A1"]}, True),
            ({".a": ["1"], ".b": ["2"]}, {".b": ["2"], ".a": ["1"]}, False),
            ({".a": ["1"], ".b": []}, {".b": ["1"], ".a": []}, True),
            # One page was seen with another setting.
            ({".sku": ["A-1"]}, {}, True),
            ({".sku": ["A-1"]}, {".other": ["A-1"]}, True),
            ({}, {}, False),
        ],
    )
    def test_unequal_values_tell_pages_apart_on_any_site_whatever_the_settings(
        self, one, other, differ
    ):
        first = Evidence(site=1, identity=chosen_identity(one))
        second = Evidence(site=2, identity=identity_bytes([("sku", "x")]) + chosen_identity(other))
        for pair in ((first, second), (second, first)):
            assert chosen_values_differ(*pair) is differ
            for confirmation in (Confirmation(), UNCONFIRMED):
                assert confirmation.compare(*pair).against == ("distinct_by" if differ else "")

    @pytest.mark.parametrize(
        ("now", "before", "against"),
        [
            ({".price": ["7"]}, {".price": ["7"]}, ""),
            ({".price": ["7"]}, {".price": ["8"]}, "distinct_by"),
            ({".price": ["7"]}, {}, ""),
            ({".price": ["7"]}, {".sku": ["7"]}, ""),
        ],
    )
    def test_another_value_changes_a_page_and_another_setting_does_not(self, now, before, against):
        one, other = (Evidence(identity=chosen_identity(values)) for values in (now, before))
        assert Confirmation().compare_versions(one, other).against == against

    def test_values_of_elements_attributes_and_texts(self):
        page = (
            "<html><body><p class='a'>AB-1234/7 <b>XL</b></p><meta itemprop='sku' content='7'>"
            "<img class='c' src='/red.png'><time datetime='2026-01-31'>today</time><i>x</i></body>"
        )
        selectors = (
            *(".a", ".a::text", "//i/text()", "[itemprop=sku]", ".c", "time"),
            *(".c::attr(src)", "(count(//b))", ".none"),
        )
        found = extract(page, selectors=Selectors(remove=(".a",), distinct=selectors))
        assert list(found.distinct.values()) == [
            *(["AB-1234/7 XL"], ["AB-1234/7 "], ["x"], ["7"], ["/red.png"], ["2026-01-31"]),
            *(["/red.png"], ["1.0"], []),
        ]
        assert found.unmatched == (".none",)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [(["a"], ["a"], False), (["a", "b"], ["c", "b"], False), (["a", "b"], ["c"], True)],
)
def test_one_value_in_common_is_enough(one, other, differ):
    pages = [
        Evidence(identity=identity_bytes([("sku", "x"), *(("embedded", name) for name in names)]))
        for names in (one, other)
    ]
    assert identities_differ(*pages) is identities_differ(*pages[::-1]) is differ


def test_a_formula_in_common_does_not_hide_that_films_differ():
    pages = [
        Evidence(identity=identity_bytes([("embedded", film), ("formula", "x = 3")]))
        for film in ("seals-1", "foxes-2")
    ]
    assert identities_differ(*pages)


@pytest.mark.parametrize("kind", ["image", "file"])
def test_pictures_and_files_tell_pages_apart_whose_texts_are_equal(kind):
    def shown(text, *names):
        sketch = DETECTOR.fingerprint_text(text).evidence.sketch
        return Evidence(sketch=sketch, identity=identity_bytes([(kind, name) for name in names]))

    red, blue, more = shown(TEXT, "red"), shown(TEXT, "blue"), shown(TEXT, "blue", "red")
    for one, other, against in ((red, blue, "identity"), (red, more, ""), (red, shown(TEXT), "")):
        assert Confirmation().compare(one, other).against == against
    assert Confirmation().compare(red, shown(f"{TEXT} And more.", "blue")).is_copy
    assert Confirmation(same_name=False).compare(red, blue).is_copy
    page, earlier = (one._replace(content=bytes(16)) for one in (red, blue))
    assert Confirmation().compare_versions(page, earlier).against == "identity"


@pytest.mark.parametrize(
    ("record", "identities"),
    [
        ({"SKU": " Ab-1 "}, [("sku", "ab-1")]),
        ({"gtin13": "0400-123", "isbn": "9"}, [("gtin", "400123")]),
        ({"EAN": "0400-123"}, [("gtin", "400123")]),
        ({"upc": "400123"}, [("gtin", "400123")]),
        ({"identifier": "4711"}, []),
        ({"identifier": "Lot 7"}, [("identifier", "lot 7")]),
        ({"number": "7", "sku": " "}, []),
    ],
)
def test_fields_of_a_record_are_its_identity(record, identities):
    assert identities_of_record(record, "Text of lot 7.") == identities
