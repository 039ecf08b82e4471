"""Fold a text: `normalize` returns one form of all the ways to write the same text.

Copies of a page differ in case, in composed letters, in characters that nobody sees, and in letters
that keyboards and fonts confuse. Unicode's own NFKC and case folding undo most of it. Properties of
characters decide the rest, except for `_VARIANTS`: for these, Unicode has no property.
"""

from __future__ import annotations

import re
import unicodedata

from scrapy_simhash.tokens.characters import (
    FOLDED,
    Characters,
    characters_of,
    fold_of,
    plain_codes,
    text_of,
)

# Matches 30 combining marks before another one; and symbols.
_MAYBE_MANY_MARKS = re.compile("[^\\w\\s\\x00-\u02ff]{30}(?=[^\\w\\s\\x00-\u02ff])")
_GRAPHEME_JOINER = "\u034f"
_DOT_ABOVE = "\u0307"
_WIDE_PUNCTUATION = "\uff0c\uff1a\uff1b\uff08\uff09\uff01\uff1f\u3000\u00a0\u2026"
# (character, what it is folded to), for characters in very many texts. Replacing them first is
# faster. NFKC would make words of the letters of the last two, which are trade marks.
_COMMON_FORMS = (
    *((form, unicodedata.normalize("NFKC", form)) for form in _WIDE_PUNCTUATION),
    *(("\u2013", "-"), ("\u00ad", ""), ("\u200b", ""), ("\u2122", ""), ("\u2120", "")),
)
# Tags after a black flag say whose flag it is. Other tags are invisible.
_TAGS = frozenset(map(chr, range(0xE0000, 0xE0080)))
_HIDDEN_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+")


def normalize(text: str) -> str:
    """Return a text in NFKC, case-folded, and folded as the docstring of this module says.

    - Without characters that show nothing: zero-width ones, soft hyphens, marks of direction,
      selectors of variants, the Arabic tatweel, which only stretches a word.
    - Without the vowel points of Arabic, Hebrew and Syriac, which most texts omit.
    - With ASCII digits, and one character of those that are written for each other.
    """
    return text.lower() if text.isascii() else _normalized(text)[0]


def folded(text: str) -> tuple[str, Characters]:
    """Return the normalized text and its characters, which have no diacritics.

    Many sites omit diacritics from whole texts. Names keep them: they tell short names apart.
    """
    normalized, characters = _normalized(text)
    return normalized, characters._replace(codes=plain_codes(characters))


def plain(text: str) -> str:
    """Return the normalized text without diacritics; see `folded`."""
    return text.lower() if text.isascii() else text_of(folded(text)[1].codes)


def _normalized(text: str) -> tuple[str, Characters]:
    if text.isascii():
        text = text.lower()
        return text, characters_of(text)
    for form, common in _COMMON_FORMS:
        text = text.replace(form, common)
    text = nfkc(text).casefold()
    if _DOT_ABOVE in text:  # the Turkish capital letter I with a dot
        text = text.replace(f"i{_DOT_ABOVE}", "i")
    return _visible(nfkc(text))  # because case folding decomposes a few letters


def visible(text: str) -> str:
    """Return a text in NFKC without what `normalize` removes, but with its capital letters."""
    return text if text.isascii() else _visible(nfkc(text))[0]


def _visible(text: str) -> tuple[str, Characters]:
    characters = characters_of(text)
    found = characters.distinct(FOLDED)
    if not found:
        return text, characters
    for character in found:
        if character in _TAGS:
            text = _HIDDEN_TAGS.sub("", text)
        else:
            text = text.replace(character, fold_of(character))
    text = nfkc(text)  # because what was removed kept letters and marks apart
    return text, characters_of(text)


def nfkc(text: str) -> str:
    """Return a text in NFKC.

    NFKC sorts the combining marks after a letter, in a time that grows with the square of their
    number. No writing system needs more than 30, so joiners divide longer runs (UAX #15), unless
    the text is in NFKC already.
    """
    if unicodedata.is_normalized("NFKC", text):  # linear time: False at the first unsorted mark
        return text
    # `_MAYBE_MANY_MARKS` would take the half-width forms of these two marks for letters.
    text = text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")
    return unicodedata.normalize("NFKC", _MAYBE_MANY_MARKS.sub(_divided, text))


def _divided(run: re.Match[str]) -> str:
    """Return a run of characters, with a joiner after it if all of them are marks."""
    decomposed = unicodedata.normalize("NFKD", run[0])
    return run[0] + _GRAPHEME_JOINER if all(map(unicodedata.combining, decomposed)) else run[0]
