"""``dedupe`` with wrong options or input, a locked index, a full disk, and interruptions."""

import json
import shlex
import signal
import time

import pytest

from scrapy_simhash.dedupe.judging import Judge
from scrapy_simhash.index import open_index
from scrapy_simhash.scheme import Scheme
from tests.dedupe.samples import json_lines, read_lines, records

from .conftest import DEADLINE_S, MODULE, finish, start
from .samples import written

MANY = 1000


@pytest.fixture
def many(folder):
    return written(folder, json_lines(records(MANY)), "many.jsonl")


def files_besides_input(folder):
    """Return the names of the files in a folder, without ``in.jsonl``."""
    return sorted(path.name for path in folder.iterdir() if path.name != "in.jsonl")


SAME = "are the same or lie in each other"
LOOP = "loop cannot be read or written: Too many levels of symbolic links"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.jsonl -o o", "none.jsonl cannot be read or written: No such file"),
        ("in.jsonl -o loop", LOOP),
        ("in.jsonl --verdicts loop", LOOP),
        ("in.jsonl -o o --index loop", LOOP),
        ("in.jsonl -o o --against loop", LOOP),
        ("loop -o o --format csv", LOOP),
        ("'' -o o", "the file name is empty"),
        ("in.jsonl -o in.jsonl --overwrite", f"in.jsonl, which is read, {SAME}"),
        ("in.jsonl -o nowhere/o", "there is no folder nowhere"),
        ("in.jsonl -o o --verdicts o", f"o, the verdicts, and o, the output, {SAME}"),
        ("in.jsonl -o there.jsonl", "exists already: --overwrite"),
        ("in.jsonl -o o --verdicts there.jsonl", "exists already: --overwrite"),
        ("in.jsonl -o full", "full is a folder that exists already"),
        ("strange -o o", "its name does not say its format: add --format"),
        ("in.jsonl page.html -o o", "of different formats"),
        ("full -o o --format csv", "full is a folder: only HTML"),
        ("full -o full/o", f"full/o, the output, and full, which is read, {SAME}"),
        ("full -o o -s SIMHASH_ACTION=tag", "html has no fields for tags"),
        ("in.jsonl -o o --text-field x", "no field 'x'; there are 'url', 'text'"),
        ("title.jsonl -o o", "which field is the text? There are 'title', 'price'"),
        ("bad.csv -o o", "its first line cannot be read as names of columns"),
        ("broken.csv -o o", "cannot be read as names of columns (not_csv)"),
        ("a.csv b.csv -o o", "b.csv has other columns than a.csv"),
        ("broken.jsonl -o o", "no record can be read: is it json-lines in utf-8?"),
        ("latin.csv -o o", "no record can be read: is it csv in utf-8?"),
        ("in.jsonl -o i --index i", f"i, the index, and i, the output, {SAME}"),
        ("full -o o --index full/i", f"full/i, the index, and full, which is read, {SAME}"),
        ("/dev/null -o o --format csv", "so it must be a regular file"),
        ("in.jsonl -o o --index full", "it has other files, but no manifest.json"),
        ("in.jsonl -o o --index classic", "it was made with the scheme"),
        ("in.jsonl -o o -s SIMHASH_PRESET=lyq", "at distance 15 of 32 bits"),
    ],
)
def test_a_command_that_is_refused_changes_no_file(run, folder, arguments, message):
    written(folder, json_lines(records(10)), "in.jsonl")
    (folder / "full").mkdir()
    written(folder / "full", "<p>x</p>", "a.html")
    (folder / "loop").symlink_to("loop")
    for name, content in {
        "there.jsonl": "there",
        "strange": "x",
        "page.html": "x",
        "title.jsonl": '{"title": "x", "price": 3}\n',
        "bad.csv": b"\xe9,x\n",
        "broken.csv": "url,te\rxt\n1,x\n",
        "a.csv": "text,b\n",
        "b.csv": "text,c\n",
        "broken.jsonl": "nope\n",
        "latin.csv": "url,text\n1,gr\xfc\xdfe\n".encode("latin-1"),
    }.items():
        written(folder, content, name)
    open_index(folder / "classic", Scheme.preset("classic")).close()
    before = files_besides_input(folder)
    ran = run("dedupe", *shlex.split(arguments))
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert files_besides_input(folder) == before
    assert (folder / "there.jsonl").read_text() == "there"


def test_standard_output_that_is_closed_early(folder, many):
    process = start(*MODULE, "dedupe", many, "-o", "-", in_folder=folder)
    assert process.stdout.read(1)
    process.stdout.close()
    assert process.wait(timeout=DEADLINE_S) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
    assert [path.name for path in folder.iterdir()] == ["many.jsonl"]


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_ctrl_c_then_the_same_command(folder, many, run, workers):
    command = ("dedupe", many, "-o", "out.jsonl", "--verdicts", "v.jsonl")
    process = start(*MODULE, *command, "--workers", workers, in_folder=folder)
    journal = folder / "out.jsonl.dedupe" / "journal"
    deadline = time.monotonic() + DEADLINE_S
    while not (journal.exists() and journal.stat().st_size > 30_000):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    ran = finish(process)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.splitlines() == [
        "the verdicts are kept: run the same command again to go on",
        "interrupted",
    ]
    assert not (folder / "out.jsonl").exists()
    again = run(*command, "--json")
    assert again.code == 0
    assert "going on after" in again.err
    assert json.loads(again.out)["went_on_after"] > 0
    outcome = [(folder / name).read_bytes() for name in ("out.jsonl", "v.jsonl")]
    assert run(*command, "--overwrite").code == 0
    assert outcome == [(folder / name).read_bytes() for name in ("out.jsonl", "v.jsonl")]
    assert len(read_lines(folder / "v.jsonl")) == MANY


@pytest.mark.parametrize(
    "options",
    [["-o", "-", "--verdicts", "v"], pytest.param(["-o", "-"], marks=pytest.mark.thorough)],
)
def test_ctrl_c_where_records_go_to_standard_output(folder, many, run, monkeypatch, options):
    commit = Judge.commit

    def interrupted(self):
        commit(self)
        if self.records_judged:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Judge, "commit", interrupted)
        ran = run("dedupe", many, *options, "--workers", 1)
    assert ran.code == 130
    is_resumable = "--verdicts" in options
    assert ("run the same command again to go on" in ran.err) == is_resumable
    assert ("going on after" in run("dedupe", many, *options).err) == is_resumable
