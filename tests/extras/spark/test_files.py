"""``dedupe --engine spark`` beside ``dedupe``: the same bytes."""

from __future__ import annotations

import json

import pytest

from scrapy_simhash.commands.main import main
from tests.extras.spark.feed import feed

pytestmark = pytest.mark.filterwarnings("default")


FILES = {"out", "verdicts", "kept", "out/v", "in.parquet", "in", "in/out", "in/work"}


def dedupe(folder, *arguments):
    """Run the command on files of a folder: Java keeps the folder that it was started in."""
    named = {one for one in arguments if one in FILES or one.endswith((".jl", ".csv", ".parquet"))}
    return main(["dedupe", *(str(folder / one) if one in named else one for one in arguments)])


def joined(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.glob("part-*")))


@pytest.fixture
def feeds(tmp_path):
    """Two files: records without keys, blank lines, and what cannot be read."""
    records = feed(90)
    for record in records[::5]:
        del record["url"]
    lines = [json.dumps(record, ensure_ascii=False).encode() for record in records]
    lines[7:7] = [b"", b" \t", b"{torn", b'{"text": 3, "url": "https://e.com/\xff"}', b'"text"']
    (tmp_path / "b.jl").write_bytes(b"\r\n".join(lines[:50]) + b"\n")
    (tmp_path / "a.jl").write_bytes(b"\n".join(lines[50:]))  # without a last line break
    return ["b.jl", "a.jl"]


@pytest.mark.parametrize("action", ["tag", pytest.param("drop", marks=pytest.mark.thorough)])
def test_json_lines_are_those_of_dedupe(spark, feeds, tmp_path, action, capsys):
    assert spark
    options = ["--action", action, "--text-field", "title", "--text-field", "text", "--json"]
    assert not dedupe(tmp_path, *feeds, "-o", "out.jl", "--verdicts", "verdicts.jl", *options)
    expected = json.loads(capsys.readouterr().out)
    on_spark = ["--engine", "spark", "-o", "out", "--verdicts", "verdicts"]
    assert not dedupe(tmp_path, *feeds, *on_spark, *options)
    found = json.loads(capsys.readouterr().out)
    assert joined(tmp_path / "verdicts") == (tmp_path / "verdicts.jl").read_bytes()
    assert joined(tmp_path / "out") == (tmp_path / "out.jl").read_bytes()
    for name in ("records", "kept", "dropped", "tagged", "similar", "kinds", "skipped"):
        assert found[name] == expected[name], name
    assert not (tmp_path / "out.dedupe").exists()


@pytest.mark.thorough
def test_parquet_is_that_of_dedupe(spark, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    from pyarrow import Table

    assert spark
    # Names that Spark takes for a path, and that need escaping.
    records = [
        record | {"a.b": 1, "c`d": "e", "SKU": f"A-{record['n'] % 2}"} for record in feed(90)
    ]
    parquet.write_table(Table.from_pylist(records), tmp_path / "in.parquet")
    assert not dedupe(tmp_path, "in.parquet", "-o", "out.parquet", "--action", "tag")
    assert not dedupe(tmp_path, "in.parquet", "-o", "out", "--action", "tag", "--engine", "spark")
    found = [
        row
        for path in sorted((tmp_path / "out").glob("part-*"))
        for row in parquet.read_table(path).to_pylist()
    ]
    assert found == parquet.read_table(tmp_path / "out.parquet").to_pylist()


@pytest.mark.usefixtures("spark", "feeds")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.jl", "-o", "out"], "no.jl does not exist"),
        (["a.csv", "-o", "out"], "Spark reads JSON lines"),
        (["b.jl", "-o", "kept"], "kept exists already: --overwrite replaces it"),
        (["b.jl", "-o", "kept", "--overwrite"], "is no complete output of Spark"),
        (["b.jl", "-o", "out", "--work", "kept"], "name another folder with --work"),
        (["b.jl", "-o", "out", "--verdicts", "out/v"], "is or lies in"),
        (["in", "-o", "in/out", "--format", "json-lines"], "is or lies in"),
        (["in", "-o", "out", "--work", "in/work", "--format", "json-lines"], "is or lies in"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_deleted(tmp_path, arguments, message, capsys):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").touch()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "c.jl").touch()
    assert dedupe(tmp_path, *arguments, "--engine", "spark") == 1
    assert message in capsys.readouterr().err
    assert (tmp_path / "kept" / "mine").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--master", "local[2]"],
        ["--engine", "spark", "--index", "seen"],
        ["--engine", "spark", "--against", "b.jl"],
    ],
)
def test_options_that_do_not_go_together(tmp_path, arguments, capsys):
    with pytest.raises(SystemExit):
        dedupe(tmp_path, "a.jl", "-o", "out", *arguments)
    assert "spark" in capsys.readouterr().err
