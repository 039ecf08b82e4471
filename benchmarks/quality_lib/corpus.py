"""Page sets: documents and how their pairs are judged.

A set is a folder with ``docs.jsonl`` (``id``, ``lang``, ``ntok`` and, if it has a page, ``file``),
``truth.jsonl.gz`` (``id``, ``text``) and ``pairs.tsv`` (``a``, ``b``, ``jaccard`` and, if known,
``lang``, ``origin``, ``grade``). A set without ``pairs.tsv`` gets its pairs from `truth`.
"""

from __future__ import annotations

import csv
import gzip
import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from quality_lib import truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

MIN_TRUTH_TOKENS = 50
UNLISTED = -1
NOT_JUDGED = -2
# Flagged pairs are counted below each; the last one takes the rest.
RESEMBLANCES = (0.3, 0.5, 0.6, 0.8, inf)
MUST, BETWEEN, WRONG = "must be found", "between", "must not be found"


class Document(NamedTuple):
    """One document of a set; without a page it is served as its text.

    :param host: where the page is from, or empty.
    """

    id: str
    lang: str
    tokens: int
    page: Path | None
    text: str
    host: str = ""


class Listed(NamedTuple):
    """A pair of `pairs.tsv`, documents by their numbers, a < b."""

    a: int
    b: int
    resemblance: float
    lang: str
    origin: str
    grade: str

    @property
    def band(self) -> str:
        """How it is judged."""
        return band(self.resemblance)

    def kind(self, short: bool) -> Kind:
        """Return what it is counted by."""
        below = RESEMBLANCES[bisect_right(RESEMBLANCES, self.resemblance)]
        return Kind(self.band, self.lang, self.origin, self.grade, short, below)


class Kind(NamedTuple):
    """What pairs are counted by.

    :param short: the shorter of the two texts has 30 to 100 tokens.
    :param below: the least of RESEMBLANCES that the pair's resemblance is below.
    """

    band: str
    lang: str
    origin: str
    grade: str
    short: bool
    below: float


def unlisted(lang: str, short: bool) -> Kind:
    """Return what a pair of one language is counted by that is not listed."""
    return Kind(WRONG, lang, "unlisted", "F", short, RESEMBLANCES[0])


def band(resemblance: float) -> str:
    """From 0.8 on a pair must be found, below 0.2 it must not."""
    if resemblance >= truth.MUST_BE_FOUND:
        return MUST
    return WRONG if resemblance < truth.MUST_NOT_BE_FOUND else BETWEEN


@dataclass
class PageSet:
    """The documents of a set that take part, and its listed pairs."""

    name: str
    documents: list[Document]
    listed: list[Listed]
    made: bool = False
    left_out: int = field(default=0)

    @cached_property
    def judging(self) -> np.ndarray:
        """For each two documents the number of their listed pair, UNLISTED or NOT_JUDGED.

        Unlisted pairs of one language are below 0.05. Those of different languages may be
        translations of each other: they are not judged.
        """
        names = {
            lang: number for number, lang in enumerate(sorted({d.lang for d in self.documents}))
        }
        langs = np.array([names[doc.lang] for doc in self.documents], dtype=np.int32)
        codes = np.where(langs[:, None] == langs, UNLISTED, NOT_JUDGED).astype(np.int32)
        for number, pair in enumerate(self.listed):
            codes[pair.a, pair.b] = codes[pair.b, pair.a] = number
        return codes

    def kind(self, a: int, b: int, short: bool = False) -> Kind | None:
        """What a pair counts as; None if it is not judged."""
        code = int(self.judging[a, b])
        if code == NOT_JUDGED:
            return None
        if code == UNLISTED:
            return unlisted(self.documents[a].lang, short)
        return self.listed[code].kind(short)

    def kinds(self, short: Sequence[bool] | None = None) -> Counter[Kind]:
        """How many judged pairs there are of each kind."""
        marks = [False] * len(self.documents) if short is None else short
        members: Counter[tuple[str, bool]] = Counter()
        for doc, mark in zip(self.documents, marks, strict=True):
            members[doc.lang, bool(mark)] += 1
        counted: Counter[Kind] = Counter()
        for lang in {lang for lang, _ in members}:
            some, rest = members[lang, True], members[lang, False]
            without = rest * (rest - 1) // 2
            every = (some + rest) * (some + rest - 1) // 2
            counted[unlisted(lang, short=False)] = without
            counted[unlisted(lang, short=True)] = every - without
        for pair in self.listed:
            mark = bool(marks[pair.a] or marks[pair.b])
            counted[pair.kind(mark)] += 1
            if self.documents[pair.a].lang == self.documents[pair.b].lang:
                counted[unlisted(self.documents[pair.a].lang, mark)] -= 1
        return +counted


def load(folder: Path) -> PageSet:
    """The set in a folder. :raises SystemExit: it is not one."""
    if not (folder / "docs.jsonl").is_file():
        raise SystemExit(f"{folder}: no page set, there is no docs.jsonl")
    texts: dict[str, str] = {}
    if (folder / "truth.jsonl.gz").is_file():
        with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = {doc["id"]: doc["text"] for doc in map(json.loads, lines)}
    documents = []
    with (folder / "docs.jsonl").open(encoding="utf-8") as lines:
        for doc in map(json.loads, lines):
            text = texts.get(doc["id"], "")
            size = doc.get("ntok")
            documents.append(
                Document(
                    doc["id"],
                    doc.get("lang") or "?",
                    len(truth.truth_tokens(text)) if size is None else size,
                    folder / doc["file"] if doc.get("file") else None,
                    text,
                    doc.get("host") or urlsplit(doc.get("url") or "").hostname or "",
                )
            )
    pairs = folder / "pairs.tsv"
    if not pairs.is_file() and not texts:
        raise SystemExit(f"{folder}: neither pairs.tsv nor truth.jsonl.gz: nothing to judge by")
    return page_set(folder.name, documents, read_pairs(pairs) if pairs.is_file() else None)


def read_pairs(path: Path) -> list[dict[str, str]]:
    """The rows of a `pairs.tsv`."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def page_set(
    name: str,
    documents: Sequence[Document],
    rows: Iterable[dict[str, str]] | None,
    min_tokens: int = MIN_TRUTH_TOKENS,
) -> PageSet:
    """A set of the documents that are long enough.

    :param rows: of `pairs.tsv`; None makes them from the texts.
    """
    kept = [doc for doc in documents if doc.tokens >= min_tokens]
    listed: dict[tuple[int, int], Listed] = {}
    if rows is None:
        made = truth.make_pairs([doc.text for doc in kept], [doc.lang for doc in kept])
        for pair in made:
            listed[pair.a, pair.b] = Listed(
                pair.a, pair.b, pair.resemblance, kept[pair.a].lang, pair.origin, pair.grade
            )
    else:
        numbers = {doc.id: number for number, doc in enumerate(kept)}
        for row in rows:
            if row["a"] not in numbers or row["b"] not in numbers or row["a"] == row["b"]:
                continue
            a, b = sorted((numbers[row["a"]], numbers[row["b"]]))
            resemblance = float(row["jaccard"])
            listed[a, b] = Listed(
                a,
                b,
                resemblance,
                row.get("lang") or kept[a].lang,
                row.get("origin") or "listed",
                row.get("grade") or truth.grade(resemblance),
            )
    left_out = len(documents) - len(kept)
    return PageSet(name, kept, list(listed.values()), made=rows is None, left_out=left_out)
