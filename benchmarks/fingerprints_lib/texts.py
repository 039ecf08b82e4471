"""Texts of about 4 KB, English and Chinese: real ones from page sets, or generated ones."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_Item = TypeVar("_Item")
LANGUAGES = {"en": "English", "zh": "Chinese"}
SIZE = 4096
_VOCABULARY = 30_000
_SYLLABLES = (
    "a al an ar be ca co con de di e en er es ex fi for ge i im in is la li lo ma men mi mo na ne "
    "no o of or per pre pro ra re ri ro sa se si so sta sub ta te ter ti tion to tra tri u un ve vi"
).split()


def real_texts(folders: Iterable[Path], wanted: Iterable[str]) -> dict[str, list[str]]:
    """The texts of page sets, where they have any, by language: joined as they come, and cut."""
    texts: dict[str, list[str]] = {language: [] for language in wanted}
    for folder in folders:
        if not (folder / "truth.jsonl.gz").exists():
            continue
        with (folder / "docs.jsonl").open(encoding="utf-8") as file:
            languages = {
                doc["id"]: str(doc.get("lang")).lower()[:2] for doc in map(json.loads, file)
            }
        with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
            for doc in map(json.loads, file):
                if (language := languages.get(doc["id"], "")) in texts:
                    texts[language].append(doc["text"])
    return {language: list(pieces(found)) for language, found in texts.items()}


def pieces(texts: Iterable[str], size: int = SIZE) -> Iterator[str]:
    """Texts, joined and cut to `size` bytes of UTF-8 or a little less; the rest is dropped."""
    buffer = b""
    for text in texts:
        buffer += text.encode("utf-8", "replace") + b"\n"
        while len(buffer) >= size:
            piece = buffer[:size].decode("utf-8", "ignore")
            yield piece
            buffer = buffer[len(piece.encode()) :]


def generated_texts(wanted: Iterable[str], count: int, seed: int) -> dict[str, list[str]]:
    """`count` texts in each language."""
    sources = {"en": _english, "zh": _chinese}
    return {
        language: list(itertools.islice(pieces(sources[language](random.Random(seed))), count))
        for language in wanted
    }


def _english(dice: random.Random) -> Iterator[str]:
    """Paragraphs of words that look like English ones, of Zipf's frequencies."""
    words = ["the"] + [
        "".join(dice.choices(_SYLLABLES, k=min(1 + rank.bit_length() // 5, 4)))
        for rank in range(1, _VOCABULARY)
    ]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))
    return _paragraphs(dice, words, weights, (" ", ", ", ". "))


def _chinese(dice: random.Random) -> Iterator[str]:
    """Paragraphs of words from jieba's dictionary, of the frequencies there."""
    import jieba

    with jieba.get_dict_file() as file:
        lines = [line.decode("utf-8").split() for line in file]
    pairs = [(line[0], int(line[1])) for line in lines if "\u4e00" <= line[0][0] <= "\u9fff"]
    weights = list(itertools.accumulate(weight for _, weight in pairs))
    return _paragraphs(dice, [word for word, _ in pairs], weights, ("", "，", "。"))


def _paragraphs(
    dice: random.Random,
    words: Sequence[str],
    weights: Sequence[float],
    marks: tuple[str, str, str],
) -> Iterator[str]:
    space, comma, stop = marks
    while True:
        sentences = []
        for _ in range(dice.randint(2, 6)):
            clauses = [
                space.join(dice.choices(words, cum_weights=weights, k=dice.randint(4, 12)))
                for _ in range(dice.randint(1, 3))
            ]
            sentences.append(comma.join(clauses).capitalize() + stop)
        yield "".join(sentences)


def sample(items: Sequence[_Item], count: int, seed: int) -> list[_Item]:
    """`count` of the items, or all if there are fewer."""
    return random.Random(seed).sample(items, min(count, len(items)))
