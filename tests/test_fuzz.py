"""A short run of the fuzzer ``benchmarks/fuzz.py``, and tests that it reports failures."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = 300


def escapes(html: str) -> str:
    """Raise an exception that no caller catches."""
    raise SystemExit(f"{len(html)} characters are enough")


def hangs(_html: str) -> str:
    """Never return."""
    threading.Event().wait()
    return ""


def dies(_html: str) -> str:
    """Kill the process, as a crash in C does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@pytest.fixture
def fuzz(monkeypatch):
    """Return the module, imported as in a script, also in its child processes."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), str(ROOT), *sys.path])
    return importlib.import_module("fuzz")


def test_every_mutated_page_gets_a_verdict(fuzz):
    pages = fuzz.read_pages([])
    checker = fuzz.Checker("memory:", None)
    cases = [fuzz.make_case(20, number, pages) for number in range(PAGES)]
    outcomes = [checker.check(case) for case in cases]
    checker.close()
    assert [found.escaped for found in outcomes if found.escaped] == []
    kinds = Counter(found.kind for found in outcomes)
    # Pages that are still pages, and ones that Scrapy can read.
    assert kinds["new"] + kinds["near-duplicate"] > PAGES / 2
    assert kinds["skipped"] > 0
    assert kinds["not decoded"] < PAGES / 20
    assert [fuzz.make_case(20, number, pages) for number in (7, 3)] == [cases[7], cases[3]]


@pytest.mark.parametrize(
    ("extractor", "pages", "said"),
    [("escapes", 1, "SystemExit"), ("hangs", 1, "no answer"), ("dies", 2, "ended with -9")],
)
def test_a_page_that_fails_is_reported_and_the_next_is_processed(
    fuzz, capsys, extractor, pages, said
):
    arguments = ["--pages", pages, "--timeout-s", 2, "--extractor", f"tests.test_fuzz.{extractor}"]
    assert fuzz.main(list(map(str, arguments))) == 1
    out = capsys.readouterr().out
    assert re.findall(r"^page (\d+):", out, re.MULTILINE) == [str(n) for n in range(pages)]
    assert said in out
    assert f"failed: {pages}" in out
