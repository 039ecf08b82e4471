"""Make edited copies of texts, for samples with too few near-duplicates."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_simhash.resemblance import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Upper limits for the share of words that are replaced, and for the length of a run.
_MAX_WORDS_SHARE = 0.02
_MAX_RUN_SHARE = 0.18


def edited_copies(texts: Sequence[str], count: int, seed: int) -> Iterator[tuple[int, str]]:
    """Yield up to `count` pairs of (number of a text, edited copy), equally many of each text.

    The edits take turns: replace single words by words of any text, delete a run of words, or
    insert a run of words of any text. The size of each edit is random. Texts without words are left
    out. A copy may equal its text.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    all_pieces = [_pieces(text) for text in texts]
    words = sorted({piece.strip() for pieces in all_pieces for piece in pieces if piece.strip()})
    for turn in range(count if words else 0):
        text_number = turn % len(texts)
        pieces = list(all_pieces[text_number])
        if not pieces:
            continue
        kind = (turn // len(texts) + text_number) % 3
        if kind == 0:
            max_words = max(1, round(_MAX_WORDS_SHARE * len(pieces)))
            for at in chance.sample(range(len(pieces)), chance.randint(1, max_words)):
                pieces[at] = f"{chance.choice(words)} "
        else:
            length = max(1, round(chance.uniform(0, _MAX_RUN_SHARE) * len(pieces)))
            start = chance.randint(0, len(pieces) - length)
            if kind == 1:
                del pieces[start : start + length]
            else:
                other = all_pieces[chance.randrange(len(all_pieces))]
                begin = chance.randint(0, max(len(other) - length, 0))
                pieces[start:start] = other[begin : begin + length]
        yield text_number, "".join(pieces)


def _pieces(text: str) -> list[str]:
    """Return a text split before each token except the first; no pieces if it has no token."""
    starts = [match.start() for match in TOKEN.finditer(text)]
    cuts = [0, *starts[1:], len(text)] if starts else []
    return [text[start:end] for start, end in pairwise(cuts)]
