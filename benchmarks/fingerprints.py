"""Measure the CPU time of fingerprints, and with --extraction of extraction, beside other packages.

The candidates take turns in one process. So ratios are right even on a noisy machine, where times
in milliseconds are not. Without --texts, texts are generated. A page set is a folder with
``docs.jsonl`` (a line per document: ``id``, ``lang`` and, if it has a page, ``file``) and
``truth.jsonl.gz`` (``id``, ``text``).

    python benchmarks/fingerprints.py [--texts FOLDER…] [--extraction FOLDER…] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import shlex
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fingerprints_lib import candidates, pages, texts
from fingerprints_lib.timing import Candidate, Missing, Row, Spread, measure, rows, table

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED = 1
PACKAGES = (
    "scrapy-simhash numpy xxhash lxml readability-lxml jieba rjieba simhash gaoya python-simhash "
    "datasketch text-dedup trafilatura resiliparse"
).split()
GOALS = {"English": ("simhash: Simhash(text)", 3.0), "Chinese": ("simhash: Simhash(jieba", 5.0)}
STOCK_RATIO = 2.0
SAME_TEXT = 0.99
SHOWN = 90


def main() -> None:
    """Measure, and print the tables and goals."""
    arguments = _arguments()
    # Extractors warn and log about pages, and jieba causes warnings when Python compiles it.
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    results = {
        "environment": environment(arguments.python_simhash),
        "command": shlex.join(["python", *sys.argv]),
        "seed": arguments.seed,
        "rounds": arguments.rounds,
        "tables": {},
        "goals": [],
    }
    for name, value in results["environment"].items():
        print(f"{name}: {value}")
    print(f"command: {results['command']}\nseed {arguments.seed}, {arguments.rounds} rounds")
    for language, found in _texts(arguments).items():
        if found:
            fingerprints(texts.LANGUAGES[language], language, found, arguments, results)
    if arguments.extraction:
        extraction(arguments, results)
    print("\ngoals")
    for goal in results["goals"]:
        print(f"  {goal}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folders: dict[str, Any] = {"nargs": "+", "type": Path, "metavar": "FOLDER", "default": []}
    parser.add_argument("--texts", **folders, help="page sets with texts (default: generated)")
    parser.add_argument("--extraction", **folders, help="page sets whose pages are extracted")
    parser.add_argument(
        "--languages", nargs="*", choices=texts.LANGUAGES, default=list(texts.LANGUAGES)
    )
    parser.add_argument("--documents", type=int, default=200, help="texts in each language")
    parser.add_argument("--pages", type=int, default=0, help="pages to extract; 0 for all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--python-simhash", type=Path, metavar="FOLDER", help="where it is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures")
    return parser.parse_args()


def _texts(arguments: argparse.Namespace) -> dict[str, list[str]]:
    if not arguments.languages:
        return {}
    count: int = arguments.documents
    seed: int = arguments.seed
    if not arguments.texts:
        print(f"generated texts of about {texts.SIZE} bytes")
        return texts.generated_texts(list(arguments.languages), count, seed)
    print(f"texts of {', '.join(folder.name for folder in arguments.texts)}")
    found = texts.real_texts(arguments.texts, arguments.languages)
    return {language: texts.sample(of_it, count, seed) for language, of_it in found.items()}


def environment(python_simhash: Path | None = None) -> dict[str, str]:
    """Return the CPU, the system, and the versions of Python and of all measured packages."""
    found = {
        "cpu": f"{_cpu()}, {os.cpu_count()} logical",
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    versions = [f"{package} {_version(package)}" for package in PACKAGES]
    if python_simhash is not None:
        place = next(python_simhash.glob("python_simhash-*.dist-info"), None)
        known = "?" if place is None else place.name.split("-")[1].removesuffix(".dist")
        versions[PACKAGES.index("python-simhash")] = f"python-simhash {known}"
    return found | {"packages": ", ".join(versions)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def fingerprints(
    title: str,
    language: str,
    documents: Sequence[str],
    arguments: argparse.Namespace,
    results: dict[str, Any],
) -> None:
    """Print the three tables of a language, and add them and the goal to the results."""
    megabytes = sum(len(text.encode()) for text in documents) / len(documents) / 1e6
    print(f"\n{title}: {len(documents)} texts of {1e6 * megabytes:.0f} bytes on average")
    mine = candidates.ours(language)
    theirs = candidates.peers(language, arguments.python_simhash)
    for source, own, others in zip(("text", "features"), mine, theirs, strict=True):
        found = run([*own, *others], documents, arguments.rounds)
        show(f"{title}, from {source}", found, "text", results, megabytes)
        if source == "text":
            goal(title, found, results)
    found = run(candidates.steps(), documents, arguments.rounds)
    cutter = f", {candidates.segmenter()}" if language == "zh" else ""
    show(f"{title}, where the time of ours wide{cutter} goes", found, "text", results)


def run(
    found: Sequence[Candidate | Missing], items: Sequence[Any], rounds: int
) -> list[Row | Missing]:
    """Return rows of the installed candidates (ratios are to the first), then the missing ones."""
    present = [candidate for candidate in found if isinstance(candidate, Candidate)]
    seconds = measure(present, items, rounds)
    missing = [candidate for candidate in found if isinstance(candidate, Missing)]
    return [*rows(seconds, len(items), present[0].name), *missing]


def show(
    title: str,
    found: Sequence[Row | Missing],
    unit: str,
    results: dict[str, Any],
    megabytes: float = 0.0,
) -> None:
    """Print a table, and add its figures to the results; `megabytes` is the size of an item."""
    print(f"\n{title}\n{table(found, unit, megabytes)}")
    results["tables"][title] = [
        row._asdict()
        if isinstance(row, Missing)
        else {
            "name": row.name,
            "ms": [1000 * value for value in row.seconds],
            "ratio": list(row.ratio),
            "per_second": 1 / max(row.seconds.median, 1e-9),
            "megabytes_per_second": megabytes / max(row.seconds.median, 1e-9),
        }
        for row in found
    ]


def goal(title: str, found: Sequence[Row | Missing], results: dict[str, Any]) -> None:
    """Add to the results how many times faster ours is than the package simhash."""
    prefix, least = GOALS[title]
    own = found[0].name
    row = next((row for row in found if row.name.startswith(prefix)), None)
    if not isinstance(row, Row):
        results["goals"].append(f"{title}: {prefix} is not installed")
        return
    verdict = _verdict(row.ratio, least)
    results["goals"].append(f"{own}, {title}, against {row.name}: {verdict}")


def _verdict(ratio: Spread, least: float) -> str:
    reached = "reached" if ratio.median >= least else "MISSED"
    return (
        f"{ratio.median:.1f} times ({ratio.least:.1f}-{ratio.most:.1f}), goal {least:g}: {reached}"
    )


def extraction(arguments: argparse.Namespace, results: dict[str, Any]) -> None:
    """Time the extraction of pages, and compare the texts of our and the stock readability."""
    found = pages.pages(arguments.extraction)
    print(f"\nextraction: {len(found)} pages of {', '.join(f.name for f in arguments.extraction)}")
    timed = texts.sample(found, arguments.pages or len(found), arguments.seed)
    # Ratios are to the lean readability, which is compared with the stock one.
    extractors = sorted(pages.extractors(), key=lambda extractor: extractor.name != pages.LEAN)
    timings = run(extractors, timed, arguments.rounds)
    show(f"extraction of {len(timed)} pages", timings, "page", results)
    stock = next(row for row in timings if isinstance(row, Row) and row.name == pages.STOCK)
    results["goals"].append(
        f"{pages.LEAN} against {pages.STOCK}: {_verdict(stock.ratio, STOCK_RATIO)}"
    )
    english = [page for page in timed if page.language == "en"]
    if english:
        title = f"{len(english)} pages in English, from HTML"
        show(title, run(pages.whole_way(), english, arguments.rounds), "page", results)
    differing = pages.differences(found)
    share = 1 - len(differing) / len(found)
    same = f"{len(found) - len(differing)} of {len(found)} pages, {100 * share:.1f} %"
    reached = "reached" if share >= SAME_TEXT else "MISSED"
    results["goals"].append(
        f"the text of stock readability: {same}, goal {SAME_TEXT:.0%}: {reached}"
    )
    print(f"\nthe same text as stock readability on {same}; the others, and where they part:")
    for page in differing:
        print(f"  ours {page.ours:7d}  stock {page.stock:7d}  {page.page}")
        for name, text in zip(("ours", "stock"), page.at, strict=True):
            print(f"    {name:5} {text[:SHOWN]!r}")
    results["differences"] = [page._asdict() for page in differing]


if __name__ == "__main__":
    main()
