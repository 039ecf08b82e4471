"""LevelDB and other processes: killed writers, locks, full disks, two that begin at once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from scrapy_simhash.errors import IndexLocked, StorageError
from scrapy_simhash.index import open_index, reset_index

from .backends import checked_entries, files
from .child import PLAN, page_key

CHILD = Path(__file__).with_name("child.py")
DEADLINE_S = 60


@contextmanager
def child(*arguments):
    """A child process, killed at the end, and after a minute in any case."""
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        watchdog = threading.Timer(DEADLINE_S, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


@pytest.mark.parametrize("seed", range(3))
def test_an_index_holds_every_confirmed_page_whenever_its_writer_is_killed(tmp_path, seed):
    directory = tmp_path / "index"
    rng = random.Random(seed)
    confirmed = {}
    for run in range(5):
        with child("write", directory, run) as writer:
            assert writer.stdout.readline().startswith("open")
            for _ in range(rng.choice([0, 1, 30, 300, 1000]) + rng.randrange(20)):
                line = writer.stdout.readline()
                assert line.endswith("\n")
                _, number, fingerprint = line.split()
                confirmed[page_key(run, int(number))] = int(fingerprint)
            writer.kill()
            # What it said before it died, the last line perhaps in part.
            for line in writer.stdout.read().splitlines(keepends=True):
                if line.endswith("\n"):
                    _, number, fingerprint = line.split()
                    confirmed[page_key(run, int(number))] = int(fingerprint)
        with open_index(f"leveldb:{directory}", incremental=True) as index:
            size = len(index)
            for key, fingerprint in confirmed.items():
                assert key in [match.key for match in index.query(fingerprint)]
        entries = checked_entries(directory, PLAN)
        assert size == len(entries)
        assert {key: entries[key].fingerprint for key in confirmed} == confirmed
        assert not [key for key in entries if key.startswith(("pending", "copy"))]
        # One page may have been confirmed without its line being read.
        own = [key for key in entries if key.startswith("https")]
        assert len(confirmed) <= len(own) <= len(confirmed) + run + 1


def test_an_index_that_another_process_has_open_is_locked_and_left_alone(tmp_path):
    directory = tmp_path / "index"
    with child("hold", directory) as holder:
        assert holder.stdout.readline() == "open\n"
        before = files(directory)
        for attempt in (
            lambda: open_index(f"leveldb:{directory}"),
            lambda: reset_index(f"leveldb:{directory}"),
        ):
            with pytest.raises(IndexLocked) as caught:
                attempt()
            assert caught.value.location == str(directory)
            assert str(directory) in str(caught.value)
            assert "SIMHASH_DIR" in str(caught.value)
        after = files(directory)
        # LevelDB may begin a new LOG of its own messages.
        assert {name: after[name] for name in before if "LOG" not in name} == {
            name: data for name, data in before.items() if "LOG" not in name
        }
        holder.stdin.close()
        assert holder.wait(DEADLINE_S) == 0
    with open_index(f"leveldb:{directory}") as index:
        assert [match.key for match in index.query(0)] == ["held"]


@pytest.mark.parametrize("name", ["index", "missing pages"])
def test_a_full_disk_is_an_error_that_loses_no_page_confirmed_before_or_after(tmp_path, name):
    directory = tmp_path / name
    with child("fill", directory) as filler:
        said, _ = filler.communicate(timeout=DEADLINE_S)
    assert filler.returncode == 0
    lines = said.splitlines()
    (refused,) = [line for line in lines if line.startswith("refused")]
    assert refused.split()[1] == StorageError.__name__
    assert "disk space" in refused
    assert "sees True" in lines
    confirmed = [line.split() for line in lines if line.startswith("confirmed")]
    assert len(confirmed) > 10
    with open_index(f"leveldb:{directory}") as index:
        lost = [
            words[2]
            for words in confirmed
            if [match.distance for match in index.query(int(words[3]))] != [0]
        ]
        assert lost == []
        assert len(index) == len(confirmed)
        index.confirm(index.observe("after", 0))
        assert len(index) == len(confirmed) + 1
    assert len(checked_entries(directory, PLAN)) == len(confirmed) + 1


def test_of_two_processes_that_make_an_index_at_once_one_opens_what_its_manifest_says(tmp_path):
    with child("race", 64) as one, child("race", 128) as other:
        both = {64: one, 128: other}
        for process in both.values():
            assert process.stdout.readline().startswith("ready")
        for attempt in range(40):
            directory = tmp_path / str(attempt)
            for process in both.values():
                process.stdin.write(f"{directory}\n")
            results = {bits: p.stdout.readline().strip() for bits, p in both.items()}
            manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
            for process in both.values():
                process.stdin.write("close\n")
            opened = [bits for bits, result in results.items() if result == "opened"]
            assert set(opened) <= {manifest["scheme"]["bits"]}, results
            assert set(results.values()) <= {"opened", "IndexMismatch", "IndexLocked"}
