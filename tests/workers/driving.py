"""A pool that is stepped until something happens, as an event loop would do it."""

import time
from dataclasses import replace

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.workers.pages import page_workers
from tests.crawl.worker_extractors import GO, OBEDIENT, page_with
from tests.workers.watching import DEADLINE_S, arrived

SCHEME = replace(Scheme.preset("classic"), extractor=OBEDIENT)
LONG_MS = 60_000


def start_workers(workers=1, scheme=SCHEME, timeout_ms=LONG_MS, *, keep_text=False):
    detector = Detector(scheme, min_tokens=30, keep_text=keep_text)
    return page_workers(detector, workers, timeout_ms)


def fingerprint_of(number):
    fingerprint = Detector(SCHEME).fingerprint_page(page_with(number=number)).fingerprint
    assert fingerprint is not None
    return fingerprint


def scheme_of(directory, name, code):
    """Return a scheme whose extractor is `extract` in a new module."""
    (directory / f"{name}.py").write_text(code, encoding="utf-8")
    return replace(SCHEME, extractor=f"{name}.extract")


class Driven:
    """Steps a pool while it waits."""

    def __init__(self, pool):
        self.pool = pool

    @property
    def replaced(self):
        return self.pool.replaced

    @property
    def pids(self):
        """Return the process ids of the workers that run or start."""
        return [worker.process.pid for worker in self.pool._workers]

    def until(self, condition, deadline_s=DEADLINE_S):
        end = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            self.pool.step(0.01)

    def until_ready(self):
        self.until(lambda: self.pool._workers)
        self.until(lambda: all(worker.is_ready for worker in self.pool._workers))
        return self

    def submit(self, content):
        return self.pool.submit(lambda: content)

    def ask(self, order="", number=0):
        return self.submit(page_with(order, number=number))

    def results(self, *futures):
        self.until(lambda: all(future.done() for future in futures))
        return [future.result(0) for future in futures]

    def answer(self, order="", number=0):
        return self.results(self.ask(order, number))[0]

    def error(self, future):
        self.until(future.done)
        return future.exception(0)

    def meet(self, workers, directory):
        """Give each worker a page at the same time, and return the process ids of the workers."""
        directory.mkdir()
        self.until_ready()
        pages = [self.ask(f"meet {directory}") for _ in range(workers)]
        self.until(lambda: len(arrived(directory)) == workers)
        here = arrived(directory)
        (directory / GO).touch()
        assert [page.skipped for page in self.results(*pages)] == [None] * workers
        return here

    def close(self):
        self.pool.close()
