"""Parts of a text that stand for the whole: its title, edges of paragraphs, longest sentences.

A paragraph is a line, as extraction leaves them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_SENTENCES = 5
# A sentence ends at a mark that is followed by space; those of East Asia need none.
_SENTENCE_END = re.compile("(?<=[。！？｡])|(?<=[.!?…।])\\s+")  # noqa: RUF001


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, in order."""
    return [part for raw in _SENTENCE_END.split(paragraph) if (part := raw.strip())]


def _first_sentences(paragraphs: Sequence[str]) -> list[str]:
    return [found[0] for paragraph in paragraphs if (found := sentences(paragraph))]


def _last_sentences(paragraphs: Sequence[str]) -> list[str]:
    return [found[-1] for paragraph in paragraphs if (found := sentences(paragraph))]


def _longest_sentences(paragraphs: Sequence[str]) -> list[str]:
    found = [sentence for paragraph in paragraphs for sentence in sentences(paragraph)]
    return sorted(found, key=len, reverse=True)[:LONGEST_SENTENCES]


PARTS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "first-sentences": _first_sentences,
    "last-sentences": _last_sentences,
    "longest-sentences": _longest_sentences,
}
TITLE_PART = "title"


def select_parts(text: str, parts: Sequence[str], title: str = "") -> str:
    """Those parts of a text, one a line; all of it if none is named.

    :param parts: ``title`` and names in `PARTS`.
    """
    if not parts:
        return text
    paragraphs = [line for line in text.splitlines() if line.strip()]
    chosen = []
    for part in parts:
        chosen += [title] if part == TITLE_PART else PARTS[part](paragraphs)
    return "\n".join(part for part in chosen if part)
