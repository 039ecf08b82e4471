"""Measure a long crawl: memory, pages per second and event loop lag over time, recall, precision.

One process serves generated pages on loopback, and another crawls each page once. A third of the
pages are near-duplicates and copies with a known original. The crawl samples itself each second.
Edits are small, and unrelated pages are far apart. So this shows what a long crawl loses, not how
well real near-duplicates are found: ``benchmarks/quality.py`` measures that.

    python benchmarks/soak.py [--pages N] [--workers N] [--action tag] [--json FILE] [--plot FILE]
    python benchmarks/soak.py --off --json off.jsonl       # the same crawl without the plugin
    python benchmarks/soak.py --read FILE --beside off.jsonl --plot docs/soak.svg

A crawl of 100,000 pages takes a quarter of an hour or more.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soak_lib import crawling, replay, scoring, serving, summary

if TYPE_CHECKING:
    from soak_lib.summary import Report

PACKAGES = (
    *("scrapy-simhash", "scrapy", "twisted", "plyvel", "rocksdict", "numpy", "xxhash", "jieba"),
    *("rjieba", "readability-lxml", "lxml"),
)


def main() -> None:
    """Run the crawl, or read its samples, and print the summary."""
    arguments = parsed()
    if arguments.serve:
        serving.main(*json.loads(arguments.serve))
        return
    if arguments.replay:
        replay.main(*json.loads(arguments.replay))
        return
    if arguments.crawl:
        crawling.main(crawling.Task(*json.loads(arguments.crawl)))
        return
    beside = summary.read(arguments.beside) if arguments.beside else None
    with tempfile.TemporaryDirectory(prefix="soak-") as directory:
        if arguments.read:
            report = summary.read(arguments.read)
        else:
            report = soak(arguments, Path(directory))
    for name, value in report.environment.items():
        print(f"{name}: {value}")
    summary.print_summary(report, index_limit_bytes(), beside)
    if arguments.plot:
        from soak_lib.plot import plot

        plot([report, beside] if beside else [report], arguments.plot)


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=lambda text: int(float(text)), default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, help="SIMHASH_WORKERS (default: the default)")
    parser.add_argument("--action", choices=["drop", "tag"], default="drop")
    parser.add_argument("--off", action="store_true", help="crawl without the plugin")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples as JSON lines")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot samples; needs matplotlib")
    parser.add_argument("--read", type=Path, metavar="FILE", help="read the --json of a crawl")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="the --json of a crawl --off")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the log of the crawl")
    parser.add_argument(
        "--trace", action="store_true", help="show which allocations grew; several times slower"
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    parser.add_argument("--replay", help=argparse.SUPPRESS)
    return parser.parse_args()


def environment(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the command, the system, the versions and the settings of the crawl."""
    installed = {found.name.lower(): found.version for found in metadata.distributions()}
    versions = [f"{package} {installed.get(package, 'is not installed')}" for package in PACKAGES]
    return {
        "command": shlex.join(["python", *sys.argv]),
        "seed": arguments.seed,
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": ", ".join(versions),
        "settings": {
            "pages": arguments.pages,
            "action": "off" if arguments.off else arguments.action,
            "workers": "default" if arguments.workers is None else arguments.workers,
            "concurrency": arguments.concurrency,
        },
    }


def soak(arguments: argparse.Namespace, directory: Path) -> Report:
    """Serve and crawl the pages, score the crawl, and return the report."""
    path = arguments.json or directory / "report.jsonl"
    path.write_text("", "ascii")
    summary.add(path, "environment", environment(arguments))
    script = Path(__file__)
    with serving.served(script, arguments.seed, arguments.pages) as site:
        task = crawling.Task(
            url=site.url,
            pages=arguments.pages,
            directory=str(directory),
            report=str(path.absolute()),
            action="off" if arguments.off else arguments.action,
            workers=arguments.workers,
            concurrency=arguments.concurrency,
            trace=arguments.trace,
        )
        try:
            crawling.run(script, task)
        finally:
            log = directory / "crawl.log"
            if arguments.log and log.exists():
                arguments.log.write_bytes(log.read_bytes())
    summary.add(path, "server_cpu_s", site.cpu_s)
    if not arguments.off:
        score = score_of(summary.read(path), directory, arguments)
        summary.add(
            path, "score", score._asdict() | {"recall": score.recall, "precision": score.precision}
        )
        pages = replay.stored(index_directory(directory))
        warm = summary.read(path).end["warm"]["pages"]
        summary.add(
            path, "index_alone", replay.index_alone(script, pages, warm, directory / "alone")
        )
    return summary.read(path)


def score_of(report: Report, directory: Path, arguments: argparse.Namespace) -> scoring.Score:
    """Return the score of the near-duplicate log against the planted pages."""
    from scrapy_simhash.index import index_url, open_index

    unjudged = {number for numbers in report.end["skipped"].values() for number in numbers}
    unjudged.update(report.end["missing"])
    with open_index(index_url(index_directory(directory))) as index:
        found = {
            number_of(line.key): (number_of(line.representative), line.distance)
            for line in index.near_duplicates()
        }
    judged = [number for number in range(1, arguments.pages + 1) if number not in unjudged]
    return scoring.scored(judged, found, arguments.seed)


def index_directory(directory: Path) -> Path:
    """Return the directory of the crawl's index."""
    return directory / "simhash" / "spiders" / crawling.SoakSpider.name


def number_of(key: str) -> int:
    """Return the number of a page from its URL."""
    return int(key.rsplit("/", 1)[1])


def index_limit_bytes() -> int:
    """Return the upper limit for the memory of an index in LevelDB: two generations of its buffer
    (twice, because Python's objects are about twice as large), the cache, and two write buffers.
    """
    from scrapy_simhash.index.buckets import BUFFER_BYTES
    from scrapy_simhash.index.leveldb import _OPTIONS

    return 4 * BUFFER_BYTES + _OPTIONS["lru_cache_size"] + 2 * _OPTIONS["write_buffer_size"]


if __name__ == "__main__":
    main()
