"""Hostile texts take linear time."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash.extras.passages.cutting import Cutting
from scrapy_simhash.extras.passages.index import open_passages
from tests.test_hostile_texts import CHARACTERS, UNITS, cpu_s

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("cutting", [Cutting(), Cutting(unit="runs", overlapping=True)])
def test_texts_are_cut_in_linear_time(cutting):
    for unit in UNITS:
        text = unit * (CHARACTERS // len(unit))
        assert cpu_s(lambda text=text: list(cutting.spans(text))) < 8, unit


def test_many_similar_sentences_are_checked_in_time(tmp_path):
    def text():
        return " ".join(
            f"The quick brown fox jumps over a lazy dog near the bank, for the {number}th time."
            for number in random.sample(range(10**9), 2000)
        )

    with open_passages(tmp_path / "passages", keep_text=True) as index:
        index.add("one", text())
        assert cpu_s(index.check, "other", text()) < 10
