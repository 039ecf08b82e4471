"""The benchmark of crawls: that it serves, crawls all, and computes what it says."""

from __future__ import annotations

import gzip
import http.client
import importlib
import json
import os
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PLUGIN = "workers=0 readability"


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        names = ("contestants", "corpus", "crawling", "processes", "results", "server", "today")
        return SimpleNamespace(
            **{name: importlib.import_module(f"crawl_lib.{name}") for name in names}
        )


def run_script(*arguments):
    child = subprocess.run(
        [sys.executable, BENCHMARKS / "crawl.py", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


def a_mark(items, time_s, cpu_s, children_cpu_s=0.0, **steps_ms):
    steps = dict.fromkeys(("extraction", "tokenization", "fingerprint", "index"), 0)
    return {
        "items": items,
        "time_s": time_s,
        "cpu_s": cpu_s,
        "children_cpu_s": children_cpu_s,
        "steps_ms": {**steps, **steps_ms},
    }


def a_result(seconds, cpu_s, *, items=100, children_cpu_s=0.0, **steps_ms):
    """Of a crawl that began at 10 s, with a request at 11 s, and took a second for a tenth."""
    return {
        "marks": {
            "opened": a_mark(0, 10.0, 1.0),
            "request": a_mark(0, 11.0, 1.0),
            "item": a_mark(1, 11.5, 1.1),
            "warm": a_mark(10, 12.0, 1.5),
            "end": a_mark(items, 11.0 + seconds, 1.0 + cpu_s, children_cpu_s, **steps_ms),
        },
        "lag_ms": {"p50": 1.0, "p99": 2.0, "max": 3.0},
        "children": 0,
        "peak_rss_bytes": 10**8,
        "near_duplicates": 7,
        "troubles": {},
    }


@pytest.mark.thorough
def test_cpu_bound_crawls_are_compared(tmp_path):
    report = tmp_path / "report.json"
    names = ["off", PLUGIN, "workers=1 readability", "today"]
    out = run_script("--pages", "40", "--repeat", "1", "--contestants", *names, "--json", report)
    assert "note: " not in out  # all pages were crawled, by as many processes as were asked for
    content = json.loads(report.read_text("utf-8"))
    assert {"command", "system", "python", "packages", "seed"} <= set(content["environment"])
    (crawls,) = content["rounds"]
    assert list(crawls) == names
    for name, one in crawls.items():
        assert one["pages"] == 40
        assert one["pages_per_s"] > 0
        assert one["cpu_ms"] > 0
        assert 0 <= one["lag_ms"]["p50"] <= one["lag_ms"]["p99"] <= one["lag_ms"]["max"]
        assert one["peak_tree_bytes"] >= one["peak_rss_bytes"] > 10**7
        # Four articles of the forty are copies, whether all, and which else, is for each to say.
        assert (one["near_duplicates"] > 0) == (name != "off")
    assert crawls[PLUGIN]["extraction_ms"] > 0
    assert crawls["workers=1 readability"]["children"] == 1
    fewer, more = (crawls[name] for name in (PLUGIN, "workers=1 readability"))
    assert more["peak_tree_bytes"] > more["peak_rss_bytes"]
    assert fewer["children"] == 0
    assert more["workers_cpu_ms"] > more["extraction_ms"] > 0
    assert fewer["workers_cpu_ms"] == 0
    assert content["summary"]["off"]["beyond_ms"] is None
    (median, least, most) = content["summary"]["today"]["relative_to"]["off"]["pages_per_s"]
    assert median == least == most == crawls["today"]["pages_per_s"] / crawls["off"]["pages_per_s"]


@pytest.mark.thorough
def test_network_bound_crawls_keep_to_their_rate(tmp_path):
    report = tmp_path / "report.json"
    for number in range(12):
        text = "".join(f"<p>{word} of page {number}. " for word in ("Begin", "Middle", "End") * 9)
        (tmp_path / f"{number}.html").write_text(f"<html><body>{text}", "utf-8")
    out = run_script(
        tmp_path, "--network-bound", "--pages", "10", "--pages-per-second", "40", "--repeat", "1",
        "--contestants", "off", PLUGIN, "--json", report,
    )  # fmt: skip
    assert "adds %" in out
    content = json.loads(report.read_text("utf-8"))
    (round_,) = content["rounds"]
    for one in round_.values():
        assert one["pages"] == 10
        # The delays between requests, and the server's before the last response.
        assert one["run_s"] >= 9 / 40 + 0.05
    added = 100 * (round_[PLUGIN]["run_s"] / round_["off"]["run_s"] - 1)
    assert content["summary"][PLUGIN]["added_percent"] == pytest.approx([added] * 3)


def test_figures_are_of_the_whole_crawl_and_of_its_warm_part(lib):
    found = lib.results.figures(a_result(10.0, 1.1, children_cpu_s=0.9, extraction=900), 100)
    assert found["pages_per_s"] == 10.0
    assert found["run_s"] == 11.0
    assert found["first_item_s"] == 1.5
    assert found["cpu_ms"] == 20.0
    assert found["extraction_ms"] == 9.0
    assert found["warm_pages_per_s"] == 10.0
    assert found["warm_cpu_ms"] == pytest.approx(1000 * 1.5 / 90)
    assert found["warm_workers_cpu_ms"] == 10.0
    assert found["warm_extraction_ms"] == 10.0


def test_a_crawl_that_missed_pages_has_no_figures(lib):
    lost = lib.results.figures(a_result(10.0, 2.0, items=99), 100)
    assert lost == {"missing": "99 of 100 pages crawled"}
    good = lib.results.figures(a_result(10.0, 2.0), 100)
    rounds = [{"off": good, PLUGIN: lost}, {"off": good}]
    assert lib.results.ratio(rounds, PLUGIN, "off", "pages_per_s") is None
    assert lib.results.added_percent(rounds, PLUGIN) is None
    assert lib.results.of_contestant(rounds, "off", "lag_ms", "max") == (3.0, 3.0, 3.0)
    assert lib.results.notes(rounds[:1], ["off", PLUGIN]) == [
        f"{PLUGIN}, round 1: 99 of 100 pages crawled"
    ]


def test_what_is_beyond_is_neither_scrapys_nor_extraction_nor_tokens(lib):
    off = lib.results.figures(a_result(10.0, 1.0), 100)
    one = lib.results.figures(
        a_result(20.0, 3.0, extraction=1000, tokenization=500, fingerprint=100), 100
    )
    assert lib.results.beyond_ms(one, off) == pytest.approx(20.0 - 10.0 - 5.0)
    shared = lib.results.figures(a_result(20.0, 2.0, children_cpu_s=0.8), 100)
    assert shared["cpu_ms"] == pytest.approx(28.0)
    assert lib.results.own_process_ms(shared, off) == pytest.approx(10.0)
    assert lib.results.ratio([{"a": one, "b": off}], "a", "b", "pages_per_s").median == 0.5


def test_missing_workers_and_errors_are_noted(lib):
    one = lib.results.figures(a_result(10.0, 2.0), 100)
    wrong = {**one, "troubles": {"simhash/errors/index": 1}}
    notes = lib.results.notes(
        [{"off": one, "workers=2 readability": wrong}], ["off", "workers=2 readability"]
    )
    assert notes == [
        "workers=2 readability, round 1: 0 processes beside the crawl's, where 2 were to be",
        "workers=2 readability, round 1: {'simhash/errors/index': 1}",
    ]


def test_lag_is_a_median_a_percentile_and_the_most(lib):
    late_ms = [*range(101)]
    assert lib.crawling.lag(late_ms[::-1]) == {"p50": 50, "p99": 99, "max": 100}
    assert lib.crawling.lag([]) == {"p50": 0.0, "p99": 0.0, "max": 0.0}


def test_the_server_keeps_connections_and_waits_before_it_answers(lib):
    bodies = [b"<p>one", b"", "<p>三".encode() * 100_000]
    with lib.server.serving(bodies, delay_ms=40) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=20)
        sockets = set()
        for number, body in enumerate(bodies):
            began = time.perf_counter()
            connection.request("GET", f"/{number}")
            response = connection.getresponse()
            assert time.perf_counter() - began >= 0.04
            assert (response.status, response.read()) == (200, body)
            sockets.add(connection.sock)
        for path in ("/3", "/", "/x"):
            connection.request("GET", path)
            response = connection.getresponse()
            assert (response.status, response.read()) == (404, b"")
        assert len(sockets) == 1
        connection.close()
        assert lib.processes.cpu_s(server.pid) > 0
    assert lib.processes.cpu_s(server.pid) == 0.0  # it has ended


def test_pages_come_from_page_sets_and_from_folders(lib, tmp_path):
    (tmp_path / "b.html").write_bytes(b"<p>b")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.html.gz").write_bytes(gzip.compress(b"<p>a"))
    (tmp_path / "other.txt").write_bytes(b"other")
    assert [page.body for page in lib.corpus.pages_of(tmp_path)] == [b"<p>b", b"<p>a"]
    docs = [
        {"id": "1", "lang": "zh", "file": "sub/a.html.gz"},
        {"id": "2", "lang": None, "file": "b.html"},
        {"id": "3", "lang": "en"},  # a text without a page
    ]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)), "utf-8")
    pages = lib.corpus.pages_of(tmp_path)
    assert [page[1:] for page in pages] == [("zh", b"<p>a"), ("", b"<p>b")]
    assert sorted(lib.corpus.chosen([tmp_path], None, 1)) == sorted(pages)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "b.html").write_bytes(b"<p>b")  # the same bytes
    assert sorted(lib.corpus.chosen([tmp_path, tmp_path / "copy"], None, 1))[1:] == [pages[0]]
    (sampled,) = lib.corpus.chosen([tmp_path], 1, 1)
    assert sampled in pages


@pytest.mark.thorough
def test_generated_pages_are_the_same_for_a_seed_and_one_in_ten_is_a_copy(lib):
    pages = lib.corpus.generated(40, 5)
    assert pages == lib.corpus.generated(40, 5)
    assert pages != lib.corpus.generated(40, 6)
    assert len(set(pages)) == 40
    assert {page.lang for page in pages} == {"en", "zh"}
    paragraphs = [
        {line for line in page.body.decode().splitlines() if line.startswith("<p>")}
        for page in pages
    ]
    copies = [one for one in combinations(range(40), 2) if paragraphs[one[0]] & paragraphs[one[1]]]
    assert {later for _, later in copies} >= {9, 19, 29, 39}


def test_today_finds_what_is_the_same_in_english_and_chinese(lib):
    counts = []
    stats = SimpleNamespace(inc_value=counts.append)
    pipeline = lib.today.TodayPipeline(SimpleNamespace(stats=stats))
    texts = [
        "A storm came over the harbour, and all the boats were lost. " * 9,
        "今天天气很好。" * 20,
        "row your boat " * 300,  # a feature more than 255 times
    ]
    for url, text in enumerate(texts * 2):
        assert pipeline.process_item({"url": str(url), "text": text}) == {"url": str(url)}
    assert counts == [lib.today.STAT] * 3
    page = f"<html><body><div><p>{texts[0]}</p></div></body></html>"
    assert lib.today.main_text(page).strip() == texts[0].strip()
    assert not lib.today.main_text("")
