"""A crawler of `test_redis_concurrency`: one of several processes that meet the same families.

Each family has one page for each worker, so that all of them ask at the same time. A page that is a
provisional copy is asked for again until it is settled. The log says what became of each page: that
it is a copy, that it was kept, and that it was kept when its lease had ended.
"""

import os
import random
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from scrapy_simhash import Scheme
from scrapy_simhash.errors import IndexUnreachable
from scrapy_simhash.index import PageToObserve
from scrapy_simhash.index.redis import open_redis_index

# Number of the family, and the fingerprint.
Page = tuple[int, int]

SHAPES = {
    # bits, k, bits by which members differ from the one before (chain) or from a centre (clique)
    "classic clique": (64, 3, 1),
    "classic chain": (64, 3, 2),
    "wide clique": (256, 52, 3),
    "wide chain": (256, 8, 5),
}


@dataclass(frozen=True)
class Task:
    """What a worker does.

    :param twice: share of the commands that are sent twice, as after a lost answer.
    :param failing: share of the pages that fail the first time.
    :param held: so many pages are pending while further ones are asked for.
    :param at_once: so many pages are observed together, and confirmed together.
    :param together: workers wait for each other after so many families.
    :param patient: try again what fails because the server is away.
    """

    url: str
    name: str
    cluster: bool
    shape: str
    families: int
    worker: int
    workers: int
    log: str
    twice: float = 0.0
    failing: float = 0.0
    held: int = 0
    at_once: int = 1
    lease_s: float = 60.0
    together: int = 0
    patient: bool = False

    def open(self):
        bits, k, _ = SHAPES[self.shape]
        return open_redis_index(
            self.url,
            self.name,
            Scheme(bits=bits),
            max_distance=k,
            incremental=True,
            cluster=self.cluster,
            lease_s=self.lease_s,
            expected_pages=100_000,
        )


def members(shape, family, workers):
    """The fingerprints of a family."""
    bits, _, step = SHAPES[shape]
    rng = random.Random(f"{shape} {family}")
    fingerprint = rng.getrandbits(bits)
    order = rng.sample(range(bits), bits)
    found = []
    for number in range(workers):
        if shape.endswith("chain"):
            found.append(fingerprint)
            for bit in order[number * step : (number + 1) * step]:
                fingerprint ^= 1 << bit
        else:
            flipped = fingerprint
            for bit in rng.sample(order, step):
                flipped ^= 1 << bit
            found.append(flipped)
    return found


def page_key(family, worker):
    return f"https://{worker}.example.com/{family}"


def work_on(task):
    """Do what the task says; what goes wrong is in a file beside the log."""
    with Path(f"{task.log}.errors").open("ab") as errors:
        os.dup2(errors.fileno(), 2)
    _work_on(task)


def _work_on(task):
    rng = random.Random(time.time_ns())
    path = Path(task.log)
    done = set()
    if path.exists():
        done = {line.split()[1] for line in path.read_text().splitlines()}
    held = deque()
    waiting = deque()
    with task.open() as index, path.open("a", buffering=1) as log:
        _send_twice(index, task.twice, rng)

        def observe(pages):
            asked = [PageToObserve(page_key(page[0], task.worker), page[1]) for page in pages]
            for page, observed in zip(
                pages, patiently(task, index.observe_all, asked), strict=True
            ):
                if observed.kind != "near-duplicate":
                    held.append((page, observed))
                elif observed.provisional:
                    waiting.append(page)
                else:
                    log.write(f"copy {observed.key} {observed.representative}\n")

        def settle(most):
            while len(held) > most:
                confirmed = []
                for _ in range(min(task.at_once, len(held) - most)):
                    page, observed = held.popleft()
                    if rng.random() < task.failing:
                        patiently(task, index.discard, observed)
                        waiting.append(page)
                    else:
                        confirmed.append(observed)
                leases = index.store.lost_leases
                patiently(task, index.confirm, *confirmed)
                for observed in confirmed:
                    log.write(f"kept {observed.key}\n")
                    if index.store.lost_leases > leases:
                        log.write(f"late {observed.key}\n")

        def ask_again(most):
            again = [waiting.popleft() for _ in range(min(most, len(waiting)))]
            for first in range(0, len(again), task.at_once):
                observe(again[first : first + task.at_once])

        new = []
        for family in range(task.families):
            if page_key(family, task.worker) not in done:
                new.append((family, members(task.shape, family, task.workers)[task.worker]))
            if task.together and family % task.together == 0:
                settle(0)
                _wait_for_all(index, task, family)
            if len(new) >= task.at_once or family == task.families - 1:
                observe(new)
                new = []
            settle(task.held)
            ask_again(max(5, task.at_once))
        while held or waiting:
            settle(0)
            time.sleep(0.01)
            ask_again(len(waiting))


def patiently(task, call, *arguments):
    """Call the index, again and again if the server is away."""
    until = time.monotonic() + 60
    while True:
        try:
            return call(*arguments)
        except IndexUnreachable:  # noqa: PERF203 - it seldom is
            if not task.patient or time.monotonic() > until:
                raise
            time.sleep(0.1)


def _send_twice(index, share, rng):
    """Send some commands twice, as a client does whose first answer was lost."""
    server = index.store.server
    run, call = server.run, server.call

    def twice(send):
        def sent(*arguments):
            if rng.random() < share:
                send(*arguments)
            return send(*arguments)

        return sent

    server.run, server.call = twice(run), twice(call)


def _wait_for_all(index, task, family):
    """All workers go on at the same time."""
    name = f"{task.name} begin {family}"
    client = index.store.server._client
    client.incr(name)
    until = time.monotonic() + 60
    while int(client.get(name)) < task.workers and time.monotonic() < until:
        time.sleep(0.001)
