"""Select parts of a text: its title, first or last sentences of paragraphs, longest sentences.

Each line of an extracted text is a paragraph.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_SENTENCES = 5
# East Asian sentence marks need no space after them.
_SENTENCE_END = re.compile("(?<=[。！？｡])|(?<=[.!?…।])\\s+")  # noqa: RUF001


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, in order."""
    return [part for raw in _SENTENCE_END.split(paragraph) if (part := raw.strip())]


def _first_sentences(paragraphs: Sequence[str]) -> list[str]:
    return [split[0] for paragraph in paragraphs if (split := sentences(paragraph))]


def _last_sentences(paragraphs: Sequence[str]) -> list[str]:
    return [split[-1] for paragraph in paragraphs if (split := sentences(paragraph))]


def _longest_sentences(paragraphs: Sequence[str]) -> list[str]:
    every = [sentence for paragraph in paragraphs for sentence in sentences(paragraph)]
    return sorted(every, key=len, reverse=True)[:LONGEST_SENTENCES]


PARTS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "first-sentences": _first_sentences,
    "last-sentences": _last_sentences,
    "longest-sentences": _longest_sentences,
}
TITLE_PART = "title"


def select_parts(text: str, parts: Sequence[str], title: str = "") -> str:
    """Return the named parts of a text, one per line; the whole text if no part is named.

    :param parts: ``title`` and names in `PARTS`.
    """
    if not parts:
        return text
    paragraphs = [line for line in text.splitlines() if line.strip()]
    chosen = []
    for part in parts:
        chosen += [title] if part == TITLE_PART else PARTS[part](paragraphs)
    return "\n".join(part for part in chosen if part)
