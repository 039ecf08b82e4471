"""Resemblance: the Jaccard coefficient of the shingles of two texts.

This is the yardstick by which the site is planted. It is computed here in the plainest way and
independently of the plugin, so that the plugin cannot be measured by itself.
"""

from __future__ import annotations

import re
import unicodedata

WORDS_PER_SHINGLE = 5
CHARACTERS_PER_SHINGLE = 8
_WORD = re.compile(r"\w+")


def shingles(text: str, lang: str) -> frozenset[str]:
    """Return the shingles: 5 words of an English text, 8 characters of a Chinese one.

    Of a Chinese text only letters (Han characters are letters to Unicode) and digits count.
    """
    if lang.startswith("zh"):
        units = [c for c in text.lower() if unicodedata.category(c)[0] in "LN"]
        size, joint = CHARACTERS_PER_SHINGLE, ""
    else:
        units = _WORD.findall(text.lower())
        size, joint = WORDS_PER_SHINGLE, " "
    if not units:
        return frozenset()
    last = max(len(units) - size, 0)
    return frozenset(joint.join(units[i : i + size]) for i in range(last + 1))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common shingles among all of them; 0.0 where both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def resemblance(one: str, other: str, lang: str) -> float:
    """Return the resemblance of two texts in the same language."""
    return jaccard(shingles(one, lang), shingles(other, lang))
