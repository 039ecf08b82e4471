"""The benchmark of error pages: its figures in the languages that it was tuned on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.thorough
def test_error_pages_are_found_and_no_others(tmp_path):
    result = tmp_path / "result.json"
    script = [sys.executable, str(BENCHMARKS / "error_pages.py"), "--languages", "tuned"]
    environment = os.environ | {"PYTHONPATH": str(BENCHMARKS.parent)}
    subprocess.run([*script, "--json", str(result)], env=environment, check=True, timeout=300)
    sites = json.loads(result.read_text())
    assert len(sites) == 4 * 13
    errors, called, both = (sum(site[at] for site in sites.values()) for at in (1, 2, 3))
    assert called == both, "no real page is an error page"
    assert both / errors >= 0.95
    assert max(site[4] for site in sites.values()) == 2
