"""Measure how long an index takes for a page of a site whose pages all share one template.

All pages are within k bits of each other, and each has a name of its own. The pages are variations
of 200 fingerprinted pages. An index with N of them, on disk, in memory, or on a Redis server of the
benchmark's own, is made, and asked for new pages, and for copies of stored ones. Prints the median,
the 99th percentile and the maximum of the CPU times, and how many copies are found.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from index_lib.redis_servers import Servers

from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import Extraction
from scrapy_simhash.index import Index, open_index
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.redis import open_redis_index
from scrapy_simhash.names.names import name_bytes
from scrapy_simhash.scheme import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.evidence import Evidence


KINDS = ("leveldb", "rocksdb", "memory", "redis")
PATTERNS = 200
FLIPPED_BITS = 6
WIDE = PRESETS["wide"]


class Page(NamedTuple):
    """A page to store or to ask for."""

    key: str
    fingerprint: int
    evidence: Evidence


def patterns(rng: random.Random) -> list[Page]:
    """Return fingerprinted pages of one template: a tenth of their words are their own."""
    letters = "abcdefghiklmnoprstuw"
    words = ["".join(rng.choices(letters, k=rng.randrange(3, 9))) for _ in range(4000)]
    shared = rng.choices(words, k=300)
    detector = Detector(WIDE.scheme)
    made = []
    for number in range(PATTERNS):
        text = " ".join([*shared[:150], *rng.choices(words, k=30), *shared[150:]])
        page = detector.fingerprint_extraction(Extraction(text))
        if page.fingerprint is not None:
            made.append(Page(str(number), page.fingerprint, page.evidence._replace(site=1)))
    return made


def pages(made: Sequence[Page], count: int, rng: random.Random, name: str) -> Iterator[Page]:
    """Yield variations of pages, each with another name."""
    for number in range(count):
        pattern = rng.choice(made)
        fingerprint = pattern.fingerprint
        for bit in rng.sample(range(WIDE.scheme.bits), FLIPPED_BITS):
            fingerprint ^= 1 << bit
        heading = name_bytes(f"{name} {number}")
        key = f"https://register.example/{name}/{number}"
        yield Page(key, fingerprint, pattern.evidence._replace(heading=heading))


def fill(index: Index, stored: Iterator[Page], copies_every: int) -> list[Page]:
    """Store pages without a search for each; return copies of some of them."""
    copies = []
    for number, (key, fingerprint, evidence) in enumerate(stored, 1):
        kept = evidence._replace(certainty=b"")
        entry = Entry(number, key, fingerprint, number, 0, 0, -1, kept)
        # With a search for each, a million takes half an hour.
        index.store.write(entry, None, ())
        if number % copies_every == 0:
            copies.append(Page(f"{key}?print", fingerprint ^ 0b1001, evidence))
    return copies


def ask(index: Index, asked: Sequence[Page]) -> tuple[list[float], set[str]]:
    """Return (milliseconds of CPU time for each page, keys of the pages that are copies)."""
    times_ms, copies = [], set()
    for page in asked:
        started = time.thread_time()
        observation = index.observe(page.key, page.fingerprint, page.evidence)
        times_ms.append(1000 * (time.thread_time() - started))
        if observation.kind == "near-duplicate":
            copies.add(page.key)
        index.discard(observation)
    return times_ms, copies


def measure(
    made: Sequence[Page], kind: str, count: int, queries: int, *, folder: str, seed: int
) -> str:
    """Return a row of the result, for an index of `count` pages."""
    rng, copies = random.Random(seed), list[Page]()
    options = {"max_distance": WIDE.max_distance, "confirmation": WIDE.confirmation}
    with ExitStack() as stack:
        if kind == "redis":
            server = stack.enter_context(Servers(folder, 0))
            options = {**options, "expected_pages": count, "incremental": True}
            index = stack.enter_context(open_redis_index(server.url, "x", WIDE.scheme, **options))
        else:
            location = "memory:" if kind == "memory" else f"{kind}:{folder}"
            opened = partial(open_index, location, WIDE.scheme, sync="no", incremental=True)
            if kind != "memory":  # opened again, so that all is in files
                with opened(**options) as index:
                    copies = fill(index, pages(made, count, rng, "mark"), 10 * count // queries)
            index = stack.enter_context(opened(**options))
        copies = copies or fill(index, pages(made, count, rng, "mark"), 10 * count // queries)
        asked = [*pages(made, queries - len(copies), rng, "new"), *copies]
        rng.shuffle(asked)
        ask(index, asked[:20])
        times_ms, found = ask(index, asked)
    times_ms.sort()
    p50, p99 = (times_ms[len(times_ms) * share // 100] for share in (50, 99))
    wrong = len(found - {page.key for page in copies})
    return (
        f"{kind:>8} {count:>9} {p50:>8.2f} {p99:>8.2f} {times_ms[-1]:>8.2f}  "
        f"{len(found) - wrong} of {len(copies)} copies found, {wrong} others taken for copies"
    )


def main() -> None:
    """Measure the sizes that the command line asks for, and print a row for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--kinds", nargs="+", default=["leveldb"], choices=KINDS)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="for the indexes (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"command: {' '.join(sys.argv)}\npython: {sys.version.split()[0]}")
    print(f"{'index':>8} {'pages':>9} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}")
    made = patterns(random.Random(options.seed))
    for kind, count in product(options.kinds, options.pages):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            row = measure(made, kind, count, options.queries, folder=folder, seed=options.seed)
            print(row, flush=True)


if __name__ == "__main__":
    main()
