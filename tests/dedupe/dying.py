"""A run that is killed at a step: python -m tests.dedupe.dying FOLDER STEP COUNT [NAME=VALUE…]."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe import run as run_module
from scrapy_simhash.dedupe import writing
from scrapy_simhash.dedupe.state import State
from scrapy_simhash.index import Index
from scrapy_simhash.index.store import Store

from .samples import run

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
# Step → the function before whose call the run is killed. Of `output`: the one that it makes.
STEPS = {
    "begin": (State, "begin"),
    "journal": (State, "append"),
    "observe": (Index, "observe"),
    "acted": (Index, "acted"),
    "confirm": (Store, "write"),
    "close": (Index, "close"),
    "output": (writing, "json_tagger"),  # what it makes is called for each record that is kept
    "replace": (Path, "replace"),
    "remove": (State, "remove"),
    "forget": (Path, "unlink"),
    "rmtree": (shutil, "rmtree"),
}


def die(folder: Path, step: str, count: int, *more: str) -> None:
    """De-duplicate in a process that is killed at a step."""
    command = [sys.executable, "-m", __name__, folder, step, str(count), *more]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr


def dying_at(count: int, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, but kill the process before this call of it."""
    calls = 0

    def dying(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return dying


def main() -> None:
    folder, step, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    options = dict(argument.split("=") for argument in sys.argv[4:])
    where, name = STEPS[step]
    method = getattr(where, name)

    def making(*arguments):
        return dying_at(count, method(*arguments))

    setattr(where, name, making if step == "output" else dying_at(count, method))
    assert run_module.dedupe
    index = None if "own" in options else folder / "index"
    workers = int(options.get("workers", 1))
    known = [file for file in [folder / "known.jsonl"] if file.exists()]
    run(folder, "in.jsonl", workers=workers, index=index, against=known)


if __name__ == "__main__":
    main()
