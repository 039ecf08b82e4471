"""Tokens to weighted features: n-grams, counted or not.

Which features and weights find near-duplicates is measured, not argued: see the table of
quality in the documentation. Term frequencies alone let a few common words decide the sums,
which is why the default damps them (1 + log tf).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Weighting = Literal["uniform", "tf", "log-tf"]

# Cannot occur inside a token of our tokenizers, so that ("a b",) and ("a", "b") differ.
_JOINER = "\x1f"


def _log_tf(count: int) -> float:
    # Rounded, so that the last bit of a platform's logarithm decides nothing.
    return 1.0 + round(math.log(count) * 2**20) / 2**20


WEIGHTINGS: Mapping[str, Callable[[int], float]] = {
    "uniform": lambda _count: 1.0,
    "tf": float,
    "log-tf": _log_tf,
}


def shingles(tokens: Sequence[str], length: int) -> list[str]:
    """All runs of `length` consecutive tokens; a shorter text is one shingle of all it has."""
    if length == 1:
        return list(tokens)
    if not tokens:
        return []
    last = max(len(tokens) - length, 0)
    return [_JOINER.join(tokens[i : i + length]) for i in range(last + 1)]


def weighted_features(
    tokens: Sequence[str], *, shingle_length: int, weighting: Weighting
) -> dict[str, float]:
    """Feature → weight, in order of first occurrence; empty for no tokens."""
    weight = WEIGHTINGS[weighting]
    counts = Counter(shingles(tokens, shingle_length))
    return {feature: weight(count) for feature, count in counts.items()}
