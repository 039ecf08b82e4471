"""One contestant in a process of its own: it grows to each size, and is measured there."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from crawl_lib.processes import memory_bytes

from index_lib import contestants
from index_lib.stream import Page, fingerprints, stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_lib.contestants import Contestant

SCHEMES = {
    "classic": (64, 3, [1, 2, 3], contestants.CLASSIC),
    "wide": (256, 52, [4, 12, 20, 28, 36, 44, 52], contestants.WIDE),
}
_GROW_AT_ONCE = 9_000
_MIN_WINDOW = 90


class Task(NamedTuple):
    """What one process is to measure.

    :param limit_s: of one measured part.
    :param unrelated_bits: see `fingerprints`.
    """

    scheme: str
    name: str
    sizes: list[int]
    seed: int
    limit_s: float
    unrelated_bits: float | None = None


def run_child(task: Task) -> None:
    """Print a line of JSON for each size, and one of what the disk holds."""
    bits, max_distance, distances, known = SCHEMES[task.scheme]
    contestants.Ours.evidence = task.scheme == "wide"
    contestant = known[task.name](bits, max_distance)
    seed, biased = task.seed, task.unrelated_bits

    def pages_of(start: int, stop: int) -> Iterator[Page]:
        return stream(
            bits,
            distances,
            seed,
            start,
            stop,
            unrelated_bits=biased,
            evidence=task.scheme == "wide",
        )

    size = 0
    for wanted in sorted({min(one, contestant.largest) for one in task.sizes}):
        window = max(min(wanted // 10, 45_000), _MIN_WINDOW)
        began = time.perf_counter()
        if contestant.grown == "page by page":
            for page in pages_of(size, wanted - window):
                contestant.page(page.number, page.fingerprint, page.evidence)
        else:
            for first in range(size, wanted - window, _GROW_AT_ONCE):
                numbers = np.arange(first, min(first + _GROW_AT_ONCE, wanted - window))
                new = fingerprints(numbers.astype(np.uint64), bits, seed, biased)
                contestant.grow(first, new)
        grown_s = time.perf_counter() - began
        pages = list(pages_of(wanted - window, wanted))
        result = measured(contestant, pages, task.limit_s)
        size = wanted
        print(json.dumps({"size": size, "grown_s": grown_s, **result}), flush=True)
    print(json.dumps(contestant.close()), flush=True)


def measured(contestant: Contestant, pages: list[Page], limit_s: float) -> dict[str, Any]:
    """Query and insert page by page, for so long at most; the rest is only inserted."""
    distances = sorted({page.distance for page in pages} - {None})
    times_ns, found = [], {distance: [0, 0] for distance in distances}
    wrong = 0
    clock = time.perf_counter_ns
    cpu, begin = time.process_time(), time.perf_counter()
    number = -1
    for page in pages:
        if page.distance is not None and not contestant.has_planted:
            continue
        before = clock()
        near = contestant.page(page.number, page.fingerprint, page.evidence)
        times_ns.append(clock() - before)
        number = max(number, page.number)
        if page.distance is not None:
            found[page.distance][0] += near
            found[page.distance][1] += 1
        else:
            wrong += near
        if len(times_ns) % 100 == 0 and time.perf_counter() - begin > limit_s:
            break
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begin
    left = [page.fingerprint for page in pages if page.distance is None and page.number > number]
    if left:
        contestant.grow(number + 1, left)
    times_us = np.array(times_ns) / 1000
    return {
        "pages": len(times_us),
        "cpu_us": 1e6 * cpu / len(times_us),
        "wall_us": 1e6 * wall / len(times_us),
        "p50_us": float(np.percentile(times_us, 50)),
        "p99_us": float(np.percentile(times_us, 99)),
        "recall": {d: hit / all_ for d, (hit, all_) in found.items() if all_},
        "wrong": wrong,
        "rss_bytes": memory_bytes(os.getpid()),
        "anonymous_bytes": memory_bytes(os.getpid(), "RssAnon"),
        "written_bytes": written_bytes(),
    }


def written_bytes() -> int:
    """What this process gave the disk to write; 0 if unknown."""
    try:
        with Path("/proc/self/io").open(encoding="ascii") as counters:
            return int(dict(line.split(":") for line in counters)["write_bytes"])
    except OSError:
        return 0


def main(text: str) -> None:
    """Run one contestant; the text is its task as JSON."""
    try:
        run_child(Task(*json.loads(text)))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
