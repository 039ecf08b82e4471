"""An index in Redis that several processes use at once: of each family one page is kept."""

import os
import random
import signal
import time
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

from scrapy_simhash.errors import StorageError

from .redis_servers import RedisBackend, needs_redis, running
from .redis_worker import SHAPES, Task, members, page_key, work_on

pytestmark = needs_redis

WORKERS = 8
# The shape of the families, and how many pages a worker observes together.
QUICK = ("wide clique", 8)


def with_more(size):
    """All shapes with so many families, for the thorough ring."""
    return [
        pytest.param(shape, at_once, size, marks=pytest.mark.thorough)
        for shape in SHAPES
        for at_once in (1, 8)
    ]


def start(task):
    """Fork a worker from the process of `tests.crawl.preloaded`."""
    worker = get_context("forkserver").Process(target=work_on, args=(task,))
    worker.start()
    return worker


def tasks(backend, directory, shape, families, **faults):
    return [
        Task(
            *(backend.server.url, backend.name, backend.server.cluster, shape, families),
            *(worker, WORKERS, str(directory / f"{worker}.log")),
            **faults,
        )
        for worker in range(WORKERS)
    ]


def run_all(todo, *, disturb=None, limit_s=600):
    """Run the workers to their end; one that was killed is started again."""
    children = [start(task) for task in todo]
    until = time.monotonic() + limit_s
    try:
        while any(child.exitcode is None for child in children):
            assert time.monotonic() < until, "the workers don't come to an end"
            if disturb is not None:
                disturb(children)
            for number, child in enumerate(children):
                if child.exitcode == -signal.SIGKILL:
                    children[number] = start(todo[number])
            time.sleep(0.05)
        for task, child in zip(todo, children, strict=True):
            assert child.exitcode == 0, Path(f"{task.log}.errors").read_text()
    finally:
        for child in children:
            child.kill()
            child.join()


def check(todo):
    """Check what the index holds, and what the workers did with their pages.

    Returns the number of pages that were kept though another one of their family was; and of those
    that were kept when their lease had ended.
    """
    task = todo[0]
    _, k, _ = SHAPES[task.shape]
    said = {"kept": set(), "copy": set(), "late": set()}
    for one in todo:
        for line in Path(one.log).read_text().splitlines():
            what, key, *_ = line.split()
            said[what].add(key)
    stored = set()
    with task.open() as index:
        for family in range(task.families):
            pages = members(task.shape, family, WORKERS)
            keys = [page_key(family, number) for number in range(WORKERS)]
            entries = [number for number, key in enumerate(keys) if index.entry(key)]
            stored.update(keys[number] for number in entries)
            if task.shape.endswith("clique"):
                assert len(entries) == 1, f"family {family}: {entries}"
            for number, page in enumerate(pages):
                near = [one for one in entries if (pages[one] ^ page).bit_count() <= k]
                # Each page is kept or near a kept one, and of two near ones one is kept.
                if number in entries:
                    assert near == [number], (family, number, entries)
                else:
                    # The copy for which a page gave way at the end of its lease may fail later.
                    assert near or keys[number] in said["late"], (family, number, entries)
        assert len(index) == len(stored)
    assert said["kept"] | said["copy"] == {
        page_key(family, number) for family in range(task.families) for number in range(WORKERS)
    }
    # Only where a crawler was silent for longer than its lease, a copy took the place of its page.
    assert said["kept"] - stored <= said["late"]
    return len(said["kept"] - stored), len(said["late"])


@pytest.mark.parametrize(("shape", "at_once", "families"), [(*QUICK, 40), *with_more(1500)])
def test_of_pages_that_arrive_at_the_same_time_one_is_kept(
    redis_backend, tmp_path, shape, at_once, families
):
    todo = tasks(redis_backend, tmp_path, shape, families, at_once=at_once, together=5)
    run_all(todo, limit_s=1800)
    assert check(todo) == (0, 0)


class Disturbance:
    """Kills a worker, or stops one for longer than its lease, by turns, and flushes scripts. Compacts
    the journal all the time.

    The *most* times are spread evenly over the pages that the logs name.
    """

    def __init__(self, backend, todo, lease_s, most):
        self.index = todo[0].open()
        self.removed_rows = 0
        self.ports = backend.server.ports
        self.logs = [Path(task.log) for task in todo]
        self.pages = sum(task.families for task in todo)
        self.lease_s = lease_s
        self.most = most
        self.stopped = {}
        self.killed = self.halted = 0
        self.rng = random.Random(5)

    def __call__(self, children):
        import redis

        with suppress(StorageError):  # it was changed at the same time
            self.removed_rows += self.index.store.compact()
        now = time.monotonic()
        for number, until in list(self.stopped.items()):
            if now > until:
                with suppress(ProcessLookupError):  # it had just ended
                    os.kill(children[number].pid, signal.SIGCONT)
                del self.stopped[number]
        done = sum(log.read_text().count("\n") for log in self.logs if log.exists())
        times = self.killed + self.halted
        if times == self.most or done * (self.most + 1) < self.pages * (times + 1):
            return
        running = [
            number
            for number, child in enumerate(children)
            if child.exitcode is None and number not in self.stopped
        ]
        if not running:
            return
        number = self.rng.choice(running)
        if self.killed <= self.halted:
            children[number].kill()
            children[number].join()
            self.killed += 1
        else:
            os.kill(children[number].pid, signal.SIGSTOP)
            self.stopped[number] = now + 2.5 * self.lease_s
            self.halted += 1
        for port in self.ports:
            with redis.Redis(port=port) as client:
                client.script_flush()


@pytest.mark.parametrize(("shape", "at_once", "size"), [(*QUICK, (60, 6)), *with_more((300, 40))])
def test_crawlers_that_die_or_fall_silent_lose_no_family(
    redis_backend, tmp_path, shape, at_once, size
):
    families, most = size
    lease_s = 0.6
    todo = tasks(
        redis_backend,
        tmp_path,
        shape,
        families,
        twice=0.2,
        failing=0.1,
        held=10,
        at_once=at_once,
        lease_s=lease_s,
    )
    disturbance = Disturbance(redis_backend, todo, lease_s, most)
    run_all(todo, disturb=disturbance, limit_s=1800)
    assert disturbance.killed > 0
    assert disturbance.halted > 0
    assert disturbance.removed_rows > 0
    disturbance.index.close()
    too_many, late = check(todo)
    print(
        f"{disturbance.killed} killed, {disturbance.halted} stopped, {late} confirmed when their "
        f"lease had ended, {too_many} of them beside another"
    )


@pytest.mark.thorough
def test_a_master_that_dies_loses_no_family(tmp_path):
    """Its replica takes over. What the master had not passed on yet is forgotten: copies may pass."""
    families = 300
    options = ("--cluster-node-timeout", "1000")
    with running(tmp_path / "redis", *options, processes=3, replicas=True) as server:
        backend = RedisBackend(server)
        todo = tasks(backend, tmp_path, "wide clique", families, held=5, patient=True)
        killed = []

        def kill_one(children):
            log = Path(todo[0].log)
            begun = log.exists() and log.read_text().count("\n") > families // 5
            if begun and not killed:
                assert all(child.exitcode is None for child in children)
                server.kill(1)
                killed.append(1)

        run_all(todo, disturb=kill_one)
        assert killed
        kept = {}
        for task in todo:
            for line in Path(task.log).read_text().splitlines():
                what, key, *_ = line.split()
                if what == "kept":
                    kept.setdefault(key.rpartition("/")[2], set()).add(key)
        assert set(kept) == {str(family) for family in range(families)}
        too_many = sum(len(pages) - 1 for pages in kept.values())
        print(f"{too_many} pages kept beside another of their family")
        # At the most those that all workers had under way.
        assert too_many <= 2 * WORKERS * 6
