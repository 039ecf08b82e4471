"""The benchmark of Spark: that it compares what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "spark.py"


@pytest.mark.thorough
@pytest.mark.usefixtures("pyspark")
def test_the_script(tmp_path):
    command = [sys.executable, SCRIPT, "--records", "300", "--json", tmp_path / "report"]
    command += ["--conf", "spark.sql.shuffle.partitions=2", "--work", tmp_path]
    done = subprocess.run(command, cwd=SCRIPT.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report").read_bytes())
    assert report["different_verdicts"] == 0
    assert report["near_duplicates"] > 20
    spark = report["spark"]
    # At least each fingerprint is sorted, and sent to the shard of each table.
    assert spark["shuffle_bytes"] > spark["largest_shuffle_bytes"] > 300 * 100
    assert spark["written_bytes"] > 300 * 400
    assert spark["cpu_s"] > report["one process"]["cpu_s"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
