"""Files appear, disappear and change while a run is interrupted, or while it works."""

import gzip
import os
from pathlib import Path

import pytest

from scrapy_simhash.dedupe.options import STANDARD_OUTPUT
from scrapy_simhash.dedupe.state import State
from scrapy_simhash.errors import SimhashError

from .samples import json_lines, read_lines, records, run, text

pytestmark = pytest.mark.thorough

COUNT = 300
FEED = json_lines(records(COUNT))


class Killed(BaseException):
    """Stands for a kill: no code of the run catches it."""


PHASE = (State, "append")
PHASES = ("judging", "judged", "written")


@pytest.fixture
def killed(monkeypatch):
    """Return a function that runs until a call of a method has ended: the call with a given number,
    or with a checkpoint of a given phase.
    """

    def interrupted(step, when, *arguments, **named):
        where, name = step
        method = getattr(where, name)
        calls = []

        def dying(*arguments, **named):
            calls.append(method(*arguments, **named))
            if when in (len(calls), getattr(arguments[-1], "phase", None)):
                raise Killed
            return calls[-1]

        with monkeypatch.context() as patch:
            patch.setattr(where, name, dying)
            with pytest.raises(Killed):
                run(*arguments, **named)

    return interrupted


@pytest.fixture
def feed(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(FEED)
    return "in.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "in.jsonl").write_bytes(FEED)
    run(folder, "in.jsonl")
    return written_by(folder)


def written_by(folder, out="out"):
    return (folder / out).read_bytes(), (folder / "verdicts").read_bytes()


# Files in the way


@pytest.mark.usefixtures("feed")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", ["out", "verdicts"])
def test_a_file_that_was_made_meanwhile(tmp_path, killed, whole, name, phase):
    feed = "in.jsonl"
    killed(PHASE, phase, tmp_path, feed)
    (tmp_path / name).write_text("precious")
    with pytest.raises(SimhashError, match=f"{name} exists already: --overwrite"):
        run(tmp_path, feed)
    assert (tmp_path / name).read_text() == "precious"
    (tmp_path / name).rename(tmp_path / "saved")
    assert run(tmp_path, feed).records == COUNT
    assert written_by(tmp_path) == whole


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_to_restart_was_interrupted(tmp_path, feed, killed, whole, call):
    """No state of the earlier run is used, because its index may be ahead of its journal."""
    killed(PHASE, 3, tmp_path, feed)
    killed((Path, "unlink"), call, tmp_path, feed, restart=True)
    assert run(tmp_path, feed).went_on_after == 0
    assert written_by(tmp_path) == whole


# Missing files


def test_standard_output_is_written_again(tmp_path, feed, killed, whole, capsysbinary):
    """The run cannot know how much of it was read."""
    killed((State, "verdict_lines"), 2, tmp_path, feed, out=STANDARD_OUTPUT)
    assert capsysbinary.readouterr().out == whole[0]
    run(tmp_path, feed, out=STANDARD_OUTPUT)
    assert capsysbinary.readouterr().out == whole[0]
    assert (tmp_path / "verdicts").read_bytes() == whole[1]


# Damaged inputs


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("out", ["out", None])
def test_the_damage_of_an_input_is_remembered(tmp_path, killed, phase, out):
    content = gzip.compress(FEED + json_lines(records(50, seed=1)))
    (tmp_path / "in.jsonl.gz").write_bytes(content[:-2000])
    killed(PHASE, phase, tmp_path, "in.jsonl.gz", out=out)
    summary = run(tmp_path, "in.jsonl.gz", out=out)
    assert summary.damaged == {
        str(
            tmp_path / "in.jsonl.gz"
        ): "Compressed file ended before the end-of-stream marker was reached"
    }
    assert summary.records > COUNT


# Folders


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    for number in range(COUNT):
        inside = folder / str(number % 3) / "deep"
        inside.mkdir(parents=True, exist_ok=True)
        page = f"<html><article><p>{text(number // 2)}</p></article></html>"
        (inside / f"{number}.html").write_text(page)
    (folder / "style.css").write_text("p {}")
    return folder


CHANGES = {
    "of the same size": lambda deep: (deep / "3.html").write_bytes(
        (deep / "3.html").read_bytes().swapcase()
    ),
    "of another size and the same time": lambda deep: same_time(deep / "3.html", b"<p>other</p>"),
    "gone": lambda deep: (deep / "3.html").unlink(),
    "more": lambda deep: (deep / "more.html").write_text("<p>more</p>"),
    "no page": lambda deep: (deep.parents[1] / "style.css").write_text("p { color: red }"),
}


def same_time(path, content):
    time = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_of_a_folder_that_changed(tmp_path, site, killed, change):
    top = site.stat()
    killed(PHASE, 2, tmp_path, "site")
    CHANGES[change](site / "0" / "deep")
    os.utime(site, ns=(top.st_atime_ns, top.st_mtime_ns))
    with pytest.raises(SimhashError, match=r"differs in inputs: .*--restart"):
        run(tmp_path, "site")
    run(tmp_path, "site", restart=True)
    kept = {path.name for path in (tmp_path / "out").rglob("*.html")}
    told = {Path(v["key"]).name for v in read_lines(tmp_path / "verdicts") if not v["dropped"]}
    assert kept == told
