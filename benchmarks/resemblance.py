"""Measure which share of edited copies is found, by how much they resemble their originals.

    python benchmarks/resemblance.py FOLDER… [--texts 300] [--max-distance 52]

The texts are the main texts of the pages in the folders. Each gets edits of three kinds: a passage
replaced by one of another text, words replaced here and there, and first and last sentences
replaced. The resemblance of a copy is the exact share of the runs of three words that both texts
have, which sketches estimate. A copy is found if it is within k, and its estimate is high enough.
"""

from __future__ import annotations

import argparse
import random
from itertools import islice
from pathlib import Path

import numpy as np

from scrapy_simhash.confirmation import DEFAULT_MIN_RESEMBLANCE
from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.documents.reader import Document, DocumentReader
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.hashes import shingle_hashes, token_hashes
from scrapy_simhash.scheme import PRESETS
from scrapy_simhash.sketch import estimate_resemblance

_WIDE = PRESETS["wide"]
_MIN_WORDS = 100
_EDITS_PER_TEXT = 12
_MAX_EDITED = 0.4
_BINS = np.linspace(0.5, 1, 11)


def main() -> None:
    """Edit texts, and print the table."""
    options = _options()
    documents = DocumentReader().documents(options.folders)
    texts = [d.main_text().split() for d in documents if isinstance(d, Document)]
    texts = [words for words in texts if len(words) >= _MIN_WORDS]
    chance = random.Random(1)
    chance.shuffle(texts)
    detector = Detector(_WIDE.scheme, keep_text=True)
    rows = []
    for words in islice(texts, options.texts):
        original = detector.fingerprint_text(" ".join(words))
        for turn in range(_EDITS_PER_TEXT):
            edited = _edited(words, chance.choice(texts), turn % 3, chance)
            copy = detector.fingerprint_text(" ".join(edited))
            if original.fingerprint is not None and copy.fingerprint is not None:
                distance = hamming_distance(original.fingerprint, copy.fingerprint)
                estimate = estimate_resemblance(original.evidence.sketch, copy.evidence.sketch)
                rows.append((_resemblance(original, copy), distance, estimate))
    _print(np.array(rows), options.max_distance)


def _edited(words: list[str], other: list[str], kind: int, chance: random.Random) -> list[str]:
    share = chance.uniform(0, _MAX_EDITED)
    length = round(share * len(words))
    if kind == 0:  # a passage
        start, begin = chance.randrange(len(words) - length + 1), chance.randrange(len(other))
        return words[:start] + other[begin : begin + length] + words[start + length :]
    if kind == 1:  # words here and there; each changes three runs
        return [chance.choice(other) if chance.random() < share / 3 else word for word in words]
    half = length // 2  # the first and the last sentences
    return other[:half] + words[half : len(words) - half] + other[-half or len(other) :]


def _resemblance(one: PageFingerprint, other: PageFingerprint) -> float:
    first, second = (
        set(shingle_hashes(token_hashes(_WIDE.scheme.tokens(page.text)), 3).tolist())
        for page in (one, other)
    )
    return len(first & second) / max(len(first | second), 1)


def _print(rows: np.ndarray, k: int) -> None:
    resemblance, distance, estimate = rows.T
    ks = (k, k + 8, k + 16)
    print("resemblance    copies  estimate >= 0.6  " + "".join(f"k = {k:<11}" for k in ks))
    for low, high in zip(_BINS, [*_BINS[1:], 1.01], strict=True):
        chosen = (resemblance >= low) & (resemblance < high)
        count = max(int(chosen.sum()), 1)
        confirmed = chosen & (estimate >= DEFAULT_MIN_RESEMBLANCE)
        found = [(confirmed & (distance <= each)).sum() / count for each in ks]
        shown = "".join(f"found {share:<9.3f}" for share in found)
        end = "" if high > 1 else f" to {high:.2f}"
        print(f"{low:.2f}{end:<9}  {count:6,}  {confirmed.sum() / count:<15.3f}  {shown}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--max-distance", type=int, default=_WIDE.max_distance)
    return parser.parse_args()


if __name__ == "__main__":
    main()
