"""A short run of the fuzzer ``benchmarks/fuzz.py``, and tests that it reports failures."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from scrapy_simhash.index import index_url
from tests.samples import article_page

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGES = 300
SEED = 20


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


def raises(html: str) -> str:
    raise ValueError(f"what is {html[:1]!r}")


@pytest.fixture(scope="module")
def lib():
    """Return the modules of the fuzzer, imported as in a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("bases", "cases", "checking", "mutations")
        return SimpleNamespace(
            **{name: importlib.import_module(f"fuzz_lib.{name}") for name in names}
        )


@pytest.fixture(scope="module")
def pages(lib):
    return lib.bases.written_pages(SEED)


@pytest.fixture
def fuzz(lib, capsys):
    """Return a function that runs the command, and returns its exit status and output."""
    with pytest.MonkeyPatch.context() as patch:
        # For its processes, too.
        patch.setattr(sys, "path", [str(BENCHMARKS), str(ROOT), *sys.path])
        module = importlib.import_module("fuzz")

        def run(*arguments):
            status = module.main([str(argument) for argument in arguments])
            return status, capsys.readouterr().out

        yield run


def test_every_mutated_page_gets_a_verdict(lib, pages, tmp_path):
    checker = lib.checking.Checker(index_url(tmp_path / "index"), "wide", None)
    try:
        outcomes = [
            checker.check(lib.cases.make_case(SEED, number, pages, 20_000))
            for number in range(PAGES)
        ]
    finally:
        checker.close()
    assert [found.escaped for found in outcomes if found.escaped] == []
    assert [found.error for found in outcomes if found.error] == []
    kinds = {found.kind for found in outcomes}
    assert {"new", "near-duplicate", "skipped"} <= kinds <= {*lib.checking.KINDS, "not decoded"}
    # Pages that are still pages, and ones that Scrapy can read.
    assert sum(found.kind in ("new", "near-duplicate") for found in outcomes) > PAGES / 2
    assert sum(found.kind == "not decoded" for found in outcomes) < PAGES / 20


def test_a_case_depends_only_on_seed_and_number(lib, pages):
    make = lib.cases.make_case
    again = lib.bases.written_pages(SEED)
    assert again == pages != lib.bases.written_pages(SEED + 1)
    cases = [make(SEED, number, pages, 5_000) for number in range(40)]
    assert [make(SEED, number, again, 5_000) for number in reversed(range(40))] == cases[::-1]
    assert make(SEED + 1, 0, pages, 5_000) != cases[0]
    assert len({case.body for case in cases}) == 40


def test_every_mutation_changes_a_page_and_keeps_within_its_budget(lib, pages):
    for name, mutation in lib.mutations.MUTATIONS.items():
        changed = 0
        for number in range(20):
            page = pages[number][1]
            rng = lib.cases.Random(f"{name} {number}")
            found = mutation(page, lib.mutations.Dice(rng, pages, 3_000))
            changed += found != page
            # Twice, because some mutations close what they open, or rename each tag.
            assert len(found) <= 2 * (len(page) + 3_000) + 3_000, name
            assert mutation(b"", lib.mutations.Dice(rng, pages, 300)) is not None
        assert changed > 10, name


def test_a_run_reports_what_became_of_the_pages(fuzz):
    status, out = fuzz("--pages", 60, "--seed", SEED, "--processes", 2)
    assert status == 0, out
    for line in (
        "pages: 60, ",
        "verdicts: ",
        "slowest pages, by CPU time:",
        "exceptions that escaped: 0",
    ):
        assert line in out
    assert f"seed: {SEED};" in out
    assert "command: python" in out
    verdicts = re.search("verdicts: (.*)", out)[1]
    assert sum(map(int, re.findall(r" (\d+)", verdicts))) == 60


def test_an_exception_that_escapes_fails_the_run_and_can_be_reproduced(fuzz, tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.html").write_text(article_page())
    failing = ("--extractor", "tests.test_fuzz.escapes", "--index", "memory", folder)
    status, out = fuzz("--pages", 1, "--first", 7, "--keep", tmp_path / "kept", *failing)
    assert status == 1
    assert "SystemExit" in out
    assert "exceptions that escaped: 1" in out
    again = re.search("again: python benchmarks/fuzz.py (.*)", out)[1]
    assert "--only 7" in again
    status, out = fuzz(*again.split(), "--keep", tmp_path / "again")
    assert status == 1
    assert "SystemExit" in out
    bodies = [(tmp_path / name / "7.html").read_bytes() for name in ("kept", "again")]
    assert bodies[0] == bodies[1] != b""


@pytest.mark.parametrize(
    ("extractor", "pages", "timeout_ms", "how"),
    [("hangs", 1, 300, "hung"), ("dies", 2, 60_000, "ended with -9")],
)
def test_a_page_that_hangs_or_kills_its_process_is_reported_and_skipped(
    fuzz, extractor, pages, timeout_ms, how
):
    status, out = fuzz(
        *("--pages", pages, "--seed", SEED, "--processes", 1, "--timeout-ms", timeout_ms),
        *("--index", "memory", "--extractor", f"tests.test_fuzz.{extractor}"),
    )
    assert status == 1, out
    found = re.findall(r"^page (\d+): (.*?):", out, re.MULTILINE)
    assert found == [(str(number), how) for number in range(pages)]
    assert f"pages that hung or ended their process: {pages}" in out


def test_failures_of_an_extractor_are_counted_but_no_defect(lib, pages):
    checker = lib.checking.Checker("memory:", "classic", "tests.test_fuzz.raises")
    found = checker.check(lib.cases.make_case(SEED, 0, pages, 5_000))
    checker.close()
    assert (found.kind, found.detail, found.escaped) == ("skipped", "extraction_error", "")
    assert "ValueError" in found.error
