"""``passages add`` and ``passages check`` of what cannot be done, and what they say then."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.scheme import Scheme
from tests.commands.samples import FERRY, NOTICE, written


def test_lines_that_cannot_be_read_are_counted_and_named(run, folder):
    good = json.dumps({"text": NOTICE})
    written(folder, "\n".join([good, *["nope"] * 30, '{"body": "x"}']), "a.jsonl")
    ran = run("passages", "add", "a.jsonl")
    assert ran.code == 0
    notes = ran.err.splitlines()
    assert notes[0].startswith("skipped a.jsonl:2: not a JSON object")
    assert len(notes) == 21
    assert "  not a JSON object  30" in ran.out.splitlines()
    assert "  no field 'text'    1" in ran.out.splitlines()
    ran = run("passages", "add", "--json", written(folder, b"\0\1\2", "bad.txt"))
    assert ran.code == 1
    assert ran.err == ("skipped bad.txt: binary\nerror: no document could be read from bad.txt\n")
    assert json.loads(ran.out)["skipped"] == {"binary": 1}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "folder"], "is a folder"),
        (["check", "letter.txt", "--index", "none"], "there is no passage index"),
        (["check", "letter.txt", "--index", "folder"], "choose another"),
        (["check", "letter.txt", "--index", "letter.txt"], "no directory"),
        (["check", "letter.txt", "--index", "pages"], "choose another"),
        (["check", "letter.txt", "--index", "corrupt"], "cannot be read"),
        (["add", "letter.txt", "--index", "corrupt"], "cannot be read"),
        (["add", "letter.txt", "--index", "pages"], "choose another"),
        (["add", "letter.txt", "--index", "letter.txt/in"], "letter.txt"),
        (["add", "letter.txt", "none.txt"], "none.txt: no such file"),
        (["add", "-"], "standard input is not read here"),
        (["add", "letter.txt", "--index", "redis://a:1/0#x"], "name a file"),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(filled, folder, run, arguments, told):
    written(folder, FERRY)
    (folder / "folder").mkdir()
    (folder / "folder" / "file").write_text("x")
    with open_index(Path("pages"), Scheme.preset("classic")):
        pass
    run("passages", "add", "--index", "corrupt", "letter.txt")
    (folder / "corrupt" / "passages.json").write_text("{")
    ran = run("passages", *arguments)
    assert (ran.code, ran.out) == (1, "")
    assert re.fullmatch(r"error: .*\n", ran.err)
    assert told in ran.err


def test_an_index_that_another_process_holds(filled, folder, run):
    code = (
        "import sys; from scrapy_simhash.extras.passages.index import open_passages\n"
        "with open_passages('.scrapy/simhash-passages'): print('open', flush=True); input()"
    )
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip
    with child:
        assert child.stdout.readline() == "open\n"
        ran = run("passages", "check", "docs/ferry.txt")
        child.communicate("\n", timeout=60)
    assert ran.code == 1
    assert re.fullmatch(r"error: index .*\n", ran.err)
    assert run("passages", "check", "docs/ferry.txt").code == 0
