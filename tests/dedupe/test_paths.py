"""A run overwrites nothing without being asked to, and follows symlinks."""

import errno
import os
from pathlib import Path

import pytest

from scrapy_simhash.errors import SimhashError

from .samples import json_lines, read_lines, records, run, text

FEED = json_lines(records(10))


@pytest.fixture
def feed(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(FEED)
    return "in.jsonl"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "site" / "sub").mkdir(parents=True)
    for name in ("a.html", "sub/b.html"):
        (tmp_path / "site" / name).write_text(f"<article>{text(len(name))}</article>")
    return tmp_path / "site"


def tree(folder):
    """Return path → content of all files in a folder, None for subfolders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_the_output_has_the_rights_of_any_file(tmp_path, feed, site):
    mask = os.umask(0o027)
    try:
        run(tmp_path, feed)
        run(tmp_path, "site", out="pages", overwrite=True)
    finally:
        os.umask(mask)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("out", "verdicts", "pages")] == [
        *(0o640, 0o640, 0o750)
    ]
    (tmp_path / "out").chmod(0o600)
    run(tmp_path, feed, overwrite=True)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("as_verdicts", [False, True])
def test_what_is_neither_file_nor_folder_stays(tmp_path, feed, as_verdicts):
    pipe = tmp_path / ("verdicts" if as_verdicts else "out")
    os.mkfifo(pipe)
    with pytest.raises(SimhashError, match="is a device or a pipe: write to a file"):
        run(tmp_path, feed, overwrite=True)
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", pipe.name]


@pytest.mark.parametrize("there", [False, True])
def test_links_are_followed(tmp_path, feed, there):
    (tmp_path / "elsewhere").mkdir()
    for name in ("out", "verdicts"):
        (tmp_path / name).symlink_to(Path("elsewhere", name))
        if there:
            (tmp_path / "elsewhere" / name).write_text("old")
    if there:
        with pytest.raises(SimhashError, match=r"out exists already: --overwrite"):
            run(tmp_path, feed)
        assert (tmp_path / "elsewhere" / "out").read_text() == "old"
    run(tmp_path, feed, overwrite=there)
    assert [(tmp_path / name).is_symlink() for name in ("out", "verdicts")] == [True, True]
    assert (tmp_path / "elsewhere" / "out").read_bytes().splitlines()[0] in FEED
    assert len(read_lines(tmp_path / "elsewhere" / "verdicts")) == 10
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2


def test_files_and_folders_are_not_taken_for_each_other(tmp_path, feed, site):
    (tmp_path / "out").mkdir()
    with pytest.raises(SimhashError, match="out is a folder that exists already"):
        run(tmp_path, feed, overwrite=True)
    run(tmp_path, "site")  # it is empty
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SimhashError, match="is a file that exists already"):
        run(tmp_path, "site", out="file", overwrite=True)
    assert (tmp_path / "file").read_text() == "precious"


def test_places_on_another_file_system(tmp_path, feed, site, monkeypatch):
    """A file cannot be renamed to another file system (EXDEV)."""
    replace = Path.replace
    far = []

    def renamed(self, target):
        if self.parent != Path(target).parent:
            far.append(self.name)
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", renamed)
    run(tmp_path, feed)
    assert far == ["output", "verdicts.new"]
    assert (tmp_path / "out").read_bytes().splitlines()[0] in FEED
    assert len(read_lines(tmp_path / "verdicts")) == 10
    run(tmp_path, "site", out="pages", overwrite=True)
    assert tree(tmp_path / "pages") == tree(site)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"in.jsonl", "site", "out", "pages", "verdicts"}


@pytest.mark.parametrize(
    "places",
    [
        *("in.jsonl out out", "in.jsonl state out", "in.jsonl state/index out"),
        *("in.jsonl index state/out", "in.jsonl index index/out", "site site/sub/index out"),
        *("site site out", "site/sub site out", "state index out"),
        *("link/in.jsonl link/in.jsonl out", "link index out"),
    ],
)
def test_places_that_are_in_each_other(tmp_path, feed, site, places):
    inputs, index, out = places.split()
    (tmp_path / "link").symlink_to(tmp_path)
    if inputs == "state":
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "a.html").write_text("<p>x</p>")
    before = tree(tmp_path)
    with pytest.raises(SimhashError, match="are the same or lie in each other"):
        run(tmp_path, inputs, index=tmp_path / index, out=out, overwrite=True)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["output", "journal", "spec.json"])
def test_a_folder_of_somebody_else_with_names_like_ours(tmp_path, feed, name):
    (tmp_path / "state" / name).mkdir(parents=True)
    with pytest.raises(SimhashError, match=rf"holds other files \({name}\): move them away"):
        run(tmp_path, feed, overwrite=True, restart=True)
    assert (tmp_path / "state" / name).is_dir()


@pytest.mark.parametrize("name", ["lock", "journal", "spec.json", "index"])
def test_symlinks_in_the_folder_of_the_state_are_not_followed(tmp_path, feed, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "state").mkdir(mode=0o755)
    (tmp_path / "state" / "lock").touch()
    (tmp_path / "state" / name).unlink(missing_ok=True)
    (tmp_path / "state" / name).symlink_to(victim)
    with pytest.raises(SimhashError, match=rf"holds other files \({name}\): move them away"):
        run(tmp_path, feed, overwrite=True, restart=True)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("shared", ["symlink", "writable"])
def test_the_state_is_in_no_folder_of_others(tmp_path, feed, shared):
    (tmp_path / "elsewhere").mkdir()
    if shared == "symlink":
        (tmp_path / "state").symlink_to("elsewhere")
    else:
        (tmp_path / "state").mkdir()
        (tmp_path / "state").chmod(0o777)
    with pytest.raises(SimhashError, match="others can write to it: move it away"):
        run(tmp_path, feed)
    assert not list((tmp_path / "elsewhere").iterdir())
