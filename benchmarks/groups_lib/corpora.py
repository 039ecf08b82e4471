"""Texts with known copies: page sets, CORE and NEWS-COPY, from local copies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from quality_lib import corpus

from scrapy_simhash.clustering.clusters import connect, earliest_members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# What both papers' code removes from the texts of NEWS-COPY.
_REMOVED = str.maketrans("", "", r"\"#$%&\()*+/:;<=>@[\\]^_`{|}~.?,!'")


class Corpus(NamedTuple):
    """Texts, and which of them are copies of each other, by their numbers.

    :param copies: of each text.
    :param undecided: texts that are neither copies of it nor others, and are not counted.
    """

    name: str
    texts: list[str]
    copies: list[set[int]]
    undecided: list[set[int]]


def page_set(folder: Path) -> Corpus:
    """Return a page set: pairs from a resemblance of 0.8 are copies, from 0.2 to 0.8 undecided."""
    loaded = corpus.load(folder)
    texts = [document.text for document in loaded.documents]
    if not any(texts):
        raise SystemExit(f"{folder}: there are no texts, truth.jsonl.gz is missing")
    bands = {corpus.MUST: _none(texts), corpus.BETWEEN: _none(texts), corpus.WRONG: _none(texts)}
    for pair in loaded.listed:
        bands[pair.band][pair.a].add(pair.b)
        bands[pair.band][pair.b].add(pair.a)
    return Corpus(loaded.name, texts, bands[corpus.MUST], bands[corpus.BETWEEN])


def core(path: Path) -> Corpus:
    """Return pinecone/core-2020-05-10-deduplication: JSON lines, or Parquet."""
    records = list(_records(path))
    numbers = {str(record["core_id"]): number for number, record in enumerate(records)}
    copies = [
        {numbers[name] for name in map(str, record["labelled_duplicates"] or ()) if name in numbers}
        for record in records
    ]
    texts = [
        f"{record['processed_title']} {record['processed_abstract']}".lower() for record in records
    ]
    return Corpus("CORE", texts, copies, _none(texts))


def news_copy(articles: Path, pairs: Path) -> Corpus:
    """Return NEWS-COPY: a JSON object of articles by their names, and a JSON array of pairs."""
    records = json.loads(articles.read_text("utf-8"))
    texts = [_cleaned(record["article"]) for record in records.values()]
    numbers = {name: number for number, name in enumerate(records)}
    found = [(numbers[a], numbers[b]) for a, b in json.loads(pairs.read_text("utf-8"))]
    return Corpus("NEWS-COPY", texts, members(groups(len(texts), found)), _none(texts))


def groups(count: int, pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return for each of so many the first that chains of pairs lead to."""
    earlier = np.arange(count)
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    connect(earlier, ends[:, 0], ends[:, 1])
    return earliest_members(earlier, np.arange(count))


def members(labels: np.ndarray) -> list[set[int]]:
    """Return for each the others with its label."""
    holders: dict[int, set[int]] = {}
    for number, label in enumerate(labels.tolist()):
        holders.setdefault(label, set()).add(number)
    return [holders[label] - {number} for number, label in enumerate(labels.tolist())]


def _records(path: Path) -> Iterator[dict[str, object]]:
    if path.suffix == ".parquet":
        from pyarrow import parquet

        yield from parquet.read_table(path).to_pylist()
        return
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _cleaned(text: str) -> str:
    text = text.replace("-\n", "").replace("\n", " ").translate(_REMOVED)
    return text.encode("ascii", "ignore").decode()


def _none(texts: list[str]) -> list[set[int]]:
    return [set() for _ in texts]
