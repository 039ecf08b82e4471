"""Commands on an index with bad input: one line that says what to do, and nothing is changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

from scrapy_simhash.commands import main
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.export import entry_records

from .conftest import MODULE, finish, start

PAGE = "<p>" + " ".join(f"Nobody else wrote sentence {n} of mine." for n in range(40))
# What each takes besides --index; `other`, `page` and `new` are in the working directory.
ARGUMENTS = {
    "report": ["report.html"],
    "index stats": [],
    "index query": ["page"],
    "index query --stored": ["https://nowhere.example/"],
    "index clusters": [],
    "index check": [],
    "index check --repair": [],
    "index remove --unseen-since 1d": [],
    "index remove": ["https://nowhere.example/"],
    "index rebuild": ["-s", "SIMHASH_MAX_DISTANCE=40"],
    "index merge": ["other"],
    "index export": [],
}
# Those that take no index, or not by --index.
OTHERS = {"index import", "extract", "compare", "calibrate", "dedupe"}
READERS = sorted(ARGUMENTS.keys() - {"index check --repair"})


@pytest.fixture
def index(demo, folder):
    shutil.copytree(demo, folder / "other")
    (folder / "page").write_text(PAGE)
    return shutil.copytree(demo, folder / "index")


def state_of(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith("LOG")
    }


def content(index):
    return [(record["key"], record["fingerprint"]) for record in entry_records(index)]


def assert_error(ran, *told):
    assert (ran.code, ran.out) == (1, ""), ran
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    for text in told:
        assert text in ran.err


def test_all_commands_are_tried():
    tried = {re.sub(" --.*", "", name) for name in ARGUMENTS} | OTHERS
    core = {one.name: one.commands for one in main.COMMANDS}
    of_index = {f"index {one.name}" for one in core.pop("index")}
    assert len(of_index) > 5
    assert tried == core.keys() | of_index


PLACES = {
    "missing": lambda place: None,
    "empty": lambda place: place.mkdir(),
    "foreign": lambda place: (place.mkdir(), (place / "notes.txt").write_text("mine")),
    "file": lambda place: place.write_text("mine"),
}


@pytest.mark.parametrize("command", ARGUMENTS)
@pytest.mark.parametrize("what", PLACES)
def test_what_is_no_index(run, index, folder, command, what):
    PLACES[what](folder / what)
    before = state_of(folder)
    if command == "index merge" and what in ("missing", "empty"):
        return  # it makes an index that is missing
    ran = run(*command.split(), "--index", folder / what, *ARGUMENTS[command])
    assert_error(ran, what, "there is no index" if what == "missing" else "")
    assert state_of(folder) == before


@pytest.mark.parametrize("what", PLACES)
def test_no_index_is_deleted_where_there_is_none(run, folder, what):
    PLACES[what](folder / what)
    before = sorted(folder.rglob("*"))
    assert_error(run("index", "remove", "--all", "--index", folder / what), what)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", ARGUMENTS)
def test_no_index_at_all(run, folder, command):
    assert_error(run(*command.split(), *ARGUMENTS[command]), ".scrapy/simhash", "--index")
    assert_error(run(*command.split(), "--index", "", *ARGUMENTS[command]))
    assert list(folder.iterdir()) == []


HOLDING = """
import sys
from scrapy_simhash.index import open_index
with open_index(sys.argv[1]):
    print("open", flush=True)
    input()
"""


def test_an_index_that_is_open_elsewhere(run, index, folder):
    before = content(index)
    command = [sys.executable, "-c", HOLDING, index]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "open\n"
        for name, arguments in ARGUMENTS.items():
            ran = run(*name.split(), "--index", index, *arguments)
            assert_error(ran, str(index), "another process has it open")
    finally:
        holder.communicate("\n", timeout=60)
    assert content(index) == before


@pytest.mark.parametrize("command", ARGUMENTS)
@pytest.mark.parametrize("what", [99, "manifest", "files"])
def test_an_index_of_another_format_or_a_damaged_one(run, index, command, what):
    manifest = index / "manifest.json"
    if what == "files":
        if command == "index check --repair":
            return
        (Manifest.read(index).database_path(index) / "CURRENT").unlink()
    else:
        made = json.loads(manifest.read_text())
        damaged = "{" if what == "manifest" else json.dumps({**made, "format_version": what})
        manifest.write_text(damaged)
    before = state_of(index)
    ran = run(*command.split(), "--index", index, *ARGUMENTS[command])
    assert_error(ran, str(index), "version" if what == 99 else "")
    after = state_of(index)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize("command", READERS)
def test_ctrl_c_in_the_middle(run, index, command, monkeypatch):
    made = Manifest.read(index)
    before = content(index)
    name = {"leveldb": "LevelDB", "rocksdb": "RocksDB"}[made.database]
    class_ = getattr(import_module(f"scrapy_simhash.index.{made.database}"), name)
    steps = []

    def interrupt(method):
        original = getattr(class_, method)

        def do(*arguments, **named):
            steps.append(method)
            if len(steps) == 2:
                raise KeyboardInterrupt
            return original(*arguments, **named)

        return do

    with monkeypatch.context() as patch:
        for method in ("get", "get_all", "rows", "write", "close"):
            patch.setattr(class_, method, interrupt(method))
        ran = run(*command.split(), "--index", index, *ARGUMENTS[command])
    assert (ran.code, ran.err) == (130, "interrupted\n")
    assert content(index) == before
    assert check(index).problems == []
    again = run(*command.split(), "--index", index, *ARGUMENTS[command])
    assert again.code == (1 if command in {"index query --stored", "index remove"} else 0), (
        again.err
    )


# One reads, one streams and one writes.
@pytest.mark.parametrize("command", ["index stats", "index export", "index merge"])
def test_nobody_reads_the_result(index, folder, command):
    ours, theirs = os.pipe()
    os.close(ours)
    process = start(
        *(*MODULE, *command.split(), "--index", index, *ARGUMENTS[command]),
        in_folder=folder,
        stdout=theirs,
    )
    os.close(theirs)
    ran = finish(process)
    assert ran.code == 0
    # How many clusters a crawl at once finds is not always the same.
    said = (
        r"(no entry: https://nowhere\.example/\n)?"
        r"(\d+ only similar to others: --similar lists them\n)?"
        r"(\d+ more clusters?: --top 0 shows all\n)?"
    )
    assert re.fullmatch(said, ran.err), ran.err
    assert check(index).problems == []


IMPORTED = {"none.jsonl": "error: none.jsonl: no such file", "folder": "folder"}
IMPORTED |= {"binary": "line 1", "": "name", "empty": "there is no record to import"}


@pytest.mark.parametrize("name", IMPORTED)
def test_files_that_cannot_be_imported(run, folder, name):
    (folder / "folder").mkdir()
    (folder / "binary").write_bytes(b"\x00\xff" * 100)
    (folder / "empty").write_text("\n")
    assert_error(run("index", "import", name, "new"), IMPORTED[name])
    assert not (folder / "new").exists() or not list((folder / "new").iterdir())


def test_an_index_is_not_imported_over(run, index, folder):
    (folder / "one.jsonl").write_text(json.dumps({"key": "a", "fingerprint": "0" * 64}))
    before = state_of(index)
    assert_error(run("index", "import", "one.jsonl", index), "not empty")
    assert state_of(index) == before
    assert run("index", "import", "one.jsonl", "new").code == 0
    assert [record["key"] for record in entry_records(folder / "new")] == ["a"]


@pytest.mark.parametrize("other", ["missing", "page", ""])
def test_what_is_no_index_is_not_merged(run, index, folder, other):
    before = content(index)
    assert_error(run("index", "merge", "--index", index, other))
    assert content(index) == before
