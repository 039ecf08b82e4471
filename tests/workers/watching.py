"""Observe processes, and wait for conditions."""

import time
from contextlib import suppress
from pathlib import Path

import pytest

DEADLINE_S = 60
PROC = Path("/proc")
needs_proc = pytest.mark.skipif(not PROC.is_dir(), reason="what processes do is read from /proc")


def eventually(condition, deadline_s=DEADLINE_S):
    """Wait until a condition is true; fail if it is not in time."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def state_of(process_id):
    """Return ``R`` (runs), ``S`` (sleeps), ``T`` (stopped), ``Z`` (zombie), …; None if gone."""
    try:
        return (PROC / str(process_id) / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_gone(process_id):
    """Return True if a process does not exist. A zombie does: its parent has not reaped it."""
    return state_of(process_id) is None


def children_of(process_id):
    """Return the ids of child processes, including zombies."""
    children = set()
    for task in (PROC / str(process_id) / "task").glob("*/children"):
        children |= set(map(int, task.read_text().split()))
    return children


def members_of(group):
    """Return the ids of the processes of a group, including zombies."""
    members = set()
    for path in PROC.glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text().rpartition(")")[2].split()[2]) == group:
                members.add(int(path.parent.name))
    return members


def open_files():
    """Return file descriptor → target of all open files of this process."""
    files = {}
    for link in (PROC / "self" / "fd").iterdir():
        with suppress(FileNotFoundError):  # that of listing them
            files[int(link.name)] = str(link.readlink())
    return files


def arrived(directory):
    return {int(path.name) for path in directory.iterdir() if path.name.isdigit()}
