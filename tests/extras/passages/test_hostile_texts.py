"""Hostile texts take linear time."""

import random

import pytest

from scrapy_simhash.extras.passages.cutting import spans_of
from scrapy_simhash.extras.passages.index import open_passages
from tests.test_hostile_texts import CHARACTERS, UNITS, cpu_s

pytestmark = pytest.mark.thorough


def test_texts_are_cut_in_linear_time():
    for unit in UNITS:
        assert cpu_s(spans_of, unit * (CHARACTERS // len(unit))) < 8, unit


def test_many_similar_sentences_are_checked_in_time(tmp_path):
    def text():
        return " ".join(
            f"The quick brown fox jumps over a lazy dog near the bank, for the {number}th time."
            for number in random.sample(range(10**9), 2000)
        )

    with open_passages(tmp_path / "passages") as index:
        index.add("one", text())
        assert cpu_s(index.check, "other", text()) < 10
