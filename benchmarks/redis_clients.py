"""An index in Redis with several client processes: pages a second, CPU time, bytes per page.

Starts a redis-server (or a cluster) on a free port, fills an index up to a tenth below each size,
and gives the last pages (at most --pages) to the clients at the same time: observe, and confirm
what is new. One page in ten is planted near an earlier one. Clients and server share the machine,
so the CPU time of both says more than the pages a second.

    python benchmarks/redis_clients.py --sizes 1e5 1e6 --clients 1 4
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from index_lib.redis_servers import Servers
from index_lib.stream import fingerprints, stream

from scrapy_simhash import Scheme
from scrapy_simhash.confirmation import NO_EVIDENCE, UNCONFIRMED, Evidence
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.redis import open_redis_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.index.redis.index import RedisIndex

SCHEMES = {"classic": (64, 3, [1, 2, 3]), "wide": (256, 52, [4, 12, 20, 28, 36, 44, 52])}
NAME = "benchmark:simhash"
SKETCH_BYTES = 128
_AT_ONCE = 9_000


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["wide"])
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[100_000])
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--pages", type=int, default=8_000, help="to measure, of all clients")
    parser.add_argument("--masters", type=int, default=0, help="of a cluster; 0: one server")
    parser.add_argument("--unrelated-bits", type=float, help="see benchmarks/index.py")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        client(Task(*json.loads(arguments.child)))
        return
    print(" ".join(["python", *sys.argv]))
    print(
        f"{'scheme':<9}{'size':>10}{'clients':>8}{'pages/s':>9}{'client CPU µs':>15}"
        f"{'server CPU µs':>15}{'p50 µs':>8}{'p99 µs':>8}{'bytes/page':>12}  recall by distance"
    )
    for scheme in arguments.schemes:
        for size in arguments.sizes:
            measure(scheme, size, arguments)


def measure(scheme: str, size: int, arguments: argparse.Namespace) -> None:
    """Fill an index, and let each number of clients go on from there."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Servers(directory, arguments.masters) as servers,
    ):
        empty = servers.memory_bytes()
        window = min(size // 10, arguments.pages * len(arguments.clients))
        with opened(servers.url, scheme, servers.cluster, size) as index:
            index.load(entries(scheme, size - window, arguments.unrelated_bits))
        per_page = (servers.memory_bytes() - empty) / (size - window)
        at = size - window
        for clients in arguments.clients:
            share = window // len(arguments.clients) // clients
            tasks = [
                Task(
                    *(servers.url, servers.cluster, scheme),
                    *(at + number * share, at + (number + 1) * share, size, size - window),
                    arguments.unrelated_bits,
                )
                for number in range(clients)
            ]
            at += clients * share
            before_s = servers.cpu_s()
            children = [
                subprocess.Popen(
                    [sys.executable, __file__, "--child", json.dumps(task)],
                    stdout=subprocess.PIPE,
                    stdin=subprocess.PIPE,
                    text=True,
                )
                for task in tasks
            ]
            for child in children:
                child.stdout.readline()  # it is ready
            for child in children:
                child.stdin.write("\n")
                child.stdin.flush()
            results = [json.loads(child.communicate()[0]) for child in children]
            server_us = 1e6 * (servers.cpu_s() - before_s)
            print(f"{scheme:<9}{size:>10,}{clients:>8}", end="")
            print_row(results, server_us, per_page)


def print_row(results: list[dict[str, Any]], server_us: float, per_page: float) -> None:
    """One measured line."""
    pages = sum(result["pages"] for result in results)
    rate = sum(result["pages"] / result["wall_s"] for result in results)
    cpu_us = 1e6 * sum(result["cpu_s"] for result in results) / pages
    times_us = np.concatenate([result["times_us"] for result in results])
    recall = {}
    for result in results:
        for distance, (hit, all_) in result["found"].items():
            before = recall.get(int(distance), (0, 0))
            recall[int(distance)] = (before[0] + hit, before[1] + all_)
    shares = " ".join(f"{d}:{hit / all_:.3f}" for d, (hit, all_) in sorted(recall.items()))
    wrong = sum(result["wrong"] for result in results)
    print(
        f"{rate:>9,.0f}{cpu_us:>15,.0f}{server_us / pages:>15,.0f}"
        f"{np.percentile(times_us, 50):>8,.0f}{np.percentile(times_us, 99):>8,.0f}"
        f"{per_page:>12,.0f}  {shares}" + (f", {wrong} wrong" if wrong else ""),
        flush=True,
    )


class Task(NamedTuple):
    """What a client does: the pages from `first` to `last`; before `loaded`, all are stored."""

    url: str
    cluster: bool
    scheme: str
    first: int
    last: int
    size: int
    loaded: int
    unrelated_bits: float | None


def client(task: Task) -> None:
    """One client process."""
    bits, _, distances = SCHEMES[task.scheme]
    first = task.first
    pages = [
        page
        for page in stream(
            *(bits, distances, 1, first, task.last),
            unrelated_bits=task.unrelated_bits,
            evidence=task.scheme == "wide",
        )
        # Another client may not have stored what a planted page is near to.
        if page.distance is None or not task.loaded <= page.number < first
    ]
    found: dict[int, list[int]] = {}
    times_us, wrong = [], 0
    with opened(task.url, task.scheme, task.cluster, task.size) as index:
        print("ready", flush=True)
        sys.stdin.readline()
        began, cpu_s = time.perf_counter(), time.process_time()
        for number, page in enumerate(pages):
            before = time.perf_counter()
            key = f"{page_key(first)}/{number}"
            observed = index.observe(key, page.fingerprint, page.evidence or NO_EVIDENCE)
            if observed.kind != "near-duplicate":
                index.confirm(observed)
            times_us.append(1e6 * (time.perf_counter() - before))
            if page.distance is None:
                wrong += observed.kind == "near-duplicate"
            else:
                counts = found.setdefault(page.distance, [0, 0])
                counts[0] += observed.kind == "near-duplicate"
                counts[1] += 1
        result = {
            "pages": len(pages),
            "wall_s": time.perf_counter() - began,
            "cpu_s": time.process_time() - cpu_s,
            "times_us": times_us,
            "found": found,
            "wrong": wrong,
        }
    print(json.dumps(result))


def opened(url: str, scheme: str, cluster: bool, size: int) -> RedisIndex:
    """The index."""
    bits, max_distance, _ = SCHEMES[scheme]
    return open_redis_index(
        url,
        NAME,
        Scheme(bits=bits),
        max_distance=max_distance,
        confirmation=UNCONFIRMED,  # the sketches of the first pages are random
        expected_pages=size,
        incremental=True,
        cluster=cluster,
    )


def page_key(number: int) -> str:
    """A key of the usual length."""
    return f"https://example.com/articles/{number}/a-title-of-some-length"


def entries(scheme: str, count: int, unrelated_bits: float | None) -> Iterator[Entry]:
    """What lies in the index from the beginning: the new pages of the stream."""
    bits = SCHEMES[scheme][0]
    random = np.random.default_rng(2)
    for first in range(0, count, _AT_ONCE):
        numbers = np.arange(first, min(first + _AT_ONCE, count)).astype(np.uint64)
        for number, fingerprint in enumerate(fingerprints(numbers, bits, 1, unrelated_bits), first):
            sketch = random.bytes(SKETCH_BYTES) if scheme == "wide" else b""
            evidence = Evidence(sketch=sketch) if sketch else NO_EVIDENCE
            place = number + 1
            yield Entry(place, page_key(number), fingerprint, place, 1, 1, -1, evidence)


if __name__ == "__main__":
    main()
