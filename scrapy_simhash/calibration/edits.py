"""Make edited copies of texts, for samples with too few near-duplicates."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scrapy_simhash.resemblance import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_WORDS_SHARE = 0.02
_MOST_RUN_SHARE = 0.18


def edited_copies(texts: Sequence[str], count: int, seed: int) -> Iterator[tuple[int, str]]:
    """Yield `count` pairs of (number of the text, its edited copy), spread evenly over the texts.

    Three edits alternate: replace single words by words of any text, delete a run of words, or
    insert a run of words from another text. The size of each edit is random.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    cut = [_pieces(text) for text in texts]
    words = sorted({piece.strip() for pieces in cut for piece in pieces if piece.strip()})
    for number in range(count if words else 0):
        place = number % len(texts)
        pieces = list(cut[place])
        if not pieces:
            continue
        kind = (number // len(texts) + place) % 3
        if kind == 0:
            most = max(1, round(_MOST_WORDS_SHARE * len(pieces)))
            for at in chance.sample(range(len(pieces)), chance.randint(1, most)):
                pieces[at] = f"{chance.choice(words)} "
        else:
            length = max(1, round(chance.uniform(0, _MOST_RUN_SHARE) * len(pieces)))
            start = chance.randint(0, len(pieces) - length)
            if kind == 1:
                del pieces[start : start + length]
            else:
                other = cut[chance.randrange(len(cut))]
                begin = chance.randint(0, max(len(other) - length, 0))
                pieces[start:start] = other[begin : begin + length]
        yield place, "".join(pieces)


def _pieces(text: str) -> list[str]:
    """Split a text before each token except the first."""
    starts = [match.start() for match in TOKEN.finditer(text)]
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip([0, *starts[1:]], ends, strict=True)] * bool(
        starts
    )
