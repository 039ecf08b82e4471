"""Select parts of a text: title, first or last sentences of paragraphs, longest sentences.

Each line of an extracted text is a paragraph.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_SENTENCES = 5
# East Asian sentence marks need no space after them.
_SENTENCE_END = re.compile("(?<=[。！？｡])|(?<=[.!?…।])\\s+")  # noqa: RUF001


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, in order."""
    return [part for raw in _SENTENCE_END.split(paragraph) if (part := raw.strip())]


def _longest(sentences: Sequence[str]) -> list[str]:
    return sorted(sentences, key=len, reverse=True)[:LONGEST_SENTENCES]


PARTS: Mapping[str, Callable[[Sequence[Sequence[str]]], list[str]]] = {
    "first-sentences": lambda paragraphs: [paragraph[0] for paragraph in paragraphs],
    "last-sentences": lambda paragraphs: [paragraph[-1] for paragraph in paragraphs],
    "longest-sentences": lambda paragraphs: _longest(list(chain.from_iterable(paragraphs))),
}
"""Functions from paragraphs, which are lists of sentences, to the sentences of a part."""
TITLE_PART = "title"


def select_parts(text: str, parts: Sequence[str], title: str = "") -> str:
    """Return the named parts of a text, one per line, or the whole text if no part is named.

    :param parts: ``title``, or names in `PARTS`.
    """
    if not parts:
        return text
    paragraphs = [split for line in text.splitlines() if (split := sentences(line))]
    chosen = []
    for part in parts:
        chosen += [title] if part == TITLE_PART else PARTS[part](paragraphs)
    return "\n".join(part for part in chosen if part)
