"""Truth pairs made from texts: which pairs of them resemble each other, and how much.

Resemblance is Broder's: the Jaccard coefficient of two texts' sets of shingles, here of 5
consecutive tokens, or 8 where most letters are Chinese, Japanese or Korean, whose tokens are
single characters. An inverted index from shingle to texts counts the shared shingles of all pairs
that share any, so the result is exact and nothing is sampled. It shares no code with what it
judges.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

MUST_BE_FOUND = 0.8
MUST_NOT_BE_FOUND = 0.2
LISTED_FROM = 0.05

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
TOKEN = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_ONE_CJK = re.compile(f"[{_CJK}]")


class TruthPair(NamedTuple):
    """Two texts, by their numbers, a < b."""

    a: int
    b: int
    resemblance: float
    origin: str
    grade: str


def truth_tokens(text: str) -> list[str]:
    """Lower-case words; characters where the script is Chinese, Japanese or Korean."""
    return TOKEN.findall(unicodedata.normalize("NFKC", text).lower())


def shingle_length(texts: Sequence[str]) -> int:
    """5 tokens, or 8 where most letters are CJK: one length for all texts of a language."""
    letters = sum(sum(map(len, truth_tokens(text))) for text in texts)
    cjk = sum(len(_ONE_CJK.findall(text)) for text in texts)
    return 8 if 2 * cjk > letters else 5


def grade(resemblance: float, same: bool = False) -> str:
    """A: the same tokens; then by resemblance."""
    if same:
        return "A"
    for name, least in (("B", 0.9), ("C", 0.7), ("D", 0.5), ("E", MUST_NOT_BE_FOUND)):
        if resemblance >= least:
            return name
    return "F"


def make_pairs(texts: Sequence[str], languages: Sequence[str]) -> list[TruthPair]:
    """All pairs of texts of one language with a resemblance of at least 0.05."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, language in enumerate(languages):
        groups[language].append(number)
    found = []
    for members in groups.values():
        length = shingle_length([texts[number] for number in members])
        tokens = [truth_tokens(texts[number]) for number in members]
        for a, b, resemblance in resembling(tokens, length):
            kept = grade(resemblance, same=tokens[a] == tokens[b])
            found.append(TruthPair(members[a], members[b], resemblance, "made", kept))
    return found


def resembling(token_lists: Sequence[list[str]], length: int) -> list[tuple[int, int, float]]:
    """(a, b, resemblance) of all pairs from 0.05 on; texts shorter than a shingle have none."""
    numbers: dict[tuple[str, ...], int] = {}
    sets = []
    for tokens in token_lists:
        shingles = {tuple(tokens[i : i + length]) for i in range(len(tokens) - length + 1)}
        known = [numbers.setdefault(shingle, len(numbers)) for shingle in shingles]
        sets.append(np.array(known, dtype=np.int64))
    sizes = np.array([len(found) for found in sets], dtype=np.int64)
    if not numbers:
        return []
    # The inverted index: texts with shingle s are holders[starts[s]:starts[s + 1]].
    flat = np.concatenate(sets)
    order = np.argsort(flat, kind="stable")
    holders = np.repeat(np.arange(len(sets)), sizes)[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=len(numbers)))])
    found = []
    for a, grams in enumerate(sets):
        counts = starts[grams + 1] - starts[grams]
        ends = np.cumsum(counts)
        if not len(ends):
            continue
        positions = np.arange(ends[-1]) + np.repeat(starts[grams] - ends + counts, counts)
        shared = np.bincount(holders[positions], minlength=len(sets))
        resemblance = shared / np.maximum(sizes + len(grams) - shared, 1)
        later = np.flatnonzero(resemblance >= LISTED_FROM)
        found += [(a, int(b), float(resemblance[b])) for b in later if b > a]
    return found
