"""Resemblance, against its definition in plain Python."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import resemblance as module
from scrapy_simhash.resemblance import resemblance, shingle_length, shingle_tokens

# Few different ones, so that texts share some.
WORDS = st.lists(st.sampled_from("boat sea Pier nine 九 点 渡 轮 , . \n".split()), max_size=30)
TEXTS = WORDS.map(" ".join)


def by_hand(a, b):
    one, other = shingle_tokens(a), shingle_tokens(b)
    letters = "".join(one + other)
    size = 8 if 2 * sum("\u4e00" <= c <= "\u9fff" for c in letters) > len(letters) else 5

    def runs(tokens):
        whole = [tokens] if 0 < len(tokens) < size else []
        return {
            tuple(run) for run in whole or (tokens[i : i + size] for i in range(len(tokens)))
            if whole or len(run) == size
        }  # fmt: skip

    both, either = runs(one) & runs(other), runs(one) | runs(other)
    return len(both) / len(either) if either else 0.0


@given(TEXTS, TEXTS)
def test_resemblance_is_the_share_of_common_shingles(a, b):
    assert resemblance(a, b) == by_hand(a, b) == resemblance(b, a)
    assert resemblance(a, a) == (1.0 if shingle_tokens(a) else 0.0)


def test_the_examples_in_the_module():
    assert doctest.testmod(module).attempted == 2
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The BOAT, at 9:30!", ["the", "boat", "at", "9", "30"]),
        ("ＦＵＬＬ ①", ["full", "1"]),
        ("渡轮 at 九点", ["渡", "轮", "at", "九", "点"]),
        ("フェリー", list("フェリー")),
        ("snake_case Łódź", ["snake", "case", "łódź"]),
        (" \n", []),
    ],
)
def test_tokens(text, tokens):
    assert shingle_tokens(text) == tokens


def test_a_shingle_is_longer_where_tokens_are_characters():
    assert shingle_length([["boat"], ["sea"]]) == 5
    assert shingle_length([list("渡轮九点")]) == 8
    assert shingle_length([["boat"], list("渡轮九点")]) == 5
    assert shingle_length([["boat"], list("渡轮九点去")]) == 8
    assert shingle_length([]) == 5
