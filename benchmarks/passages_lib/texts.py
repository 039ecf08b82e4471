"""Real texts, their sentences by a rule of our own, and passages planted into other texts.

None of it uses what it is to judge: sentences are not those of the library's cutting, and whether
two passages share text is asked of their characters, not of fingerprints.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Letters and digits, from and below.
BUCKETS = ((8, 15), (15, 22), (22, 40), (40, 80), (80, 400))
UNSPACED = ("zh", "ja", "th")
SCRIPTS = {"zh": "Han", "ja": "Kana and Han", "ru": "Cyrillic", "uk": "Cyrillic", "el": "Greek"}
SHARED = 0.5
# Below it, a single edit leaves few runs of five.
_SHORT_CHARACTERS = 22
_LONG_SHINGLE, _SHORT_SHINGLE = 5, 3
_SENTENCE = re.compile(r".+?(?:[。！？]+[”’」』）]*|[.!?]+[\"'”)]*(?=\s)|(?=\n)|$)", re.MULTILINE)
_ENDS = re.compile(r"[.!?。！？]+[\"'”’」』）)]*$")


class Document(NamedTuple):
    """A text, named by its set and id."""

    name: str
    language: str
    text: str


class Plant(NamedTuple):
    """Characters `start` to `end` of a document: whole sentences of it."""

    document: str
    language: str
    start: int
    end: int
    text: str
    letters: int


class Planted(NamedTuple):
    """A plant, edited, at its place in the text of its language that is checked."""

    plant: Plant
    start: int
    end: int


class Checked(NamedTuple):
    """A text to check: sentences of documents that are not in the index, and plants between."""

    language: str
    text: str
    planted: list[Planted]


def load(folders: Iterable[Path]) -> list[Document]:
    """The truth texts of page sets."""
    found = []
    for folder in folders:
        with (folder / "docs.jsonl").open(encoding="utf-8") as file:
            languages = {doc["id"]: str(doc["lang"]).lower()[:2] for doc in map(json.loads, file)}
        with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
            found += [
                Document(f"{folder.name}/{doc['id']}", languages.get(doc["id"], ""), doc["text"])
                for doc in map(json.loads, file)
            ]
    return found


def script(language: str) -> str:
    """What a language is written in."""
    return SCRIPTS.get(language, "Latin")


def letters(text: str) -> int:
    """How many letters and digits it has."""
    return sum(map(str.isalnum, text))


def bucket(count: int) -> str:
    """The name of the bucket of so many letters and digits."""
    for low, high in BUCKETS:
        if low <= count < high:
            return f"{low}-{high}" if high < BUCKETS[-1][1] else f"{low}+"
    return f"{BUCKETS[-1][0]}+" if count >= BUCKETS[-1][1] else f"below {BUCKETS[0][0]}"


def sentences(text: str) -> list[tuple[int, int]]:
    """Where sentences and lines stand, without white space around them."""
    found = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        start += len(match[0]) - len(match[0].lstrip())
        end -= len(match[0]) - len(match[0].rstrip())
        if start < end:
            found.append((start, end))
    return found


def split(documents: Sequence[Document], seed: int) -> tuple[list[Document], list[Document]]:
    """Four of five documents of a language for the index, and the others to be checked."""
    dice = random.Random(f"split {seed}")
    by_language: defaultdict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_language[document.language].append(document)
    indexed, others = [], []
    for language in sorted(by_language):
        members = by_language[language]
        dice.shuffle(members)
        count = max(len(members) // 5, 1)
        others += members[:count]
        indexed += members[count:]
    return indexed, others


def plants(indexed: Sequence[Document], count: int, seed: int) -> list[Plant]:
    """About `count` runs of whole sentences, as evenly of all languages and lengths as can be;
    each sentence is long enough to be looked up.
    """
    dice = random.Random(f"plants {seed}")
    cells: defaultdict[tuple[str, str], dict[str, Plant]] = defaultdict(dict)
    for document in indexed:
        spans = sentences(document.text)
        for first, (start, _) in enumerate(spans):
            low, high = dice.choice(BUCKETS)
            for begin, end in spans[first : first + 12]:
                if letters(document.text[begin:end]) < BUCKETS[0][0]:
                    break
                text = document.text[start:end]
                size = letters(text)
                if size < low:
                    continue
                if size < high:
                    plant = Plant(document.name, document.language, start, end, text, size)
                    cells[document.language, bucket(size)].setdefault(text, plant)
                break
    found: list[Plant] = []
    left = count
    for number, (_, members) in enumerate(sorted(cells.items(), key=lambda item: len(item[1]))):
        quota = min(left // (len(cells) - number), len(members))
        found += dice.sample(list(members.values()), quota)
        left -= quota
    dice.shuffle(found)
    return found


def edited(text: str, share: float, letters_of_language: str, dice: random.Random) -> str:
    """The text with that share of its characters substituted, deleted or new ones inserted before
    them, at least one if the share is not 0; new characters as frequent as in the language.
    """
    if not share:
        return text
    characters = list(text)
    count = max(round(share * len(text)), 1)
    for at in dice.sample(range(len(characters)), min(count, len(characters))):
        new = dice.choice(letters_of_language)
        characters[at] = dice.choice((new, "", new + text[at]))
    return "".join(characters)


def rewrapped(text: str) -> str:
    """The text with its lines joined, as when it was copied out of a paragraph of wrapped lines."""
    return re.sub(r"\s*\n\s*", " ", text)


def alphabet(documents: Iterable[Document]) -> dict[str, str]:
    """The letters and digits of each language, as often as they occur in some of its texts."""
    found: defaultdict[str, str] = defaultdict(str)
    for document in documents:
        if len(found[document.language]) < 100_000:
            found[document.language] += "".join(filter(str.isalnum, document.text[:20_000]))
    return dict(found)


def checked_texts(
    chosen: Sequence[Plant],
    others: Sequence[Document],
    share: float,
    seed: int,
    *,
    wrapped_anew: bool = False,
) -> list[Checked]:
    """Texts of about a hundred sentences: one of a document that is not in the index, one plant,
    and so on.
    """
    dice = random.Random(f"edits {share} {seed}")
    letters_of = alphabet(others)
    hosts: defaultdict[str, list[str]] = defaultdict(list)
    for document in others:
        hosts[document.language] += [
            document.text[start:end] for start, end in sentences(document.text)
        ]
    by_language: defaultdict[str, list[Plant]] = defaultdict(list)
    for plant in chosen:
        by_language[plant.language].append(plant)
    texts = []
    for language in sorted(by_language):
        own = hosts[language]
        members = by_language[language]
        for first in range(0, len(members), 50):
            text, planted = "", []
            for number, plant in enumerate(members[first : first + 50], first):
                text = _joined(text, own[number % len(own)], language)
                copy = edited(plant.text, share, letters_of[language], dice)
                copy = rewrapped(copy) if wrapped_anew else copy
                text = _joined(text, copy, language)
                planted.append(Planted(plant, len(text) - len(copy), len(text)))
            text = _joined(text, own[-1 - first % len(own)], language)
            texts.append(Checked(language, text, planted))
    return texts


def _joined(text: str, more: str, language: str) -> str:
    """As a writer would: a new line where no sentence ended; a space, where the script has any."""
    if not text:
        return more
    if not _ENDS.search(text) or not _ENDS.search(more):
        return f"{text}\n{more}"
    return text + ("" if language in UNSPACED and not text[-1].isascii() else " ") + more


def shares_text(one: str, other: str) -> bool:
    """Whether at least half of the shorter one's shingles are the other's, too: of 5 characters,
    or 3 if it has fewer than 22; of letters and digits alone, without case.
    """
    short, long = sorted((_plain(one), _plain(other)), key=len)
    size = _LONG_SHINGLE if len(short) >= _SHORT_CHARACTERS else _SHORT_SHINGLE
    mine = _shingles(short, size)
    return bool(mine) and len(mine & _shingles(long, size)) >= SHARED * len(mine)


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _shingles(text: str, size: int) -> set[str]:
    return {text[at : at + size] for at in range(len(text) - size + 1)}
