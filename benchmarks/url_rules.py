"""Measure the requests that learned URL rules spare, and the contents that they lose.

    python benchmarks/url_rules.py [--sites NAME…] [--contestants NAME…] [--order depth|breadth]

Scrapy crawls sites with known contents, which are generated in the process. ``off`` is the plugin
without rules. A request is avoidable if an earlier one had the same content, or if it is for an
empty month of the calendar. *Spared* is the share of avoidable requests that were not made, *later*
the same after the first 500 URLs. *Lost* counts the contents that ``off`` found and the other crawl
did not. As the calendar has no end, its crawls stop after --pages pages. *Trap* is the share of
empty months among the requests after the first 500.

duplicate-url-discarder (with its public rules) and MaybeDont are compared where they are installed:
``pip install duplicate-url-discarder duplicate-url-discarder-rules maybedont``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from url_rules_lib.crawling import CONTESTANTS
from url_rules_lib.sites import SITES

HERE = Path(__file__).parent
WARM_UP = 500
EMPTY = "empty month"
NEEDS = {"duplicate-url-discarder": "duplicate_url_discarder_rules", "MaybeDont": "maybedont"}


@dataclass(frozen=True)
class Result:
    """The requests that a crawl made and spared.

    :param asked: (URL, content) of the pages, in the order of their arrival.
    :param spared: (number of pages that had arrived before, URL) of the spared requests.
    """

    asked: list[list[str]]
    spared: list[list[Any]]
    stats: dict[str, int]

    @property
    def contents(self) -> set[str]:
        """Return the contents that were found, without empty months."""
        return {content for _, content in self.asked if not content.startswith(EMPTY)}

    def avoidable(self, after: int) -> int:
        """Return the number of avoidable requests that were made, without the first `after`."""
        seen: set[str] = set()
        repeated = 0
        for at, (_, content) in enumerate(self.asked):
            repeated += at >= after and (content in seen or content.startswith(EMPTY))
            seen.add(content)
        return repeated

    def spared_share(self, without: Result, after: int) -> float:
        """Return the share of the avoidable requests that were spared.

        :param after: number of URLs at the beginning, made or spared, that do not count.
        """
        if after and self.spared:
            urls = sorted([*range(len(self.asked)), *(at - 0.5 for at, _ in self.spared)])
            cut = urls[after] if after < len(urls) else len(self.asked)
            later = sum(at - 0.5 >= cut for at, _ in self.spared)
            return later / max(1, later + self.avoidable(int(cut) + 1))
        return 1 - self.avoidable(0) / max(1, without.avoidable(0))


def crawl(site: str, contestant: str, pages: int, order: str) -> Result:
    """Return the result of a crawl in a separate process."""
    with tempfile.TemporaryDirectory(prefix="url-rules-") as directory:
        child = subprocess.run(
            [
                *(sys.executable, "-m", "url_rules_lib.crawling"),
                json.dumps([site, contestant, pages, directory, order]),
            ],
            cwd=HERE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
            stdout=subprocess.PIPE,
            check=True,
        )
    return Result(**json.loads(child.stdout))


def main() -> None:
    """Run the crawls that the command line names, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", nargs="+", choices=SITES, default=[*SITES])
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS[1:], metavar="NAME")
    parser.add_argument("--order", choices=["depth", "breadth"], default="depth")
    parser.add_argument("--pages", type=int, default=6000, help="limit for the pages of a crawl")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    arguments = parser.parse_args()
    contestants = arguments.contestants or [
        name
        for name in CONTESTANTS[1:]
        if name != "learn" and (name not in NEEDS or importlib.util.find_spec(NEEDS[name]))
    ]
    rows = []
    print(f"{'site':10}{'':25}{'requests':>9}{'contents':>9}{'spared':>8}{'later':>7}{'lost':>6}"
          f"{'trap':>7}")  # fmt: skip
    for site in arguments.sites:
        without = crawl(site, "off", arguments.pages, arguments.order)
        for contestant in ["off", *contestants]:
            result = (
                without
                if contestant == "off"
                else crawl(site, contestant, arguments.pages, arguments.order)
            )
            trapped = [content.startswith(EMPTY) for _, content in result.asked]
            row = {
                "site": site,
                "contestant": contestant,
                "requests": len(result.asked),
                "contents": len(result.contents),
                "spared": result.spared_share(without, 0),
                "spared_later": result.spared_share(without, WARM_UP),
                "lost": len(without.contents - result.contents),
                "trap": sum(trapped[WARM_UP:]) / max(1, len(trapped[WARM_UP:])),
                "stats": result.stats,
            }
            rows.append(row)
            print(
                f"{site:10}{contestant:25}{row['requests']:9,}{row['contents']:9,}"
                f"{row['spared']:8.0%}{row['spared_later']:7.0%}{row['lost']:6,}{row['trap']:7.1%}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
