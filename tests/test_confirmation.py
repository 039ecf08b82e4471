"""Confirmation: names, resemblance, and cases in doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.confirmation import (
    DEFAULT_MIN_RESEMBLANCE,
    MIN_RESEMBLANCE_IN_DOUBT,
    UNCONFIRMED,
    Confirmation,
    name_bytes,
    names_agree,
    site_number,
)
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.sketch import estimate_resemblance, sketch

SITE = site_number("example.com")


def page(title: str = "", heading: str = "", text: str = "", site: int = SITE) -> Evidence:
    made = sketch(token_hashes(text.split()))
    return Evidence(made, site, name_bytes(title), name_bytes(heading))


def words(first: int, last: int) -> str:
    return " ".join(f"word{number}" for number in range(first, last))


TEXT = words(0, 2000)


class TestNames:
    @pytest.mark.parametrize(
        ("one", "other", "agree"),
        [
            # Title and heading of either page.
            (("Boat 7", "Boat 7"), ("Boat 7", "Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boat 8", "Boat 8"), False),
            (("Boat 7 - Shop", "Boat 7"), ("Boat 7 - Shop, page 2", "Boat 7"), None),
            (("Shop", "Boat 7"), ("Shop", "Boat 8"), False),
            (("Shop", "Boat 7"), ("Shop", "The boat 7"), None),
            (("Shop", "Phone 15"), ("Shop", "Phone 15 Pro"), None),
            (("Shop", "Dollars to euros"), ("Shop", "Euros to dollars"), False),
            (("Shop", "Phone"), ("Shop", "Phone 15"), False),
            (("Boat 7", "Boats"), ("Boat 8", "Boats"), None),
            (("Boat 7", "Boat 7"), ("Print: boat 7", "Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boats", "Boat 7"), None),
            # Without two headings, the titles decide.
            (("Boat 7", ""), ("Boat 7", ""), True),
            (("Boat 7", ""), ("Boat 8", ""), False),
            (("Boat 7", "Boat"), ("Boat 7 | Shop", ""), None),
            (("Boat 7", "Boat"), ("Boat 8", ""), False),
            (("Boat", ""), ("Boat 8", ""), False),
            # Pages without a name agree with any page.
            (("", ""), ("Boat 8", "Boat 8"), True),
            (("", ""), ("", ""), True),
            (("", "Boat 7"), ("", "Boat 8"), False),
            (("", "Boat 7"), ("", "Boat 7"), True),
            (("", "Boats"), ("Boat 8", "Boats"), True),
            (("", "Boat 7"), ("Boat 8", ""), True),
            (("...", "!"), ("Boat 8", "Boat 8"), False),
            (("Shop - Boat 7", ""), ("Boat 7 - Shop", ""), None),
            (("C++", ""), ("C#", ""), False),
            (("Group A+", ""), ("Group A-", ""), False),
            (("Release 3.11", ""), ("Release 3.11.3", ""), False),
            (("王明", ""), ("王小明", ""), False),
            (("किला", ""), ("काला", ""), False),
        ],
    )
    def test_names_of_pages_of_one_site(self, one, other, agree):
        assert names_agree(page(*one), page(*other)) is agree
        assert names_agree(page(*other), page(*one)) is agree

    def test_names_of_pages_of_different_sites_always_agree(self):
        one, other = page("Boat 7", "Boat 7"), page("Boat 8", "Boat 8", site=SITE + 1)
        assert names_agree(one, other) is True

    @pytest.mark.parametrize("site", [0, SITE])
    def test_a_page_without_a_site_may_be_of_any_site(self, site):
        one, other = page("Boat 7", site=0), page("Boat 8", site=site)
        assert names_agree(one, other) is names_agree(other, one) is False

    @given(
        st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=6),
        st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=3),
    )
    def test_added_words_leave_a_doubt(self, words, more):
        one, other = page(" ".join(words)), page(" ".join([*words, *more]))
        assert names_agree(one, other) is None
        assert names_agree(other, one) is None
        assert names_agree(one, one) is True

    def test_a_title_may_equal_the_heading_of_the_other_page(self):
        whole = page("The lens comes home | Courier", "The lens comes home")
        for title, agree in (("The lens comes home", True), ("The lens", None), ("A lens", False)):
            printed = page(title)
            assert names_agree(printed, whole) is names_agree(whole, printed) is agree

    @pytest.mark.parametrize("count", [33, 40, 60])
    def test_only_the_first_words_of_a_long_name_count(self, count):
        name = " ".join(chr(0x61 + number % 26) * (1 + number // 26) for number in range(count))
        one, other = page(name), page(f"{name} more")
        assert names_agree(one, other) is names_agree(other, one) is True

    @pytest.mark.parametrize("count", [5, 31, 32, 33, 40, 400])
    def test_long_names_with_different_words_differ(self, count):
        one = page(words(0, count))
        for other in (words(count // 2, 2 * count), words(count, 2 * count), "boats"):
            assert names_agree(one, page(other)) is False

    def test_one_different_word_in_31_makes_names_differ(self):
        assert names_agree(page(words(0, 31)), page(words(1, 32))) is False


class TestNameBytes:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("A new Ferry!", "a new ferry"),
            ("Ferry — harbour", "FERRY | Harbour"),
            ("FTP-Archive", "ftp archive"),
            ("ｆｅｒｒｙ １", "ferry 1"),
        ],
    )
    def test_case_and_punctuation_are_ignored(self, one, other):
        assert name_bytes(one) == name_bytes(other) != b""

    @pytest.mark.parametrize(
        ("one", "other"), [("a b", "b a"), ("a", "a a"), ("50 x 70", "70 x 50"), ("!!", "??")]
    )
    def test_order_and_repetition_count(self, one, other):
        assert name_bytes(one) != name_bytes(other)

    @pytest.mark.parametrize("text", ["", " \n"])
    def test_blank_text_gives_no_name(self, text):
        assert name_bytes(text) == b""

    def test_only_the_first_32_words_are_kept(self):
        tokens = [f"word{number}" for number in range(500)]
        assert len(name_bytes(" ".join(tokens))) == 64
        assert name_bytes(" ".join(tokens)) == name_bytes(" ".join(tokens[:32]))

    def test_stored_names_stay_valid(self):
        assert name_bytes("A new ferry 7, 渡轮").hex() == "4e1e31b8fb2a85fbfd66"


class TestSites:
    def test_site_numbers_have_32_bits(self):
        numbers = {site_number(f"{name}.example") for name in range(10_000)}
        assert len(numbers) == 10_000
        assert all(0 < number < 2**32 for number in numbers)
        assert site_number("") == 0
        assert site_number("example.com") == 2338721918


class TestResemblance:
    @pytest.mark.parametrize(
        ("own", "confirmed"),
        # With n shared words, and m others in each text, the resemblance is n / (n + 2m).
        [(0, True), (300, True), (700, False), (2000, False)],
    )
    def test_pages_are_confirmed_from_the_lower_limit_up(self, own, confirmed):
        one, other = page(text=TEXT), page(text=words(own, 2000 + own))
        similarity, found = Confirmation().compare(one, other)
        assert similarity == pytest.approx((2000 - own) / (2000 + own), abs=0.13)
        assert found is confirmed
        assert found == (similarity >= DEFAULT_MIN_RESEMBLANCE)

    def test_the_lower_limit_is_inclusive(self):
        one, other = page(text=TEXT), page(text=words(300, 2300))
        similarity, _ = UNCONFIRMED.compare(one, other)
        for least, confirmed in ((similarity, True), (similarity + 1e-9, False)):
            found = Confirmation(min_resemblance=least).compare(one, other)
            assert found == (similarity, confirmed)

    def test_names_and_sketches_decide_together(self):
        one = page("Boat 7", text=TEXT)
        others = [
            page("Boat 7", text=TEXT),
            page("Boat 8", text=TEXT),
            page("Boat 7"),
            page("Boat 7", text=words(1900, 3900)),
            page("Boat 8", text=words(100, 2100), site=7),
            page("Boat 8"),
        ]
        found = [Confirmation().compare(one, other) for other in others]
        assert [confirmed for _, confirmed in found] == [True, False, True, False, True, False]
        assert [at for at, (similarity, _) in enumerate(found) if similarity is None] == [2, 5]
        assert found[0][0] == found[1][0] == 1.0
        assert found[3][0] == estimate_resemblance(one.sketch, others[3].sketch)

    @pytest.mark.parametrize("missing", [b"", b"\1" * 64])
    def test_without_comparable_sketches_only_names_count(self, missing):
        one, other = page("Boat 7", text=TEXT), page("Boat 7", text=TEXT)._replace(sketch=missing)
        assert Confirmation().compare(one, other) == (None, True)
        assert Confirmation().compare(other, one) == (None, True)
        named = other._replace(title=name_bytes("Boat 8"))
        assert Confirmation().compare(one, named) == (None, False)
        assert Confirmation().compare(NO_EVIDENCE, NO_EVIDENCE) == (None, True)


class TestDoubt:
    """Equal headings under different titles."""

    ONE = page("Boat 7", "Boats", TEXT)

    @pytest.mark.parametrize("own", [0, 100, 200, 250, 300, 400, 600])
    def test_in_doubt_the_lower_limit_is_higher(self, own):
        other = page("Boat 8", "Boats", words(own, 2000 + own))
        similarity, confirmed = Confirmation().compare(self.ONE, other)
        assert confirmed == (similarity >= MIN_RESEMBLANCE_IN_DOUBT)

    def test_a_higher_setting_applies_in_doubt_too(self):
        other = page("Boat 8", "Boats", words(60, 2060))
        similarity, _ = Confirmation().compare(self.ONE, other)
        assert MIN_RESEMBLANCE_IN_DOUBT < similarity < 0.99
        assert not Confirmation(0.99).compare(self.ONE, other)[1]

    def test_in_doubt_without_sketches_pages_are_copies(self):
        other = page("Boat 8", "Boats")
        assert Confirmation().compare(self.ONE, other) == (None, True)


class TestSwitches:
    ONE = page("Boat 7", "Boat 7", TEXT)

    def test_same_name_false_ignores_names(self):
        other = page("Boat 8", "Boat 8", TEXT)
        assert Confirmation().compare(self.ONE, other) == (1.0, False)
        assert Confirmation(same_name=False).compare(self.ONE, other) == (1.0, True)

    def test_min_resemblance_zero_ignores_resemblance(self):
        other = page("Boat 7", "Boat 7", words(2000, 4000))
        similarity, confirmed = Confirmation(min_resemblance=0).compare(self.ONE, other)
        assert similarity < 0.05
        assert confirmed
        named = other._replace(heading=name_bytes("Boat 8"))
        assert Confirmation(min_resemblance=0).compare(self.ONE, named)[1] is False

    def test_unconfirmed_accepts_every_page(self):
        others = [page("Boat 8", "Boat 8", words(2000, 4000)), NO_EVIDENCE, self.ONE]
        assert all(UNCONFIRMED.compare(self.ONE, other)[1] for other in others)

    def test_the_default_compares_names_and_resemblance(self):
        assert Confirmation() == Confirmation(min_resemblance=0.6, same_name=True)
        assert MIN_RESEMBLANCE_IN_DOUBT == 0.85
