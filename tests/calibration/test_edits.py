"""Edited copies."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from scrapy_simhash.calibration.edits import edited_copies
from scrapy_simhash.resemblance import resemblance, shingle_tokens

from .pages import articles

CHINESE = "".join(map(chr, islice(range(0x4E00, 0x9FFF, 53), 240)))
TEXTS = [*articles(4, 0), CHINESE]


def test_each_text_is_edited_as_often_as_the_others():
    made = list(edited_copies(TEXTS, 60, 1))
    assert Counter(place for place, _ in made) == dict.fromkeys(range(5), 12)
    assert made == list(edited_copies(TEXTS, 60, 1))
    assert made != list(edited_copies(TEXTS, 60, 2))
    # Words replaced, a run cut out, a run put in: about as many longer ones as shorter ones.
    lengths = Counter()
    for place, text in made:
        before, after = len(shingle_tokens(TEXTS[place])), len(shingle_tokens(text))
        lengths[(after > before) - (after < before)] += 1
        assert abs(after - before) <= 0.18 * before + 1
    assert min(lengths.values()) >= 15
    assert set(lengths) == {-1, 0, 1}


def test_most_of_them_resemble_their_texts():
    alike = [resemblance(text, TEXTS[place]) for place, text in edited_copies(TEXTS, 60, 1)]
    assert sum(value >= 0.8 for value in alike) > 40
    assert min(alike) > 0.5
    assert max(alike) > 0.9


def test_texts_without_words():
    assert list(edited_copies([], 5, 1)) == []
    assert list(edited_copies(["", "…"], 5, 1)) == []
    assert {place for place, _ in edited_copies(["", "boat sea pier"], 6, 1)} == {1}
