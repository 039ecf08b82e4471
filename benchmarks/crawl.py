"""Measure what the plugin costs a crawl, beside crawls without it and with other methods.

One process serves the pages on loopback. For each contestant and round, a new process crawls them.
Contestants take turns, so compare figures of one run only. A folder is a page set (``docs.jsonl``
with ``id``, ``lang`` and ``file``), or has HTML files, which may be gzip-compressed.

    python benchmarks/crawl.py FOLDER… [--repeat N] [--pages N] [--network-bound] [--json FILE]

``warm`` figures leave out the first tenth of the pages, while workers start and load dictionaries.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from common import facts
from crawl_lib import corpus, results
from crawl_lib.contestants import CONTESTANTS, NETWORK_BOUND, REDIS, REDIS_URL
from crawl_lib.crawling import Task
from crawl_lib.crawling import main as run_child
from crawl_lib.processes import (
    MemorySampler,
    cpu_s,
    ended_children_cpu_s,
    machine_cpu_s,
    wait_until_idle,
)
from crawl_lib.server import Server, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = (
    "scrapy-simhash scrapy twisted lxml readability-lxml resiliparse jieba rjieba simhash numpy "
    "xxhash plyvel rocksdict"
).split()
NETWORK_DELAY_MS = 50.0
NETWORK_PAGES = 400
BUSY_CORES = 0.2


def main() -> None:
    """Run the crawls, and print their figures."""
    arguments = parsed()
    if arguments.child:
        run_child(arguments.child)
        return
    conditions = environment(arguments)
    for name, value in conditions.items():
        print(f"{name}: {value}")
    pages = corpus.chosen(arguments.folders, arguments.pages, arguments.seed)
    if not pages:
        sys.exit("there are no pages: name folders of HTML files")
    print(described(pages), flush=True)
    names = []
    for name in arguments.contestants:
        if reason := CONTESTANTS[name].missing():
            print(f"{name}: not run, {reason}")
        else:
            names.append(name)
    with ExitStack() as stack:
        if REDIS in names:
            from index_lib.redis_servers import Servers  # the crawls do without the package

            folder = stack.enter_context(tempfile.TemporaryDirectory())
            os.environ[REDIS_URL] = stack.enter_context(Servers(folder, masters=0)).url
        server = stack.enter_context(serving([p.body for p in pages], arguments.delay_ms))
        rounds = [
            one_round(server, rotated(names, number), len(pages), arguments)
            for number in range(arguments.repeat)
        ]
    print(f"load at the end: {load()}\n")
    report(rounds, names, network_bound=arguments.network_bound)
    if arguments.json:
        content = {"environment": conditions, "pages": described(pages), "rounds": rounds}
        arguments.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--contestants", nargs="+", choices=CONTESTANTS, metavar="NAME",
        help=f"one or more of {', '.join(map(repr, CONTESTANTS))}",
    )  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3, help="number of rounds")
    parser.add_argument("--pages", type=int, metavar="N", help="crawl a sample of the pages")
    parser.add_argument("--concurrency", type=int, default=16, help="requests at the same time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--network-bound", action="store_true",
        help="request few pages per second from a slow server, to measure the added duration",
    )  # fmt: skip
    parser.add_argument("--pages-per-second", type=float, default=20.0, help="if network-bound")
    parser.add_argument("--delay-ms", type=float, help="delay of each response of the server")
    parser.add_argument(
        "--wait-s", type=float, default=0.0, metavar="S",
        help="before each crawl, wait until the machine is idle; repeat a crawl during which "
        "other programs were busy; give up after S seconds for each crawl",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestants is None:
        arguments.contestants = NETWORK_BOUND if arguments.network_bound else list(CONTESTANTS)
    if arguments.delay_ms is None:
        arguments.delay_ms = NETWORK_DELAY_MS if arguments.network_bound else 0.0
    if arguments.pages is None and arguments.network_bound:
        arguments.pages = NETWORK_PAGES
    return arguments


def environment(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the command, the machine and the versions that the figures depend on."""
    return facts(PACKAGES) | {
        "cpu": f"{processor()}, {os.cpu_count()} logical, load {load()}",
        "seed": str(arguments.seed),
        "crawls": f"{arguments.repeat} rounds, {arguments.concurrency} requests at a time, "
        f"responses after {arguments.delay_ms:g} ms"
        + (f", {arguments.pages_per_second:g} pages/s" if arguments.network_bound else ""),
    }


def processor() -> str:
    """Return the name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def load() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.2f}"


def described(pages: Sequence[corpus.Page]) -> str:
    """Return the number, sizes and languages of the pages."""
    sizes = sorted(len(page.body) for page in pages)
    languages = sorted({page.lang.lower()[:2] or "?" for page in pages})
    chinese = sum(page.lang.lower().startswith("zh") for page in pages)
    return (
        f"pages: {len(pages)}, no two with the same bytes, of {sum(sizes) / len(sizes) / 1000:.0f} "
        f"KB on average, median {sizes[len(sizes) // 2] / 1000:.0f}; "
        f"languages {' '.join(languages)}; {chinese} Chinese"
    )


def rotated(names: Sequence[str], number: int) -> list[str]:
    """Return the names in another order for each round, so that each contestant starts once."""
    first = number % max(1, len(names))
    return [*names[first:], *names[:first]]


def one_round(
    server: Server, names: Sequence[str], pages: int, arguments: argparse.Namespace
) -> results.Round:
    """Run one crawl with each contestant, and return the figures by contestant."""
    found = {}
    delay_s = 1 / arguments.pages_per_second if arguments.network_bound else 0.0
    for name in names:
        deadline = time.monotonic() + arguments.wait_s
        while True:
            wait_until_idle(deadline)
            with tempfile.TemporaryDirectory() as directory:
                task = Task(name, server.url, pages, arguments.concurrency, directory, delay_s)
                one = crawl(task, server.pid)
            if "missing" in one:
                print(f"  {name}: {one['missing']}", file=sys.stderr, flush=True)
                break
            others = one["other_cores"]
            shown = f"{one['run_s']:.1f} s, {others:.2f} cores at work for others"
            print(f"  {name}: {shown}", file=sys.stderr, flush=True)
            if others <= BUSY_CORES or time.monotonic() > deadline:
                break
        found[name] = one
    return found


def crawl(task: Task, server_pid: int) -> results.Figures:
    """Return the figures of a crawl in a separate process; if it failed, why (`missing`)."""
    own_cpu, machine_cpu = ended_children_cpu_s() + cpu_s(server_pid), machine_cpu_s()
    server_cpu, began = cpu_s(server_pid), time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, Path(__file__).resolve(), "--child", json.dumps(asdict(task))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        cwd=task.directory,
    )
    sampler = MemorySampler(child.pid)
    sampler.start()
    out, log = child.communicate()
    peak_bytes = sampler.end()
    took_s = time.perf_counter() - began
    if child.returncode:
        last = log.strip().splitlines()[-1:] or [""]
        return {"missing": f"it ended with {child.returncode}: {last[0]}"}
    own_cpu = ended_children_cpu_s() + cpu_s(server_pid) - own_cpu
    found = results.figures(json.loads(out.splitlines()[-1]), task.pages)
    if "missing" in found:
        return found
    return found | {
        "peak_tree_bytes": max(peak_bytes, found["peak_rss_bytes"]),
        "server_ms": 1000 * (cpu_s(server_pid) - server_cpu) / task.pages,
        "other_cores": max(0.0, machine_cpu_s() - machine_cpu - own_cpu) / took_s,
    }


def report(rounds: Sequence[results.Round], names: Sequence[str], *, network_bound: bool) -> None:
    """Print the tables, and notes about them."""
    results.print_tables(rounds, names, network_bound=network_bound)
    server_ms = [
        one["server_ms"] for round_ in rounds for one in round_.values() if "server_ms" in one
    ]
    if server_ms:
        print(f"\nthe server took {max(server_ms):.2f} ms of CPU time per page at most")
    for note in results.notes(rounds, names):
        print(f"note: {note}")


if __name__ == "__main__":
    main()
