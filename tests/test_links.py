"""Sketches of where links lead, and what they say of two pages."""

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.detector import Detector
from scrapy_simhash.scheme import Scheme
from scrapy_simhash.sketch import MIN_PIECES, links_sketch, shared_targets
from tests.samples import PARAGRAPHS


def entries(first, count, weight=4):
    return {f"case-{number}": weight for number in range(first, first + count)}


class TestSketches:
    def test_a_page_with_few_targets_has_none(self):
        assert links_sketch(entries(0, MIN_PIECES - 1)) == b""
        assert len(links_sketch(entries(0, MIN_PIECES))) == 66

    @pytest.mark.parametrize("shared", [0, 10, 20, 30, 40])
    def test_the_share_is_estimated(self, shared):
        estimates = []
        for start in range(0, 20_000, 1000):
            one = links_sketch(entries(start, 40))
            other = links_sketch(entries(start + 40 - shared, 40))
            estimates.append(shared_targets(one, other))
        assert sum(estimates) / 20 == pytest.approx(shared / 40, abs=0.05)

    def test_navigation_weighs_less_than_entries(self):
        navigation = entries(1000, 40, weight=1)
        one = links_sketch(navigation | entries(0, 15, weight=9))
        other = links_sketch(navigation | entries(50, 15, weight=9))
        assert shared_targets(one, other) < 0.35


def listing(first, prefix="/", ending="", count=30):
    """Return a page whose text is its rules, which are the same on all pages of its kind."""
    links = "".join(
        f"<div><a href='{prefix}case/{n}{ending}'>{n} files</a></div>"
        for n in range(first, first + count)
    )
    rules = "".join(f"<p>{text}</p>" for text in PARAGRAPHS[:4])
    return f"<title>Cases</title><h1>Cases</h1>{rules}<div>{links}</div>"


def evidence(html, site=0):
    return Detector(Scheme()).fingerprint_page(html).evidence._replace(site=site)


class TestConfirmation:
    def test_pages_whose_links_lead_elsewhere_are_no_copies_whatever_their_texts(self):
        one, other = evidence(listing(1000)), evidence(listing(2000))
        assert one.sketch == other.sketch
        assert one.links
        assert Confirmation().compare(one, other) == (1.0, "links")
        assert Confirmation(same_name=False).compare(one, other).is_copy is False
        assert UNCONFIRMED.compare(one, other).is_copy is True

    @pytest.mark.parametrize(
        "copy",
        [
            listing(1000, "https://mirror.example/pub/2026/"),
            listing(1000, "../"),
            listing(1000, ending=".html"),
            listing(1000, ending="?sid=5f3a9c0d1e"),
            listing(1000, "/print/", "?print=1"),
            listing(1000, count=12),
            listing(1002),
        ],
        ids=["mirror", "relative", "static", "session", "print", "shorter", "two new"],
    )
    def test_copies_of_a_listing_stay_copies(self, copy):
        assert Confirmation().compare(evidence(listing(1000)), evidence(copy)).is_copy is True

    @pytest.mark.parametrize(
        "form",
        [
            "/minutes/{}/{}-protocol.html",
            "/archive/{}/05/{}",
            "https://town.example/{}/{}?lang=en",
            "/files/{}/{}.pdf",
            "download/volume-{}/{}.zip?inline=1",
        ],
    )
    def test_entries_with_the_same_names_in_other_folders_are_others(self, form):
        names = "january february march april may june july august winter spring".split()
        one, other = (
            evidence(
                f"<title>Papers</title><h1>Papers</h1><p>{PARAGRAPHS[0]}"
                + "".join(f"<li><a href='{form.format(year, name)}'>{name}</a>" for name in names)
            )
            for year in (2025, 2026)
        )
        assert one.sketch == other.sketch
        assert Confirmation().compare(one, other).against == "links"

    def test_links_of_pages_of_different_sites_are_not_compared(self):
        one, other = evidence(listing(1000), site=1), evidence(listing(2000), site=2)
        assert Confirmation().compare(one, other).is_copy is True
        assert Confirmation().compare(one, other._replace(site=1)).is_copy is False
        assert Confirmation().compare(one, other._replace(site=0)).is_copy is False
