"""A feed with planted near-duplicates: what it should be de-duplicated to is known."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NEAR_DUPLICATES = 0.3
_VOCABULARY_WORDS = 30_000
# Originals that may be copied; others are too long ago to be kept in memory here.
_REMEMBERED = 5_000
_EDITED_SHARE = 0.015
_PAGE = (
    "<!doctype html><html><head><title>Report {number}</title></head><body>"
    "<nav><ul>{links}</ul></nav><article><h1>Report {number}</h1>{paragraphs}</article>"
    "<footer><p>All rights reserved. Imprint, privacy, contact.</p></footer></body></html>"
)


def write_feed(path: Path, count: int, *, words: int, html: bool, seed: int) -> None:
    """Records with ``url``, ``text`` or ``html``, and ``of``: what they are a copy of."""
    with path.open("w", encoding="ascii") as file:
        for number, (of, text) in enumerate(_texts(count, words, seed)):
            record: dict[str, object] = {"url": f"https://example.com/{number}", "of": of}
            # Copies keep their heading: on one site, another makes another page.
            heading = number if of is None else of
            record["html" if html else "text"] = _page(heading, text) if html else " ".join(text)
            file.write(json.dumps(record) + "\n")


def score(path: Path, verdicts: Path) -> dict[str, float]:
    """Recall of the planted copies, and precision of what was said to be near-duplicates."""
    family: dict[str, str] = {}
    planted = found = said = right = 0
    with path.open(encoding="ascii") as records, verdicts.open(encoding="ascii") as lines:
        for record_line, verdict_line in zip(records, lines, strict=True):
            record: Mapping[str, object] = json.loads(record_line)
            verdict: Mapping[str, object] = json.loads(verdict_line)
            of, url = record["of"], str(record["url"])
            family[url] = url if of is None else f"https://example.com/{of}"
            planted += of is not None
            if verdict["kind"] == "near-duplicate":
                is_right = family[str(verdict["representative"])] == family[url]
                said += 1
                right += is_right
                found += is_right and of is not None
    return {"recall": found / max(planted, 1), "precision": right / max(said, 1)}


def score_kept(path: Path, kept: Path) -> dict[str, float]:
    """Return recall and precision of an output alone, whichever of several copies it has kept.

    :param kept: the URLs that were kept, one a line.
    :return: recall, the share of the planted copies that are gone; precision, the share of what is
        gone that is still there in another copy.
    """
    left = set(kept.read_text("utf-8").split())
    families: dict[str, list[bool]] = {}
    with path.open(encoding="ascii") as records:
        for record in map(json.loads, records):
            url, of = record["url"], record["of"]
            family = url if of is None else f"https://example.com/{of}"
            families.setdefault(family, []).append(url in left)
    planted = sum(len(family) - 1 for family in families.values())
    gone = sum(len(family) - sum(family) for family in families.values())
    lost = sum(not any(family) for family in families.values())
    return {"recall": (gone - lost) / max(planted, 1), "precision": 1 - lost / max(gone, 1)}


def _texts(count: int, words: int, seed: int) -> Iterator[tuple[int | None, list[str]]]:
    chance = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = [
        "".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(_VOCABULARY_WORDS)
    ]
    # As often as words of a language are.
    weights = list(accumulate(1 / (rank + 3) for rank in range(_VOCABULARY_WORDS)))
    originals: list[tuple[int, list[str]]] = []
    for number in range(count):
        if originals and chance.random() < NEAR_DUPLICATES:
            of, original = chance.choice(originals)
            text = list(original)
            for _ in range(max(1, round(len(text) * chance.uniform(0, 2 * _EDITED_SHARE)))):
                text[chance.randrange(len(text))] = chance.choice(vocabulary)
            yield of, text
            continue
        length = chance.randint(words * 2 // 3, words * 4 // 3)
        text = chance.choices(vocabulary, cum_weights=weights, k=length)
        if len(originals) < _REMEMBERED:
            originals.append((number, text))
        else:
            originals[chance.randrange(_REMEMBERED)] = number, text
        yield None, text


def _page(number: int, text: list[str]) -> str:
    paragraphs = "".join(
        f"<p>{' '.join(text[start : start + 60]).capitalize()}.</p>"
        for start in range(0, len(text), 60)
    )
    links = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(25))
    return _PAGE.format(number=number, links=links, paragraphs=paragraphs)
