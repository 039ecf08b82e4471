"""Commands as processes: signals, pipes, terminals, and what the shell gives them."""

import fcntl
import json
import os
import pty
import resource
import runpy
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from scrapy_simhash.extras.passages.index import open_passages
from tests.commands.conftest import DEADLINE_S, MODULE, finish, start
from tests.commands.samples import FERRY, written

BOATS = 1500


@pytest.fixture
def many(folder):
    """Very many documents in one file."""
    lines = (
        json.dumps(
            {"id": n, "text": " ".join(f"Boat {n} met boat {m} at {n * m}." for m in range(9))}
        )
        for n in range(BOATS)
    )
    return written(folder, "\n".join(lines), "many.jsonl")


def test_ctrl_c_while_it_is_imported(monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "scrapy_simhash.commands.main", Interrupted())
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("scrapy_simhash", run_name="__main__")
    assert ended.value.code == 130


def started(folder, many):
    """Return a process that adds documents; the first ones are on the disk."""
    process = start(*MODULE, "passages", "add", "--index", "i", many, in_folder=folder)
    deadline = time.monotonic() + DEADLINE_S
    log = folder / "i" / "documents"
    while not any(path.stat().st_size > 20_000 for path in log.glob("*.log")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def test_ctrl_c_keeps_what_was_added(folder, many, run):
    process = started(folder, many)
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.splitlines()[-1] == "interrupted"
    assert "run the same command again to go on" in ran.err
    with open_passages("i", create=False) as index:
        before = index.documents
    assert 0 < before < BOATS
    values = json.loads(run("passages", "add", "--json", "--index", "i", many).out)
    assert (values["unchanged"], values["new"]) == (before, BOATS - before)
    assert values["index_documents"] == BOATS


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("redirected", "expected"),
    [
        (">&-", (0, "")),
        ("<&-", (0, "")),
        ("2>&-", (0, "")),
        (
            ">/dev/full",
            (1, "error: the output cannot be read or written: No space left on device\n"),
        ),
    ],
)
def test_streams_that_are_closed_or_full(run_process, run, folder, redirected, expected):
    assert run("passages", "add", written(folder, FERRY)).code == 0
    name = written(folder, FERRY, "copy.txt")
    command = f'exec "$@" {redirected}'
    ran = run_process("sh", "-c", command, "sh", *MODULE, "passages", "check", name)
    assert (ran.code, ran.err) == expected


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_is_full_three_bytes_before_the_end(folder, unbuffered):
    command = [*MODULE, "--help"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes are cut short, and then fail
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) - 3, len(whole) - 3))

    with (folder / "out").open("wb") as out:
        ran = subprocess.run(
            command,
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            restore_signals=False,
            preexec_fn=limit,
            check=False,
        )
    assert ran.stderr == b"error: the output cannot be read or written: File too large\n"
    assert ran.returncode == 1
    assert (folder / "out").read_bytes() == whole[:-3]


@pytest.mark.thorough
def test_an_output_that_lacks_characters(run_process, run, folder, monkeypatch):
    text = "Die Fähre fährt um neun Uhr über den See."
    assert run("passages", "add", written(folder, text)).code == 0
    name = written(folder, text, "copy.txt")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ran = run_process(*MODULE, "passages", "check", name)
    assert (ran.code, ran.err) == (0, "")
    assert "F\\xe4hre" in ran.out


def test_a_bar_is_for_terminals(folder, many):
    ours, theirs = pty.openpty()
    # Of a terminal without a width, nothing would be seen.
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = start(*MODULE, "passages", "add", many, in_folder=folder, stderr=theirs)
    os.close(theirs)
    try:
        seen = b""
        while b" documents [" not in seen:
            seen += os.read(ours, 1024)
        process.send_signal(signal.SIGINT)
        while b"interrupted" not in seen:
            seen += os.read(ours, 1024)
        assert finish(process).code == 130
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


def test_a_process_that_is_killed_leaves_an_index_that_opens(folder, many):
    process = started(folder, many)
    process.kill()
    assert finish(process).code == -signal.SIGKILL
    with open_passages("i", create=False) as index:
        assert 0 < index.documents < BOATS


def test_a_pipe_can_be_added(folder, run):
    ours, theirs = os.pipe()
    with subprocess.Popen(["echo", FERRY], stdout=theirs):
        os.close(theirs)
        ran = run("passages", "add", f"/dev/fd/{ours}")
    os.close(ours)
    assert "added      1 document" in ran.out
