"""The benchmark of groups: what it reads, and that it judges right."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("corpora", "measures", "methods")
        yield SimpleNamespace(
            **{name: importlib.import_module(f"groups_lib.{name}") for name in names}
        )


@pytest.mark.parametrize(
    ("truth", "labels", "expected"),
    [
        # The examples of scikit-learn's documentation.
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 1, 2], [0, 0, 1, 1], 0.571),
        ([0, 0, 0, 0], [0, 1, 2, 3], 0.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        ([0, 1, 2], [5, 6, 7], 1.0),
    ],
)
def test_the_adjusted_rand_index(lib, truth, labels, expected):
    found = lib.measures.adjusted_rand(np.array(truth), np.array(labels))
    assert found == pytest.approx(expected, abs=1e-3)


def test_the_classes_are_those_of_text_dedup(lib):
    # 0 and 1 are found with an undecided one; 3, 4, 5 are copies, of which one is missed; 6 and 7
    # are said to be copies, and are none; 8 is alone.
    copies = [{1}, {0}, set(), {4, 5}, {3, 5}, {3, 4}, set(), set(), set()]
    undecided = [{2}, {2}, {0, 1}, *(set() for _ in range(6))]
    corpus = lib.corpora.Corpus("made up", [""] * 9, copies, undecided)
    found = lib.measures.score(corpus, np.array([0, 0, 0, 3, 3, 5, 6, 6, 8]))
    # TP 0, 1; FP 3, 4, 6, 7; TN 2, 8; FN 5.
    assert (found.precision, found.recall) == (2 / 6, 2 / 3)
    assert found.macro_precision == pytest.approx((2 / 6 + 2 / 3) / 2)
    assert found.macro_f1 == pytest.approx(4 / 9)
    assert found.accuracy == 4 / 9


def test_core_is_read_from_json_lines_and_from_parquet(lib, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    from pyarrow import Table

    records = [
        {
            "core_id": str(number),
            "processed_title": "On Piers",
            "processed_abstract": "Of boats.",
            "labelled_duplicates": duplicates,
        }
        for number, duplicates in ((7, ["9", "404"]), (8, []), (9, ["7"]))
    ]
    (tmp_path / "core.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    parquet.write_table(Table.from_pylist(records), tmp_path / "core.parquet")
    for name in ("core.jsonl", "core.parquet"):
        found = lib.corpora.core(tmp_path / name)
        assert found.texts == ["on piers of boats."] * 3
        assert found.copies == [{2}, set(), {0}]


def test_news_copy_is_read(lib, tmp_path):
    articles = {name: {"article": "The mail-\nboat, again!", "byline": ""} for name in "abcd"}
    (tmp_path / "data.json").write_text(json.dumps(articles))
    (tmp_path / "pairs.json").write_text(json.dumps([["a", "c"], ["c", "d"]]))
    found = lib.corpora.news_copy(tmp_path / "data.json", tmp_path / "pairs.json")
    assert found.texts == ["The mailboat again"] * 4
    assert found.copies == [{2, 3}, set(), {0, 3}, {0, 2}]


@pytest.fixture(scope="module")
def texts():
    """Forty texts; each fifth one is an edited copy of the one before."""
    chance = random.Random(2)
    vocabulary = ["".join(chance.choices("abcdefgh", k=6)) for _ in range(2000)]
    made = []
    for number in range(40):
        words = chance.choices(vocabulary, k=120)
        if number % 5 == 4:
            words = made[-1].split()
            words[number] = "edited"
        made.append(" ".join(words))
    return made


@pytest.mark.parametrize("name", ["dedupe", "connected", "datasketch", "text-dedup, README"])
def test_methods_find_copies(lib, texts, name):
    pytest.importorskip(lib.methods.NEEDED.get(name, "numpy"))
    found = lib.methods.METHODS[name](texts)
    first = [number - (number % 5 == 4) for number in range(40)]
    assert lib.measures.adjusted_rand(np.array(first), found) == 1


def test_equal_texts_and_empty_ones(lib, texts):
    for name in ("dedupe", "connected"):
        labels = lib.methods.METHODS[name]([texts[0], "", texts[1], texts[0], texts[0], ""])
        assert labels.tolist() == [0, 1, 2, 0, 0, 5]


@pytest.mark.thorough
def test_the_script(tmp_path, texts):
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        documents = [{"id": str(number), "lang": "en"} for number in range(40)]
        (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
        with gzip.open(folder / "truth.jsonl.gz", "wt") as file:
            for number, text in enumerate(texts):
                file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    command = [sys.executable, BENCHMARKS / "groups.py", tmp_path / "one", tmp_path / "two"]
    done = subprocess.run(
        [*command, "--methods", "dedupe", "connected", "--json", tmp_path / "report"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "two: 40 texts, 16 with copies" in done.stdout
    assert "all sets: 80 texts, 32 with copies" in done.stdout
    for found in json.loads((tmp_path / "report").read_text())["all sets"].values():
        assert found["macro_f1"] == found["accuracy"] == found["rand"] == 1
