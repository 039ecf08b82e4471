"""Compute resemblance: the Jaccard coefficient of the shingles of two texts.

The plugin is measured by this resemblance, so the code is independent of the plugin.
"""

from __future__ import annotations

import re
import unicodedata

WORDS_PER_SHINGLE = 5
CHARACTERS_PER_SHINGLE = 8
_WORD = re.compile(r"\w+")


def shingles(text: str, lang: str) -> frozenset[str]:
    """Return the shingles of a text: runs of 5 words, or in Chinese runs of 8 characters.

    In Chinese texts, only letters (in Unicode, Han characters are letters) and digits count. A
    shorter text is one shingle.
    """
    if lang.startswith("zh"):
        units = [c for c in text.lower() if unicodedata.category(c)[0] in "LN"]
        size, separator = CHARACTERS_PER_SHINGLE, ""
    else:
        units = _WORD.findall(text.lower())
        size, separator = WORDS_PER_SHINGLE, " "
    if not units:
        return frozenset()
    last = max(len(units) - size, 0)
    return frozenset(separator.join(units[i : i + size]) for i in range(last + 1))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the shingles of either text that both have; 0.0 if there are none."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def resemblance(one: str, other: str, lang: str) -> float:
    """Return the resemblance of two texts in the same language."""
    return jaccard(shingles(one, lang), shingles(other, lang))
