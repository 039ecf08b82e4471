"""Controlled edits of real texts: what share of a text was changed is known exactly.

- words changed: words replaced by words of other texts of the language
- sentences added: from other texts of the language, at random places
- sentences deleted, sentences moved to random places
- boilerplate added: the same short lines around every text of the language

A share is one of the text's tokens; the last sentence is cut to meet it, and at least one token
is touched.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from quality_lib.short import LEAST, MOST, opening
from quality_lib.truth import TOKEN, resembling, shingle_length, truth_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quality_lib.corpus import Document, PageSet

SHARES = (0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.25)
# Name → least and most tokens of a text before it is edited.
SIZES = {"200-2000 tokens": (200, 2000), f"{LEAST}-{MOST} tokens": (LEAST, MOST)}
_LINE_TOKENS = 6
_SENTENCE_END = re.compile(r"[.!?…]\s|[。！？\n]")

# A token with what follows it up to the next one; sentences and texts are lists of them.
Pieces = list[str]


class Variant(NamedTuple):
    """An edited text; share 0 is the text itself."""

    size: str
    kind: str
    share: float
    original: int
    text: str
    resemblance: float


class Material(NamedTuple):
    """What is put in texts of a language; sentences come with the number of their text."""

    words: list[str]
    sentences: list[tuple[int, Pieces]]
    boilerplate: Pieces


def pieces(text: str) -> Pieces:
    """A text cut before each token but the first."""
    starts = [match.start() for match in TOKEN.finditer(text)]
    if not starts:
        return []
    ends = [*starts[1:], len(text)]
    cut = [text[start:end] for start, end in zip([0, *starts[1:]], ends, strict=True)]
    if not cut[-1][-1].isspace():
        cut[-1] += "\n"
    return cut


def sentences(parts: Pieces) -> list[Pieces]:
    """Runs of pieces up to one that ends a sentence."""
    found: list[Pieces] = [[]]
    for piece in parts:
        found[-1].append(piece)
        if _SENTENCE_END.search(piece):
            found.append([])
    return [sentence for sentence in found if sentence]


def words_changed(parts: Pieces, count: int, material: Material, rng: random.Random) -> Pieces:
    """Replace that many words."""
    edited = list(parts)
    for place in rng.sample(range(len(parts)), count):
        match = TOKEN.search(parts[place])
        if match:
            before, after = parts[place][: match.start()], parts[place][match.end() :]
            others = (word for word in iter(lambda: rng.choice(material.words), match.group()))
            edited[place] = before + next(others, match.group()) + after
    return edited


def sentences_added(parts: Pieces, count: int, material: Material, rng: random.Random) -> Pieces:
    """Insert sentences with that many tokens."""
    edited = sentences(parts)
    while count > 0:
        _, sentence = rng.choice(material.sentences)
        edited.insert(rng.randint(0, len(edited)), sentence[:count])
        count -= len(sentence)
    return _joined(edited)


def sentences_deleted(parts: Pieces, count: int, _material: Material, rng: random.Random) -> Pieces:
    """Take out sentences with that many tokens."""
    return _joined(_taken_out(parts, count, rng)[0])


def sentences_moved(parts: Pieces, count: int, _material: Material, rng: random.Random) -> Pieces:
    """Put sentences with that many tokens elsewhere."""
    edited, taken = _taken_out(parts, count, rng)
    for sentence in taken:
        edited.insert(rng.randint(0, len(edited)), sentence)
    return _joined(edited)


def boilerplate_added(parts: Pieces, count: int, material: Material, _rng: random.Random) -> Pieces:
    """Put that many tokens of the language's boilerplate around, half of them on either side."""
    half = count // 2
    return material.boilerplate[:half] + parts + material.boilerplate[half:count]


KINDS: dict[str, Callable[[Pieces, int, Material, random.Random], Pieces]] = {
    "words changed": words_changed,
    "sentences added": sentences_added,
    "sentences deleted": sentences_deleted,
    "sentences moved": sentences_moved,
    "boilerplate added": boilerplate_added,
}


def _joined(edited: list[Pieces]) -> Pieces:
    return [piece for sentence in edited for piece in sentence]


def _taken_out(parts: Pieces, count: int, rng: random.Random) -> tuple[list[Pieces], list[Pieces]]:
    kept = sentences(parts)
    taken = []
    for number in rng.sample(range(len(kept)), len(kept)):
        if count <= 0:
            break
        sentence = kept[number]
        kept[number] = sentence[count:]
        taken.append(sentence[:count])
        count -= len(sentence)
    return kept, taken


def collect(page_sets: Sequence[PageSet], seed: int) -> dict[str, Material]:
    """Material of each language with at least three texts."""
    texts: defaultdict[str, list[Document]] = defaultdict(list)
    for page_set in page_sets:
        for doc in page_set.documents:
            texts[doc.lang].append(doc)
    result = {}
    for lang, documents in sorted(texts.items()):
        rng = random.Random(f"{seed} {lang}")
        # Enough of a large set.
        chosen = rng.sample(documents, min(len(documents), 300))
        words: set[str] = set()
        lines: set[str] = set()
        pool: list[tuple[int, Pieces]] = []
        for number, doc in enumerate(chosen):
            parts = pieces(doc.text)
            words.update(TOKEN.findall(doc.text))
            pool += [(number, sentence) for sentence in sentences(parts)]
            lines.update(doc.text.split("\n"))
        short = sorted(line for line in lines if 0 < len(TOKEN.findall(line)) <= _LINE_TOKENS)
        rng.shuffle(short)
        block = [piece for line in short for piece in pieces(line)]
        while pool and len(block) < max(most for _, most in SIZES.values()):
            block += rng.choice(pool)[1]
        if len(documents) >= 3 and pool:
            result[lang] = Material(sorted(words), pool, block)
    return result


def variants(page_sets: Sequence[PageSet], texts: int, seed: int) -> list[Variant]:
    """Edited texts, each after the text itself; as many texts of each set and language."""
    material = collect(page_sets, seed)
    result: list[Variant] = []
    for size, (least, most) in SIZES.items():
        for doc in _sample(page_sets, material, least, texts, seed):
            rng = random.Random(f"{seed} {size} {doc.id}")
            length = shingle_length([doc.text])
            start = doc.text if least > MOST else opening(doc.text, rng.randint(LEAST, most))
            if start is None:
                continue
            parts = pieces(start)[:most] if least > MOST else pieces(start)
            original = len(result)
            text = "".join(parts)
            tokens = truth_tokens(text)
            result.append(Variant(size, "", 0.0, original, text, 1.0))
            for kind, edit in KINDS.items():
                for share in SHARES:
                    count = max(1, round(share * len(parts)))
                    edited = "".join(edit(parts, count, material[doc.lang], rng))
                    close = resembling([tokens, truth_tokens(edited)], length)
                    resemblance = close[0][2] if close else 0.0
                    result.append(Variant(size, kind, share, original, edited, resemblance))
    return result


def _sample(
    page_sets: Sequence[PageSet], material: dict[str, Material], least: int, count: int, seed: int
) -> list[Document]:
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[Document]] = {}
    for page_set in page_sets:
        for doc in page_set.documents:
            if doc.lang in material and doc.tokens >= least and doc.text:
                groups.setdefault((page_set.name, doc.lang), []).append(doc)
    for group in groups.values():
        rng.shuffle(group)
    sample: list[Document] = []
    while len(sample) < count and any(groups.values()):
        for group in groups.values():
            if group and len(sample) < count:
                sample.append(group.pop())
    return sample
