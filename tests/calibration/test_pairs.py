"""The matrix of all resemblances equals the resemblances of single pairs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.calibration import pairs
from scrapy_simhash.calibration.pairs import Resemblances
from scrapy_simhash.resemblance import shingle_length, shingle_tokens, shingles

WORDS = "boat sea pier nine 九 点 渡 轮".split()
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join), max_size=12)


def matrix(texts):
    rows = list(Resemblances(texts).rows())
    return np.stack(rows) if rows else np.zeros((0, 0))


def one_by_one(texts):
    """Return the matrix, computed pair by pair. Each text has its own length of shingles."""
    sets = []
    for text in texts:
        tokens = shingle_tokens(text)
        sets.append(shingles(tokens, shingle_length([tokens])))
    return [[len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets]


@given(TEXTS)
def test_resemblances(texts):
    assert matrix(texts).tolist() == one_by_one(texts)


@pytest.mark.parametrize("rows", [1, 7, 256])
@pytest.mark.parametrize("common_texts", [0, 1, 4, 99])
def test_block_size_and_common_shingles_do_not_change_results(monkeypatch, rows, common_texts):
    monkeypatch.setattr(pairs, "_BLOCK_ROWS", rows)
    monkeypatch.setattr(pairs, "_COMMON_TEXTS", common_texts)
    rng = random.Random(4)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(0, 40))) for _ in range(30)]
    texts += [texts[3]] * 9
    assert matrix(texts).tolist() == one_by_one(texts)


def test_shingles_of_different_lengths_are_never_equal():
    words = "one two three four five 渡轮九点出发六点回来"
    characters = words.removeprefix("one two three four ")
    found = matrix([words, characters, characters])
    assert found[1, 2] == 1
    assert found[0, 1] == 0
