"""The sdist and the wheel: the same bytes each time, the same wheel from both, and what is in them.

Skipped where hatchling is not installed; `make dist` installs it.
"""

import os
import subprocess
import sys
import tarfile
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import scrapy_simhash

ROOT = Path(__file__).parent.parent
VERSION = scrapy_simhash.__version__
pytestmark = pytest.mark.thorough
pytest.importorskip("hatchling", reason="`make dist` installs hatchling")


def build(source, directory, *targets):
    """Return what a build in a process of its own leaves in a new directory."""
    directory.mkdir()
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(directory)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1790000000"}
    for target in targets:
        command += ["-t", target]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path for path in directory.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("built") / "1", "sdist", "wheel")


@pytest.fixture(scope="module")
def wheel(built):
    with ZipFile(built[f"scrapy_simhash-{VERSION}-py3-none-any.whl"]) as archive:
        yield archive


def unpacked(built, directory):
    with tarfile.open(built[f"scrapy_simhash-{VERSION}.tar.gz"]) as archive:
        archive.extractall(directory, filter="data")
    return directory / f"scrapy_simhash-{VERSION}"


def test_the_sdist_gives_the_same_wheel_and_sdist_elsewhere(built, tmp_path):
    source = unpacked(built, tmp_path)
    for path in source.rglob("*"):
        os.utime(path, (1, 1))  # whenever it was unpacked
    again = build(source, tmp_path / "again", "sdist", "wheel")
    for name, path in built.items():
        assert path.read_bytes() == again[name].read_bytes(), name


def test_the_wheel_contains_only_the_package(wheel):
    folders = {name.partition("/")[0] for name in wheel.namelist()}
    assert folders == {"scrapy_simhash", f"scrapy_simhash-{VERSION}.dist-info"}
    packaged = {name for name in wheel.namelist() if name.startswith("scrapy_simhash/")}
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "scrapy_simhash").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert packaged == package
    assert "scrapy_simhash/py.typed" in packaged


def test_the_metadata_names_version_licence_and_entry_point(wheel):
    folder = f"scrapy_simhash-{VERSION}.dist-info"
    metadata = Parser().parsestr(wheel.read(f"{folder}/METADATA").decode())
    assert (metadata["Name"], metadata["Version"]) == ("scrapy-simhash", VERSION)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert b"[scrapy.commands]\nsimhash = " in wheel.read(f"{folder}/entry_points.txt")
