"""A pool of workers: right answers for the right pages, whatever pages and workers do."""

import os
import pickle
import signal
import time
from collections import Counter
from dataclasses import replace

import pytest

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import WorkerProcess
from tests.crawl.worker_extractors import GO, page_with
from tests.samples import CHINESE, ENGLISH, article_page
from tests.workers.driving import SCHEME, fingerprint_of
from tests.workers.watching import (
    arrived,
    children_of,
    eventually,
    is_gone,
    needs_proc,
    open_files,
    state_of,
)

pytestmark = needs_proc
# The time-out in tests of pages that hang. On a busy machine, other pages must finish within it.
SHORT_MS = 2000
MIB = 1 << 20

PAGES = {
    "article": article_page(),
    "chinese": f"<html><body><p>{CHINESE}</p><p>{CHINESE[::-1]}</p></body></html>",
    "lone surrogates": f"<p>\ud800 {ENGLISH} \udfff\ud83d</p>",
    "beyond the basic plane": f"<p>{ENGLISH} \U0001f6a2 \U00020000</p>",
    "empty": "",
    "blank": " \n\t",
    "NULs": f"<p>{ENGLISH}</p>".replace(" ", "\0 "),
    "only NULs": "\0" * 1000,
    "300 kB": f"<p>{ENGLISH}</p>" * (300_000 // len(ENGLISH)),
    "few words": "<p>Too few words.</p>",
    "canonical": article_page(head='<link rel="canonical" href="/ferry\ud800">'),
}


def timeless(page):
    return replace(page, extraction_ms=0.0, tokenization_ms=0.0, fingerprint_ms=0.0)


def fingerprints_of(numbers):
    return [*map(fingerprint_of, numbers)]


@pytest.fixture
def starts(monkeypatch):
    """Return a list that gets the process id of each worker that is started."""
    started = []
    start = WorkerProcess.__init__

    def counted(process, *arguments):
        start(process, *arguments)
        started.append(process.process.pid)

    monkeypatch.setattr(WorkerProcess, "__init__", counted)
    return started


def test_answers_are_those_of_the_detector(start_pool):
    detector = Detector(Scheme.preset("wide"), min_tokens=30)
    pool = start_pool(2, scheme=detector.scheme)
    results = pool.results(*map(pool.submit, PAGES.values()))
    found = dict(zip(PAGES, map(timeless, results), strict=True))
    assert found == {
        name: timeless(detector.fingerprint_page(html)) for name, html in PAGES.items()
    }
    assert Counter(page.skipped for page in found.values()) == {
        None: 7,
        "no_text": 3,
        "few_tokens": 1,
    }
    assert pool.replaced == 0


def test_texts_larger_than_any_buffer_go_both_ways_at_once(start_pool):
    """While a worker sends one, it does not read the next one."""
    pool = start_pool(keep_text=True).until_ready()
    pages = [page_with(number=n) + f"<p>{ENGLISH}</p>" * (MIB // len(ENGLISH)) for n in "123"]
    futures = [pool.submit(page.encode()) for page in pages]
    for future in futures:
        [answer] = pool.results(future)
        assert len(answer.text) > MIB / 2
    assert pool.replaced == 0


@pytest.mark.parametrize("order", ["sleep", pytest.param("hold", marks=pytest.mark.thorough)])
def test_a_page_without_an_end_is_skipped_and_costs_one_worker(start_pool, tmp_path, order):
    pool = start_pool(2, timeout_ms=SHORT_MS)
    first = pool.meet(2, tmp_path / "first")
    began = time.monotonic()
    hanging = pool.ask(order)
    # The other worker goes on.
    pages = [pool.ask(number=n) for n in range(20)]
    behind = pages.pop(1)
    assert [page.fingerprint for page in pool.results(*pages)] == fingerprints_of(
        [0, *range(2, 20)]
    )
    assert not hanging.done()
    assert pool.results(hanging) == [PageFingerprint(skipped="timeout")]
    assert SHORT_MS / 1000 <= time.monotonic() - began < SHORT_MS / 1000 + 10
    # The page behind it goes to another worker.
    assert pool.results(behind)[0].fingerprint == fingerprint_of(1)
    assert pool.replaced == 1
    second = pool.meet(2, tmp_path / "second")
    [survivor] = first & second
    [victim] = first - second
    assert is_gone(victim)
    assert state_of(survivor) is not None
    assert second == set(pool.pids)
    assert children_of(os.getpid()) >= second
    assert "Z" not in map(state_of, children_of(os.getpid()))


def test_the_time_of_a_page_begins_when_its_worker_takes_it_up(start_pool):
    pool = start_pool(timeout_ms=SHORT_MS).until_ready()
    pages = [pool.ask(f"nap {0.7 * SHORT_MS / 1000}", number) for number in range(2)]
    assert [page.fingerprint for page in pool.results(*pages)] == fingerprints_of(range(2))
    assert pool.replaced == 0


def test_time_in_which_the_parent_was_busy_does_not_count(start_pool):
    pool = start_pool(timeout_ms=SHORT_MS).until_ready()
    pages = [pool.ask(number=number) for number in range(4)]
    time.sleep(SHORT_MS / 1000 + 0.5)
    assert [page.fingerprint for page in pool.results(*pages)] == fingerprints_of(range(4))
    assert pool.replaced == 0


def test_workers_whose_alarms_do_not_end_them_are_killed(start_pool):
    pool = start_pool(2, timeout_ms=SHORT_MS).until_ready()
    hanging = [pool.ask("disarm"), pool.ask("stop")]
    behind = [pool.ask(number=1), pool.ask(number=2)]
    pool.until(lambda: all(page.done() for page in hanging), deadline_s=2 * SHORT_MS / 1000 + 10)
    assert [page.result(0) for page in hanging] == [PageFingerprint(skipped="timeout")] * 2
    assert [page.fingerprint for page in pool.results(*behind)] == fingerprints_of([1, 2])
    assert pool.replaced == 2


def test_pages_are_tried_again_after_all_processes_were_suspended(start_pool, tmp_path):
    """One that hangs is still skipped."""
    pool = start_pool(2, timeout_ms=SHORT_MS).until_ready()
    pages = [pool.ask(f"{order} {tmp_path}") for order in ("meet", "arrive")]
    pool.until(lambda: arrived(tmp_path) == set(pool.pids))
    workers = pool.pids
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    (tmp_path / GO).touch()
    time.sleep(SHORT_MS / 1000 + 0.5)
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    assert [page.skipped for page in pool.results(*pages)] == [None, "timeout"]
    assert pool.replaced == 3


def test_a_page_that_kills_or_takes_too_much_memory_is_skipped(start_pool):
    """The pages before and behind it, in the same workers, are not."""
    pool, replaced = start_pool().until_ready(), 0
    for order, skipped, deaths in (
        ("take 2000", "memory", 1),
        ("kill", "worker_died", 2),
        ("exit 0", "worker_died", 2),
    ):
        before, killing, behind = pool.ask(number=1), pool.ask(order), pool.ask(number=2)
        assert pool.results(killing) == [PageFingerprint(skipped=skipped)]
        others = pool.results(before, behind)
        assert [page.fingerprint for page in others] == fingerprints_of((1, 2))
        replaced += deaths
        assert pool.replaced == replaced


def test_a_page_is_not_blamed_for_the_death_of_the_worker_behind_another(start_pool, tmp_path):
    """Each of two pages kills one worker, so each is tried again."""
    pool = start_pool().until_ready()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    pages = [
        pool.ask(f"die 1 {tmp_path}/{name}", at) for at, name in enumerate(("first", "second"))
    ]
    assert [page.fingerprint for page in pool.results(*pages)] == fingerprints_of(range(2))
    assert pool.replaced == 2


def test_a_worker_may_be_killed_with_any_number_of_pages(start_pool, tmp_path):
    pool = start_pool().until_ready()

    def killed_with(pages, directory):
        directory.mkdir()
        futures = [pool.ask(f"meet {directory}", number) for number in range(pages)]
        [worker] = pool.pids
        pool.until(lambda: arrived(directory) == ({worker} if pages else set()))
        os.kill(worker, signal.SIGKILL)
        (directory / GO).touch()
        pool.until(lambda: pool.pids != [worker])
        assert is_gone(worker)
        return [page.fingerprint for page in pool.results(*futures)]

    for pages in range(3):
        assert killed_with(pages, tmp_path / str(pages)) == fingerprints_of(range(pages))
        assert pool.answer(number=3).fingerprint == fingerprint_of(3)
        assert pool.replaced == pages + 1


def test_a_page_larger_than_any_buffer_waits_behind_one_that_hangs(start_pool):
    """Its worker does not read it, and ends; the next one does."""
    pool = start_pool(timeout_ms=SHORT_MS).until_ready()
    hanging = pool.ask("sleep")
    behind = pool.submit(page_with(number=2) + " " * 2 * MIB)
    assert pool.results(hanging)[0].skipped == "timeout"
    assert pool.results(behind)[0].skipped in (None, "timeout")  # a page of 2 MiB
    assert pool.answer(number=3).fingerprint == fingerprint_of(3)


def test_an_extractor_that_wants_out_keeps_its_worker(start_pool):
    pool = start_pool().until_ready()
    workers = pool.pids
    for order, error in (("leave early", "SystemExit: early"), ("interrupt", "KeyboardInterrupt")):
        raised = pool.error(pool.ask(order))
        assert isinstance(raised, WorkerError)
        assert error in str(raised)
    failed = pool.answer("fail \ud800")
    assert failed.skipped == "extraction_error"
    assert "LookupError" in failed.error
    assert pool.answer(number=1).fingerprint == fingerprint_of(1)
    assert pool.pids == workers
    assert pool.replaced == 0


def test_an_answer_that_is_none_stops_nothing(start_pool, monkeypatch):
    pool = start_pool().until_ready()
    receive = WorkerProcess.receive
    with monkeypatch.context() as forging:
        forging.setattr(WorkerProcess, "receive", lambda one: [b"\xff" for _ in receive(one)])
        assert isinstance(pool.error(pool.ask(number=1)), pickle.UnpicklingError)
    assert pool.answer(number=2).fingerprint == fingerprint_of(2)


def test_workers_that_cannot_start_are_not_tried_for_each_page(start_pool, starts):
    pool = start_pool(scheme=replace(SCHEME, extractor="__main__.text_of"))
    errors = [pool.error(pool.ask(number=number)) for number in range(300)]
    assert {type(error) for error in errors} == {WorkerError}
    [told] = {str(error) for error in errors}
    assert "WORKERS = 0" in told
    assert "an importable module, not in the script that runs" in told
    assert "'__main__.text_of'" in told
    assert len(starts) <= 3
    assert pool.pids == []
    assert all(map(is_gone, starts))


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["hold", "meet {directory}"])
def test_close_does_not_wait_for_pages(start_pool, tmp_path, order):
    files = open_files()
    pool = start_pool(2)
    workers = pool.meet(2, tmp_path / "first")
    pages = [pool.ask(order.format(directory=tmp_path)) for _ in range(7)]
    assert sum(page.running() for page in pages) == 4
    pages[6].cancel()
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 10
    for page in pages[:6]:
        with pytest.raises(WorkerError, match="closed"):
            page.result(0)
    assert all(map(is_gone, workers))
    assert pool.pids == []
    assert pool.replaced == 0
    assert open_files() == files


def test_a_pool_that_is_forgotten_leaves_no_process(start_pool):
    driven = start_pool(2).until_ready()
    workers = driven.pids
    driven.pool = start_pool().pool  # closed at the end, instead of the first one
    eventually(lambda: all(state_of(worker) in (None, "Z") for worker in workers))
