"""Select parts: the title, first or last sentences of paragraphs, or the longest five sentences.

Each line of an extracted text is a paragraph.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_SENTENCES = 5
# A sentence ends at an East Asian mark, or at another mark with white space after it.
_SENTENCE_END = re.compile("(?<=[。！？｡])|(?<=[.!?…।])\\s+")  # noqa: RUF001


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, in order."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(paragraph))))


PARTS: Mapping[str, Callable[[Sequence[Sequence[str]]], list[str]]] = {
    "first-sentences": lambda paragraphs: [paragraph[0] for paragraph in paragraphs],
    "last-sentences": lambda paragraphs: [paragraph[-1] for paragraph in paragraphs],
    "longest-sentences": lambda paragraphs: sorted(
        chain.from_iterable(paragraphs), key=len, reverse=True
    )[:LONGEST_SENTENCES],
}
"""Functions that return the sentences of a part, given paragraphs: lists of sentences."""
TITLE_PART = "title"


def select_parts(text: str, parts: Sequence[str], title: str = "") -> str:
    """Return the sentences of the named parts, one per line; the text itself if `parts` is empty.

    :param parts: ``title``, or names in `PARTS`. Sentences in several parts are repeated.
    """
    if not parts:
        return text
    paragraphs = [split for line in text.splitlines() if (split := sentences(line))]
    lines = []
    for part in parts:
        lines += [title] if part == TITLE_PART else PARTS[part](paragraphs)
    return "\n".join(filter(None, lines))
