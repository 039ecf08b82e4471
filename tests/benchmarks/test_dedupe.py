"""The benchmark of dedupe: that its feed is what it says, and that it scores right."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def feed():
    """The module that makes feeds, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        yield importlib.import_module("dedupe_lib.feed")


@pytest.fixture(scope="module")
def turns():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        yield importlib.import_module("dedupe_lib.turns")


@pytest.mark.parametrize("html", [False, True])
def test_the_feed_is_what_it_says(feed, tmp_path, html):
    path = tmp_path / "feed.jsonl"
    feed.write_feed(path, 400, words=100, html=html, seed=3)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({record["url"] for record in records}) == len(records) == 400
    copies = [record for record in records if record["of"] is not None]
    assert 80 < len(copies) < 160
    name = "html" if html else "text"
    for number, record in enumerate(records):
        assert record["of"] is None or record["of"] < number
    if html:
        for copy in copies:
            heading = f"<h1>Report {copy['of']}</h1>"
            assert heading in copy[name]
            assert heading in records[copy["of"]][name]
    else:
        for copy in copies:
            words, original = copy[name].split(), records[copy["of"]][name].split()
            assert len(words) == len(original)
            assert sum(a != b for a, b in zip(words, original, strict=True)) <= 6
    again = tmp_path / "again.jsonl"
    feed.write_feed(again, 400, words=100, html=html, seed=3)
    assert again.read_bytes() == path.read_bytes()


def test_the_score(feed, tmp_path):
    def line(**values):
        return json.dumps(values) + "\n"

    urls = [f"https://example.com/{number}" for number in range(5)]
    records = zip(urls, (None, 0, 0, None, 3), strict=True)
    (tmp_path / "feed").write_text("".join(line(url=url, of=of) for url, of in records))
    told = (
        *(("new", None), ("near-duplicate", urls[0]), ("new", None)),
        *(("near-duplicate", urls[0]), ("near-duplicate", urls[3])),
    )
    (tmp_path / "verdicts").write_text(
        "".join(line(kind=kind, representative=representative) for kind, representative in told)
    )
    scored = feed.score(tmp_path / "feed", tmp_path / "verdicts")
    assert scored == {"recall": pytest.approx(2 / 3), "precision": pytest.approx(2 / 3)}


def test_the_score_of_an_output_whichever_copy_it_has_kept(feed, tmp_path):
    urls = [f"https://example.com/{number}" for number in range(6)]
    records = zip(urls, (None, 0, 0, None, 3, None), strict=True)
    (tmp_path / "feed").write_text(
        "".join(json.dumps({"url": url, "of": of}) + "\n" for url, of in records)
    )
    # One copy too many of the first, another copy of the second, nothing of the third.
    (tmp_path / "kept").write_text("".join(f"{urls[at]}\n" for at in (0, 2, 4)))
    scored = feed.score_kept(tmp_path / "feed", tmp_path / "kept")
    assert scored == {"recall": pytest.approx(2 / 3), "precision": pytest.approx(2 / 3)}


@pytest.mark.thorough
def test_the_script(tmp_path):
    command = [sys.executable, BENCHMARKS / "dedupe.py", "--records", "300", "--json", "report"]
    done = subprocess.run(
        [*command, "--peer-records", "50", "--peers", "simhash", "rensa=no-such-python"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report").read_text())
    assert [run["workers"] for run in report["runs"]] == [1, 2]
    for run in report["runs"]:
        assert (run["recall"], run["precision"]) == (1, 1)
        assert run["peak_memory_bytes"] > 10_000_000
    assert report["ratios"]["1 workers"] == 1
    found = report["peers"]
    assert found["simhash"]["records"] == 50
    assert 0 < found["simhash"]["recall"] <= 1
    assert found["rensa"]["skipped"] == "it is not installed for no-such-python"


@pytest.mark.thorough
def test_one_worker_and_two_take_turns(tmp_path):
    command = [sys.executable, BENCHMARKS / "dedupe.py", "--records", "900", "--json", "report"]
    done = subprocess.run(
        [*command, "--in-turns", "--turn-jobs", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    turns = json.loads((tmp_path / "report").read_text())["in_turns"]
    assert turns["records"] == 900
    assert len(turns["parts"]) > 1
    for part in (*turns["parts"], turns["whole"]):
        assert part["ratio"] == pytest.approx(part["alone_us"] / part["together_us"])
    assert turns["rest_us"] > 0
    assert 0 <= turns["stolen_share"] < 1
    assert "times as fast" in done.stdout


def test_turns_are_counted_in_pairs(turns):
    many = [turns.Turn(1 + at % 2, 100, (0.2, 0.1)[at % 2]) for at in range(41)]
    counted = turns.summary(many, elapsed_s=6.2 + 4.1 * 0.1)
    assert counted["records"] == 4100
    assert len(counted["parts"]) == 10
    assert all(part["ratio"] == pytest.approx(2) for part in counted["parts"])
    assert counted["whole"]["alone_us"] == pytest.approx(2000)
    assert counted["rest_us"] == pytest.approx(100)
    assert counted["ratio_with_the_rest"] == pytest.approx(2100 / 1100)


def test_one_turn_has_nothing_to_be_compared_with(turns, tmp_path):
    with pytest.raises(SystemExit, match="more --records"):
        turns.summary([turns.Turn(1, 100, 0.2)], elapsed_s=0.3)
    with pytest.raises(SystemExit, match="--workers 1 2"):
        turns.in_turns(tmp_path / "feed.jsonl", 1, jobs=2)


@pytest.mark.parametrize(
    "wrong",
    [
        ("--records", "0"), ("--records", "nan"), ("--records", "inf"), ("--words", "1"),
        ("--turn-jobs", "0"), ("--repeat", "0"), ("--workers", "0"),
        ("--in-turns", "--workers", "1"), ("--peers", "nilsimsa"),
    ],
)  # fmt: skip
def test_it_refuses_what_it_cannot_measure(wrong, tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "dedupe.py", *wrong],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{wrong[-2]}: " in done.stderr.partition("error: ")[2]
