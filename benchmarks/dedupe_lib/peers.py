"""Other packages on the same feed, each in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentTypeError
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crawl_lib.processes import MemorySampler

from dedupe_lib.feed import score_kept
from dedupe_lib.peer import PEERS

_PROGRAM = Path(__file__).with_name("peer.py")
_VERSION = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"


def parsed(text: str) -> tuple[str, str]:
    """Return (package, Python) of ``PACKAGE`` or ``PACKAGE=PYTHON``.

    :raises ArgumentTypeError: there is no such peer.
    """
    name, _, python = text.partition("=")
    if name not in PEERS:
        raise ArgumentTypeError(f"{name}: there are {', '.join(PEERS)}")
    return name, python or sys.executable


def run_peer(name: str, python: str, feed: Path, count: int) -> dict[str, Any]:
    """Return the figures of a package on the first records, or why there are none."""
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)  # the packages of this environment
    try:
        asked = subprocess.run(
            [python, "-c", _VERSION, name],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
    except (OSError, subprocess.CalledProcessError):
        return {"skipped": f"it is not installed for {python}"}
    with TemporaryDirectory(prefix="peer-", dir=feed.parent) as folder:
        part = Path(folder, "part.jsonl")
        with feed.open("rb") as lines, part.open("wb") as file:
            file.writelines(islice(lines, count))
        with (
            Path(folder, "errors").open("w+b") as errors,
            subprocess.Popen(
                [python, _PROGRAM, name, part, folder],
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
            ) as process,
        ):
            sampler = MemorySampler(process.pid)
            sampler.start()
            said, _ = process.communicate()
            peak_bytes = sampler.end()
            errors.seek(0)
            reason = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        if process.returncode:
            return {"skipped": f"it failed: {reason}"}
        found = json.loads(said.splitlines()[-1])
        return {
            "version": asked.stdout.strip(),
            "records": count,
            **found,
            "records_per_cpu_s": count / found["cpu_s"],
            "peak_memory_bytes": peak_bytes,
            **score_kept(part, Path(folder, "kept.txt")),
        }
