"""Measure the passage index: what it finds and misses, its speed, and alternatives.

A page set is a folder with ``docs.jsonl`` (a line per document: ``id``, ``lang``) and
``truth.jsonl.gz`` (``id``, ``text``).

    python benchmarks/passages.py quality FOLDER…    recall and precision on planted passages
    python benchmarks/passages.py speed FOLDER…      adding and checking, memory, disk, peers
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from passages_lib import quality, texts
from quality_lib.peers import version_of
from scrapy_simhash.passages.scheme import DEFAULT_MAX_DISTANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED = 1
PACKAGES = ("scrapy-simhash", "numpy", "rapidfuzz", "xxhash", "plyvel", "rocksdict", "jieba")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the measurement that the command line names."""
    arguments = arguments_of(argv)
    if arguments.child:
        from passages_lib import speed

        speed.child(arguments)
        return
    for name, value in environment(arguments.seed).items():
        print(f"{name}: {value}")
    if arguments.what == "quality":
        show_quality(arguments)
    else:
        from passages_lib import speed

        speed.show(arguments)


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("what", choices=("quality", "speed"))
    add("folders", nargs="+", type=Path, metavar="FOLDER")
    add("--passages", type=int, default=10_000, help="quality: to plant")
    add("--languages", nargs="+", metavar="LANGUAGE", help="quality (default: all)")
    add("--cutting", nargs="+", choices=tuple(quality.CUTTINGS), default=list(quality.CUTTINGS)[:3])
    add("--max-distance", type=int, default=DEFAULT_MAX_DISTANCE, metavar="K", help="of the index")
    add("--misses", type=int, default=10, help="quality: missed unedited passages to print")
    add("--documents", type=int, default=10_000, help="speed: documents to add")
    add("--characters", type=int, default=5_000, help="speed: length of a checked text")
    add("--repeat", type=int, default=20, help="speed: number of checked texts")
    add("--seed", type=int, default=SEED)
    add("--child", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def environment(seed: int) -> dict[str, str]:
    """Return the command, the system and the versions that the figures depend on."""
    versions = [f"{name} {found}" for name in PACKAGES if (found := version_of(name))]
    return {
        "command": shlex.join(["python", *sys.argv]),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} logical processors",
        "python": platform.python_version(),
        "packages": ", ".join(versions),
        "seed": str(seed),
    }


def show_quality(arguments: argparse.Namespace) -> None:
    """Plant passages in other texts, check these, and print the tables."""
    documents = texts.load(arguments.folders)
    if arguments.languages:
        documents = [one for one in documents if one.language in arguments.languages]
    indexed, others = texts.split(documents, arguments.seed)
    chosen = texts.plants(indexed, arguments.passages, arguments.seed)
    by_name = {document.name: document.text for document in indexed}
    print(
        f"{len(indexed)} documents in the index, {len(others)} others; {len(chosen)} passages "
        f"planted at each level, of {', '.join(sorted({plant.language for plant in chosen}))}"
    )
    checked = {
        level: texts.checked_texts(
            chosen,
            others,
            share,
            arguments.seed,
            wrapped_anew=level == quality.REWRAPPED,
        )
        for level, share in quality.SHARES.items()
    }
    runs, k = [], arguments.max_distance
    for cutting in arguments.cutting:
        for verified in (True, False):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "index"
                quality.make_index(path, quality.Way(cutting, "", verified), indexed, k)
                for mode in ("exact", "fast"):
                    way = quality.Way(cutting, mode, verified)
                    runs += [
                        quality.run(path, way, level, some, by_name)
                        for level, some in checked.items()
                    ]
                    print(f"done: {way}", file=sys.stderr, flush=True)
    heading("recall and precision")
    print(quality.summary(runs))
    heading("by language")
    print(quality.by_what(runs, lambda language, _: language, "language"))
    heading("by letters and digits")
    print(quality.by_what(runs, lambda _, size: texts.bucket(size), "letters"))
    heading("by the least similarity")
    print(quality.by_similarity(runs))
    show_misses(runs, arguments.misses)


def show_misses(runs: Sequence[quality.Run], count: int) -> None:
    """Print `count` planted passages of each exact run that were not found, though unedited."""
    for one in runs:
        if one.missed and one.way.mode == "exact":
            heading(f"{one.way}, {one.level}: {len(one.missed)} missed")
            for planted, around in one.missed[:count]:
                plant = planted.plant
                print(f"{plant.document} {plant.start}-{plant.end}: {plant.text!r} in {around!r}")


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}\n")


if __name__ == "__main__":
    main()
