"""The test pages have the distances that the other tests rely on."""

from __future__ import annotations

from itertools import combinations

import pytest

from scrapy_simhash import Detector, Scheme, hamming_distance
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS
from tests.crawl.pages import ARTICLES, page

PRESET = PRESETS[DEFAULT_PRESET]
MARGIN = 6


@pytest.fixture(scope="module")
def fingerprint():
    detector = Detector(Scheme.preset(DEFAULT_PRESET))

    def of(html: str) -> int:
        found = detector.fingerprint_page(html)
        assert found.fingerprint is not None, found
        return found.fingerprint

    return of


@pytest.mark.parametrize("name", ARTICLES)
def test_copies_are_well_within_k_of_each_other(fingerprint, name):
    family = [fingerprint(page(name))] + [fingerprint(page(name, copy=n)) for n in range(1, 65)]
    distances = [hamming_distance(a, b) for a, b in combinations(family, 2)]
    assert 0 < max(distances) <= PRESET.max_distance - MARGIN


def test_different_articles_are_far_apart(fingerprint):
    prints = [fingerprint(page(name)) for name in ARTICLES]
    distances = [hamming_distance(a, b) for a, b in combinations(prints, 2)]
    # Copies are within k - MARGIN of theirs, so none is within k of another article.
    assert min(distances) > 2 * PRESET.max_distance - MARGIN
