"""Ways to group copies: from texts to the group of each."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from quality_lib.peers import PEERS

from groups_lib.corpora import groups
from scrapy_simhash.clustering.pairs import concatenate, find_pairs, words_of
from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths, Fields
from scrapy_simhash.dedupe.run import dedupe
from scrapy_simhash.detector import Detector
from scrapy_simhash.scheme import preset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NOT_WORD = re.compile(r"\W+")


class Settings(NamedTuple):
    """Settings of text-dedup's MinHash.

    :param bands: (bands, rows), or None for those that fit the threshold.
    :param checked: pairs have a resemblance of at least the threshold.
    """

    words: int
    permutations: int
    threshold: float
    bands: tuple[int, int] | None = None
    checked: bool = False


README = Settings(words=5, permutations=240, threshold=0.7, checked=True)
FOR_CORE = Settings(words=2, permutations=200, threshold=0.5, bands=(50, 4))
FOR_NEWS_COPY = Settings(words=2, permutations=256, threshold=0.45)


def first_come(texts: Sequence[str]) -> np.ndarray:
    """Group texts with the representatives that `dedupe` gives them, by the preset ``wide``."""
    wide = preset("wide")
    options = DedupeOptions(
        scheme=wide.scheme, max_distance=wide.max_distance, fields=Fields(text=("text",), key="key")
    )
    with TemporaryDirectory(prefix="groups-") as name:
        feed, verdicts = Path(name, "feed.jsonl"), Path(name, "verdicts.jsonl")
        with feed.open("w", encoding="ascii") as file:
            for number, text in enumerate(texts):
                file.write(json.dumps({"key": str(number), "text": text}) + "\n")
        dedupe(DedupePaths(inputs=[feed], state=Path(name, "state"), verdicts=verdicts), options)
        with verdicts.open(encoding="ascii") as lines:
            said = [json.loads(line) for line in lines]
    return np.array([int(one["representative"] or one["key"]) for one in said])


def connected(texts: Sequence[str]) -> np.ndarray:
    """Group texts that chains of confirmed pairs connect, by the preset ``wide``."""
    wide = preset("wide")
    pages = list(map(Detector(wide.scheme).fingerprint_text, texts))
    places = defaultdict(list)
    for at, page in enumerate(pages):
        if page.fingerprint is not None:
            places[page.fingerprint].append(at)
    with_equal = list(places.values())
    words = words_of(list(places), wide.scheme.bits)
    found = concatenate(find_pairs(words, wide.max_distance, plan=None))
    pairs = [(equal[0], other) for equal in with_equal for other in equal[1:]]
    pairs += [
        (with_equal[first][0], with_equal[second][0])
        for first, second in zip(found.first.tolist(), found.second.tolist(), strict=True)
    ]
    confirmation = Confirmation()
    return groups(
        len(texts),
        (
            (a, b)
            for a, b in pairs
            if confirmation.compare(pages[a].evidence, pages[b].evidence).is_copy
        ),
    )


def peer(name: str, texts: Sequence[str]) -> np.ndarray:
    """Group texts that chains of a peer's pairs connect."""
    way = PEERS[name]
    return groups(len(texts), way.pairs(list(map(way.digest, texts))).tolist())


def text_dedup(settings: Settings, texts: Sequence[str]) -> np.ndarray:
    """Group texts as text-dedup 0.4.1 does, by datasketch's MinHash and its own sets of words."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(
        threshold=settings.threshold, num_perm=settings.permutations, params=settings.bands
    )
    sets = [_runs_of_words(text, settings.words) for text in texts]
    pairs = []
    for number, runs in enumerate(sets):
        digest = MinHash(num_perm=settings.permutations, seed=1)
        digest.update_batch([run.encode("utf-8", "replace") for run in runs])
        pairs += [(other, number) for other in lsh.query(digest)]
        lsh.insert(number, digest)
    if settings.checked:
        pairs = [(a, b) for a, b in pairs if _resemblance(sets[a], sets[b]) >= settings.threshold]
    return groups(len(texts), pairs)


def _runs_of_words(text: str, count: int) -> set[str]:
    words = [word for word in _NOT_WORD.split(text.lower()) if word]
    starts = range(max(len(words) - count + 1, 1))
    return {" ".join(words[start : start + count]) for start in starts}


def _resemblance(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


METHODS: dict[str, Callable[[Sequence[str]], np.ndarray]] = {
    "dedupe": first_come,
    "connected": connected,
    "simhash": partial(peer, "simhash"),
    "datasketch": partial(peer, "datasketch"),
    "text-dedup, README": partial(text_dedup, README),
    "text-dedup, for CORE": partial(text_dedup, FOR_CORE),
    "text-dedup, for NEWS-COPY": partial(text_dedup, FOR_NEWS_COPY),
}
NEEDED = {
    name: "datasketch" for name in METHODS if name.startswith(("datasketch", "text-dedup"))
} | {"simhash": "simhash"}
"""Packages that methods need, besides ours."""
