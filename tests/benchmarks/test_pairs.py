"""The benchmark of all pairs: that it runs, plants what it says, and checks what was found."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scrapy_simhash.index import TablePlan

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("inputs", "plain", "running")
        return SimpleNamespace(
            **{name: importlib.import_module(f"pairs_lib.{name}") for name in names}
        )


def run_script(*arguments):
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "pairs.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(("bits", "k", "contenders"), [(64, 3, 6), (256, 36, 3)])
def test_it_measures_each_contender_and_misses_nothing(tmp_path, bits, k, contenders):
    report = tmp_path / "report.json"
    sizes = ["--fingerprints", "2e3", "4000", "--bits", bits, "--max-distance", k]
    out = run_script(*sizes, "--repeat", 2, "--json", report)
    for line in ("command: python", "seed: 1", "system: ", "packages: scrapy-simhash"):
        assert f"\n{line}" in f"\n{out}"
    assert f"## 4,000 fingerprints, {bits} bits, k = {k}" in out
    content = json.loads(report.read_text())
    assert {"command", "seed", "system", "python", "packages"} == set(content["environment"])
    results = content["results"]
    assert [result["count"] for result in results] == [2000] * contenders + [4000] * contenders
    for result in results:
        assert result["cpu_s"] >= 0
        assert result["wall_s"] > 0
        assert 10e6 < result["peak_rss_bytes"] < 1e9
        if "cluster" not in result["contender"]:
            assert (result["planted"], result["missed"]) == (result["count"] // 10, 0)


@pytest.mark.thorough
def test_it_runs_on_skewed_inputs(tmp_path):
    names = ["100,000 equal", "50,000 share 16 bits"]
    out = run_script("--skew", *names, "--json", tmp_path / "report.json")
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert [result["skew"] for result in results] == [names[0]] * 3 + [names[1]] * 3
    assert "100,000 equal, among 100,000 random fingerprints of 64 bits" in out
    assert [result["count"] for result in results] == [200_000] * 3 + [150_000] * 3
    equal = [result["note"] for result in results if result["skew"] == "100,000 equal"]
    assert equal[1:] == ["100,001 clusters"] * 2


@pytest.mark.parametrize(("bits", "k"), [(64, 3), (256, 36)])
def test_planted_pairs_are_as_far_as_is_said(lib, bits, k):
    words, first, second, _ = lib.inputs.planted(5000, bits, k, seed=3)
    rows = words.reshape(5000, -1)
    distance = np.bitwise_count(rows[first] ^ rows[second]).sum(axis=1)
    assert len(first) == 500
    assert (first < second).all()
    assert set(distance.tolist()) == set(range(1, k + 1))
    assert len(np.unique(rows, axis=0)) == 5000


@pytest.mark.thorough
def test_skewed_inputs_are_what_their_names_say(lib):
    for bits in (64, 256):
        for name in lib.inputs.SKEWED:
            words = lib.inputs.skewed(name, bits, seed=1)
            assert words.shape == (len(words),) if bits == 64 else (len(words), 4)
    shared = lib.inputs.skewed("50,000 share 16 bits", 64, seed=1)
    assert np.count_nonzero(shared >> np.uint64(48) == 0xABCD) >= 50_000


def test_the_plain_ways_find_the_same_as_a_linear_scan(lib):
    words = np.random.default_rng(5).integers(0, 2**10, 300, dtype=np.uint64) << np.uint64(30)
    words = np.unique(words)
    apart = np.bitwise_count(words[:, None] ^ words)
    first, second = np.nonzero(np.triu(apart <= 3, k=1))
    wanted = list(zip(first.tolist(), second.tolist(), strict=True))
    for plan in (TablePlan(64, 5, 2), TablePlan(64, 4)):
        for way in (lib.plain.by_argsort, lib.plain.by_sort):
            found = way(words, plan, 3)
            assert list(zip(*found.tolist(), strict=True)) == wanted
        values = np.sort(lib.plain.values_by_sort(words, plan, 3), axis=0)
        pairs = {(int(words[i]), int(words[j])) for i, j in wanted}
        assert set(zip(*values.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("name", [0, 2])
def test_a_pair_that_was_missed_is_seen(lib, name):
    words, first, second, _ = lib.inputs.planted(1000, 64, 3, seed=1)
    task = lib.running.Task(lib.running.PLAIN[name], 64, 3, 1, 1000)
    found, _ = lib.running.run(words, None, task)
    assert lib.running.missed(words, found, first, second, task) == 0
    planted = np.stack([first, second])
    few = words[planted[:, 1:]] if name == 2 else planted[:, 1:]
    assert lib.running.missed(words, few, first, second, task) == 1
