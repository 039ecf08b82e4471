"""Measure the CPU time of fingerprints and of extraction, beside other packages.

The candidates take turns in one process, so ratios are right even on a noisy machine, where times
in milliseconds are not. A page set is a folder with ``docs.jsonl`` (a line per document: ``id``,
``lang``, and ``file`` if it has a page) and ``truth.jsonl.gz`` (``id``, ``text``).

    python benchmarks/fingerprints.py SET… [--documents 150] [--rounds 5]
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import random
import re
import statistics
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import body_of, facts
from scrapy.http import HtmlResponse

from scrapy_simhash import Scheme
from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import extract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Candidates = dict[str, Callable[[str], object]]

PACKAGES = "scrapy-simhash readability-lxml trafilatura resiliparse simhash gaoya jieba rjieba"
LANGUAGES = {"en": "English", "zh": "Chinese"}
TEXT_BYTES = 4096
_TURN = 10  # candidates take turns after so many items: a slow moment of the machine hits all


def documents(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of docs.jsonl, with ``text`` if truth.jsonl.gz has one."""
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = {line["id"]: line["text"] for line in map(json.loads, file)}
    with (folder / "docs.jsonl").open(encoding="utf-8") as file:
        return [{"text": texts.get(line["id"], ""), **line} for line in map(json.loads, file)]


def pieces(texts: Sequence[str]) -> Iterator[str]:
    """Join texts, and cut them to pieces of equal length in UTF-8."""
    joined = "\n".join(texts).encode("utf-8", "replace")
    for start in range(0, len(joined) - TEXT_BYTES + 1, TEXT_BYTES):
        yield joined[start : start + TEXT_BYTES].decode("utf-8", "ignore")


def page(path: Path) -> str:
    """Return a page as Scrapy decodes it."""
    return HtmlResponse("https://localhost/", body=body_of(path)).text


def of_texts(language: str) -> Candidates:
    """Return our presets, and the peers as their users call them, from text to fingerprint."""
    found: Candidates = {
        f"ours {name}": Scheme.preset(name).fingerprint for name in ("wide", "classic", "leonsim")
    }
    words: Callable[[str], list[str]] = partial(re.findall, r"\w+")
    if language == "zh":
        import jieba

        jieba.setLogLevel("INFO")
        words = jieba.lcut
    try:
        from simhash import Simhash
    except ImportError:
        pass
    else:
        found["simhash: Simhash(text)"] = Simhash
        found["simhash: Simhash(words)"] = lambda text: Simhash(words(text.lower()))
    try:
        from gaoya.simhash import SimHashStringIndex
    except ImportError:
        pass
    else:
        index = SimHashStringIndex(
            hash_size=64, analyzer="word", lowercase=True, ngram_range=(1, 1)
        )
        insert, of_text = index.index.insert_tokens, index.index.doc2signature
        found["gaoya"] = of_text if language == "en" else lambda text: insert(0, words(text))
    return found


def of_pages() -> Candidates:
    """Return extractors, from HTML to text, and to fingerprint and sketch."""
    from readability import Document

    found: Candidates = {
        name: partial(extract, extractor=name)
        for name in ("segments", "readability", "readability-only")
    }
    scheme = Scheme.preset("wide")
    found["readability, to fingerprint and sketch"] = Detector(scheme).fingerprint_page
    found["stock readability"] = lambda html: Document(html).summary(html_partial=True)
    try:
        from trafilatura import extract as trafilatura
    except ImportError:
        pass
    else:
        found["trafilatura, fast"] = partial(trafilatura, fast=True)
    try:
        from resiliparse.extract.html2text import extract_plain_text
    except ImportError:
        pass
    else:
        found["resiliparse"] = partial(extract_plain_text, main_content=True)
    return found


def measure(candidates: Candidates, items: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Return CPU milliseconds for an item, by candidate and round, after one round to warm up."""
    total_s = {name: [0.0] * (rounds + 1) for name in candidates}
    for number in range(rounds + 1):
        for start in range(0, len(items), _TURN):
            for name, run in candidates.items():
                began_s = time.process_time()
                for item in items[start : start + _TURN]:
                    with suppress(Exception):  # an extractor may give up on a page
                        run(item)
                total_s[name][number] += time.process_time() - began_s
    return {name: [1000 * s / len(items) for s in found[1:]] for name, found in total_s.items()}


def show(title: str, candidates: Candidates, items: Sequence[str], rounds: int) -> None:
    """Measure, and print medians and ratios to the first candidate."""
    if not items:
        return
    found = measure(candidates, items, rounds)
    base = next(iter(found.values()))
    print(f"\n{title}: {len(items)} of {sum(map(len, items)) // len(items):,} characters")
    print(f"{'':40}{'CPU ms':>9}{'least-most':>17}{'ratio':>8}")
    for name, times_ms in found.items():
        ratio = statistics.median(a / b for a, b in zip(times_ms, base, strict=True))
        spread = f"{min(times_ms):.2f}-{max(times_ms):.2f}"
        print(f"{name:40}{statistics.median(times_ms):9.2f}{spread:>17}{ratio:8.2f}")


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="SET")
    add("--documents", type=int, default=150, help="texts of each language, and pages")
    add("--rounds", type=int, default=5)
    add("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for fact, value in facts(PACKAGES.split()).items():
        print(f"{fact}: {value}")
    every = [(folder, line) for folder in arguments.folders for line in documents(folder)]
    random.Random(arguments.seed).shuffle(every)
    for language, name in LANGUAGES.items():
        texts = [line["text"] for _, line in every if line.get("lang", "").startswith(language)]
        chosen = list(pieces(texts))[: arguments.documents]
        show(f"{name} texts to fingerprints", of_texts(language), chosen, arguments.rounds)
    files = [folder / line["file"] for folder, line in every if line.get("file")]
    pages = [page(path) for path in files[: arguments.documents]]
    show("pages", of_pages(), pages, arguments.rounds)


if __name__ == "__main__":
    main()
