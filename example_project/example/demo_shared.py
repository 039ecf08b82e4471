"""Crawl the demo site with two processes that share an index: `python -m example.demo_shared`.

A Redis server is started on a free port of this machine, and stopped at the end. The processes also
share the queue of scrapy-redis. The reported near-duplicates are compared with the planted ones.
The exit status is 0 if no wrong pair was reported, no distinct page was lost, and at least 70 % of
the planted near-duplicates were found.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy_simhash.index.redis import open_redis_index

from .demo import DEPTH_LIMIT, PROJECT, Crawl, is_good, report
from .demosite import DemoServer

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES = 2
NAME = "shared:simhash"
SETTINGS = {
    # The queue of scrapy-redis, and its filter of repeated URLs.
    "SPIDER_MODULES": "example.shared",
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": "1",  # the first process to end does not delete the queue
    "MAX_IDLE_TIME_BEFORE_CLOSE": "12",
    # The shared index. It is on the server that REDIS_URL names, like the queue.
    "SIMHASH_INDEX": "redis",
    "SIMHASH_REDIS_CRAWL": "demo",
    "DEPTH_LIMIT": str(DEPTH_LIMIT),
    "DOWNLOAD_DELAY": "0",  # the server is our own
    "LOG_LEVEL": "INFO",
}


@contextmanager
def redis_server(directory: Path) -> Iterator[str]:
    """Run a Redis server on a free port, and yield its URL. Without redis-server, exit."""
    program = shutil.which("redis-server")
    if program is None:
        sys.exit("redis-server is not installed: `apt-get install redis-server`, or see redis.io")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"--port {port} --bind 127.0.0.1 --appendonly no --loglevel warning".split()
    with subprocess.Popen([program, *options, "--save", "", "--dir", directory]) as process:
        try:
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                if process.poll() is not None:
                    sys.exit(f"redis-server ended at once, with exit code {process.returncode}")
                time.sleep(0.05)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()


def crawl(server: DemoServer, url: str, directory: Path) -> Crawl:
    """Run the processes until the queue is empty, and return their joint result."""
    import redis

    with redis.Redis.from_url(url) as client:
        for start in server.start_urls.split(","):
            client.rpush("shared:start_urls", json.dumps({"url": start}))
    outputs = [directory / f"items-{number}.jsonl" for number in range(PROCESSES)]
    command = [sys.executable, "-m", "scrapy", "crawl", "shared", "-a", f"url={server.start_urls}"]
    for name, value in (SETTINGS | {"REDIS_URL": url}).items():
        command += ["-s", f"{name}={value}"]
    logs = [path.with_suffix(".log").open("wb") for path in outputs]
    running = [
        subprocess.Popen([*command, "-O", str(path)], cwd=PROJECT, stderr=log)
        for path, log in zip(outputs, logs, strict=True)
    ]
    codes = [process.wait() for process in running]
    for number, log in enumerate(logs):
        log.close()
        text = Path(log.name).read_text(encoding="utf-8")
        if codes[number]:
            sys.exit(f"process {number} failed:\n{text}")
        lines = [line for line in text.splitlines() if "pages judged" in line]
        print(f"process {number}: {' '.join(lines).partition('simhash: ')[2]}")
    with open_redis_index(url, NAME) as index:
        copies = [line for line in index.near_duplicates() if line.confirmed]
        print(f"index {index.location}: {len(index)} pages", flush=True)
    seen = [
        json.loads(line)["url"]
        for path in outputs
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return Crawl(
        server.fetched(),
        seen,
        [(copy.key, copy.representative) for copy in copies],
        {copy.key: copy.distance for copy in copies},
    )


def main() -> int:
    """Run the crawl and print what it found, missed, and reported wrongly."""
    with TemporaryDirectory() as temporary, DemoServer() as server:
        with redis_server(Path(temporary)) as url:
            print(f"Demo site at {server.url}, mirror at {server.mirror_url}; {url}", flush=True)
            run = crawl(server, url, Path(temporary))
        site = server.site
        result = report(site, f"{PROCESSES} processes", run)
    good = is_good(site, result, run.fetched, run.seen)
    print("good" if good else "not good enough")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
