"""Measure an index in Redis with several client processes: pages per second, CPU time and memory.

Starts a redis-server (or a cluster) on a free port, and fills an index. The last tenth of the pages
of a size, at most --pages for each number of clients, is measured: all clients together observe
pages, and confirm new ones. One page in ten is planted near an earlier one. CPU times say more than
pages per second, as clients and server share the machine. "start s" is the CPU time that a client
first takes to read the index, and is not in the others. Peers: see `index_lib.redis_peers`.

    python benchmarks/redis_clients.py --sizes 1e5 1e6 --clients 1 4
    python benchmarks/redis_clients.py --contestants ours leveldb datasketch scrapy-redis
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from index_lib.redis_peers import CONTESTANTS
from index_lib.redis_servers import Servers
from index_lib.stream import stream

SCHEMES = {"classic": (64, 3, [1, 2, 3]), "wide": (256, 52, [4, 12, 20, 28, 36, 44, 52])}
PACKAGES = ("scrapy-simhash", "numpy", "redis", "hiredis", "datasketch", "scrapy-redis")


def main() -> None:
    """Measure the contestants that the command line names, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["wide"])
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=["ours"])
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[100_000])
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--pages", type=int, default=8_000, help="limit for the measured pages")
    parser.add_argument(
        "--at-once", nargs="+", type=int, default=[1],
        help="how many pages a client observes and confirms together; as a crawl does when so many "
        "wait (ours, leveldb)",
    )  # fmt: skip
    parser.add_argument("--masters", type=int, default=0, help="0: one server, not a cluster")
    parser.add_argument("--unrelated-bits", type=float, help="see benchmarks/index.py --help")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        client(Task(*json.loads(arguments.child)))
        return
    print(" ".join(["python", *sys.argv]))
    print(f"{platform.platform()}, Python {platform.python_version()}, {versions()}")
    print(
        f"{'contestant':<13}{'scheme':<9}{'size':>10}{'clients':>8}{'at once':>8}{'pages/s':>9}"
        f"{'client CPU µs':>15}{'server CPU µs':>15}{'p50 µs':>8}{'p99 µs':>8}"
        f"{'bytes/page':>12}{'start s':>9}{'peak MB':>9}  recall by distance"
    )
    for scheme in arguments.schemes:
        for size in arguments.sizes:
            for name in arguments.contestants:
                measure(name, scheme, size, arguments)


def versions() -> str:
    """Return the versions of the measured packages."""
    installed = {one.name: one.version for one in metadata.distributions()}
    return ", ".join(f"{name} {installed.get(name, 'absent')}" for name in PACKAGES)


def measure(name: str, scheme: str, size: int, arguments: argparse.Namespace) -> None:
    """Fill an index, and print a line for each number of clients, which continue in turn."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Servers(directory, arguments.masters) as servers,
    ):
        empty = servers.memory_bytes()
        kind = CONTESTANTS[name]
        rounds = [
            (clients, at_once)
            for clients in arguments.clients
            for at_once in arguments.at_once
            if clients <= kind.most_clients and at_once <= kind.most_at_once
        ]
        window = min(size // 10, arguments.pages * len(rounds))
        try:
            contestant = kind(servers.url, servers.cluster, scheme, size, directory)
        except ImportError as error:
            print(f"{name}: {error}", flush=True)
            return
        contestant.fill(size - window, arguments.unrelated_bits)
        per_page = (servers.memory_bytes() - empty) / (size - window)
        at = size - window
        for clients, at_once in rounds:
            share = window // len(rounds) // clients
            tasks = [
                Task(
                    *(name, directory, servers.url, servers.cluster, scheme),
                    *(at + number * share, at + (number + 1) * share, size, size - window),
                    *(arguments.unrelated_bits, at_once),
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
            print(f"{name:<13}{scheme:<9}{size:>10,}{clients:>8}{at_once:>8}", end="")
            print_row(results, server_us, per_page)


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


class Task(NamedTuple):
    """The pages of a client: from `first` to before `last`. Pages before `loaded` are stored."""

    contestant: str
    directory: str
    url: str
    cluster: bool
    scheme: str
    first: int
    last: int
    size: int
    loaded: int
    unrelated_bits: float | None
    at_once: int


def client(task: Task) -> None:
    """Process the pages of a task after a line on stdin, and print the results as JSON."""
    bits, _, distances = SCHEMES[task.scheme]
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
    kind = CONTESTANTS[task.contestant]
    contestant = kind(task.url, task.cluster, task.scheme, task.size, task.directory)
    given = [contestant.prepared(page) for page in pages]
    before_s = time.process_time()
    contestant.start()
    start_s = time.process_time() - before_s
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu_s = time.perf_counter(), time.process_time()
    for number in range(0, len(pages), task.at_once):
        asked = given[number : number + task.at_once]
        before = time.perf_counter()
        if task.at_once > 1:
            near = contestant.pages([f"{first}/{number + at}" for at in range(len(asked))], asked)
        else:
            near = [contestant.page(f"{first}/{number}", asked[0])]
        times_us.append(1e6 * (time.perf_counter() - before))
        for page, is_near in zip(pages[number : number + task.at_once], near, strict=True):
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
    contestant.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
