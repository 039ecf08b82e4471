"""What a worker inherits, whom it obeys, and how it ends."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers import process as process_module
from tests.workers.driving import scheme_of
from tests.workers.watching import eventually, is_gone, needs_proc, open_files, state_of

pytestmark = needs_proc


@pytest.fixture
def describe(tmp_path):
    """Return a function that returns a worker's description of itself."""

    def described(pool):
        path = tmp_path / "description"
        pool.answer(f"describe {path}")
        return json.loads(path.read_text())

    return described


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


@pytest.mark.parametrize("order", ["", "thread"])
def test_it_ends_when_its_parent_is_gone(start_pool, order):
    pool = start_pool()
    pool.answer(order)
    [worker] = pool.pool._workers
    os.close(worker._socket.detach())
    eventually(lambda: state_of(worker.process.pid) == "Z")
    pool.pool._workers.clear()
    worker.end()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('no licence')", "SystemExit: no licence"),
        ("import os; os._exit(5)", "exit code 5; see its output on standard error"),
        ("import time; time.sleep(3600)", "it took too long; see its output on standard error"),
    ],
    ids=["leaves", "kills", "hangs"],
)
def test_a_module_that_cannot_be_imported_is_an_error(
    start_pool, monkeypatch, tmp_path, code, said
):
    monkeypatch.syspath_prepend(tmp_path)
    if "sleep" in code:
        monkeypatch.setattr(process_module, "START_TIMEOUT_S", 0.5)
    pool = start_pool(scheme=scheme_of(tmp_path, "extractor_of_a_project", code))
    [worker] = pool.pids
    error = pool.error(pool.ask())
    assert isinstance(error, WorkerError)
    assert said in str(error)
    assert "WORKERS = 0" in str(error) or "SystemExit" in said
    assert is_gone(worker)


@pytest.mark.parametrize(
    ("attribute", "value"), [("executable", ""), ("executable", None), ("frozen", "onefile")]
)
def test_without_a_python_there_is_none(start_pool, monkeypatch, attribute, value):
    """A frozen program would start itself, again and again."""
    monkeypatch.setattr(sys, attribute, value, raising=False)
    with pytest.raises(WorkerError, match="SIMHASH_WORKERS = 0"):
        start_pool().answer()
