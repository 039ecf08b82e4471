"""`calibrate` counts the pairs of a sample, and chooses the k and least resemblance that fit best."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.calibration import calibrate, draw, fingerprinted, resemblances
from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.resemblance import resemblance
from scrapy_simhash.scheme import PRESETS, Scheme

from .pages import articles, page

TEXTS = articles(40, 25)
# Two texts that share 70 % of their words: neither near-duplicate nor wrong.
HALF = [*TEXTS, TEXTS[1][:900] + TEXTS[2][900:]]


def calibrated(texts, preset="wide", confirmation=None, *, max_distance=None):
    documents = [
        text if isinstance(text, Document) else Document(f"d{number}", text)
        for number, text in enumerate(texts)
    ]
    chosen = PRESETS[preset]
    detector = Detector(chosen.scheme)
    pages = list(fingerprinted(documents, detector, Counter()))
    k = chosen.max_distance if max_distance is None else max_distance
    return pages, calibrate(pages, detector, k, confirmation or chosen.confirmation)


def test_a_pair_of_exactly_the_threshold_is_near_duplicate():
    words = [f"w{number}" for number in range(76)]
    # 72 shingles each, of which 64 are shared: 64 / 80.
    one, other = " ".join(words), " ".join([*words[:68], *(f"v{number}" for number in range(8))])
    assert resemblance(one, other) == 0.8
    assert calibrated([one, other])[1].near_duplicate_pairs == 1


@pytest.mark.parametrize("preset", ["wide", "classic"])
def test_each_pair_is_counted_once_by_resemblance_similarity_and_distance(preset):
    pages, found = calibrated(HALF, preset)
    confirmation = PRESETS[preset].confirmation
    reach = PRESETS[preset].scheme.bits // 3
    near, wrong = [], []
    for one, other in combinations(pages, 2):
        alike = resemblance(one.extraction.text, other.extraction.text)
        distance = hamming_distance(one.fingerprint, other.fingerprint)
        similarity, _ = confirmation.compare(one.evidence, other.evidence)
        if alike >= 0.8:
            near.append((similarity, distance))
        elif alike < 0.5:
            wrong.append((similarity, distance))
    assert (found.near_duplicate_pairs, found.wrong_pairs) == (len(near), len(wrong))
    assert found.near_duplicate_pairs == found.near_duplicates == 25
    assert (found.edited_copies, found.kept_apart) == (0, 0)
    for per_cent in (0, 30, 60, 90, 100):
        for k in (0, reach // 3, reach):
            within = [
                sum(s >= per_cent / 100 - 1e-6 and d <= k for s, d in pairs)
                for pairs in (near, wrong)
            ]
            assert found.recall[per_cent, k] == pytest.approx(within[0] / 25)
            assert found.wrong[per_cent, k] == within[1]


def test_present_values_that_are_among_the_best_are_kept():
    _, found = calibrated(TEXTS)
    assert (found.max_distance, found.min_resemblance) == (52, 0.6)
    assert found.recall[60, 52] == 1
    assert found.wrong[60, 52] == 0


def test_a_k_that_misses_copies_is_replaced():
    _, found = calibrated(TEXTS, max_distance=1)
    assert found.recall[60, 1] < 1
    assert found.max_distance > 1
    assert found.recall[60, found.max_distance] == 1


def test_without_confirmation_k_is_in_the_middle_of_the_best():
    _, found = calibrated(TEXTS, "classic")
    k = found.max_distance
    assert (found.recall[0, k], found.wrong[0, k]) == (1, 0)
    assert found.min_resemblance == 0
    best = [k for k in range(22) if found.recall[0, k] == 1 and found.wrong[0, k] == 0]
    # The middle, 14, would need more than 100 tables.
    assert k == (best[0] + best[-1]) // 2 - 1 == 13


def test_a_least_resemblance_that_tells_copies_from_pages_of_one_template():
    """Every tenth word differs. So the pages are near each other, but are no copies."""
    form = TEXTS[39].split()
    one, other = (
        " ".join(own if at % 10 == 0 else word for at, (word, own) in enumerate(both))
        for both in (list(zip(form, text.split(), strict=False)) for text in TEXTS[:2])
    )
    assert 0.2 < resemblance(one, other) < 0.5
    filled = [f"{text} {'Nobody waved. ' * times}" for text in (one, other) for times in range(13)]
    texts = [*filled, *articles(40, 40, seed=9)]
    _, low = calibrated(texts, confirmation=Confirmation(min_resemblance=0.2))
    assert low.wrong[20, 52] > 100
    assert low.max_distance == 52
    assert 0.4 < low.min_resemblance < 0.8
    least = round(low.min_resemblance * 100)
    assert (low.recall[least, 52], low.wrong[least, 52], low.wrong[least - 1, 52] > 0) == (
        1,
        0,
        True,
    )
    _, high = calibrated(texts, confirmation=Confirmation(min_resemblance=1))
    assert low.min_resemblance <= high.min_resemblance < 1


def test_edited_copies_stand_for_missing_pairs():
    for texts, pairs in ((TEXTS[:-6], 19), (TEXTS[:40], 0)):
        _, found = calibrated(texts)
        assert (found.near_duplicate_pairs, found.near_duplicates) == (pairs, 20)
        assert found.edited_copies == 200
        assert found.max_distance == 52
        assert 0.9 < found.recall[60, 52] <= 1
        # Together, copies count as the missing pairs.
        assert found.recall[60, 14] < 0.3
    assert np.array_equal(calibrated(texts)[1].recall, found.recall)


def test_pages_of_one_site_with_other_names_are_kept_apart():
    texts = [
        Document(f"https://a.example/{number}", page(text, f"Story {number % 41}"), is_html=True)
        for number, text in enumerate(TEXTS)
    ]
    _, found = calibrated(texts)
    # 41 titles: no copy has the title of its original.
    assert (found.kept_apart, found.near_duplicate_pairs, found.edited_copies) == (25, 0, 200)
    _, found = calibrated(texts, confirmation=Confirmation(same_name=False))
    assert (found.kept_apart, found.near_duplicate_pairs) == (0, 25)


@pytest.mark.parametrize("count", [0, 1, 14])
def test_too_few_pages(count):
    _, found = calibrated(TEXTS[:count])
    assert found.wrong_pairs < 100
    assert (found.max_distance, found.min_resemblance) == (None, 0.6)


def test_only_equal_pages():
    _, found = calibrated([TEXTS[0]] * 20)
    assert (found.near_duplicate_pairs, found.max_distance) == (190, None)
    assert found.recall[100, 0] == 1


def documents(count):
    return [Document(f"d{number}", f"text {number}") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 5, 6, 100])
def test_a_sample_is_of_the_size_that_was_asked_for(count):
    left_out = Counter()
    given = [Unreadable("binary", "x"), *documents(count), Unreadable("binary", "y")]
    sample, read = draw(given, 5, left_out)
    assert (read, left_out) == (count, {"binary": 2})
    assert len(set(sample)) == len(sample) == min(count, 5)
    assert set(sample) <= set(documents(count))
    assert draw(documents(count), 5, left_out)[0] == sample


def test_each_document_is_drawn_equally_often():
    drawn = Counter(
        one.name
        for start in range(200)
        for one in draw(documents(100)[start % 100 :] * 2, 10, Counter())[0]
    )
    assert len(drawn) > 90


def test_pages_are_extracted_and_skipped_as_in_a_crawl():
    (text,) = articles(1, 0)
    detector = Detector(Scheme.preset("wide"))
    url = "https://a.example/"
    given = [
        Document(url, page(text), is_html=True),
        Document("plain", text),
        Document("short", "one two"),
    ]
    left_out = Counter()
    html, plain = fingerprinted(given, detector, left_out)
    assert left_out == {"few_tokens": 1}
    assert html.extraction.text == plain.extraction.text == text
    assert html.fingerprint == plain.fingerprint == detector.fingerprint_text(text).fingerprint
    assert html.evidence.site != 0 == plain.evidence.site


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=40).map(" ".join)


@given(st.lists(WORDS | st.sampled_from(["", "!", "船九点离开" * 4]), min_size=1, max_size=8))
def test_resemblances_are_those_of_two_texts(texts):
    rows = list(resemblances(texts))
    assert len(rows) == len(texts)
    for one, row in zip(texts, rows, strict=True):
        for other, alike in zip(texts, row, strict=True):
            if ("船" in one) == ("船" in other):
                assert alike == pytest.approx(resemblance(one, other))
