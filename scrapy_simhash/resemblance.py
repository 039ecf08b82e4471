"""Compute the exact resemblance of two texts from their words, without fingerprints.

Resemblance (Broder) is the Jaccard coefficient of two sets of shingles: runs of 5 consecutive
tokens. A token is a run of letters and digits, or a single Chinese, Japanese or Korean character,
of the text in NFKC and lower case. If more than half of the characters in the tokens of both texts
are Chinese, Japanese or Korean, shingles have 8 tokens. A text with fewer tokens than a shingle
is a single shingle. The benchmarks use the same definition.

    >>> resemblance("The boat leaves at nine.", "the BOAT leaves, at nine!")
    1.0
    >>> round(resemblance("one two three four five six", "one two three four five seven"), 3)
    0.333
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_simhash.tokens.folding import nfkc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WORD_SHINGLE = 5
CHARACTER_SHINGLE = 8
# Pairs of pages count as near-duplicates from this up.
NEAR_DUPLICATE = 0.8

# Kana, ideographs and Hangul.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
TOKEN = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_CJK_TOKEN = re.compile(f"[{_CJK}]")


def shingle_tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order."""
    return TOKEN.findall(nfkc(text).lower())


def shingle_length(token_lists: Iterable[Sequence[str]]) -> int:
    """Return the number of tokens in a shingle: 8 if the texts are mostly CJK, else 5."""
    characters = cjk_characters = 0
    for tokens in token_lists:
        characters += sum(map(len, tokens))
        cjk_characters += sum(1 for token in tokens if _CJK_TOKEN.match(token))
    return CHARACTER_SHINGLE if 2 * cjk_characters > characters else WORD_SHINGLE


def shingles(tokens: Sequence[str], length: int) -> set[tuple[str, ...]]:
    """Return the set of shingles; fewer than `length` tokens are a single shingle."""
    if len(tokens) < length:
        return {tuple(tokens)} if tokens else set()
    return set(zip(*(tokens[start:] for start in range(length)), strict=False))


def resemblance(a: str, b: str) -> float:
    """Return the resemblance of two texts, from 0 to 1; 0 if one has no token."""
    both = shingle_tokens(a), shingle_tokens(b)
    length = shingle_length(both)
    one, other = (shingles(tokens, length) for tokens in both)
    union = len(one | other)
    return len(one & other) / union if union else 0.0
