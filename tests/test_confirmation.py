"""Confirmation: names, resemblance, and cases in doubt."""

import pytest

from scrapy_simhash.confirmation import (
    DEFAULT_MIN_RESEMBLANCE,
    MIN_RESEMBLANCE_IN_DOUBT,
    UNCONFIRMED,
    Confirmation,
    site_number,
)
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.names.names import Names, page_names
from scrapy_simhash.sketch import sketch
from tests.samples import name_bytes

SITE = site_number("example.com")


def page(title="", heading="", text="", site=SITE):
    made = sketch(token_hashes(text.split()))
    return Evidence(made, site, *page_names(Names(title, [heading] if heading else ())))


def words(first, last):
    return " ".join(f"word{number}" for number in range(first, last))


TEXT = words(0, 2000)


class TestSites:
    def test_site_numbers_have_32_bits(self):
        numbers = {site_number(f"{name}.example") for name in range(10_000)}
        assert len(numbers) == 10_000
        assert all(0 < number < 2**32 for number in numbers)
        assert site_number("") == 0
        assert site_number("example.com") == 2338721918


class TestResemblance:
    def test_the_lower_limit_is_inclusive(self):
        one, other = page(text=TEXT), page(text=words(300, 2300))
        similarity, _ = UNCONFIRMED.compare(one, other)
        for least, confirmed in ((similarity, True), (similarity + 1e-9, False)):
            found = Confirmation(min_resemblance=least).compare(one, other)
            assert found == (similarity, "" if confirmed else "resemblance")

    @pytest.mark.parametrize("missing", [b"", b"\1" * 64])
    def test_without_comparable_sketches_only_names_count(self, missing):
        one, other = page("Boat 7", text=TEXT), page("Boat 7", text=TEXT)._replace(sketch=missing)
        assert Confirmation().compare(one, other) == (None, "")
        assert Confirmation().compare(other, one) == (None, "")
        named = other._replace(title=name_bytes("Boat 8"))
        assert Confirmation().compare(one, named) == (None, "name")
        assert Confirmation().compare(NO_EVIDENCE, NO_EVIDENCE) == (None, "")


class TestDoubt:
    """Equal headings, and only one title says more."""

    ONE = page("Boat 7", "Boat 7", TEXT)

    @pytest.mark.parametrize("own", [0, 100, 200, 250, 300, 400, 600])
    def test_in_doubt_the_lower_limit_is_higher(self, own):
        other = page("Boat 7 of Norby", "Boat 7", words(own, 2000 + own))
        similarity, against = Confirmation().compare(self.ONE, other)
        assert (against == "") == (similarity >= MIN_RESEMBLANCE_IN_DOUBT)
        assert against in ("", "doubt" if similarity >= DEFAULT_MIN_RESEMBLANCE else "resemblance")


class TestSwitches:
    ONE = page("Boat 7", "Boat 7", TEXT)

    def test_same_name_false_ignores_names(self):
        other = page("Boat 8", "Boat 8", TEXT)
        assert Confirmation().compare(self.ONE, other) == (1.0, "name")
        assert Confirmation(same_name=False).compare(self.ONE, other) == (1.0, "")

    def test_min_resemblance_zero_ignores_resemblance(self):
        other = page("Boat 7", "Boat 7", words(2000, 4000))
        similarity, against = Confirmation(min_resemblance=0).compare(self.ONE, other)
        assert similarity < 0.05
        assert against == ""
        named = other._replace(heading=name_bytes("Boat 8"))
        assert Confirmation(min_resemblance=0).compare(self.ONE, named).is_copy is False
