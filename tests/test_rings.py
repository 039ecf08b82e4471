"""Which tests of the thorough ring CI runs for a commit."""

from __future__ import annotations

import subprocess

import pytest

from tests import rings

FILES = [
    *(f"tests/index/test_{name}.py" for name in "abcde"),
    *(f"tests/crawl/test_{name}.py" for name in "abc"),
    "tests/test_scheme.py",
    "tests/example/test_kills.py",
]


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("scrapy_simhash/index/plan.py", "index"),
        ("scrapy_simhash/index/deep/er.py", "index"),
        ("tests/index/child.py", "index"),
        ("scrapy_simhash/extras/passages/index.py", "extras/passages"),
        ("tests/extras/passages/test_index.py", "extras/passages"),
        ("tests/extras/conftest.py", "extras"),
        ("scrapy_simhash/scheme.py", ""),
        ("tests/conftest.py", ""),
        ("example_project/example/demosite/site.py", "example"),
        ("README.md", None),
        ("docs/index/x.md", None),
    ],
)
def test_the_area_of_a_file(path, area):
    assert rings.area(path) == area


def test_all_tests_of_changed_folders_come_first():
    chosen = rings.choose(FILES, ["README.md", "scrapy_simhash/crawl/a.py"], "0")
    assert chosen[:3] == [file for file in FILES if "/crawl/" in file]
    assert len(chosen) == len(set(chosen)) == 3 + 2


@pytest.mark.parametrize("changed", [[], ["tests/index/child.py"], ["docs/a.md"]])
def test_several_commits_run_all_files(changed):
    chosen = [rings.choose(FILES, changed, f"{number:040x}") for number in range(rings.PARTS)]
    assert set().union(*chosen) == set(FILES)


def test_the_commit_decides_the_first_file_of_a_folder():
    rotated = [rings.rotate(FILES, f"{number:040x}") for number in range(len(FILES))]
    assert [files[0] for files in rotated] == FILES
    assert all(sorted(files) == sorted(FILES) for files in rotated)
    assert rings.rotate([], "0") == []


def test_changed_files_of_a_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(rings, "ROOT", tmp_path)

    def commit():
        who = ["-c", "user.name=a", "-c", "user.email=a@a.example"]
        for command in (["init"], ["add", "."], [*who, "commit", "--allow-empty", "-m", "x"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
        return rings.git("rev-parse", "HEAD")

    # A first commit has no parent, as has the only one of a shallow clone.
    assert rings.changed_files(commit()) == []
    (tmp_path / "one.py").touch()
    assert rings.changed_files(commit()) == ["one.py"]
