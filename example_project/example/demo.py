"""Crawl the demo site with the plugin and without it: `python -m example.demo`.

The site is crawled three times: without the plugin, for comparison; with the plugin's defaults,
which drop near-duplicates; and in tag mode, which only tags them. The reported near-duplicates are
compared with the planted ones: those that the site has on purpose. The exit status is 0 if the
crawl that drops reported no wrong pair, lost no distinct page that the crawl without the plugin
received, and found at least 70 % of the planted near-duplicates that it fetched. The report and the
index of the crawl that drops are kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy_simhash.index import open_index

from .demosite import DemoServer, Score, Site, score
from .demosite.resemblance import resemblance
from .demosite.scoring import families_of

PROJECT = Path(__file__).parents[1]
REPORT = PROJECT / "simhash-report.html"
SIMHASH = PROJECT / ".scrapy" / "simhash"
DEPTH_LIMIT = 6  # the calendar is endless, so a crawl without the plugin would not end
LEAST_RECALL = 0.7


@dataclass(frozen=True)
class Crawl:
    """The result of a crawl, by URLs.

    :param fetched: the pages that the server sent.
    :param seen: the pages that gave an item.
    :param pairs: (near-duplicate, representative).
    :param distances: near-duplicate → distance in bits to its representative.
    """

    fetched: list[str]
    seen: list[str]
    pairs: list[tuple[str, str]]
    distances: dict[str, int]


def crawl(
    server: DemoServer,
    directory: Path,
    *settings: str,
    simhash: Path | None = None,
    show_log: bool = False,
) -> Crawl:
    """Run `scrapy crawl` in a process of its own, and return its result."""
    items, simhash = directory / "items.jsonl", simhash or directory / "simhash"
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={server.start_urls}"]
    for setting in (
        f"SIMHASH_DIR={simhash}",
        f"DEPTH_LIMIT={DEPTH_LIMIT}",
        "DOWNLOAD_DELAY=0",  # the server is our own
        "LOG_LEVEL=INFO",
        *settings,
    ):
        command += ["-s", setting]
    server.forget()
    subprocess.run(
        [*command, "-O", str(items)],
        cwd=PROJECT,
        check=True,
        stderr=None if show_log else subprocess.DEVNULL,
    )
    lines = items.read_text(encoding="utf-8").splitlines()
    pairs, distances = [], {}
    index_directory = simhash / "spiders" / "site"
    if index_directory.exists():
        with open_index(index_directory) as index:
            for pair in index.near_duplicates():
                if pair.confirmed:
                    pairs.append((pair.key, pair.representative))
                    distances[pair.key] = pair.distance
    return Crawl(server.fetched(), [json.loads(line)["url"] for line in lines], pairs, distances)


def report(site: Site, name: str, run: Crawl) -> Score:
    """Print the clusters that a crawl found, and what it missed; return its score."""
    result = score(run.pairs, run.fetched, site)
    clusters = defaultdict(list)
    for url, representative in run.pairs:
        clusters[representative].append(url)
    print(f"\n== {name}: {len(clusters)} clusters")
    for representative, members in clusters.items():
        print(representative)
        for url in members:
            print(f"  distance {run.distances[url]:>2}  {url}")
    missed = [(url, _kept_page(site, url, result, run)) for url in result.missed]
    print(f"\n{name}: found {len(result.found)} of {len(result.planted)}")
    kinds = Counter(_kind(site, pair) for pair in result.found)
    missed_kinds = Counter(_kind(site, pair) for pair in missed)
    for kind in sorted({*kinds, *missed_kinds}):
        print(f"  {kind:<12}{kinds[kind]:>3} of {kinds[kind] + missed_kinds[kind]}")
    for title, pairs in (("missed", missed), ("wrong", result.wrong)):
        print(f"{title}: {len(pairs)}")
        for pair in pairs:
            print(f"  {_kind(site, pair)} {_resemblance(site, pair)}: {pair[0]}  <>  {pair[1]}")
    return result


def is_good(site: Site, result: Score, expected: list[str], seen: list[str]) -> bool:
    """Return True if a crawl lost no distinct page, reported no wrong pair, and found enough.

    :param expected: for each of these pages, the spider should have received one of its family.
    """
    lost = families_of(site, expected) - families_of(site, seen)
    print(f"distinct pages lost by dropping: {', '.join(sorted(lost)) or 'none'}")
    return not result.wrong and not lost and result.recall >= LEAST_RECALL


def _kind(site: Site, pair: tuple[str, str]) -> str:
    """Return the kind of a pair, which is that of the copy. Either page may be the article."""
    kinds = [page.kind if (page := site.page_at(url)) else "unknown" for url in pair]
    return kinds[1] if kinds[0] == "article" else kinds[0]


def _resemblance(site: Site, pair: tuple[str, str]) -> str:
    """Return the resemblance of two pages' main texts, or ``?`` if a page is unknown."""
    one, other = (site.page_at(url) for url in pair)
    return f"{resemblance(one.text, other.text, one.lang):.3f}" if one and other else "?"


def _kept_page(site: Site, missed: str, result: Score, run: Crawl) -> str:
    """Return the kept page of the family of a missed page, see `score`."""
    family, planted = families_of(site, [missed]), set(result.planted)
    members = (url for url in run.fetched if families_of(site, [url]) == family)
    return next(url for url in members if url not in planted)


def main() -> int:
    """Run the three crawls and print the comparison."""
    with DemoServer() as server, TemporaryDirectory() as temporary:
        site, base = server.site, Path(temporary)
        print(f"Demo site at {server.url}, mirror at {server.mirror_url}", flush=True)
        without = crawl(server, base / "without", "SIMHASH_ENABLED=0")
        # The report and the index stay for the user to look at.
        settings = (f"SIMHASH_REPORT={REPORT}", "SIMHASH_KEEP_TEXT=True", "SIMHASH_RESET=True")
        dropping = crawl(server, base / "drop", *settings, simhash=SIMHASH, show_log=True)
        tagging = crawl(server, base / "tag", "SIMHASH_ACTION=tag")
        dropped = report(site, "drop", dropping)
        report(site, "tag", tagging)
    print("\npages fetched: ", end="")
    print(
        f"{len(without.fetched)} without the plugin, {len(dropping.fetched)} when it drops, "
        f"{len(tagging.fetched)} when it tags (depth limit {DEPTH_LIMIT})"
    )
    good = is_good(site, dropped, without.seen, dropping.seen)
    print(f"open the report of the dropping crawl in a browser: {REPORT}")
    scrapy = Path(sys.executable).with_name("scrapy")
    print(f"look into its index, in {PROJECT}: {scrapy} simhash index stats, or clusters")
    print("good" if good else "not good enough")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
