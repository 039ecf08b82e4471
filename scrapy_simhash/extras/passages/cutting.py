# ruff: noqa: RUF001 - the punctuation of other scripts is what this module handles
"""Split a text into passages: sentences, or shorter *runs*.

If possible, passages end at boundaries of the text: at the end of a sentence, at a comma or between
words. So text that is copied to another text is split in the same way there. Passages of a
fixed length would match only if they began at the same character of the copied text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
    from collections.abc import Iterator

Unit = Literal["sentences", "runs"]

DEFAULT_RUN_CHARACTERS = 30
MIN_RUN_CHARACTERS = 5
MAX_RUN_CHARACTERS = 1000
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
# A run may end after one of these characters, or before white space.
_RUN_ENDS = frozenset("。！？；…｡؟।，、：,:؛،;.!?" + _CLOSING)


class Span(NamedTuple):
    """The characters of a text from `start` to `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Cutting:
    """The way to split a text into passages.

    :param unit: ``sentences``, or ``runs`` of about `characters` characters.
    :param characters: target length of a run, 5 to 1000; most runs have two to four thirds of it.
    :param overlapping: begin each run near the middle of the previous run of the same sentence.
    :raises SchemeError: a value is invalid, or `overlapping` is True for sentences.
    """

    unit: Unit = "sentences"
    characters: int = DEFAULT_RUN_CHARACTERS
    overlapping: bool = False

    def __post_init__(self) -> None:
        if self.unit not in ("sentences", "runs"):
            raise SchemeError(f"unit={self.unit!r}: sentences or runs is needed")
        if (
            type(self.characters) is not int
            or not MIN_RUN_CHARACTERS <= self.characters <= MAX_RUN_CHARACTERS
        ):
            raise SchemeError(
                f"characters={self.characters!r}: {MIN_RUN_CHARACTERS} to "
                f"{MAX_RUN_CHARACTERS} is needed"
            )
        if type(self.overlapping) is not bool or (self.overlapping and self.unit != "runs"):
            raise SchemeError(
                f"overlapping={self.overlapping!r}: True (for runs) or False is needed"
            )

    def spans(self, text: str) -> list[Span]:
        """Return the passages of a text, sorted by start.

        They cover all of the text except white space. No passage is empty, and none begins or ends
        with white space.
        """
        spans = self._runs(text) if self.unit == "runs" else _sentence_parts(text)
        return [Span(start, start + len(text[start:end].rstrip())) for start, end in spans]

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield runs. Each sentence begins a new run, so its runs do not depend on earlier text."""
        shortest = max(self.characters * 2 // 3, 1)
        longest = max(self.characters * 4 // 3, shortest + 1)
        for sentence_start, sentence_end in _sentences(text):
            start = sentence_start
            while sentence_end - start > longest:
                end = min(_run_end(text, start + shortest, start + longest), sentence_end)
                if sentence_end - end < shortest:  # the rest would be too short: cut in the middle
                    end = _run_end(text, (start + sentence_end) // 2, sentence_end)
                yield start, end
                if self.overlapping:
                    start = min(_run_end(text, (start + end) // 2, end - 1), end)
                else:
                    start = end
                start = _skip_space(text, start, sentence_end)
            if start < sentence_end:
                yield start, sentence_end


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
    """Yield (start, end) of sentences. Long ones are split at commas, or else as runs are."""
    for sentence_start, end in _sentences(text):
        start = sentence_start
        is_long = end - start > _LONG_SENTENCE_CHARACTERS
        clauses = _CLAUSE_END.finditer(text, start, end) if is_long else ()
        for at in [*(clause.end() for clause in clauses), end]:
            if at < end and at - start < _PART_CHARACTERS:
                continue
            while at - start > _LONG_SENTENCE_CHARACTERS:
                cut = _run_end(text, start + _PART_CHARACTERS, start + _LONG_SENTENCE_CHARACTERS)
                yield start, cut
                start = _skip_space(text, cut, at)
            if at > start:
                yield start, at
            start = _skip_space(text, at, end)


def _run_end(text: str, earliest: int, latest: int) -> int:
    """Return the first position from `earliest` at which a run may end; at latest, `latest`."""
    latest = min(latest, len(text))
    for at in range(earliest, latest):
        if text[at - 1] in _RUN_ENDS or text[at].isspace():
            return at
    return latest


def _skip_space(text: str, start: int, end: int) -> int:
    """Return the first position from `start` that is not white space, at most `end`."""
    while start < end and text[start].isspace():
        start += 1
    return start
