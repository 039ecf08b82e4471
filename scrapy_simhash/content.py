"""Content: has a page changed, beyond typing errors, since an earlier crawl?

A sketch cannot tell: a new price, or "cancelled", is one word in hundreds. So entries also keep two
64-bit numbers, each a sum over tokens:

- of the hashes of all *exact* tokens, each times its place, so that their order counts: numbers,
  symbols, words of up to five letters, and words of scripts without letter case, whose characters
  are words of their own. All *long words* have one hash here.
- of random numbers, one for each letter, over the letters of long words. If one letter is
  added, left out, replaced, or swapped with another one, as in a typing error, the difference is
  one of a few thousand known numbers. If another long word is there, it is none of them, and
  neither is it if two letters are added: "unavailable" is no error for "available".

Words with a capital letter may be names, in which each letter counts: `capitalized`.

So a page is unchanged if its exact tokens are the same, and the letters of its long words differ by
one that is added, left out or replaced.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from scrapy_simhash.lazy import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Latin, Greek, Cyrillic and Armenian. To look at all words takes three times as long.
_CAPITALS = "".join(filter(str.isupper, map(chr, range(0x0530))))
_CAPITALIZED = re.compile(rf"[{_CAPITALS}][^\W\d_]{{5,}}")
_MASK = (1 << 64) - 1
_MIN_LONG_LETTERS = 6
# Scripts from here on have no letter case, or write a word with one or two characters.
_FIRST_EXACT_SCRIPT = 0x0590
# Letters are told apart by their lowest bits. These are different for the letters of one alphabet.
_LETTERS = 64
_LONG_WORD = xxh3_64_intdigest(b"a long word")


def content_bytes(tokens: Sequence[str], token_hashes: NDArray[np.uint64]) -> bytes:
    """Return the two sums of a text, 16 bytes.

    :param token_hashes: of all tokens in order, from `scrapy_simhash.hashes.token_hashes`.
    """
    # A loop over the few long words, and one search in all of them, is faster than arrays.
    marks = [len(token) >= _MIN_LONG_LETTERS and token.isalpha() for token in tokens]
    words = list(compress(tokens, marks))
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    is_long = np.array(marks, bool)
    if len(codes) and codes.max() >= _FIRST_EXACT_SCRIPT:
        lengths = np.array(list(map(len, words)))
        is_cased = np.maximum.reduceat(codes, np.cumsum(lengths) - lengths) < _FIRST_EXACT_SCRIPT
        codes = codes[np.repeat(is_cased, lengths)]
        is_long[is_long] = is_cased
    places = 2 * np.arange(len(tokens), dtype=np.uint64) + 1  # odd: no bit of a hash is lost
    exact = int(np.where(is_long, _LONG_WORD, token_hashes) @ places)
    counts = np.bincount(codes & (_LETTERS - 1), minlength=_LETTERS).view(np.uint64)
    fuzzy = int(counts @ np.array(_numbers(), np.uint64))
    return exact.to_bytes(8, "big") + (fuzzy & _MASK).to_bytes(8, "big")


def capitalized(text: str) -> str:
    """Return the different long words of a text that begin with a capital letter, sorted."""
    return " ".join(sorted(set(map(str.casefold, _CAPITALIZED.findall(text)))))


def content_differs(one: bytes, other: bytes) -> bool:
    """Return True if two texts differ by more than a typing error.

    :param one: `content_bytes`; if one side is empty, the result is False.
    """
    if one == other or not one or not other:
        return False
    if one[:8] != other[:8]:
        return True
    difference = int.from_bytes(one[8:], "big") - int.from_bytes(other[8:], "big")
    return difference & _MASK not in _typing_errors()


@lru_cache(maxsize=1)
def _numbers() -> list[int]:
    """Return a random number for each letter."""
    return [xxh3_64_intdigest(bytes((letter,))) for letter in range(_LETTERS)]


@lru_cache(maxsize=1)
def _typing_errors() -> frozenset[int]:
    """Return the sums of at most one letter that is added and at most one that is left out."""
    numbers = [0, *_numbers()]
    return frozenset(added - left_out & _MASK for added in numbers for left_out in numbers)
