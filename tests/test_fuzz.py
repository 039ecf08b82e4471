"""A short run of the fuzzer ``benchmarks/fuzz.py``."""

import importlib
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), str(ROOT), *sys.path])
    return importlib.import_module("fuzz")


@pytest.mark.parametrize("count", [150, pytest.param(3000, marks=pytest.mark.thorough)])
def test_every_mutated_page_gets_a_verdict(fuzz, count):
    pages = fuzz.read_pages([])
    checker = fuzz.Checker("memory:", None)
    cases = [fuzz.make_case(20, number, pages) for number in range(count)]
    outcomes = [checker.check(case) for case in cases]
    checker.close()
    assert [found.escaped for found in outcomes if found.escaped] == []
    kinds = Counter(found.kind for found in outcomes)
    # Pages that are still pages, and ones that Scrapy can read.
    assert kinds["new"] + kinds["near-duplicate"] > count / 2
    assert kinds["skipped"] > 0
    assert kinds["not decoded"] < count / 20
    assert [fuzz.make_case(20, number, pages) for number in (7, 3)] == [cases[7], cases[3]]
