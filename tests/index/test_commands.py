"""The output and exit codes of the commands that plan, check and repair an index."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scrapy_simhash.commands.main import main
from scrapy_simhash.index import TablePlan, choose_plan, records
from scrapy_simhash.index.cost import bytes_per_page
from scrapy_simhash.scheme import PRESETS

from .backends import PLAN, checked_entries, files, make_backend, rows
from .processes import children
from .raw import change_rows, crashed, largest

ON_A_DIRECTORY = ["check", "repair", "stats"]


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
    assert run("check", "--index", made) == (
        0,
        [
            "2 entries, 10 records in buckets, 1 lines in the near-duplicate log",
            "no problems found",
        ],
        "",
    )


def test_check_of_an_index_with_problems(made, run):
    change_rows(made, {b"X": b"?"}, [records.entry_row_key(0)])
    code, lines, errors = run("check", "--index", made)
    assert code == 1
    assert lines[0] == "1 entries, 10 records in buckets, 1 lines in the near-duplicate log"
    problems = lines[1:-1]
    assert all(line.startswith("problem: ") for line in problems)
    assert "problem: a row of no known kind: b'X'" in problems
    assert "problem: the state row counts 2 entries, but there are 1" in problems
    # The buckets have the records of both entries, and one entry was deleted.
    count = 2 * (len(PLAN.tables) + 1)
    assert (
        f"problem: {count} records are in buckets, {count // 2} of them belong to entries"
        in problems
    )
    assert lines[-1] == "problems found: repair the index"
    assert errors == ""


def test_check_of_an_index_whose_process_was_killed(backend, tmp_path, run):
    with backend.open() as index:
        index.confirm(index.observe("a", 0x0000))
        copy = crashed(index, tmp_path / "crashed")
    assert run("check", "--index", copy) == (
        0,
        [
            "1 entries, 0 records in buckets, 0 lines in the near-duplicate log",
            "1 entries get their records at the next opening",
            "no problems found",
        ],
        "",
    )


def test_repair_of_rows(made, run):
    change_rows(made, {b"X": b"?"}, [records.STATE_KEY])
    assert run("repair", "--index", made) == (
        0,
        [
            (
                "2 entries and 1 lines of the near-duplicate log kept, 1 rows dropped, "
                "all buckets rebuilt"
            )
        ],
        "",
    )
    assert run("check", "--index", made)[0] == 0


def test_repair_of_files(made, run):
    largest(made, "CURRENT").unlink()
    code, lines, errors = run("check", "--index", made)
    assert (code, lines) == (1, [])
    assert f"`scrapy simhash repair --index {made}`" in errors
    assert run("repair", "--index", made) == (
        0,
        [
            "some files could not be read: the database kept the readable rows",
            (
                "2 entries and 1 lines of the near-duplicate log kept, 0 rows dropped, "
                "all buckets rebuilt"
            ),
        ],
        "",
    )
    assert set(checked_entries(made, PLAN, closed=True)) == {"a", "b"}


def test_stats_of_rows_and_tables(made, run):
    code, lines, errors = run("stats", "--tables", "--index", made)
    assert (code, errors) == (0, "")
    stored = rows(made)
    lines = lines[lines.index("0 entries are not in buckets yet; 2 bytes of page keys") + 1 :]
    by_name = {line[:16].strip(): line[16:].replace(",", "").split() for line in lines}
    assert by_name["rows"] == ["rows", "key", "bytes", "value", "bytes"]
    for name, letter in (("entries", b"E"), ("buckets", b"T"), ("near-duplicates", b"N")):
        of_kind = {row: value for row, value in stored.items() if row[:1] == letter}
        sizes = [sum(map(len, of_kind)), sum(map(len, of_kind.values()))]
        assert by_name[name] == list(map(str, [len(of_kind), *sizes]))
    # The fingerprints of both pages begin with the same four bits, and end with different ones.
    assert by_name["table 0"] == ["4", "2", "1", "2", "16.0"]
    assert by_name["table 3"] == ["4", "2", "2", "1", "8.0"]
    assert by_name["page keys"] == ["16", "2", "2", "1", "32768.0"]


def test_plan_of_the_cheapest_tables(run):
    code, lines, errors = run("plan", "--bits", "64", "--max-distance", "3", "--pages", "1000000")
    plan = choose_plan(64, 3, 1_000_000)
    assert (code, errors) == (0, "")
    assert lines[0] == f"{plan}, for fingerprints of 64 bits: {plan!r}"
    assert lines[1] == f"guaranteed distance: {plan.guaranteed_distance}"
    beyond = plan.guaranteed_distance + 1
    assert lines[2] == (f"expected recall at distance {beyond}: {plan.expected_recall(beyond):.3f}")
    assert lines[-3] == (
        f"candidates per query at 1,000,000 pages: {plan.expected_candidates(10**6):,.1f}"
    )
    size_bytes = bytes_per_page(plan, 3)
    assert lines[-2] == (
        f"bytes on disk per page, without key, evidence and database overhead: {size_bytes}"
    )
    assert lines[-1].startswith("estimated CPU time to query and insert a page: ")
    assert lines[-1].endswith(" µs")
    wide = PRESETS["wide"]
    chosen = choose_plan(wide.scheme.bits, wide.max_distance, 1_000_000)
    assert run("plan")[1][0] == f"{chosen}, for fingerprints of 256 bits: {chosen!r}"


def test_plan_of_given_tables(run):
    code, lines, _ = run(
        *("plan", "--bits", "64", "--max-distance", "6", "--pages", "5000"),
        *("--tables", "4,1,4"),
    )
    assert code == 0
    assert lines[0].endswith(repr(TablePlan(64, 4, 1, 4)))
    assert lines[1] == "guaranteed distance: 3"
    assert lines[2].startswith("expected recall at distance 4: 0.")
    shown = [line for line in lines if line.startswith("expected recall")]
    assert len(shown) >= 3  # distances 4 to 6
    assert "at 5,000 pages" in lines[-3]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-distance", "64"],
        ["--max-distance", "-1"],
        ["--max-distance", "40"],
        ["--bits", "0"],
        ["--tables", "99,1"],
        ["--tables", "4,5"],
        ["--tables", "0"],
        ["--tables", "4,1,-1"],
        ["--tables", "16,8"],
        ["--tables", "a,b"],
        ["--tables", "1,2,3,4"],
    ],
)
def test_impossible_plans_are_errors(run, arguments):
    code, lines, errors = run("plan", "--bits", "64", "--max-distance", "3", *arguments)
    assert (code, lines) == (2, [])
    assert errors.endswith("\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
def test_a_missing_index_is_an_error_and_is_not_created(run, tmp_path, command):
    code, lines, errors = run(command, "--index", tmp_path / "missing")
    assert (code, lines) == (1, [])
    assert errors.startswith(f"error: index {tmp_path / 'missing'}: ")
    assert "no such directory" in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
def test_a_directory_with_other_files_is_an_error_and_unchanged(run, tmp_path, command):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    before = files(tmp_path)
    code, lines, errors = run(command, "--index", tmp_path)
    assert (code, lines) == (1, [])
    assert "other files" in errors
    assert files(tmp_path) == before


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
@pytest.mark.parametrize("path", ["file", "file/below"])
def test_a_file_is_no_index(run, tmp_path, command, path):
    (tmp_path / "file").write_text("text", encoding="utf-8")
    code, lines, errors = run(command, "--index", tmp_path / path)
    assert (code, lines) == (1, [])
    assert str(tmp_path / path) in errors


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
def test_a_file_with_the_name_of_the_database_is_an_error(kind, backend, made, run, command):
    for file in (made / kind).iterdir():
        file.unlink()
    (made / kind).rmdir()
    (made / kind).write_text("text", encoding="utf-8")
    code, lines, errors = run(command, "--index", made)
    assert (code, lines) == (1, [])
    assert str(made) in errors
    assert (made / kind).read_text(encoding="utf-8") == "text"


@pytest.mark.parametrize("command", ON_A_DIRECTORY)
def test_an_index_that_another_process_has_open_is_locked(kind, tmp_path, run, command):
    directory = tmp_path / "index"
    with children() as other:
        holder = other.begin("hold", kind=kind, directory=str(directory))
        assert holder.line() == "open"
        code, lines, errors = run(command, "--index", directory)
        assert (code, lines) == (1, [])
        assert errors.startswith(f"error: index {directory}: ")
        assert "wait for that crawl to end" in errors
        holder.send("")
        assert holder.rest() == ["closed"]
    assert run("check", "--index", directory)[0] == 0


@pytest.mark.parametrize("command", ["stats", "check"])
def test_a_damaged_state_row_is_reported_without_a_traceback(made, run, command):
    change_rows(made, {records.STATE_KEY: b"short"})
    code, lines, errors = run(command, "--index", made)
    if command == "check":
        assert code == 1
        assert any("the state row is missing or damaged" in line for line in lines)
    else:
        assert (code, lines) == (1, [])
        assert str(made) in errors


@pytest.mark.parametrize(
    "arguments", [["other"], ["check", "extra"], ["remove"], ["plan", "--bits", "many"]]
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
    assert all(command in shown for command in [*ON_A_DIRECTORY, "plan"])


@pytest.mark.parametrize(("change", "code"), [({}, 0), ({b"X": b"?"}, 1), (None, 1)])
def test_the_module_is_executable(made, change, code):
    if change is None:
        largest(made, "CURRENT").unlink()
    else:
        change_rows(made, change)
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy_simhash", "check", "--index", str(made)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == code
    assert bool(ran.stderr) == (change is None)
    assert bool(ran.stdout) == (change is not None)
    assert "Traceback" not in ran.stderr
