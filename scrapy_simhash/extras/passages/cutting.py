# ruff: noqa: RUF001 - the punctuation of other scripts is what this module handles
"""Split a text into passages: sentences, or parts of long ones.

If possible, passages end at boundaries of the text: at the end of a sentence, at a comma or between
words. So text that is copied to another text is split in the same way there. Passages of a
fixed length would match only if they began at the same character of the copied text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import EmptyText
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.fingerprint import Fingerprint


# Longer sentences are split, if possible at commas; most parts have `_PART_CHARACTERS` or more.
_LONG_SENTENCE_CHARACTERS = 160
_PART_CHARACTERS = 60

# Closing quotation marks and brackets, which may follow the end of a sentence.
_CLOSING = "\"'”’»）)」』】〕》]"
# Han, kana, hangul and their punctuation may follow a full stop without a space.
_UNSPACED = "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_SENTENCE_END = re.compile(
    rf"[。！？；…｡؟।]+[{re.escape(_CLOSING)}]*|[\r\n]+|$"
    # The lookbehind avoids quadratic time on a long row of these marks.
    rf"|(?<![.!?;])[.!?;]+(?:[{re.escape(_CLOSING)}]+|(?=\s|$|[{_UNSPACED}]))"
)
_CLAUSE_END = re.compile(r"[，、：,:؛،;]+|\s[-–—]\s|[—–]+")
# A part may end after one of these characters, or before white space.
_PART_ENDS = frozenset("。！？；…｡؟।，、：,:؛،;.!?" + _CLOSING)


class Span(NamedTuple):
    """The characters of a text from `start` to `end`."""

    start: int
    end: int


def spans_of(text: str) -> list[Span]:
    """Return the passages of a text, sorted by start.

    They cover all of the text except white space. No passage is empty, and none begins or ends
    with white space.
    """
    parts = _sentence_parts(text)
    return [Span(start, start + len(text[start:end].rstrip())) for start, end in parts]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence. No sentence begins with white space."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        start = _skip_space(text, start, end)
        if start < end:
            yield start, end
        start = end


def _sentence_parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of sentences. Long ones are split at commas, or else between words."""
    for sentence_start, end in _sentences(text):
        start = sentence_start
        is_long = end - start > _LONG_SENTENCE_CHARACTERS
        clauses = _CLAUSE_END.finditer(text, start, end) if is_long else ()
        for at in [*(clause.end() for clause in clauses), end]:
            if at < end and at - start < _PART_CHARACTERS:
                continue
            while at - start > _LONG_SENTENCE_CHARACTERS:
                cut = _part_end(text, start + _PART_CHARACTERS, start + _LONG_SENTENCE_CHARACTERS)
                yield start, cut
                start = _skip_space(text, cut, at)
            if at > start:
                yield start, at
            start = _skip_space(text, at, end)


def _part_end(text: str, earliest: int, latest: int) -> int:
    """Return the first position from `earliest` at which a part may end; at latest, `latest`."""
    latest = min(latest, len(text))
    for at in range(earliest, latest):
        if text[at - 1] in _PART_ENDS or text[at].isspace():
            return at
    return latest


def _skip_space(text: str, start: int, end: int) -> int:
    """Return the first position from `start` that is not white space, at most `end`."""
    while start < end and text[start].isspace():
        start += 1
    return start


# Characters and pairs of them, each counted once. An edited word would change too many of the few
# words of a sentence; an edited character changes at most three features.
SCHEME = Scheme(bits=256, tokenizer="characters-and-pairs", weighting="uniform")
BYTES = SCHEME.bits // 8
# These tables find all copies within 50 bits of short passages with one or two edited characters,
# and 97.5 % of those with 51 to 60 bits (1,500 passages of real pages each).
PLAN = TablePlan(SCHEME.bits, blocks=14, prefix_bits=16, probes=384)
MAX_DISTANCE = 50
# With fewer letters and digits, one edit may change a fifth of all bits.
MIN_CHARACTERS = 8
# Two edited characters of a passage with fewer letters and digits change more bits.
_SHORT_CHARACTERS = 25
MAX_REACH = 70


def fingerprint_of(passage: str) -> Fingerprint | None:
    """Return the fingerprint of a passage; None if it is too short or has no features."""
    if sum(map(str.isalnum, passage)) < MIN_CHARACTERS:
        return None
    try:
        return SCHEME.certain_fingerprint(SCHEME.tokens(passage))
    except EmptyText:
        return None


def reach_of(passage: str) -> int:
    """Return the distance in bits within which a passage is looked up."""
    is_short = sum(map(str.isalnum, passage)) < _SHORT_CHARACTERS
    return MAX_REACH if is_short else MAX_DISTANCE
