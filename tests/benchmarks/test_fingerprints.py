"""The benchmark of fingerprints: that it runs, prints its rows, and counts right."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.samples import ENGLISH, article_page

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("candidates", "pages", "texts", "timing")
        return SimpleNamespace(
            **{name: importlib.import_module(f"fingerprints_lib.{name}") for name in names}
        )


def write_set(folder, texts=(), pages=()):
    folder.mkdir()
    docs = [{"id": f"t{n}", "lang": lang} for n, (lang, _) in enumerate(texts)]
    for number, page in enumerate(pages):
        (folder / f"{number}.html.gz").write_bytes(gzip.compress(page.encode()))
        docs.append({"id": f"p{number}", "lang": "en", "file": f"{number}.html.gz"})
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)), "utf-8")
    with gzip.open(folder / "truth.jsonl.gz", "wt", encoding="utf-8") as file:
        for number, (_, text) in enumerate(texts):
            print(json.dumps({"id": f"t{number}", "text": text}), file=file)
    return folder


def run_script(tmp_path, *arguments):
    report = tmp_path / "report.json"
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "fingerprints.py", *arguments, "--json", report],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout, json.loads(report.read_text("utf-8"))


def test_it_prints_rows_and_goals_for_texts_and_pages(tmp_path, example_set):
    options = ["--languages", "en", "--documents", "1", "--rounds", "1"]
    out, report = run_script(tmp_path, *options, "--extraction", str(example_set))
    tables = report["tables"]
    peers = ["simhash", "gaoya", "python-simhash", "datasketch", "text-dedup"]
    for source in ("text", "features"):
        names = " ".join(row["name"] for row in tables[f"English, from {source}"])
        for name in ("ours wide", "ours classic", "ours leonsim", *peers):
            assert name in names
            assert name in out
    (steps,) = (rows for title, rows in tables.items() if "goes" in title)
    assert [row["name"] for row in steps[:2]] == ["text to fingerprint", "tokenization"]
    assert "sketch" in [row["name"] for row in steps]
    way = [row["name"] for row in tables["1 pages in English, from HTML"]]
    assert way[:3] == [
        f"segments: to {g}" for g in ("text", "fingerprint", "fingerprint and sketch")
    ]
    assert len(report["goals"]) == 3
    assert "the same text as stock readability on 1 of 1 pages" in out
    assert report["differences"] == []
    assert report["environment"]["python"] in out
    assert "seed 1, 1 rounds" in out
    assert report["command"] in out


@pytest.fixture
def example_set(tmp_path):
    page = f"<html><body><div><p>{ENGLISH}</p><p>{ENGLISH}</p></div></body></html>"
    return write_set(tmp_path / "set", pages=[page])


class TestTiming:
    @pytest.fixture
    def clock(self, lib, monkeypatch):
        """A clock that runs only while a candidate works."""
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(lib.timing.time, "process_time", lambda: clock.now)
        return clock

    def test_rounds_take_turns_and_the_first_does_not_count(self, lib, clock):
        calls = []

        def candidate(name, costs):
            def run(item):
                calls.append(name)
                clock.now += costs[min(calls.count(name) - 1, len(costs) - 1)] * item

            return lib.timing.Candidate(name, run, prepare=lambda item: item + 1)

        found = [candidate("a", [100, 1, 2]), candidate("b", [100, 4])]
        assert lib.timing.measure(found, [0], 2) == {"a": [1, 2], "b": [4, 4]}
        assert calls == ["a", "b"] * 3

    def test_all_items_count_across_slices(self, lib, clock):
        items = list(range(2 * lib.timing.SLICE + 1))

        def run(item):
            clock.now += item

        found = lib.timing.measure([lib.timing.Candidate("a", run)], items, 1)
        assert found == {"a": [sum(items)]}

    def test_medians_are_per_item_and_ratios_of_the_same_round(self, lib):
        rows = lib.timing.rows({"a": [2.0, 4.0, 20.0], "b": [4.0, 12.0, 20.0]}, 2, "a")
        assert rows[0].seconds == (2.0, 1.0, 10.0)
        assert rows[0].ratio == (1, 1, 1)
        assert rows[1].seconds == (6.0, 2.0, 10.0)
        assert rows[1].ratio == (2.0, 1.0, 3.0)

    def test_a_table_has_rates_and_what_is_missing(self, lib):
        rows = lib.timing.rows({"a": [0.5], "b": [1.0]}, 10, "a")
        lines = lib.timing.table([*rows, lib.timing.Missing("c", "not here")], "text", 2.0)
        header, first, second, third = lines.splitlines()
        assert header.split()[:2] == ["CPU", "ms/text"]
        assert first.split() == ["a", "50.000", "50.000-50.000", "20", "40.00", "1.00", "1.00-1.00"]
        assert second.split()[-2:] == ["2.00", "2.00-2.00"]
        assert third.split(maxsplit=1) == ["c", "not here"]


class TestTexts:
    def test_pieces_are_joined_and_cut_between_characters(self, lib):
        assert list(lib.texts.pieces(["abc", "defgh"], 4)) == ["abc\n", "defg"]
        assert list(lib.texts.pieces(["文字和字"], 5)) == ["文", "字", "和"]

    def test_generated_texts_are_the_same_with_the_same_seed(self, lib):
        generated = lib.texts.generated_texts
        assert generated(["en"], 2, 7) == generated(["en"], 2, 7) != generated(["en"], 2, 8)
        for found in generated(["en", "zh"], 2, 7).values():
            sizes = [len(text.encode()) for text in found]
            assert len(sizes) == 2
            assert all(lib.texts.SIZE - 3 <= size <= lib.texts.SIZE for size in sizes)

    def test_real_texts_go_by_language(self, lib, tmp_path):
        texts = [("en-GB", "x" * 5000), ("zh", "字" * 3000), ("de", "y" * 9000)]
        found = lib.texts.real_texts([write_set(tmp_path / "set", texts)], ["en", "zh"])
        assert found == {"en": ["x" * 4096], "zh": ["字" * 1365, "字" * 1365]}


class TestCandidates:
    def test_a_package_that_is_not_installed_is_a_row(self, lib, monkeypatch):
        monkeypatch.setitem(sys.modules, "gaoya", None)
        monkeypatch.setitem(sys.modules, "gaoya.simhash", None)
        for found in lib.candidates.peers("en"):
            assert ("gaoya", "not installed: pip install gaoya") in found

    def test_ours_with_either_segmenter_are_the_same_fingerprints(self, lib):
        from_text, _ = lib.candidates.ours("zh")
        values = {
            row.name: row.run("渡船在码头等候邮件和乘客")
            for row in from_text
            if row.name[-5:] == "jieba"
        }
        assert values["ours wide, jieba"] == values["ours wide, rjieba"]


class TestPages:
    def test_pages_that_differ_are_listed_with_where_they_part(self, lib, tmp_path, monkeypatch):
        other = ENGLISH.replace("ferry", "train", 1)
        folder = write_set(tmp_path / "set", pages=[article_page(ENGLISH), article_page(other)])
        pages = lib.pages.pages([folder])
        assert lib.pages.differences(pages) == []
        article = lib.pages.stock_readability(pages[0].html)
        monkeypatch.setattr(lib.pages, "stock_readability", lambda _html: article)
        (found,) = lib.pages.differences(pages)
        assert (found.page, found.at) == ("set p1", ("train", "ferry"))
        assert found.ours == found.stock

    def test_texts_part_where_they_first_differ(self, lib):
        assert lib.pages.parting("abcd", "abxxd") == ("c", "xx")
        assert lib.pages.parting("aa", "aaa") == ("", "a")
        assert lib.pages.parting("", "a") == ("", "a")
