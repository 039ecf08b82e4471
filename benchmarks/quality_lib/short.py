"""Short pages: the openings of real texts, which resemble each other as short real texts do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.corpus import Document, PageSet, page_set
from quality_lib.truth import TOKEN, truth_tokens
from scrapy_simhash.tokenization import jieba_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST, MOST = 30, 100
LENGTHS = (30, 50, 100)


def opening(text: str, length: int) -> str | None:
    """The start of a text with at least that many tokens of ours; None if it has fewer."""
    ends = [match.end() for match in TOKEN.finditer(text[: 40 * length])]
    taken = length
    while taken <= len(ends):
        start = text[: ends[taken - 1]]
        missing = length - len(jieba_tokens(start))
        if missing <= 0:
            return start
        taken += missing
    return None


def openings(page_sets: Sequence[PageSet], length: int) -> list[PageSet]:
    """The same sets of the openings of their texts, with truth pairs made anew."""
    result = []
    for whole in page_sets:
        cut = []
        for doc in whole.documents:
            start = opening(doc.text, length)
            if start is not None:
                tokens = len(truth_tokens(start))
                cut.append(Document(doc.id, doc.lang, tokens, None, start))
        result.append(page_set(whole.name, cut, None, min_tokens=1))
    return result
