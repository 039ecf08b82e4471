"""The benchmark of indexes: that it runs, plants what it says, and counts right."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("contestants", "running", "stream")
        return SimpleNamespace(
            **{name: importlib.import_module(f"index_lib.{name}") for name in names}
        )


def run_script(*arguments):
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "index.py", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.parametrize("scheme", ["classic", "wide"])
def test_it_measures_ours_at_each_size_and_finds_what_was_planted(tmp_path, scheme):
    report = tmp_path / "report.json"
    sizes = ["--sizes", "300", "1000"]
    out = run_script("--schemes", scheme, *sizes, "--contestants", "ours", "--json", report)
    assert "bytes per fingerprint with ids" in out
    content = json.loads(report.read_text())
    assert {"command", "system", "python", "packages"} <= set(content["environment"])
    small, large = content["results"]
    assert (small["size"], large["size"]) == (300, 1000)
    for result in (small, large):
        assert result["cpu_us"] > 0
        assert result["p50_us"] <= result["p99_us"]
        assert result["wrong"] == 0
        if scheme == "classic":
            assert result["recall"] == {"1": 1.0, "2": 1.0, "3": 1.0}
    # A record of 8 bytes in each of 4 tables, with 5 bytes of key and 4 of header if it is alone
    # in its bucket; an entry of 31 bytes.
    if scheme == "classic":
        assert 4 * 8 + 31 < large["fingerprint_bytes"] <= 4 * (8 + 9) + 31


def test_planted_pages_are_as_near_to_their_page_as_is_said(lib):
    pages = list(lib.stream.stream(64, [1, 2, 3], seed=1, start=0, stop=900))
    new = [page for page in pages if page.distance is None]
    planted = [page for page in pages if page.distance is not None]
    assert [page.number for page in new] == list(range(900))
    assert 80 <= len(planted) <= 100
    assert {page.distance for page in planted} == {1, 2, 3}
    for page in planted:
        base = new[page.number].fingerprint
        assert (page.fingerprint ^ base).bit_count() == page.distance
    assert min((a ^ b).bit_count() for a, b in combinations([p.fingerprint for p in new], 2)) > 3


@pytest.mark.parametrize(("bits", "unrelated_bits"), [(64, 23.5), (256, 98.0)])
def test_unrelated_fingerprints_differ_by_so_many_bits(lib, bits, unrelated_bits):
    stream = lib.stream.stream(bits, [3], 1, 0, 900, unrelated_bits=unrelated_bits)
    pages = list(stream)
    new = [page.fingerprint for page in pages if page.distance is None]
    apart = [(a ^ b).bit_count() for a, b in combinations(new, 2)]
    assert sum(apart) / len(apart) == pytest.approx(unrelated_bits, rel=0.02)
    assert all(
        (page.fingerprint ^ new[page.number]).bit_count() == page.distance
        for page in pages
        if page.distance is not None
    )
    random = [page.fingerprint for page in lib.stream.stream(bits, [3], 1, 0, 900)]
    assert not {page.fingerprint for page in pages} & set(random)


@pytest.mark.parametrize(
    ("schemes", "wrong"),
    [("classic", "33"), ("classic wide", "98"), ("wide", "129"), ("wide", "0"), ("wide", "nan")],
)
def test_distances_that_no_unrelated_fingerprints_have(schemes, wrong):
    command = [sys.executable, BENCHMARKS / "index.py", "--schemes", *schemes.split()]
    child = subprocess.run([*command, "--unrelated-bits", wrong], capture_output=True, text=True)
    assert (child.returncode, child.stdout) == (2, "")
    assert "error: --unrelated-bits: 1 to " in child.stderr


def test_a_stream_can_be_entered_anywhere(lib):
    whole = list(lib.stream.stream(256, [36], seed=2, start=0, stop=30))
    later = list(lib.stream.stream(256, [36], seed=2, start=18, stop=30))
    assert [p for p in whole if p.distance is None][18:] == [p for p in later if p.distance is None]


@pytest.mark.parametrize("name", ["simhash SimhashIndex", "naive: ask for all variants"])
def test_peers_find_all_that_is_near_and_nothing_else(lib, name):
    contestant = lib.contestants.CLASSIC[name](64, 3)
    pages = list(lib.stream.stream(64, [1, 2, 3], seed=3, start=0, stop=45))
    result = lib.running.measured(contestant, pages, limit_s=60)
    assert set(result["recall"].values()) == {1.0}
    assert result["wrong"] == 0
    assert result["pages"] == len(pages)


def test_storing_all_variants_takes_43745_of_them(lib):
    contestant = lib.contestants.CLASSIC["naive: store all variants"](64, 3)
    assert not contestant.page(0, 0, None)
    assert len(contestant.known) == 43_745
    assert contestant.page(1, 0b10101, None)
    assert not contestant.page(2, 0b1111, None)


@pytest.mark.thorough
def test_the_cost_model_is_fitted_and_printed():
    out = run_script("--cost-model", "--sizes", "300", "600")
    for name in ("PAGE_US", "TABLE_US", "CANDIDATE_WORD_US"):
        assert f"{name} = " in out
    assert "largest error of the fit" in out
