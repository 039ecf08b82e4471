"""What a worker inherits, whom it obeys, and how it ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers import process as process_module
from scrapy_simhash.workers.child import LENGTH
from scrapy_simhash.workers.process import WorkerProcess
from tests.crawl.harness import child_environment
from tests.workers.orders import SCHEME, fingerprint_of, scheme_of
from tests.workers.watching import DEADLINE_S, eventually, is_gone, needs_proc, open_files, state_of

pytestmark = needs_proc
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def describe(tmp_path):
    """Return a function that returns a worker's description of itself."""

    def described(pool):
        path = tmp_path / "description"
        pool.answer(f"describe {path}")
        return json.loads(path.read_text())

    return described


@pytest.fixture
def start_error(start_pool, monkeypatch, tmp_path):
    """Return a function that returns the error of a worker whose extractor cannot be had."""
    monkeypatch.syspath_prepend(tmp_path)

    def error(code):
        pool = start_pool(scheme=scheme_of(tmp_path, "extractor_of_a_project", code))
        [worker] = pool.pids
        raised = pool.error(pool.ask())
        assert isinstance(raised, WorkerError)
        assert is_gone(worker)
        return str(raised)

    return error


def test_signals_for_all_processes_are_the_parents_alone_from_the_first_moment_on(start_pool):
    pool = start_pool()
    [worker] = pool.pids
    for number in SIGNALS:
        os.kill(worker, number)
    pool.until_ready()
    for number in SIGNALS:
        os.kill(worker, number)
    assert pool.answer().skipped is None
    assert pool.pids == [worker]
    # The parent no longer blocks the signals.
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SIGNALS)


def test_it_has_nothing_of_its_parent_but_a_socket(start_pool, describe, tmp_path):
    with (tmp_path / "open").open("w") as open_file, socket.socket() as open_socket:
        first, second = (start_pool() for _ in range(2))
        told = [describe(first), describe(second)]
        sockets = []
        for files in (dict(one["files"]) for one in told):
            assert files.pop("0")[0] == "/dev/null"
            assert files.pop("1")[0] == files.pop("2")[0]
            # Some builds of libffi keep their own library open, for this process alone.
            [(link, inheritable)] = (
                kept
                for kept in files.values()
                if not kept[0].endswith("/fd") and ".so" not in kept[0]
            )
            assert link.startswith("socket:")
            assert not inheritable
            sockets.append(link)
        assert len({*sockets, open_files()[open_socket.fileno()]}) == 3
        assert not open_file.closed
    for one, pool in zip(told, (first, second), strict=True):
        assert ([one["pid"]], one["parent"]) == (pool.pids, os.getpid())
        assert one["threads"] == 1
        assert one["main"] is None
        assert one["directory"] == str(Path.cwd())


def test_it_imports_from_where_its_parent_does(start_pool, describe, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    # Python ignores entries that are not text, and takes "" for the working directory.
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path / "a path", b"bytes", ""])
    code = "from tests.crawl.worker_extractors import obedient as extract"
    scheme = scheme_of(tmp_path, "extractor_of_a_project", code)
    assert describe(start_pool(scheme=scheme))["path"] == [*sys.path[:-3], str(tmp_path)]


def test_a_working_directory_may_be_deleted(start_pool, tmp_path, monkeypatch):
    directory = tmp_path / "gone"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    directory.rmdir()
    assert start_pool().answer().skipped is None


def test_the_working_directory_does_not_stand_in_for_the_standard_library(
    start_pool, tmp_path, monkeypatch
):
    for name in ("json", "signal", "multiprocessing", "socket", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert start_pool().answer().skipped is None


@pytest.mark.parametrize("order", ["print on the line", "fail on the line"])
def test_what_it_says_is_not_on_the_parents_standard_output(start_pool, monkeypatch, capfd, order):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    pool = start_pool()
    pool.results(pool.ask(order))
    pool.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("on the line") == (2 if order.startswith("print") else 0)


@pytest.mark.thorough
def test_standard_error_may_be_closed(start_pool):
    """A daemon may close it."""
    code = (
        "import os, sys; os.close(2)\n"
        "from tests.workers.driving import Driven\n"
        "from tests.workers.orders import start_workers\n"
        "pool = Driven(start_workers())\n"
        "print(pool.answer().fingerprint)\n"
        "pool.close()"
    )
    child = subprocess.run(
        [sys.executable, "-c", code],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert child.stdout == f"{fingerprint_of(0)}\n"


@pytest.mark.parametrize("order", ["", "thread"])
def test_it_ends_when_its_parent_is_gone(start_pool, order):
    pool = start_pool()
    pool.answer(order)
    [worker] = pool.pool._workers
    os.close(worker._socket.detach())
    eventually(lambda: state_of(worker.process.pid) == "Z")
    pool.pool._workers.clear()
    worker.end()


@pytest.mark.parametrize("sent", [b"half", LENGTH.pack(1000) + b"half"])
def test_it_ends_in_silence_when_its_parent_is_gone_in_the_middle_of_a_message(
    start_pool, capfd, sent
):
    pool = start_pool().until_ready()
    [worker] = pool.pool._workers
    os.write(worker.fileno(), sent)
    os.close(worker._socket.detach())
    eventually(lambda: state_of(worker.process.pid) == "Z")
    assert capfd.readouterr().err == ""
    pool.pool._workers.clear()
    worker.end()


def test_what_it_cannot_import_is_named(start_pool):
    pool = start_pool(scheme=replace(SCHEME, extractor="__main__.text_of"))
    told = r"WORKERS = 0.*an importable module, not in the script that runs.*'__main__\.text_of'"
    with pytest.raises(WorkerError, match=told):
        pool.answer()


def test_a_module_that_leaves_is_an_error(start_error):
    assert "SystemExit: no licence" in start_error("raise SystemExit('no licence')")


def test_a_module_that_kills_is_an_error(start_error):
    told = start_error("import os; os._exit(5)")
    assert "exit code 5; see its output on standard error" in told
    assert "WORKERS = 0" in told


def test_a_module_that_hangs_is_an_error(start_error, monkeypatch):
    monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    told = start_error("import time; time.sleep(3600)")
    assert "it took too long; see its output on standard error" in told
    assert "WORKERS = 0" in told


def test_a_start_that_hangs_ends_without_a_parent(start_pool, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    pool = start_pool(scheme=scheme_of(tmp_path, "hanging", "import time; time.sleep(3600)"))
    [worker] = pool.pool._workers
    eventually(lambda: state_of(worker.process.pid) == "Z")
    assert worker.process.wait() == -signal.SIGALRM


@pytest.mark.parametrize(
    ("attribute", "value"), [("executable", ""), ("executable", None), ("frozen", "onefile")]
)
def test_without_a_python_there_is_none(start_pool, monkeypatch, attribute, value):
    """A frozen program would start itself, again and again."""
    monkeypatch.setattr(sys, attribute, value, raising=False)
    with pytest.raises(WorkerError, match="SIMHASH_WORKERS = 0"):
        start_pool().answer()


@pytest.mark.parametrize("executable", ["/not/there/python", "nul\0"])
def test_a_python_that_cannot_be_run_is_an_error_without_leftovers(
    start_pool, monkeypatch, executable
):
    work = start_pool().pool._work
    monkeypatch.setattr(sys, "executable", executable)
    before = open_files()
    with pytest.raises(WorkerError, match="cannot be started"):
        WorkerProcess(work)
    assert open_files() == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SIGNALS)


def test_nothing_is_forked_and_no_thread_begun(start_pool, monkeypatch):
    def forked():
        raise AssertionError("a copy of this process")

    monkeypatch.setattr(os, "fork", forked)
    threads = threading.active_count()
    assert start_pool().answer().skipped is None
    assert threading.active_count() == threads
    assert multiprocessing.active_children() == []
