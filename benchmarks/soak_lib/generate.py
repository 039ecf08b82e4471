"""Pages by number: a pure function of number and seed, so that nothing is stored anywhere.

The server makes a page when it is asked for, and the scoring knows what it made. A page is an
original, byte for byte a copy of one, or a near-duplicate of one with a known kind of edit; always
of an earlier number, and never of a copy.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from soak_lib import texts
from soak_lib.frames import PRINT_FRAME, Dress, dressed, frame_number
from soak_lib.texts import Writer

NEAR_SHARE = 0.30
EQUAL_SHARE = 0.02
CHINESE_SHARE = 0.10
ORIGINAL, EQUAL = "original", "equal"
_TEXT_EDITS = {
    "words": texts.with_other_words,
    "sentence": texts.with_a_sentence,
    "paragraph": texts.with_a_paragraph_moved,
}
NEAR_KINDS = ("print", "frame", "session", *_TEXT_EDITS)
KINDS = (*NEAR_KINDS, EQUAL)
# So many copies are of one of the last pages, that may not have been judged yet.
_SOON_SHARE = 0.1
_SOON = 50


class Truth(NamedTuple):
    """The truth about a page.

    :param original: the number of the page that it is made from; its own for an original. It
        names the family.
    :param kind: ``original``, ``equal``, or one of `NEAR_KINDS`.
    """

    number: int
    original: int
    kind: str


def truth(number: int, seed: int) -> Truth:
    """Return the truth about the page with a number, from 1."""
    dice = random.Random(f"{seed}/truth/{number}")
    share = dice.random()
    if number == 1 or share >= NEAR_SHARE + EQUAL_SHARE:
        return Truth(number, number, ORIGINAL)
    kind = EQUAL if share < EQUAL_SHARE else dice.choice(NEAR_KINDS)
    first = max(1, number - _SOON) if dice.random() < _SOON_SHARE else 1
    for _ in range(100):
        original = dice.randrange(first, number)
        if is_original(original, seed):
            return Truth(number, original, kind)
    return Truth(number, 1, kind)


def is_original(number: int, seed: int) -> bool:
    """Return the same as `truth`, at less cost."""
    share = random.Random(f"{seed}/truth/{number}").random()
    return number == 1 or share >= NEAR_SHARE + EQUAL_SHARE


def is_chinese(original: int, seed: int) -> bool:
    """Return True if the family of an original is Chinese."""
    return random.Random(f"{seed}/language/{original}").random() < CHINESE_SHARE


def page(number: int, seed: int) -> str:
    """Return the HTML of a page."""
    known = truth(number, seed)
    original, kind = known.original, known.kind
    chinese = is_chinese(original, seed)
    writer = Writer(seed, random.Random(f"{seed}/text/{original}"), chinese=chinese)
    text = writer.text()
    frame = frame_number(original)
    dress = Dress(f"{seed}/dress/{original}", f"{seed}/session/{original}", original)
    if kind == "print":
        frame = PRINT_FRAME
    elif kind == "frame":
        frame = frame_number(original + 1)
        dress = Dress(f"{seed}/dress/{number}", f"{seed}/session/{number}", number)
    elif kind == "session":
        dress = Dress(dress.seed, f"{seed}/session/{number}", number)
    elif kind in _TEXT_EDITS:
        dice = random.Random(f"{seed}/edit/{number}")
        writer.go_on_with(dice)
        text = _TEXT_EDITS[kind](text, writer, dice)
    return dressed(text, frame, dress, seed)
