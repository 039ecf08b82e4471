"""The benchmark of passages: that it plants what it says, judges right, and prints what it found."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SYLLABLES = [one + other for one in "bcdfghjklmnprstvwxyz" for other in "aeiou"]


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("quality", "schemes", "shares", "texts")
        return SimpleNamespace(
            **{name: importlib.import_module(f"passages_lib.{name}") for name in names}
        )


def sentence(dice, words=12):
    return " ".join("".join(dice.choices(SYLLABLES, k=3)) for _ in range(words)).capitalize() + "."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A page set of 25 texts of 12 sentences each, and a pair that shares 6 of them."""
    found = tmp_path_factory.mktemp("sets") / "made"
    found.mkdir()
    dice = random.Random(5)
    texts = [[sentence(dice) for _ in range(12)] for _ in range(25)]
    texts[1] = texts[0][:6] + texts[1][6:]
    texts[3] = texts[2][:9] + texts[3][9:]
    with (found / "docs.jsonl").open("w", encoding="utf-8") as file:
        for number in range(len(texts)):
            file.write(json.dumps({"id": f"t{number}", "lang": "en"}) + "\n")
    with gzip.open(found / "truth.jsonl.gz", "wt", encoding="utf-8") as file:
        for number, sentences in enumerate(texts):
            file.write(json.dumps({"id": f"t{number}", "text": " ".join(sentences)}) + "\n")
    (found / "pairs.tsv").write_text(
        "a\tb\tjaccard\nt0\tt1\t0.333\nt2\tt3\t0.6\nt4\tt5\t0.0\n", encoding="utf-8"
    )
    return found


def run_script(*arguments):
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "passages.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def row(out, *cells):
    """The only line that begins with these cells."""
    (found,) = [
        line for line in out.splitlines() if re.split(r"\s{2,}", line)[: len(cells)] == [*cells]
    ]
    return re.split(r"\s{2,}", found)[len(cells) :]


def test_it_finds_what_was_planted_and_says_so(folder):
    out = run_script("quality", folder, "--passages", 40, "--cutting", "sentences")
    assert "seed: 1" in out
    assert "command: python" in out
    for mode in ("exact", "fast"):
        for texts in ("kept", "-"):
            unedited = row(out, "sentences", mode, texts, "0 %")
            assert unedited[0].startswith("1.000 (")
            assert unedited[2].startswith("1.000 (")
            worst = row(out, "sentences", mode, texts, "20 %")
            assert float(worst[0].split()[0]) < 0.8
    assert "missed" not in out


def test_it_says_what_it_missed(folder):
    """No fingerprint is within 0 bits of that of an edited passage."""
    out = run_script(
        *("quality", folder, "--passages", 40, "--cutting", "sentences", "--max-distance", 0)
    )
    assert row(out, "sentences", "exact", "kept", "0 %")[0].startswith("1.000 (")
    # Edits of white space or full stops alone change no fingerprint.
    assert float(row(out, "sentences", "exact", "kept", "20 %")[0].split()[0]) < 0.1


def test_other_fingerprints_are_compared(folder):
    out = run_script("schemes", folder, "--passages", 60).partition("== by script")[0]
    pairs = row(out, "pairs of characters, 256")
    copies, d50, d90, d95, nearest = map(int, pairs[:5])
    assert copies == 30
    assert 0 < d50 <= d90 <= d95 < nearest
    assert pairs[8] == "1.000"
    assert "k=3: 0." in row(out, "words, TF-IDF, 64")[-1]


def test_shares_are_set_beside_the_resemblance(folder):
    out = run_script("shares", folder)
    assert "2 pairs with a resemblance" in out
    both = [line for line in out.splitlines() if re.match(r"all\s+whole from 0.75", line)]
    assert both
    for line in both:
        _, _, pairs, share, symmetric, *_ = re.split(r"\s{2,}", line)
        assert (pairs, share, symmetric) == ("2", "1.000", "1.000")


@pytest.mark.thorough
def test_speed_is_measured_in_processes_of_its_own(folder):
    out = run_script("speed", folder, "--documents", 12, "--repeat", 2, "--characters", 900)
    sizes = dict(
        re.findall(r"^(texts kept|without texts): 12 .* (\d+) bytes on disk", out, re.MULTILINE)
    )
    assert int(sizes["texts kept"]) > int(sizes["without texts"]) > 0
    shares = {
        float(row(out, f"{texts}, {mode}")[-1])
        for texts in ("texts kept", "without texts")
        for mode in ("exact", "fast")
    }
    scan = [line for line in out.splitlines() if line.startswith("numpy scan of")]
    shares.add(float(scan[0].split()[-1]))
    assert max(shares) - min(shares) <= 0.1
    assert 0.1 < min(shares) < 0.9


def test_plants_stand_where_they_are_said_to(lib):
    dice = random.Random(3)
    documents = [
        lib.texts.Document(f"d{number}", "en", " ".join(sentence(dice, 4) for _ in range(20)))
        for number in range(10)
    ]
    indexed, others = lib.texts.split(documents, 1)
    assert (len(indexed), len(others)) == (8, 2)
    by_name = {document.name: document.text for document in indexed}
    plants = lib.texts.plants(indexed, 30, 1)
    assert len(plants) == 30
    for plant in plants:
        assert by_name[plant.document][plant.start : plant.end] == plant.text
        assert lib.texts.letters(plant.text) == plant.letters >= 8
    for share in (0.0, 0.1):
        placed = [
            (one.plant.text, checked.text[one.start : one.end])
            for checked in lib.texts.checked_texts(plants, others, share, 1)
            for one in checked.planted
        ]
        assert len(placed) == 30
        equal = sum(text == there for text, there in placed)
        assert equal == (30 if share == 0 else 0)


@pytest.mark.parametrize(("share", "edits"), [(0.0, 0), (0.05, 5), (0.2, 20)])
def test_as_many_characters_are_edited_as_is_said(lib, share, edits):
    from rapidfuzz.distance import Levenshtein

    text = "abcdefghij" * 10
    changed = lib.texts.edited(text, share, "0123456789", random.Random(1))
    # Two that are side by side may be one.
    assert 0.8 * edits <= Levenshtein.distance(text, changed) <= edits


def test_what_shares_text_is_judged_without_the_index(lib):
    one = "The quick brown fox jumps over the lazy dog and runs away."
    assert lib.texts.shares_text(one, one.upper() + " Then it sleeps.")
    assert not lib.texts.shares_text(one, "A slow green turtle sat beneath a busy cat and stayed.")
    assert lib.texts.shares_text("第三十一条 合同的变更", "第三十一条 合同的变更和解除")
    assert not lib.texts.shares_text("第三十一条 合同的变更", "人民法院应当受理")


def test_a_wrong_source_is_counted_as_wrong(lib):
    passage = SimpleNamespace(start=0, end=9, text="一二三四五六七八。")
    source = SimpleNamespace(document="d", start=0, end=9)
    assert not lib.quality._right(passage, source, None, {"d": "甲乙丙丁戊己庚辛。"})
    assert lib.quality._right(passage, source, None, {"d": passage.text})


def test_the_threshold_is_the_last_that_is_right(lib):
    def answer(own, nearest, right):
        return lib.schemes.Answer("en", 30, own, nearest, 90, right)

    found = [answer(distance, distance, True) for distance in range(10, 60)]
    assert lib.schemes.threshold(found) == (59, 1.0)
    found += [answer(-1, 40, False)] * 5
    assert lib.schemes.threshold(found) == (39, 0.6)
    assert lib.schemes.threshold([answer(-1, 0, False)]) == (-1, 0.0)


def test_ranks_are_compared_with_ties_at_their_mean(lib):
    assert lib.shares.spearman([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    assert lib.shares.spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Ranks 1.5, 1.5, 3, 4 and 1, 2, 3, 4.
    assert lib.shares.spearman([1, 1, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486832980505138)
    assert lib.shares.symmetric(0.5, 1) == 0.5
    assert lib.shares.symmetric(0.5, 0) == 0
