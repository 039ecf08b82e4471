"""The core without `scrapy_simhash.extras`: its tests pass in a copy of the tree that lacks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The others test one module each, or the pages of the documentation.
TESTED = [
    "test_public_api.py",
    "commands",
    *(f"crawl/test_{name}.py" for name in ("outcomes", "bad_settings", "item_fields", "signals")),
    *(f"crawl/test_{name}.py" for name in ("startup", "report", "switching_on")),
    "dedupe/test_verdicts.py",
    "maintenance/test_check.py",
    "report/test_page.py",
]


@pytest.mark.thorough
def test_the_core_needs_no_slice(tmp_path):
    for name in ("scrapy_simhash", "tests", "docs", "example_project"):
        left_out = shutil.ignore_patterns("extras", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert not (tmp_path / "scrapy_simhash" / "extras").exists()
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [f"tests/{name}" for name in TESTED],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
