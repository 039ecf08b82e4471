"""One worker: its messages, what it inherits, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from scrapy_simhash import Detector
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers import process as process_module
from scrapy_simhash.workers.process import JobLost, WorkerProcess
from tests.crawl.harness import child_environment
from tests.crawl.worker_extractors import page_with
from tests.workers.orders import SCHEME, order_for, scheme_of
from tests.workers.watching import DEADLINE_S, eventually, is_gone, needs_proc, open_files, state_of

pytestmark = needs_proc
MIB = 1 << 20
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def fingerprint_of(page):
    return Detector(SCHEME).fingerprint_page(page).fingerprint


def ask(process, order="", number=0):
    return process.run(page_with(order, number=number))


@pytest.fixture
def describe(tmp_path):
    """Return a function that returns a worker's description of itself."""

    def described(process):
        path = tmp_path / "description"
        ask(process, f"describe {path}")
        return json.loads(path.read_text())

    return described


def test_it_answers_with_the_fields_of_a_fingerprint(start_process):
    process = start_process().wait_until_ready()
    expected = Detector(SCHEME).fingerprint_page(page_with(number=3))
    answer = ask(process, number=3)
    untimed = {"extraction_ms": 0.0, "tokenization_ms": 0.0, "fingerprint_ms": 0.0}
    assert replace(answer, **untimed) == replace(expected, **untimed)
    assert answer.fingerprint is not None


def test_it_is_gone_when_it_was_ended(start_process):
    ready, starting = start_process().wait_until_ready(), start_process()
    for process in (ready, starting):
        process.end()
        assert is_gone(process.pid)
        process.end()


def test_signals_for_all_processes_are_the_parents_alone_from_the_first_moment_on(start_process):
    process = start_process()
    for number in SIGNALS:
        os.kill(process.pid, number)
    process.wait_until_ready()
    for number in SIGNALS:
        os.kill(process.pid, number)
    assert ask(process).skipped is None
    # The parent no longer blocks the signals.
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SIGNALS)


def test_it_has_nothing_of_its_parent_but_a_socket(start_process, describe, tmp_path):
    with (tmp_path / "open").open("w") as open_file, socket.socket() as open_socket:
        first, second = (start_process().wait_until_ready() for _ in range(2))
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
    for one, process in zip(told, (first, second), strict=True):
        assert (one["pid"], one["parent"]) == (process.pid, os.getpid())
        assert one["threads"] == 1
        assert one["main"] is None
        assert one["directory"] == str(Path.cwd())


def test_it_imports_from_where_its_parent_does(start_process, describe, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    # Python ignores entries that are not text, and takes "" for the working directory.
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path / "a path", b"bytes", ""])
    code = "from tests.crawl.worker_extractors import obedient as extract"
    scheme = scheme_of(tmp_path, "extractor_of_a_project", code)
    process = start_process(scheme).wait_until_ready()
    assert describe(process)["path"] == [*sys.path[:-3], str(tmp_path)]


def test_a_working_directory_may_be_deleted(start_process, tmp_path, monkeypatch):
    directory = tmp_path / "gone"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    directory.rmdir()
    assert ask(start_process().wait_until_ready()).skipped is None


def test_the_working_directory_does_not_stand_in_for_the_standard_library(
    start_process, tmp_path, monkeypatch
):
    for name in ("json", "signal", "multiprocessing", "socket", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert ask(start_process().wait_until_ready()).skipped is None


@pytest.mark.parametrize("order", ["print on the line", "fail on the line"])
def test_what_it_says_is_not_on_the_parents_standard_output(
    start_process, monkeypatch, capfd, order
):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    process = start_process().wait_until_ready()
    ask(process, order)
    process.end()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("on the line") == (2 if order.startswith("print") else 0)


@pytest.mark.thorough
def test_standard_error_may_be_closed(start_process):
    """A daemon may close it."""
    code = (
        "import os, sys; os.close(2)\n"
        "from tests.workers.orders import order_for\n"
        "from tests.crawl.worker_extractors import page_with\n"
        "from scrapy_simhash.workers.process import WorkerProcess\n"
        "process = WorkerProcess(order_for()).wait_until_ready()\n"
        "print(process.run(page_with()).fingerprint)\n"
        "process.end()"
    )
    child = subprocess.run(
        [sys.executable, "-c", code],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert child.stdout == f"{fingerprint_of(page_with())}\n"


@pytest.mark.parametrize("order", ["sleep", "hold"])
def test_a_page_without_an_end_runs_into_the_time_out(start_process, order):
    process = start_process(timeout_ms=500).wait_until_ready()
    with pytest.raises(JobLost, match="timeout"):
        ask(process, order)
    assert state_of(process.pid) in ("R", "S")
    process.end()
    assert is_gone(process.pid)


@pytest.mark.parametrize("order", ["kill", "exit 0", "exit 1"])
def test_a_death_is_heard_at_once(start_process, order):
    process = start_process().wait_until_ready()
    with pytest.raises((EOFError, OSError)):
        ask(process, order)
    with pytest.raises((EOFError, OSError)):
        ask(process)


@pytest.mark.parametrize(
    ("order", "error"), [("leave early", "SystemExit: early"), ("interrupt", "KeyboardInterrupt")]
)
def test_an_extractor_cannot_talk_it_into_leaving(start_process, order, error):
    process = start_process().wait_until_ready()
    with pytest.raises(WorkerError, match=error):
        ask(process, order)
    assert ask(process, number=1).fingerprint == fingerprint_of(page_with(number=1))


def test_an_error_of_an_extractor_is_the_pages(start_process):
    process = start_process().wait_until_ready()
    answer = ask(process, "fail \ud800")
    assert answer.skipped == "extraction_error"
    assert "LookupError" in answer.error
    assert ask(process).skipped is None


def test_a_page_that_takes_too_much_memory_is_lost_with_its_worker(start_process):
    process = start_process().wait_until_ready()
    with pytest.raises(JobLost, match="memory"):
        ask(process, "take 2000")
    eventually(lambda: state_of(process.pid) == "Z")


@pytest.mark.parametrize("order", ["", "thread"])
def test_it_ends_when_its_parent_is_gone(start_process, order):
    process = start_process().wait_until_ready()
    ask(process, order)
    process._channel.close()
    eventually(lambda: state_of(process.pid) == "Z")


def test_it_ends_in_silence_when_its_parent_is_gone_in_the_middle_of_a_message(
    start_process, capfd
):
    process = start_process().wait_until_ready()
    os.write(process._channel.fileno(), struct.pack("!i", 1000) + b"half")
    process._channel.close()
    eventually(lambda: state_of(process.pid) == "Z")
    assert capfd.readouterr().err == ""


def test_an_answer_that_stops_in_the_middle_runs_into_the_time_out(start_process):
    process = start_process().wait_until_ready()
    process._channel.close()
    ours, theirs = socket.socketpair()
    with theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 100_000))
        process._channel = Connection(ours.detach())
        theirs.sendall(struct.pack("!i", 1000) + b"half")
        with pytest.raises(JobLost, match="timeout"):
            process._receive(DEADLINE_S)


@pytest.mark.parametrize("damaged", [b"", b"{}"])
def test_a_damaged_answer_is_an_error(start_process, damaged):
    process = start_process().wait_until_ready()
    process._channel.close()
    ours, theirs = socket.socketpair()
    process._channel = Connection(ours.detach())
    with Connection(theirs.detach()) as worker:
        worker.send_bytes(damaged)
        with pytest.raises(ValueError, match="the answer of a worker is damaged"):
            process._receive(DEADLINE_S)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [0, 16 * MIB])
def test_a_stopped_one_does_not_stop_its_parent(start_process, size):
    process = start_process(timeout_ms=500).wait_until_ready()
    os.kill(process.pid, signal.SIGSTOP)
    eventually(lambda: state_of(process.pid) == "T")
    began = time.monotonic()
    with pytest.raises((JobLost, OSError)):
        process.run("x" * size)
    assert time.monotonic() - began < 20
    process.end()
    assert is_gone(process.pid)


def test_what_it_cannot_import_is_named(start_process):
    process = start_process(replace(SCHEME, extractor="__main__.text_of"))
    told = r"WORKERS = 0 .*an importable module, not in the script that runs.*'__main__\.text_of'"
    with pytest.raises(WorkerError, match=told):
        process.wait_until_ready()
    assert is_gone(process.pid)


def test_a_module_that_leaves_is_an_error(start_process, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    process = start_process(scheme_of(tmp_path, "leaving", "raise SystemExit('no licence')"))
    with pytest.raises(WorkerError, match="SystemExit: no licence"):
        process.wait_until_ready()


def test_a_module_that_kills_is_an_error(start_process, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    process = start_process(scheme_of(tmp_path, "killing", "import os; os._exit(5)"))
    with pytest.raises(WorkerError, match=r"exit code 5\).*WORKERS = 0"):
        process.wait_until_ready()
    assert is_gone(process.pid)


def test_a_module_that_hangs_is_an_error(start_process, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    process = start_process(scheme_of(tmp_path, "hanging", "import time; time.sleep(3600)"))
    with pytest.raises(WorkerError, match=r"did not start within 0\.5 s: .*WORKERS = 0"):
        process.wait_until_ready()
    assert is_gone(process.pid)


def test_a_start_that_hangs_ends_without_a_parent(start_process, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    process = start_process(scheme_of(tmp_path, "hanging", "import time; time.sleep(3600)"))
    process._send_spec()
    eventually(lambda: state_of(process.pid) == "Z")
    assert process._process.wait() == -signal.SIGALRM


@pytest.mark.parametrize(
    ("attribute", "value"), [("executable", ""), ("executable", None), ("frozen", "onefile")]
)
def test_without_a_python_there_is_none(monkeypatch, attribute, value):
    """A frozen program would start itself, again and again."""
    monkeypatch.setattr(sys, attribute, value, raising=False)
    with pytest.raises(WorkerError, match="SIMHASH_WORKERS = 0"):
        WorkerProcess(order_for())


@pytest.mark.parametrize("executable", ["/not/there/python", "nul\0"])
def test_a_python_that_cannot_be_run_is_an_error_without_leftovers(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    before = open_files()
    with pytest.raises(WorkerError, match="cannot be started"):
        WorkerProcess(order_for())
    assert open_files() == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(SIGNALS)


def test_nothing_is_forked_and_no_thread_begun(start_process, monkeypatch):
    def forked():
        raise AssertionError("a copy of this process")

    monkeypatch.setattr(os, "fork", forked)
    threads = threading.active_count()
    assert ask(start_process().wait_until_ready()).skipped is None
    assert threading.active_count() == threads
