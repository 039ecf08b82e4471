"""Chinese texts have the same tokens, and so the same fingerprints, with and without rjieba."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.tokens.folding import normalize
from scrapy_simhash.tokens.tokenization import jieba_tokenizer, jieba_tokens

pytest.importorskip("rjieba", reason="rjieba is not installed: nothing to compare")

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
RUN = re.compile(f"[{HAN}]+")


def without_rjieba(text):
    cut = jieba_tokenizer().lcut
    return [word for run in RUN.findall(normalize(text)) for word in cut(run, HMM=False)]


def han_tokens(text):
    return [token for token in jieba_tokens(text) if RUN.match(token)]


han = st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF) | st.sampled_from(
    [
        "々",
        "〇",
        "豈",
        "\U00020000",
        "\U0002ebf0",
        "\U00030000",
        *"的一是不了在人有我他这中大来上国",
    ]
)


@given(st.text(han, max_size=30))
def test_tokens_of_any_han_are_equal(text):
    assert han_tokens(text) == without_rjieba(text)


@pytest.mark.thorough
def test_tokens_of_all_words_of_the_dictionary_are_equal():
    words = [word for word, count in jieba_tokenizer().FREQ.items() if count]
    assert len(words) > 300_000
    # Words in runs of their own, and pairs of words in one run, where words overlap.
    text = " ".join(words[::3]) + " ".join("".join(words[i : i + 2]) for i in range(0, 349_000, 10))
    assert han_tokens(text) == without_rjieba(text)
