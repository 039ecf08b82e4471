"""A run in a process of its own, which is killed at a step."""

import os
import shutil
import signal
from multiprocessing import get_context
from pathlib import Path

from scrapy_simhash.dedupe import run as run_module
from scrapy_simhash.dedupe import writing
from scrapy_simhash.dedupe.state import State
from scrapy_simhash.index import Index
from scrapy_simhash.index.store import Store

from .samples import run

# Step → the function before whose call the run is killed. Of `output`: the one that it makes.
STEPS = {
    "begin": (State, "begin"),
    "journal": (State, "append"),
    "observe": (Index, "observe_all"),
    "acted": (Index, "acted_all"),
    "confirm": (Store, "write"),
    "close": (Index, "close"),
    "output": (writing, "json_tagger"),  # what it makes is called for each record that is kept
    "replace": (Path, "replace"),
    "remove": (State, "remove"),
    "forget": (Path, "unlink"),
    "rmtree": (shutil, "rmtree"),
}


def die(folder, step, count):
    """De-duplicate in a process that is killed before that call of a step, and wait for that."""
    process = get_context("forkserver").Process(target=_run, args=(folder, step, count))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL


def dying_at(count, method):
    """Return the function, but kill the process before this call of it."""
    calls = 0

    def dying(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return dying


def _run(folder, step, count):
    where, name = STEPS[step]
    method = getattr(where, name)

    def making(*arguments):
        return dying_at(count, method(*arguments))

    setattr(where, name, making if step == "output" else dying_at(count, method))
    assert run_module.dedupe
    known = [file for file in [folder / "known.jsonl"] if file.exists()]
    run(folder, "in.jsonl", index=folder / "index", against=known)
