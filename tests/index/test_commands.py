"""The output and exit codes of the commands that check and repair an index, and show its tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scrapy_simhash.commands.main import main
from scrapy_simhash.index import records

from .backends import PLAN, checked_entries, make_backend
from .raw import change_rows, largest

ON_A_DIRECTORY = [["check"], ["check", "--repair"], ["stats"]]


@pytest.fixture
def backend(kind, tmp_path):
    return make_backend(kind, tmp_path / "index")


@pytest.fixture
def made(backend):
    """An index of two pages and a near-duplicate."""
    with backend.open() as index:
        index.confirm(index.observe("a", 0x0000))
        index.confirm(index.observe("b", 0x00FF))
        index.observe("copy", 0x0001)
    return backend.directory


@pytest.fixture
def run(capsys):
    """Return a function that runs a command.

    It returns (exit code, lines on standard output, standard error).
    """

    def run_command(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        output = capsys.readouterr()
        return code, output.out.splitlines(), output.err

    return run_command


def test_check_of_a_sound_index(made, run):
    assert run("index", "check", "--index", made) == (
        0,
        [
            f"the index  2 entries, 1 lines of the near-duplicate log, in {made}",
            "no problems found",
        ],
        "",
    )


def test_check_of_an_index_with_problems(made, run):
    change_rows(made, {b"X": b"?"}, [records.entry_row_key(0)])
    code, lines, errors = run("index", "check", "--index", made)
    assert code == 1
    assert lines[0] == f"the index  1 entries, 1 lines of the near-duplicate log, in {made}"
    problems = lines[1:-1]
    assert all(line.startswith("problem: ") for line in problems)
    assert "problem: a row of no known kind: b'X'" in problems
    assert "problem: the state row counts 2 entries, but there are 1" in problems
    assert lines[-1] == "problems found: copy the directory, and add --repair"
    assert errors == ""


def test_repair_of_rows(made, run):
    change_rows(made, {b"X": b"?"}, [records.STATE_KEY])
    assert run("index", "check", "--repair", "--index", made) == (
        0,
        [
            "1 rows dropped; the old database is in *-damaged",
            f"the index  2 entries, 1 lines of the near-duplicate log, in {made}",
        ],
        "",
    )
    assert run("index", "check", "--index", made)[0] == 0


def test_repair_of_files(made, run):
    largest(made, "CURRENT").unlink()
    code, lines, errors = run("index", "check", "--index", made)
    assert (code, lines) == (1, [])
    assert f"`scrapy simhash index check --repair --index {made}`" in errors
    code, lines, errors = run("index", "check", "--repair", "--index", made)
    assert (code, errors) == (0, "")
    assert lines[0] == "some files could not be read: the database kept the readable rows"
    assert set(checked_entries(made, PLAN)) == {"a", "b"}


def test_stats_of_tables(made, run):
    code, lines, errors = run("index", "stats", "--tables", "--index", made)
    assert (code, errors) == (0, "")
    beyond = PLAN.guaranteed_distance + 1
    assert f"the tables find all pairs to distance {beyond - 1}" in lines
    shown = f"  {PLAN.expected_recall(beyond):.3f} of the pairs at distance {beyond}"
    assert any(line.startswith(shown) for line in lines)
    assert any(line.startswith("candidates per query: ") for line in lines)


@pytest.mark.parametrize("tables", ["99,1", "4,5", "0", "4,1,-1", "16,8", "a,b", "1,2,3,4"])
def test_impossible_tables_are_errors(made, run, tables):
    code, lines, errors = run("index", "rebuild", "--index", made, "--tables", tables)
    assert (code in (1, 2), lines) == (True, [])
    assert errors.endswith("\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
def test_a_file_with_the_name_of_the_database_is_an_error(kind, backend, made, run, command):
    for file in (made / kind).iterdir():
        file.unlink()
    (made / kind).rmdir()
    (made / kind).write_text("text", encoding="utf-8")
    code, lines, errors = run("index", *command, "--index", made)
    assert (code, lines) == (1, [])
    assert str(made) in errors
    assert (made / kind).read_text(encoding="utf-8") == "text"


@pytest.mark.parametrize("command", [["stats"], ["check"]])
def test_a_damaged_state_row_is_reported_without_a_traceback(made, run, command):
    change_rows(made, {records.STATE_KEY: b"short"})
    code, lines, errors = run("index", *command, "--index", made)
    if command == ["check"]:
        assert code == 1
        assert any("the state row is missing or damaged" in line for line in lines)
    else:
        assert (code, lines) == (1, [])
        assert str(made) in errors


@pytest.mark.parametrize(
    "arguments", [["other"], ["index"], ["index", "check", "extra"], ["index", "remove", "--log"]]
)
def test_wrong_arguments_show_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m scrapy_simhash" in capsys.readouterr().err


def test_help_names_all_commands(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("report", "index", "dedupe"))


@pytest.mark.parametrize(("change", "code"), [({}, 0), ({b"X": b"?"}, 1), (None, 1)])
def test_the_module_is_executable(made, change, code):
    if change is None:
        largest(made, "CURRENT").unlink()
    else:
        change_rows(made, change)
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy_simhash", "index", "check", "--index", str(made)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == code
    assert bool(ran.stderr) == (change is None)
    assert bool(ran.stdout) == (change is not None)
    assert "Traceback" not in ran.stderr
