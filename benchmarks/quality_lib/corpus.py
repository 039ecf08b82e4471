"""Page sets: documents and how their pairs are judged.

A set is a folder with ``docs.jsonl`` (``id``, ``lang``, ``ntok`` and, if it has a page, ``file``),
``truth.jsonl.gz`` (``id``, ``text``) and ``pairs.tsv`` (``a``, ``b``, ``jaccard`` and, if known,
``lang``, ``origin``, ``grade``). A set without ``pairs.tsv`` gets its pairs from `truth`.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
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

    def kind(self) -> Kind:
        """Return what it is counted by."""
        return Kind(self.band, self.lang, self.origin, self.grade)


class Kind(NamedTuple):
    """What pairs are counted by."""

    band: str
    lang: str
    origin: str
    grade: str


def unlisted(lang: str) -> Kind:
    """Return what a pair of one language is counted by that is not listed."""
    return Kind(WRONG, lang, "unlisted", "F")


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

    def kind(self, a: int, b: int) -> Kind | None:
        """What a pair counts as; None if it is not judged."""
        code = int(self.judging[a, b])
        if code == NOT_JUDGED:
            return None
        if code == UNLISTED:
            return unlisted(self.documents[a].lang)
        return self.listed[code].kind()

    def kinds(self) -> Counter[Kind]:
        """How many judged pairs there are of each kind."""
        counted: Counter[Kind] = Counter()
        for lang, members in Counter(doc.lang for doc in self.documents).items():
            counted[unlisted(lang)] = members * (members - 1) // 2
        for pair in self.listed:
            counted[pair.kind()] += 1
            if self.documents[pair.a].lang == self.documents[pair.b].lang:
                counted[unlisted(self.documents[pair.a].lang)] -= 1
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
