"""The soak: that its pages are what it says, that it crawls them, and that it scores right."""

from __future__ import annotations

import html
import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from scrapy_simhash import open_index
from scrapy_simhash.index import index_url

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SEED = 5


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("crawling", "generate", "replay", "sampling", "scoring", "serving", "summary")
        return SimpleNamespace(
            **{name: importlib.import_module(f"soak_lib.{name}") for name in names}
        )


def run_script(*arguments):
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "soak.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def copies(lib, kind, count=3, stop=3000):
    found = [lib.generate.truth(number, SEED) for number in range(1, stop)]
    return [known for known in found if known.kind == kind][:count]


def paragraphs(page):
    """The paragraphs of a page's text, as words; not those of its comments or its byline."""
    page = re.sub(r"<b>.*?</b><p>.*?</p>", "", page)
    return [
        re.findall(r"\w", text) if "的" in text else re.findall(r"\w+", html.unescape(text).lower())
        for text in re.findall(r"<p>(.*?)</p>", page)
    ]


def test_a_page_depends_on_its_number_and_the_seed_alone(lib):
    page = lib.generate.page
    first = page(40, SEED)
    page(7, SEED)
    assert page(40, SEED) == first
    assert page(40, SEED + 1) != first
    code = (
        "import hashlib, sys; from soak_lib.generate import page; "
        f"print(hashlib.sha256(page(40, {SEED}).encode()).hexdigest())"
    )
    hashed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(BENCHMARKS), "PYTHONHASHSEED": salt},
        ).stdout
        for salt in ("1", "2")
    }
    assert len(hashed) == 1


def test_copies_are_of_earlier_originals_in_the_shares_that_are_said(lib):
    known = [lib.generate.truth(number, SEED) for number in range(1, 5001)]
    for one in known:
        if one.kind == "original":
            assert one.original == one.number
        else:
            assert one.original < one.number
            assert known[one.original - 1].kind == "original"
        assert lib.generate.is_original(one.number, SEED) == (one.kind == "original")
    counts = Counter(one.kind for one in known)
    assert set(counts) == {"original", *lib.generate.KINDS}
    assert 0.015 < counts["equal"] / len(known) < 0.025
    assert 0.27 < sum(counts[kind] for kind in lib.generate.NEAR_KINDS) / len(known) < 0.33
    chinese = sum(lib.generate.is_chinese(one.original, SEED) for one in known)
    assert 0.08 < chinese / len(known) < 0.12


def test_pages_have_the_length_that_is_said(lib):
    pages = [lib.generate.page(number, SEED) for number in range(1, 101)]
    sizes = sorted(len(page.encode()) for page in pages)
    assert sizes[0] > 1500
    assert 4000 < sizes[len(sizes) // 2] < 10_000
    assert sizes[-1] < 12_000


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["print", "frame", "session"])
def test_other_frames_leave_the_text_as_it_is(lib, kind):
    for copy in copies(lib, kind):
        page, original = (lib.generate.page(n, SEED) for n in (copy.number, copy.original))
        assert page != original
        assert paragraphs(page) == paragraphs(original)


def test_an_equal_copy_is_equal(lib):
    for copy in copies(lib, "equal"):
        assert lib.generate.page(copy.number, SEED) == lib.generate.page(copy.original, SEED)


def test_few_words_change(lib):
    for copy in copies(lib, "words", 20):
        before, after = (
            [word for paragraph in paragraphs(lib.generate.page(n, SEED)) for word in paragraph]
            for n in (copy.original, copy.number)
        )
        if "的" in before:  # words without spaces between them
            continue
        assert len(before) == len(after)
        changed = sum(a != b for a, b in zip(before, after, strict=True))
        assert 0 < changed <= 0.03 * len(before)


def test_a_sentence_is_added_and_a_paragraph_moved(lib):
    for copy in copies(lib, "sentence"):
        before, after = (
            paragraphs(lib.generate.page(n, SEED)) for n in (copy.original, copy.number)
        )
        grown = [len(b) - len(a) for a, b in zip(before, after, strict=True)]
        assert sorted(grown)[:-1] == [0] * (len(grown) - 1)
        assert max(grown) >= 6
    moved = 0
    for copy in copies(lib, "paragraph", 10):
        before, after = (
            paragraphs(lib.generate.page(n, SEED)) for n in (copy.original, copy.number)
        )
        assert sorted(before) == sorted(after)
        moved += before != after
    assert moved > 5


def test_the_server_answers_pages_and_knows_no_others(lib):
    answer = lib.serving.answer(b"GET /3 HTTP/1.1\r\nHost: x", SEED, 3)
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body.decode() == lib.generate.page(3, SEED)
    assert f"Content-Length: {len(body)}".encode() in head
    for path in (b"/4", b"/0", b"/", b"/favicon.ico"):
        missing = lib.serving.answer(b"GET " + path + b" HTTP/1.1", SEED, 3)
        assert missing.startswith(b"HTTP/1.1 404 ")


def test_scores_are_by_family(lib):
    """Page 1 is an original; of its family a copy is found, one is missed; another verdict is
    wrong.
    """
    known = [lib.generate.truth(number, SEED) for number in range(1, 400)]
    families = {}
    for one in known:
        families.setdefault(one.original, []).append(one.number)
    family = next(members for members in families.values() if len(members) == 4)
    original, found, later, missed = family
    other = next(original for original, members in families.items() if len(members) == 1)
    judged = [*family, other]
    verdicts = {found: (original, 9), later: (found, 3), other: (original, 36)}
    score = lib.scoring.scored(judged, verdicts, SEED)
    assert (score.judged, score.planted, score.right, score.wrong) == (5, 3, 2, 1)
    assert score.recall == pytest.approx(2 / 3)
    assert score.precision == pytest.approx(2 / 3)
    assert score.distances == {3: 1, 9: 1}
    assert score.wrong_pairs == [(other, original, 36)]
    kinds = Counter(known[number - 1].kind for number in (found, later, missed))
    assert {kind: planted for kind, (_, planted) in score.kinds.items() if planted} == kinds
    assert sum(hit for hit, _ in score.kinds.values()) == 2


def test_an_original_that_came_after_its_copy_counts_by_the_copys_edit(lib):
    copy = copies(lib, "words", 1)[0]
    score = lib.scoring.scored(
        [copy.original, copy.number], {copy.original: (copy.number, 5)}, SEED
    )
    assert (score.planted, score.right) == (1, 1)
    assert score.kinds["words"] == (1, 1)


def test_percentiles_of_lags(lib):
    lags = lib.sampling.Lags()
    for lag_ms in [1.0] * 98 + [20.0, 30_000.0]:
        lags.add(lag_ms)
    assert lags.summary() == {"p50_ms": 1.1, "p99_ms": 20.1, "max_ms": 30_000.0}


def test_growth_is_told_from_the_indexs_share(lib):
    warm = {"pages": 100, "rss_bytes": 1000, "buffer_bytes": 100, "database_bytes": 0}
    end = {"pages": 1100, "rss_bytes": 1500, "buffer_bytes": 300, "database_bytes": 210}
    for snapshot in (warm, end):
        snapshot["workers_rss_bytes"] = snapshot["rss_bytes"]
    report = lib.summary.Report({}, [], {"warm": warm, "end": end}, None)
    grown = lib.summary.growth(report)
    assert grown["share"] == pytest.approx(0.5)
    assert grown["grown_bytes_without_index"] == 90
    assert grown["share_without_index"] == pytest.approx(0.1)
    assert grown["bytes_per_page_without_index"] == pytest.approx(0.09)


@pytest.mark.thorough
def test_an_index_is_filled_again_with_what_it_knows(lib, tmp_path):
    with open_index(index_url(tmp_path / "index")) as index:
        for number in (3, 4):
            index.confirm(index.observe(f"new {number}", 1 << 60 * number))
        index.observe("copy", 1 << 60 * 3 | 1)
    pages = lib.replay.stored(tmp_path / "index")
    assert [key for _, key, _ in pages] == ["new 3", "new 4", "copy"]
    assert pages[2][2] == f"{1 << 60 * 3 | 1:x}"
    alone = lib.replay.index_alone(BENCHMARKS / "soak.py", pages, 2, tmp_path / "alone")
    assert 10_000_000 < alone["warm_bytes"] <= alone["end_bytes"] < 1_000_000_000
    assert lib.replay.stored(tmp_path / "alone") == pages


def test_growth_beyond_both(lib, capsys):
    def report(grown_bytes, alone):
        warm, end = ({"rss_bytes": 100e6 + b, "workers_rss_bytes": 0} for b in (0, grown_bytes))
        for snapshot in (warm, end):
            snapshot |= {"pages": 1, "buffer_bytes": 0, "database_bytes": 0}
        return lib.summary.Report({}, [], {"warm": warm, "end": end}, None, alone)

    own = report(40e6, {"warm_bytes": 50e6, "end_bytes": 75e6})
    lib.summary._print_beyond(own, report(9e6, None))
    out = capsys.readouterr().out
    assert "+25.0 MB; growth beyond that +15.0 MB" in out
    assert "grew +9.0 MB: growth beyond both +6.0 MB, +6.0% of the memory when warm" in out


def test_rates_are_of_their_part_of_the_pages(lib):
    seconds = [{"second": float(s), "pages": 10 * min(s, 50) + max(s - 50, 0)} for s in range(101)]
    rate = lib.summary.pages_per_s
    assert rate(seconds, 0, 0.5) == pytest.approx(10)
    assert rate(seconds, 0.95, 1) == pytest.approx(1)


def test_what_is_asked_for_is_set(lib):
    task = lib.crawling.Task("http://x", 9, "/d", "/d/r", "tag", 3, concurrency=4, trace=False)
    settings = lib.crawling.settings_of(task)
    assert settings["SIMHASH_ACTION"] == "tag"
    assert settings["CONCURRENT_REQUESTS"] == settings["CONCURRENT_REQUESTS_PER_DOMAIN"] == 4
    assert settings["SIMHASH_WORKERS"] == 3
    assert "SIMHASH_WORKERS" not in lib.crawling.settings_of(task._replace(workers=None))
    off = lib.crawling.settings_of(task._replace(action="off"))
    assert not any(name.startswith("SIMHASH") or name == "ADDONS" for name in off)


@pytest.mark.thorough
def test_it_crawls_all_pages_and_finds_what_was_planted(lib, tmp_path):
    path, log = tmp_path / "report.jsonl", tmp_path / "crawl.log"
    options = ["--pages", 80, "--seed", SEED, "--workers", 1]
    out = run_script(*options, "--json", path, "--log", log)
    report = lib.summary.read(path)
    assert {"command", "seed", "system", "python", "packages"} <= set(report.environment)
    assert report.seconds[-1]["pages"] == 80
    assert report.end["missing"] == []
    stats = report.end["stats"]
    assert stats["simhash/checked"] == report.score["judged"] == 80
    originals = {lib.generate.truth(number, SEED).original for number in range(1, 81)}
    assert report.score["planted"] == 80 - len(originals) > 10
    assert report.score["right"] == stats["simhash/near_duplicate"]
    # One copy in another frame has comments that look like content.
    assert 0 <= report.score["planted"] - report.score["right"] <= 1
    assert report.score["wrong"] == 0
    assert stats["simhash/dropped"] == report.score["right"]
    last = report.end["end"]
    assert 10_000_000 < last["rss_bytes"] < 2_000_000_000
    assert last["buffer_bytes"] > 0
    assert last["database_bytes"] > 0
    assert report.end["lag"]["max_ms"] >= report.end["own_lag"]["max_ms"] > 0
    alone = report.index_alone
    assert 10_000_000 < alone["warm_bytes"] <= alone["end_bytes"] < last["rss_bytes"]
    assert "memory, the index alone, in its own process" in out
    assert f"recall {report.score['right'] / report.score['planted']:.4f}, precision 1.0000" in out
    assert "Crawled" in log.read_text("utf-8")


@pytest.mark.thorough
def test_without_the_plugin_it_is_the_same_crawl_and_can_be_shown_beside(lib, tmp_path):
    path = tmp_path / "off.jsonl"
    out = run_script("--pages", 30, "--off", "--json", path)
    report = lib.summary.read(path)
    assert report.seconds[-1]["pages"] == 30
    assert report.score is None
    assert not any(name.startswith("simhash/") for name in report.end["stats"])
    assert report.end["end"]["buffer_bytes"] == 0
    assert "near-duplicates:" not in out
    again = run_script("--read", path, "--beside", path)
    assert "memory, beside the crawl without the plugin" in again
    assert out.splitlines()[0] in again


def test_a_crawl_that_broke_off_is_no_report(lib, tmp_path):
    path = tmp_path / "report.jsonl"
    path.write_text(json.dumps({"second": 1.0, "pages": 3}) + "\n")
    with pytest.raises(ValueError, match="did not come to its end"):
        lib.summary.read(path)
    end = {"end": {"failures": ["OSError()"], "end": {}, "warm": {}}}
    path.write_text(path.read_text() + json.dumps(end) + "\n")
    with pytest.raises(ValueError, match="OSError"):
        lib.summary.read(path)
