"""Measure an index in Redis with several client processes: pages per second, CPU time and memory.

Starts a redis-server (or a cluster) on a free port, and fills an index. The last tenth of the pages
of a size, at most --pages for each number of clients, is measured: all clients together observe
pages, and confirm new ones. One page in ten is planted near an earlier one. CPU times say more than
pages per second, as clients and server share the machine. "start s" is the CPU time that a client
first takes to read the index, and is not in the others.

    python benchmarks/redis_clients.py --sizes 1e5 1e6 --clients 1 4
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from common import facts
from index_lib.redis_servers import Servers
from index_lib.running import SCHEMES
from index_lib.stream import fingerprints, page_key, stream

from scrapy_simhash import Scheme
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index.base import Entry, PageToObserve
from scrapy_simhash.index.redis import open_redis_index
from scrapy_simhash.sketch import SKETCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from index_lib.stream import Page

    from scrapy_simhash.index import Index

PACKAGES = ("scrapy-simhash", "numpy", "redis", "hiredis")
_AT_ONCE = 9_000


class Task(NamedTuple):
    """The pages of a client: from `first` to before `last`. Pages before `loaded` are stored."""

    url: str
    cluster: bool
    scheme: str
    first: int
    last: int
    size: int
    loaded: int
    unrelated_bits: float | None
    at_once: int

    def opened(self) -> Index:
        """Return the index."""
        bits, max_distance, *_ = SCHEMES[self.scheme]
        return open_redis_index(
            *(self.url, "benchmark:simhash", Scheme(bits=bits)),
            max_distance=max_distance,
            confirmation=UNCONFIRMED,  # the sketches of the first pages are random
            expected_pages=self.size,
            incremental=True,
            cluster=self.cluster,
        )

    def entries(self) -> Iterator[Entry]:
        """Yield the new pages of the stream before `loaded`."""
        random = np.random.default_rng(2)
        for first in range(0, self.loaded, _AT_ONCE):
            numbers = np.arange(first, min(first + _AT_ONCE, self.loaded)).astype(np.uint64)
            new = fingerprints(numbers, SCHEMES[self.scheme][0], 1, self.unrelated_bits)
            for number, fingerprint in enumerate(new, first):
                sketch = random.bytes(SKETCH_BYTES) if self.scheme == "wide" else b""
                evidence = Evidence(sketch=sketch) if sketch else NO_EVIDENCE
                place = number + 1
                yield Entry(place, page_key(number), fingerprint, place, 1, 1, -1, evidence)


def main() -> None:
    """Measure what the command line names, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["wide"])
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[100_000])
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--pages", type=int, default=8_000, help="limit for the measured pages")
    parser.add_argument(
        "--at-once", nargs="+", type=int, default=[1],
        help="how many pages a client observes and confirms together; as a crawl does when so many "
        "wait",
    )  # fmt: skip
    parser.add_argument("--masters", type=int, default=0, help="0: one server, not a cluster")
    parser.add_argument("--unrelated-bits", type=float, help="see benchmarks/index.py --help")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        client(Task(*json.loads(arguments.child)))
        return
    for name, value in facts(PACKAGES).items():
        print(f"{name}: {value}")
    print(
        f"{'scheme':<9}{'size':>10}{'clients':>8}{'at once':>8}{'pages/s':>9}"
        f"{'client CPU µs':>15}{'server CPU µs':>15}{'p50 µs':>8}{'p99 µs':>8}"
        f"{'bytes/page':>12}{'start s':>9}{'peak MB':>9}  recall by distance"
    )
    for scheme, size in product(arguments.schemes, arguments.sizes):
        measure(scheme, size, arguments)


def measure(scheme: str, size: int, arguments: argparse.Namespace) -> None:
    """Fill an index, and print a line for each number of clients, which continue in turn."""
    rounds = [*product(arguments.clients, arguments.at_once)]
    window = min(size // 10, arguments.pages * len(rounds))
    at = loaded = size - window
    with (
        tempfile.TemporaryDirectory() as directory,
        Servers(directory, arguments.masters) as servers,
    ):
        task = Task(
            *(servers.url, servers.cluster, scheme, 0, 0, size, loaded),
            *(arguments.unrelated_bits, 1),
        )
        empty = servers.memory_bytes()
        with task.opened() as index:
            for entry in task.entries():
                index.store.write(entry, None, ())  # without a search for each
        per_page = (servers.memory_bytes() - empty) / loaded
        for clients, at_once in rounds:
            share = window // len(rounds) // clients
            starts = range(at, at + clients * share, share)
            tasks = [task._replace(first=n, last=n + share, at_once=at_once) for n in starts]
            at += clients * share
            before_s = servers.cpu_s()
            results = run_clients(tasks)
            server_us = 1e6 * (servers.cpu_s() - before_s)
            print(f"{scheme:<9}{size:>10,}{clients:>8}{at_once:>8}", end="")
            print_row(results, server_us, per_page)


def run_clients(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return the results of clients that begin at the same time."""
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
    return [json.loads(child.communicate()[0]) for child in children]


def print_row(results: list[dict[str, Any]], server_us: float, per_page: float) -> None:
    """Print the figures of all clients; `per_page` is the server's memory in bytes."""
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
        f"{per_page:>12,.0f}{np.mean([result['start_s'] for result in results]):>9.2f}"
        f"{np.mean([result['memory_mb'] for result in results]):>9,.0f}  {shares}"
        + (f", {wrong} wrong" if wrong else ""),
        flush=True,
    )


def ask(index: Index, keys: Sequence[str], pages: Sequence[Page]) -> list[bool]:
    """Return which pages are copies; the others are taken."""
    asked = [
        PageToObserve(key, page.fingerprint, page.evidence or NO_EVIDENCE)
        for key, page in zip(keys, pages, strict=True)
    ]
    observed = [index.observe(*asked[0][:3])] if len(asked) == 1 else index.observe_all(asked)
    is_copy = [one.kind == "near-duplicate" for one in observed]
    index.confirm(*[one for one, copy in zip(observed, is_copy, strict=True) if not copy])
    return is_copy


def client(task: Task) -> None:
    """Process the pages of a task after a line on stdin, and print the results as JSON."""
    bits, _, distances, _ = SCHEMES[task.scheme]
    first = task.first
    pages = [
        page
        for page in stream(
            *(bits, distances, 1, first, task.last),
            unrelated_bits=task.unrelated_bits,
            evidence=task.scheme == "wide",
        )
        # A planted page is left out if it is near a page that another client may not have stored.
        if page.distance is None or not task.loaded <= page.number < first
    ]
    found: dict[int, list[int]] = {}
    times_us, wrong = [], 0
    index = task.opened()
    before_s = time.process_time()
    index.query(0)  # what the first page would wait for
    start_s = time.process_time() - before_s
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu_s = time.perf_counter(), time.process_time()
    for number in range(0, len(pages), task.at_once):
        asked = pages[number : number + task.at_once]
        before = time.perf_counter()
        near = ask(index, [page_key(f"{first}/{number + at}") for at in range(len(asked))], asked)
        times_us.append(1e6 * (time.perf_counter() - before))
        for page, is_near in zip(asked, near, strict=True):
            if page.distance is None:
                wrong += is_near
            else:
                counts = found.setdefault(page.distance, [0, 0])
                counts[0] += is_near
                counts[1] += 1
    result = {
        "pages": len(pages),
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu_s,
        "times_us": times_us,
        "found": found,
        "wrong": wrong,
        "start_s": start_s,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    index.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
