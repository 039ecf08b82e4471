"""A pool of workers: right answers for the right pages, whatever pages and workers do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter
from dataclasses import replace

import pytest

from scrapy_simhash import Detector, Scheme
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers import pool as pool_module
from scrapy_simhash.workers import process as process_module
from scrapy_simhash.workers.process import WorkerProcess
from tests.crawl.worker_extractors import GO, page_with
from tests.samples import CHINESE, ENGLISH, article_page
from tests.workers.orders import SCHEME, order_for, scheme_of
from tests.workers.watching import (
    DEADLINE_S,
    arrived,
    children_of,
    eventually,
    is_gone,
    meet,
    needs_proc,
    open_files,
    process_ids,
    state_of,
)

pytestmark = needs_proc
# The time-out in tests of pages that hang. On a busy machine, other pages must finish within it.
SHORT_MS = 2000

PAGES = {
    "article": article_page(),
    "chinese": f"<html><body><p>{CHINESE}</p><p>{CHINESE[::-1]}</p></body></html>",
    "lone surrogates": f"<p>\ud800 {ENGLISH} \udfff\ud83d</p>",
    "beyond the basic plane": f"<p>{ENGLISH} \U0001f6a2 \U00020000</p>",
    "empty": "",
    "blank": " \n\t",
    "NULs": f"<p>{ENGLISH}</p>".replace(" ", "\0 "),
    "only NULs": "\0" * 1000,
    "5 MB": f"<p>{ENGLISH}</p>" * (5_000_000 // len(ENGLISH)),
    "few words": "<p>Too few words.</p>",
    "canonical": article_page(head='<link rel="canonical" href="/ferry\ud800">'),
}


def timeless(page):
    return replace(page, extraction_ms=0.0, tokenization_ms=0.0, fingerprint_ms=0.0)


def answer(pool, order="", number=0):
    return pool.submit(lambda: page_with(order, number=number)).result(DEADLINE_S)


def fingerprint_of(number):
    page = Detector(SCHEME).fingerprint_page(page_with(number=number))
    assert page.fingerprint is not None
    return page.fingerprint


def count_starts(monkeypatch):
    """Return a list that gets an entry for each worker that is started."""
    starts = []
    ready = WorkerProcess.wait_until_ready

    def counted(process):
        starts.append(process.pid)
        return ready(process)

    monkeypatch.setattr(WorkerProcess, "wait_until_ready", counted)
    return starts


def test_answers_are_those_of_the_detector(start_pool):
    detector = Detector(Scheme.preset("wide"), min_tokens=30)
    pool = start_pool(2, scheme=detector.scheme)
    futures = {name: pool.submit(lambda html=html: html) for name, html in PAGES.items()}
    found = {name: timeless(future.result(DEADLINE_S)) for name, future in futures.items()}
    assert found == {
        name: timeless(detector.fingerprint_page(html)) for name, html in PAGES.items()
    }
    assert Counter(page.skipped for page in found.values()) == {
        None: 7,
        "no_text": 3,
        "few_tokens": 1,
    }
    assert pool.replaced == 0


def test_many_pages_of_many_threads_each_get_their_own_answer(start_pool):
    pool = start_pool(3)
    expected = [fingerprint_of(number) for number in range(40)]
    assert len(set(expected)) == 40
    wrong = []

    def ask_all(thread):
        mine = [(thread * 7 + number) % 40 for number in range(40)]
        futures = [pool.submit(lambda n=n: page_with(number=n)) for n in mine]
        got = [future.result(DEADLINE_S).fingerprint for future in futures]
        wrong.extend(n for n, one in zip(mine, got, strict=True) if one != expected[n])
        done.append(thread)

    done = []
    threads = [threading.Thread(target=ask_all, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(8))
    assert wrong == []


@pytest.mark.parametrize("order", ["sleep", pytest.param("hold", marks=pytest.mark.thorough)])
def test_a_page_without_an_end_is_skipped_and_costs_one_worker(start_pool, tmp_path, order):
    pool = start_pool(2, timeout_ms=SHORT_MS)
    first = meet(pool, 2, tmp_path / "first")
    began = time.monotonic()
    hanging = pool.submit(lambda: page_with(order))
    # The other worker goes on.
    numbers = range(20)
    pages = [pool.submit(lambda n=n: page_with(number=n)) for n in numbers]
    assert [page.result(DEADLINE_S).fingerprint for page in pages] == [
        *map(fingerprint_of, numbers)
    ]
    assert not hanging.done()
    assert hanging.result(DEADLINE_S) == PageFingerprint(skipped="timeout")
    assert SHORT_MS / 1000 <= time.monotonic() - began < SHORT_MS / 1000 + 10
    assert pool.replaced == 1
    second = meet(pool, 2, tmp_path / "second")
    [survivor] = first & second
    [victim] = first - second
    assert is_gone(victim)
    assert state_of(survivor) is not None
    assert second == set(process_ids(pool))
    assert children_of(os.getpid()) >= second
    assert "Z" not in map(state_of, children_of(os.getpid()))


def test_a_page_that_takes_too_much_memory_costs_one_worker(start_pool):
    pool = start_pool()
    assert answer(pool, "take 2000") == PageFingerprint(skipped="memory")
    assert answer(pool, number=1).fingerprint == fingerprint_of(1)
    assert pool.replaced == 1


@pytest.mark.parametrize("order", ["kill", pytest.param("exit 0", marks=pytest.mark.thorough)])
def test_a_page_that_kills_is_skipped_after_two_workers(start_pool, monkeypatch, order):
    starts = count_starts(monkeypatch)
    pool = start_pool()
    before = answer(pool, number=1)
    killing = pool.submit(lambda: page_with(order))
    waiting = pool.submit(lambda: page_with(number=2))
    assert killing.result(DEADLINE_S) == PageFingerprint(skipped="worker_died")
    assert [page.fingerprint for page in (before, waiting.result(DEADLINE_S))] == [
        *map(fingerprint_of, (1, 2))
    ]
    assert pool.replaced == 2
    assert len(starts) == 3


def test_a_page_is_not_blamed_for_one_death(start_pool, tmp_path):
    pool = start_pool()
    assert answer(pool, f"die 1 {tmp_path}", 5).fingerprint == fingerprint_of(5)
    assert pool.replaced == 1


def test_a_lost_worker_is_replaced_before_it_is_needed(start_pool):
    pool = start_pool()
    assert answer(pool, "kill").skipped == "worker_died"
    eventually(lambda: process_ids(pool))


def test_an_idle_worker_may_be_killed(start_pool):
    pool = start_pool()
    answer(pool)
    [worker] = process_ids(pool)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: state_of(worker) == "Z")
    assert answer(pool, number=1).fingerprint == fingerprint_of(1)
    assert is_gone(worker)
    assert pool.replaced == 1


@pytest.mark.thorough
def test_a_stopped_worker_is_replaced(start_pool):
    """It reads no part of a large page; its replacement reads all of it."""
    pool = start_pool(timeout_ms=SHORT_MS // 2)
    for number, size in enumerate((0, 1_000_000)):
        answer(pool)
        [worker] = process_ids(pool)
        os.kill(worker, signal.SIGSTOP)
        eventually(lambda worker=worker: state_of(worker) == "T")
        page = page_with(number=number) + " " * size
        found = pool.submit(lambda page=page: page).result(DEADLINE_S)
        assert found.skipped == ("timeout" if not size else None)
        assert is_gone(worker)
    assert pool.replaced == 2
    assert answer(pool, number=2).fingerprint == fingerprint_of(2)


@pytest.mark.parametrize(
    ("order", "error"), [("leave early", "SystemExit: early"), ("interrupt", "KeyboardInterrupt")]
)
def test_an_extractor_that_wants_out_keeps_its_worker(start_pool, order, error):
    pool = start_pool()
    answer(pool)
    [worker] = process_ids(pool)
    with pytest.raises(WorkerError, match=error):
        answer(pool, order)
    assert answer(pool, "fail here").skipped == "extraction_error"
    assert answer(pool, number=1).fingerprint == fingerprint_of(1)
    assert process_ids(pool) == [worker]
    assert pool.replaced == 0


def test_a_page_that_cannot_be_had_is_an_error_of_its_own(start_pool):
    pool = start_pool()

    def unreadable():
        raise LookupError("no such codec")

    with pytest.raises(LookupError, match="no such codec"):
        pool.submit(unreadable).result(DEADLINE_S)
    assert answer(pool).skipped is None


def test_an_answer_that_was_not_taken_is_not_the_next_pages(start_pool, monkeypatch):
    pool = start_pool()
    answer(pool)
    run = WorkerProcess.run

    def out_of_memory(process, content):
        monkeypatch.setattr(WorkerProcess, "run", run)
        raise MemoryError

    monkeypatch.setattr(WorkerProcess, "run", out_of_memory)
    with pytest.raises(MemoryError):
        answer(pool, number=1)
    assert answer(pool, number=2).fingerprint == fingerprint_of(2)
    assert pool.replaced == 1


def test_pages_are_made_when_their_turn_has_come(start_pool, tmp_path):
    pool = start_pool()
    made = []

    def make(number):
        made.append(number)
        return page_with(number=number)

    first = pool.submit(lambda: page_with(f"meet {tmp_path}"))
    pages = [pool.submit(lambda n=n: make(n)) for n in range(100)]
    eventually(lambda: arrived(tmp_path))
    assert made == []
    pages[1].cancel()
    (tmp_path / GO).touch()
    assert first.result(DEADLINE_S).skipped is None
    assert pages[-1].result(DEADLINE_S).fingerprint == fingerprint_of(99)
    assert made == [0, *range(2, 100)]


def test_workers_that_cannot_start_are_not_tried_for_each_page(start_pool, monkeypatch):
    starts = count_starts(monkeypatch)
    pool = start_pool(scheme=replace(SCHEME, extractor="__main__.text_of"))
    errors = []
    for number in range(300):
        future = pool.submit(lambda n=number: page_with(number=n))
        errors.append(future.exception(DEADLINE_S))
    assert {type(error) for error in errors} == {WorkerError}
    assert "'__main__.text_of'" in str(errors[0])
    assert {str(error) for error in errors} == {str(errors[0])}
    assert len(starts) <= 3
    assert process_ids(pool) == []
    # The traceback of an exception that is raised repeatedly grows, and refers to pages.
    assert max(len([*traceback.walk_tb(error.__traceback__)]) for error in errors) < 10
    assert all(map(is_gone, starts))


def test_an_error_without_a_message_has_a_pause_too(start_pool, monkeypatch):
    starts = []

    def fail(work):
        starts.append(work)
        raise MemoryError

    monkeypatch.setattr(pool_module, "WorkerProcess", fail)
    pool = start_pool()
    errors = [pool.submit(page_with).exception(DEADLINE_S) for _ in range(20)]
    assert {type(error) for error in errors} <= {MemoryError, WorkerError}
    assert len(starts) <= 3


def test_workers_are_tried_again_after_a_pause(start_pool, tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "_LONGEST_PAUSE_S", 0.05)
    monkeypatch.syspath_prepend(tmp_path)
    starts = count_starts(monkeypatch)
    scheme = scheme_of(tmp_path, "later", "raise ImportError('not yet')")
    pool = start_pool(scheme=scheme)
    assert "not yet" in str(pool.submit(page_with).exception(DEADLINE_S))
    scheme_of(tmp_path, "later", "from tests.crawl.worker_extractors import obedient as extract")
    eventually(lambda: pool.submit(page_with).exception(DEADLINE_S) is None)
    assert len(starts) > 1
    assert pool.replaced == 0


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["hold", "meet {directory}"])
def test_close_does_not_wait_for_pages(start_pool, tmp_path, order):
    files = open_files()
    pool = start_pool(2)
    workers = meet(pool, 2, tmp_path / "first")
    order = order.format(directory=tmp_path)
    pages = [pool.submit(lambda: page_with(order)) for _ in range(5)]
    eventually(lambda: sum(page.running() for page in pages) == 2)
    pages[4].cancel()
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 10
    for page in pages[:4]:
        with pytest.raises(WorkerError, match="closed"):
            page.result(0)
    assert all(map(is_gone, workers))
    assert process_ids(pool) == []
    assert pool.replaced == 0
    assert not [thread for thread in threading.enumerate() if "simhash" in thread.name]
    assert open_files() == files


def test_close_does_not_wait_for_a_start(start_pool, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    pool = start_pool(scheme=scheme_of(tmp_path, "hanging", "import time; time.sleep(3600)"))
    page = pool.submit(page_with)
    eventually(lambda: process_ids(pool))
    [worker] = process_ids(pool)
    pool.close()
    assert is_gone(worker)
    assert isinstance(page.exception(0), WorkerError)


def test_a_specification_that_is_not_read_blocks_neither_submit_nor_close(monkeypatch):
    monkeypatch.setattr(process_module, "_BOOTSTRAP", "import time; time.sleep(3600)")
    work = replace(order_for(), job_spec={"larger than any buffer": "x" * 10_000_000})
    pool = pool_module.WorkerPool(work, 1)
    eventually(lambda: process_ids(pool))
    began = time.monotonic()
    page = pool.submit(page_with)
    pool.close()
    assert time.monotonic() - began < DEADLINE_S / 2
    assert isinstance(page.exception(0), WorkerError)


def test_close_again_and_pages_after_it(start_pool):
    pool = start_pool()
    answer(pool)
    pool.close()
    pool.close()
    late = pool.submit(page_with)
    with pytest.raises(WorkerError, match="closed"):
        late.result(0)


def test_nothing_is_forked(start_pool, monkeypatch):
    def forked():
        raise AssertionError("a copy of this process")

    monkeypatch.setattr(os, "fork", forked)
    pool = start_pool()
    assert answer(pool).skipped is None
    assert multiprocessing.active_children() == []
