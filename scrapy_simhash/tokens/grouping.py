"""Decide which neighbouring characters of a text make up one token.

The kinds of characters (`scrapy_simhash.tokens.characters`) decide most of it: letters, digits and
marks make up words, and runs of symbols are tokens of their own, so that ``5€`` equals ``5 €``.
This module adds what depends on neighbours:

- Signs inside a number belong to it (``08:15``). A hyphen before it is a minus, which is a symbol.
- A dot before a word (``.NET``) and a number sign after it (``C#``) belong to the word.
- ASCII punctuation makes an operator with the symbol after it (``!=``, ``->``) or if it is doubled
  (``&&``).
- A picture between spaces that is the same as the one before is a bullet, and no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.lazy import np
from scrapy_simhash.tokens.characters import DIGIT, GROUPS, MARK, PICTURE, SIGN, SYMBOL, WORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Groups = NDArray[np.uint8]

_IS_WORD = 3  # bits of a group that no separator and no symbol has
_BEFORE_EQUALS = frozenset("!&*/:^|~-")


def groups_of(text: str, codes: NDArray[Any], kinds: NDArray[np.uint8]) -> Groups:
    """Return the group of each character, 0 for separators; see `scrapy_simhash.tokens.characters`.

    :param text: begins with one space and ends with two.
    """
    groups: Groups = kinds & np.uint8(GROUPS)
    found = int(np.bitwise_or.reduce(kinds))
    if found & MARK:
        places = np.arange(len(groups))
        places[kinds >= MARK] = 0
        groups = groups[np.maximum.accumulate(places)]
    if found & SIGN:
        _add_signs(groups, codes, kinds)
    if "#" in text:
        at = np.flatnonzero(codes == ord("#"))
        after_letter = (groups[at - 1] == WORD) & (kinds[at - 1] & DIGIT == 0)
        groups[at[after_letter & (groups[at + 1] & _IS_WORD == 0)]] = WORD
    if "=" in text:
        before = (np.flatnonzero(codes == ord("=")) - 1).tolist()
        groups[[at for at in before if text[at] in _BEFORE_EQUALS]] = SYMBOL
    for operator in ("->", "&&", "||"):
        # The search for one character is much faster, and mostly enough.
        if operator[1] in text and operator in text:
            first, second = map(ord, operator)
            at = np.flatnonzero((codes[:-1] == first) & (codes[1:] == second))
            groups[at] = groups[at + 1] = SYMBOL
    if found & PICTURE:
        _remove_bullets(groups, codes, kinds)
    return groups


def _add_signs(groups: Groups, codes: NDArray[Any], kinds: NDArray[np.uint8]) -> None:
    """Put signs inside numbers and dots before words into words, and minus signs into symbols."""
    signs, digits = kinds & SIGN, kinds & DIGIT
    groups[1:-1] |= (signs[1:-1] >> 4) & (digits[:-2] >> 3) & (digits[2:] >> 3)
    at = np.flatnonzero((signs[1:-2] > 0) & (groups[:-3] & _IS_WORD == 0)) + 1
    at = at[signs[at - 1] == 0]
    if not len(at):
        return
    minus, dots = at[codes[at] == ord("-")], at[codes[at] == ord(".")]
    money = (groups[minus + 1] == SYMBOL) & (digits[minus + 2] > 0)  # -$5
    groups[minus[(digits[minus + 1] > 0) | money]] = SYMBOL
    groups[dots[(groups[dots + 1] == WORD) & (digits[dots + 1] == 0)]] = WORD


def _remove_bullets(groups: Groups, codes: NDArray[Any], kinds: NDArray[np.uint8]) -> None:
    """Put pictures between separators into no group if they repeat the one before."""
    at = np.flatnonzero(kinds & PICTURE)
    alone = at[(groups[at - 1] == 0) & (groups[at + 1] == 0)]
    repeated = codes[alone[1:]] == codes[alone[:-1]]
    groups[alone[1:][repeated]] = 0
