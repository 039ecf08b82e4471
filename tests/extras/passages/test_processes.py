"""Commands as processes: signals, pipes, terminals, and what the shell gives them."""

import fcntl
import json
import os
import pty
import runpy
import signal
import struct
import sys
import termios
import time

import pytest

from scrapy_simhash.extras.passages.index import open_passages
from tests.commands.conftest import DEADLINE_S, MODULE, finish, start
from tests.commands.samples import written

# So many that a bar is shown, which comes after half a second.
BOATS = 1500


@pytest.fixture
def many(folder):
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


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGKILL])
def test_what_was_added_when_it_is_ended_is_kept(folder, many, run, signal_):
    process = start(*MODULE, "passages", "add", "--index", "i", many, in_folder=folder)
    deadline = time.monotonic() + DEADLINE_S
    log = folder / "i" / "documents"
    while not any(path.stat().st_size > 20_000 for path in log.glob("*.log")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal_)
    ran = finish(process)
    if signal_ == signal.SIGINT:
        assert (ran.code, ran.out) == (130, "")
        assert ran.err.splitlines()[-1] == "interrupted"
    else:
        assert ran.code == -signal.SIGKILL
    with open_passages("i", create=False) as index:
        before = index.documents
    assert 0 < before < BOATS
    values = json.loads(run("passages", "add", "--json", "--index", "i", many).out)
    assert (values["unchanged"], values["new"]) == (before, BOATS - before)
    assert values["index_documents"] == BOATS
