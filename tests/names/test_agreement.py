"""Names of pages: which agree, on one site and across sites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.confirmation import site_number
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.names.agreement import decisive_key, names_agree
from scrapy_simhash.names.name_tokens import without_diacritics
from scrapy_simhash.names.names import Names, page_names

SITE = site_number("example.com")
WORDS = st.lists(st.text("abcdef", min_size=1, max_size=8), min_size=1, max_size=60)


def page(title="", *headings, weak=False, sites=(), text="", tokens=0, site=SITE):
    names = Names(title, headings, is_weak=weak, sites=sites)
    title_bytes, heading_bytes = page_names(names, text, tokens)
    return Evidence(site=site, title=title_bytes, heading=heading_bytes)


def agree(one, other):
    found = names_agree(one, other)
    assert names_agree(other, one) is found
    assert names_agree(one, one) is names_agree(other, other) is True
    keys = decisive_key(one), decisive_key(other)
    if all(keys) and keys[0] != keys[1] and not (keys[0] ^ keys[1]) & 1 and one.site == other.site:
        assert found is False
    return found


class TestOneSite:
    @pytest.mark.parametrize(
        ("one", "other", "expected"),
        [
            (("Boat 7", "Boat 7"), ("Boat 7", "Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boat 8", "Boat 8"), False),
            (("Shop", "Boat 7"), ("Shop", "Boat 8"), False),
            # Added words make another page, in headings and in titles.
            (("Shop", "Boat 7"), ("Shop", "The boat 7"), False),
            (("Shop", "Phone 15"), ("Shop", "Phone 15 Pro"), False),
            (("Shop", "Alto jacket"), ("Shop", "Alto jacket – red"), False),
            (("Shop", "Alto jacket, blue"), ("Shop", "Alto jacket, red"), False),
            (("Alto jacket", ""), ("Alto jacket - red", ""), False),
            (("Concert", "Concert"), ("Concert (cancelled)", "Concert (cancelled)"), False),
            # So do swapped parts.
            (("Shop", "EUR/NOK"), ("Shop", "NOK/EUR"), False),
            (("EUR/NOK - Rates", ""), ("NOK/EUR - Rates", ""), False),
            (("Rates", "Dollars to euros"), ("Rates", "Euros to dollars"), False),
            # Equal headings: titles must not contradict.
            (("Acme Bonn - Hours", "Hours"), ("Acme Kiel - Hours", "Hours"), False),
            (("Hours - Bonn - Acme", "Hours"), ("Hours - Kiel - Acme", "Hours"), False),
            (("Boat 7", "Boats"), ("Boat 8", "Boats"), False),
            (("Boat 7 - Shop", "Boat 7"), ("Boat 7 - Shop, page 2", "Boat 7"), False),
            # A heading with an affix that no text uses: a site has names that it does not declare.
            (("Boat 7", "Boat 7"), ("Boat 7 - Shop", "Boat 7"), True),
            # A counter before the title, and numbers that are part of the name.
            (("(2) Boat 7 - Shop", "Boat 7"), ("(25+) Boat 7 - Shop", "Boat 7"), True),
            (("(2) Boat 7", "Boat 7"), ("Boat 7", "Boat 7"), True),
            (("(2) Boats", "(2) Boats"), ("(3) Boats", "(3) Boats"), False),
            (("(2) Boats", ""), ("(3) Boats", ""), False),
            (("Boat 7", "Boat 7"), ("Shop: Boat 7", "Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boats", "Boat 7"), None),
            (("Boat 7", "Boat 7"), ("Boat 7 red", "Boat 7"), None),
            (("Boat 7 - Shop", "Boat 7"), ("Shop - Boat 7", "Boat 7"), True),
            # Views.
            (("Boat 7", "Boat 7"), ("Print: boat 7", "Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boat 7 (print version)", "Print: Boat 7"), True),
            (("Boat 7", "Boat 7"), ("Boat 7 | Druckversion", "Boat 7 | Druckversion"), True),
            (("Boat 7 - Print", "Boat 7"), ("Boat 8 - Print", "Boat 8"), False),
            (("Boat 7", "Boat 7"), ("Boat 7 - Shop", "Boat 7 (printer-friendly)"), True),
            # Products: pictures to buy, and what else such words name.
            (("Cow", "Cow"), ("Cow – prints", "Cow – prints"), False),
            (("Cow", "Cow"), ("Cow (print)", "Cow (print)"), False),
            (("Kuh - Shop", "Kuh"), ("Kuh | Druck", "Kuh | Druck"), False),
            (("Blues", "Blues"), ("Blues - AMP", "Blues - AMP"), False),
            (("Kestrel", "Kestrel"), ("Kestrel: Mobile", "Kestrel: Mobile"), False),
            # Only one page has a heading.
            (("Boat 7", ""), ("Shop", "Boat 7"), True),
            (("Boat 7 - Shop", ""), ("Boat 7 - Shop", "Boat 7"), True),
            (("Boat 7 | Shop", ""), ("Boats", "Boat 7"), False),
            (("Boat 8", ""), ("Boat 7", "Boat"), False),
            (("Boat 8", ""), ("", "Boat 7"), False),
            (("Boat 7", ""), ("", "Boat 7"), True),
            # No heading.
            (("Boat 7", ""), ("Boat 7", ""), True),
            (("Boat 7", ""), ("Boat 8", ""), False),
            (("Shop - Boat 7", ""), ("Boat 7 - Shop", ""), False),
            # The site's name moves from one end to the other: one part is too long for it.
            (
                ("Acme - Five cows on the pier - News", ""),
                ("Five cows on the pier - News - Acme", ""),
                True,
            ),
            (
                ("Bonn | Kiel | Five trains every single day", ""),
                ("Kiel | Bonn | Five trains every single day", ""),
                False,
            ),
            # Other words, in texts without diacritics.
            (("Schön", "Schön"), ("Schon", "Schon"), False),
            (("Řím – Itálie", ""), ("Rim - Italie", ""), False),
            (("Má", "Má"), ("Mà", "Mà"), False),
            (("Alte Brücke", "Alte Brücke"), ("Alte Brucken", "Alte Brucken"), False),
            (("Zoé, résumé", ""), ("Zoé, resume", ""), False),
            # In other scripts they make other letters.
            (("Край", "Край"), ("Краи", "Краи"), False),
            (("がき", "がき"), ("かき", "かき"), False),
            # Pages without a name agree with any page.
            (("", ""), ("Boat 8", "Boat 8"), True),
            (("", ""), ("", ""), True),
            (("", "Boat 7"), ("", "Boat 8"), False),
            (("", "Boats"), ("Boat 8", "Boats"), True),
        ],
    )
    def test_titles_and_headings(self, one, other, expected):
        pages = [page(title, *([heading] if heading else [])) for title, heading in (one, other)]
        assert agree(*pages) is expected

    @pytest.mark.parametrize("names", [("Alte Brücke", "Alte Brücke"), ("Řím – Itálie", "")])
    def test_a_page_that_lost_its_diacritics_leaves_a_doubt(self, names):
        lost = [without_diacritics(name.lower()) for name in names]
        text = f"Alte Brücke, Řím – Itálie\n{names[0]} – čtyři Männer"
        one, other = page(*names, text=text), page(*lost, text=without_diacritics(text.lower()))
        assert agree(one, other) is None
        # A word of a name in the text is no sign of a loss, and neither is a loss in names alone.
        assert agree(page(*names, text=f"Say {names[0]} twice."), other) is False
        assert agree(one, page(*lost, text=text)) is False

    def test_an_unknown_site_is_no_other_site(self):
        for site in (0, SITE):
            assert agree(page("Boat 7", site=0), page("Boat 8", site=site)) is False

    def test_headlines_beside_an_unknown_site_leave_a_doubt(self):
        name = "Five cows on the ferry pier"
        one = page(name, "Menu", weak=True, site=0)
        other = page(f"Seen today: {name}", f"Seen today: {name}")
        assert agree(one, other) is None
        assert agree(one, other._replace(site=0)) is False
        assert agree(one._replace(site=SITE), other) is False
        assert agree(page(name, name, site=0), other) is False
        weak = [page("Ferries", f"{name}, {part}", weak=True, site=SITE * part) for part in (0, 1)]
        assert agree(*weak) is False
        assert agree(one, page(name[:9], name[:9], text=f"Here: {name[:9]}!")) is False
        # One of two sites declares its name, and so the other title has the name of another one.
        for heading, expected in ((name, None), ("Cows", False)):
            one, other = (
                page(f"{heading} - {site}", heading, sites=["Nordal"], text=f"By {site}", site=0)
                for site in ("Nordal", "Kestrel")
            )
            assert agree(one, other) is expected

    @pytest.mark.parametrize("sites", [["The Shop"], ["the-shop.example", "the-shop"], ["theshop"]])
    def test_the_declared_name_of_the_site_is_no_part_of_a_name(self, sites):
        for title in ("Boat 7 | The Shop", "The Shop: Boat 7", "Boat 7 (The Shop)"):
            assert agree(page(title, sites=sites), page("Boat 7")) is True
            assert agree(page(title, sites=sites), page(title)) is True
            assert agree(page(title, "Boat 7", sites=sites), page("Boat 7", "Boat 7")) is True
        assert agree(page("Boat 7 | Boats", sites=sites), page("Boat 7")) is False
        # A heading that is only that is a logo.
        one, other = (page(f"Boat {n}", "The Shop", f"Boat {n}", sites=sites) for n in (7, 8))
        assert agree(one, other) is False
        assert agree(one, page("Boat 7", "Boat 7")) is True

    def test_headings_beside_the_first_one(self):
        one = page("Boat 7", "Boat 7", "My basket")
        assert agree(one, page("Boat 7", "Boat 7")) is True
        assert agree(one, page("Boat 7", "My basket")) is None
        assert agree(one, page("Boat 7", "Boat 7", "Reviews")) is False
        assert agree(page("Shop", "Shop", "Boat 7"), page("Shop", "Shop", "Boat 8")) is False

    def test_weak_headings_count_only_beside_weak_ones(self):
        one, other = (page("Quick view", f"Boat {n}", weak=True) for n in (7, 8))
        assert agree(one, other) is False
        assert agree(page("", "Boat 7", weak=True), page("", "Boat 8", weak=True)) is False
        whole = page("Boat 7", "Boat 7")
        assert agree(page("Boat 7", "Share", weak=True), whole) is True
        assert agree(page("", "Boat 7", weak=True), whole) is True
        assert agree(page("Boat 8", "Share", weak=True), whole) is False

    def test_what_only_one_title_says_counts_if_the_text_uses_it(self):
        base = page("Alto jacket", "Alto jacket", text="A jacket.")
        for text, expected in (("A jacket. Colour: red.", False), ("A jacket.", None)):
            assert agree(page("Alto jacket, red", "Alto jacket", text=text), base) is expected
        other = page("Alto jacket - red", "Alto jacket", text="A jacket. Colour: red.")
        assert agree(other, base) is False

    def test_titles_of_long_texts_under_one_heading_leave_a_doubt(self):
        one, other = (page(f"Licence {n}", "Legal code", tokens=1000) for n in ("A", "B"))
        assert agree(one, other) is None
        assert agree(one, page("Licence B", "Legal code", tokens=999)) is False

    @given(WORDS, st.integers(0), st.text("abcdef", min_size=1, max_size=8))
    def test_every_word_of_a_name_counts(self, words, at, word):
        at %= len(words) + 1
        longer = [*words[:at], word, *words[at:]]
        for one, other in ((words, longer), (longer, words)):
            assert agree(page(" ".join(one)), page(" ".join(other))) is False
            assert agree(page("S", " ".join(one)), page("S", " ".join(other))) is False


class TestAcrossSites:
    def across(self, *pages):
        one, other = (page(*names, text=text) for *names, text in pages)
        return agree(one, other._replace(site=SITE + 1))

    def test_equal_names_agree(self):
        assert self.across(("Boat 7", "Boat 7", ""), ("Boat 7 - B", "Boat 7", "")) is True
        assert self.across(("Boat 7", "Boat 7", ""), ("Boat 7", "")) is True
        assert self.across(("", ""), ("Boat 7", "Boat 7", "")) is True

    def test_headlines_of_the_same_news_may_differ(self):
        one = ("The last keeper leaves the light", "The last keeper leaves the light")
        other = ("A light without keeper from May", "A light without keeper from May")
        text = "On Sunday the keeper of the light locks the door."
        assert self.across((*one, text), (*other, text)) is True

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("Boat 7", "Boat 7"), ("Boat 8", "Boat 8")),
            (("Ox", "Ox"), ("Elk", "Elk")),
            (("東屋 – Norby", "東屋"), ("西屋 – Tolva", "西屋")),
            (("Weather in Norby", ""), ("Weather in Tolva", "")),
            # A title that is the same on all sites of a template says nothing.
            (("Welcome", "Ox"), ("Welcome", "Elk")),
            (("Welcome to our house at the sea", "Ox"), ("Welcome to our house", "Elk")),
        ],
    )
    def test_short_names_differ(self, one, other):
        assert self.across((*one, ""), (*other, "")) is False

    def test_a_short_name_and_a_headline_leave_a_doubt(self):
        long = "The last keeper leaves the light"
        assert self.across(("Storm", "Storm", ""), (long, long, "")) is None
        assert self.across(("Gazette", "Gazette", ""), ("Gazette", long, "")) is True

    def test_names_that_the_texts_use_differ(self):
        one, other = (
            (f"{name}, Norby", name, f"{name}\nWelcome! {name} stands at the quay.")
            for name in ("Anchor House beside the old quay", "The Old Mint of the city")
        )
        assert self.across(one, other) is False
        # The line of the heading is no use of the name.
        assert self.across((*one[:2], one[1]), other) is None
        assert self.across((one[0], one[1]), other) is None

    def test_names_of_sites_in_titles_tell_sites_apart(self):
        one, other = (
            page(f"Rooms - {site}", "Rooms", sites=[site], text=f"The {site} has thirty rooms.")
            for site in ("Anchor House", "Old Mint")
        )
        assert agree(one, other) is False
        assert agree(one, page("Rooms", "Rooms")) is True

    def test_declared_brands_that_the_texts_use_tell_pages_apart(self):
        def imprint(name, brand, text, site):
            names = Names(name, [name], brand=brand)
            title, heading = page_names(names, text)
            return Evidence(site=site, title=title, heading=heading)

        for name, same in (("Imprint", False), ("Five cows on the ferry pier", True)):
            one = imprint(name, "Nordal", "By Nordal.", SITE)
            assert agree(one, imprint(name, "Kestrel", "By Kestrel.", SITE + 1)) is same
            assert agree(one, imprint(name, "Kestrel", "By Nordal.", SITE + 1)) is True
            assert agree(one, imprint(name, "Nordal", "By Nordal.", SITE + 1)) is True

    def test_brands_that_the_texts_use_tell_pages_apart(self):
        one, other = (
            (f"Our terms - {brand}", "Our terms", f"{brand} sends all orders within a day.")
            for brand in ("Nordal", "Kestrel & Sons")
        )
        assert self.across(one, other) is False
        assert self.across((*one[:2], ""), other) is None
        one, other = (
            (f"{title} - {brand}", title, text)
            for title, brand, text in (
                ("Five cows on the ferry pier", "Nordal", ""),
                ("Five cows on the ferry pier", "Kestrel", "Kestrel saw it."),
            )
        )
        assert self.across(one, other) is True
