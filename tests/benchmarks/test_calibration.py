"""The benchmark of calibration: that it measures by judged pairs, and fails where it should."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.resemblance import resemblance
from tests.calibration.pages import articles, page

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXTS = articles(40, 25)


def page_set(folder, texts, pages, judged=resemblance):
    """A set with these texts as its truth, these pages, and pairs by what judges."""
    (folder / "pages").mkdir(parents=True)
    names = [f"d{number}" for number in range(len(texts))]
    with (folder / "docs.jsonl").open("w", encoding="utf-8") as file:
        for name, text, html in zip(names, texts, pages, strict=True):
            doc = {"id": name, "lang": "en", "ntok": len(text.split())}
            if html is not None:
                doc["file"] = f"pages/{name}.html.gz"
                (folder / doc["file"]).write_bytes(gzip.compress(html.encode()))
            file.write(json.dumps(doc) + "\n")
    with gzip.open(folder / "truth.jsonl.gz", "wt", encoding="utf-8") as file:
        for name, text in zip(names, texts, strict=True):
            file.write(json.dumps({"id": name, "text": text}) + "\n")
    rows = ["a\tb\tjaccard"] + [
        f"{names[a]}\t{names[b]}\t{alike}"
        for b in range(len(texts))
        for a in range(b)
        if (alike := judged(texts[a], texts[b])) >= 0.05
    ]
    (folder / "pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def run(folder, *arguments):
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", BENCHMARKS / "calibration.py", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    return ran


@pytest.mark.parametrize("with_pages", [True, False])
def test_a_set_on_which_it_is_close(tmp_path, with_pages):
    pages = [page(text) if with_pages else None for text in TEXTS]
    page_set(tmp_path / "news", TEXTS, pages)
    ran = run(tmp_path, "news", "--json", "out.json", "--processes", "1")
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[-1] == (
        "2 of 2 within 0.02 of the best k's recall and precision"
    )
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["environment"]["command"].startswith("calibration.py news ")
    wide, classic = report["outcomes"]
    assert (wide["preset"], classic["preset"]) == ("wide", "classic")
    for one in (wide, classic):
        assert (one["pages"], one["must_be_found"], one["near_duplicate_pairs"]) == (65, 25, 25)
        assert one["best_from"] <= one["max_distance"] <= one["best_to"]
        assert (one["recall"], one["precision"]) == (one["best_recall"], one["best_precision"])
        assert one["is_close"]
    assert wide["own_max_distance"] == 52


@pytest.mark.thorough
def test_a_set_whose_pages_say_nothing_of_its_pairs(tmp_path):
    """Each page has the text of another one: what is proposed is measured, and is not close."""
    mixed = random.Random(1).sample(TEXTS, len(TEXTS))
    page_set(tmp_path / "news", TEXTS, [page(text) for text in mixed])
    ran = run(tmp_path, "news", "--preset", "wide", "--processes", "1")
    assert ran.returncode == 1
    assert "0 of 1 within 0.02" in ran.stdout
    (row,) = [line for line in ran.stdout.splitlines() if line.startswith("news ")]
    assert row.endswith("NO")


@pytest.mark.thorough
def test_on_a_real_set(shared, tmp_path):
    folder = shared / "data" / "ota_html"
    if not folder.is_dir():
        pytest.skip("there is no page set ota_html")
    ran = run(tmp_path, folder, "--preset", "wide", "--processes", "1")
    assert ran.returncode == 0, ran.stdout
