"""``calibrate``: pages and indexes, and what is neither."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import signal

import pytest
from scrapy.settings import Settings

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.commands.main import main
from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan, index_url, open_index
from scrapy_simhash.index.manifest import FILE_NAME
from scrapy_simhash.maintenance.export import entry_records, near_duplicate_records
from scrapy_simhash.scheme import PRESETS, Scheme
from tests.calibration.pages import articles, page, write_pages

from .conftest import MODULE, SCRAPY, finish, start
from .samples import CHINESE, FERRY, written

pytestmark = pytest.mark.thorough

TEXTS = articles(40, 25)


@pytest.fixture
def pages(folder):
    return write_pages(folder / "pages", TEXTS).name


def calibrated(run, *arguments):
    ran = run("calibrate", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def test_pages(run, pages):
    ran = run("calibrate", pages)
    assert (ran.code, ran.err) == (0, "")
    report = calibrated(run, pages)["presets"][0]
    k = report["max_distance"]
    assert report["best_from"] <= k <= report["best_to"]
    lines = ran.out.splitlines()
    assert lines[0] == "sample      65 pages"
    assert "preset      wide, 256 bits" in lines
    assert "pages       65 with a fingerprint" in lines
    assert lines[-3:] == [
        'SIMHASH_PRESET = "wide"',
        f"SIMHASH_MAX_DISTANCE = {k}",
        "SIMHASH_MIN_RESEMBLANCE = 0.6",
    ]
    assert (report["min_resemblance"], report["min_resemblance_now"]) == (0.6, 0.6)
    assert report["least_from"] <= 0.6 <= report["least_to"]
    assert any(line.startswith("resemblance 0.6 or more: ") for line in lines)
    assert f"pairs       25 near-duplicate (resemblance of 0.8 and more), {65 * 32 - 25:,} " in (
        ran.out
    )
    assert ran.out.count(f"<- k = {k}") == 1
    (table,) = [line for line in lines if line.startswith("tables ")]
    assert table.endswith("% of the near-duplicate pairs within k")
    # The bars stand for all pairs.
    rows = re.findall(r"^ *\d+(?:-\d+)? +([\d,]+) +█* +([\d,]+)(?= |$)", ran.out, re.MULTILINE)
    shown = [sum(int(row[place].replace(",", "")) for row in rows) for place in (0, 1)]
    assert shown == [25, 65 * 32 - 25]


def test_json(run, pages):
    report = calibrated(run, "--preset", "classic", "--preset", "wide", pages)
    assert [one["preset"] for one in report["presets"]] == ["classic", "wide"]
    best = report["best_preset"]
    (chosen,) = [one for one in report["presets"] if one["preset"] == best]
    # The preset classic asks for no resemblance.
    least = {"SIMHASH_MIN_RESEMBLANCE": 0.6} if best == "wide" else {}
    assert report["settings"] == {
        "SIMHASH_PRESET": best,
        "SIMHASH_MAX_DISTANCE": chosen["max_distance"],
        **least,
    }
    assert [one["min_resemblance"] for one in report["presets"]] == [None, 0.6]
    assert report["rebuild_first"] == []
    assert chosen["chosen"]["f1"] == max(one["chosen"]["f1"] for one in report["presets"])
    assert (report["read"], report["sampled"], report["threshold"]) == (65, 65, 0.8)
    for one in report["presets"]:
        assert one["basis"] == "pairs"
        assert one["now"]["max_distance"] == PRESETS[one["preset"]].max_distance
        assert sum(one["distances"]["near_duplicate"]) == one["near_duplicate_pairs"] == 25
        assert sum(one["distances"]["different"]) == one["different_pairs"]
        assert len(one["curve"]) == one["bits"] + 1
        at_k = one["curve"][one["max_distance"]]
        assert at_k["f1"] == max(row["f1"] for row in one["curve"])
        assert at_k["recall"] == one["chosen"]["recall"]
        assert 0 < one["chosen"]["recall_95"][0] < at_k["recall"] <= one["chosen"]["recall_95"][1]
        assert 0.9 < one["tables"]["expected_recall"] <= 1
    assert report == calibrated(run, "--preset", "classic", "--preset", "wide", pages)


def test_a_sample_of_json_lines(run, folder):
    lines = (
        json.dumps({"url": f"https://a.example/{n}", "body": page(text) if n % 2 else text})
        for n, text in enumerate(TEXTS)
    )
    written(folder, "\n".join([*lines, "no JSON"]), "feed.jl")
    ran = run("calibrate", "--text-field", "body", "--sample", "30", "--seed", "3", "feed.jl")
    assert ran.out.splitlines()[0] == "sample      30 pages, drawn from 65 (seed 3)"
    assert "left out    1 not JSON" in ran.out.splitlines()
    assert ran.err.startswith("skipped feed.jl:66: not JSON")
    assert "too few near-duplicates: " in ran.out
    ran = run("calibrate", "--json", "--text-field", "body", "--sample", "30", "feed.jl")
    report = json.loads(ran.out)
    assert report["unreadable"] == {"not JSON": 1}
    assert report["presets"][0]["basis"] == "pairs and edited copies"
    assert report["presets"][0]["edited_copy_pairs"] > 100
    ran = run("calibrate", "feed.jl")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "error: no page could be read from feed.jl"
    assert "skipped more documents; only the first 20 are listed" in ran.err


def test_names_of_pages_of_one_site(run, folder):
    """Copies of articles under other titles: no copies, if they are of one site."""
    lines = [
        json.dumps(
            {"url": f"https://a.example/{number}", "html": page(text, f"Story {number % 41}")}
        )
        for number, text in enumerate(TEXTS)
    ]
    written(folder, "\n".join(lines), "feed.jl")
    (report,) = calibrated(run, "--text-field", "html", "feed.jl")["presets"]
    assert (report["named_apart_pairs"], report["near_duplicate_pairs"]) == (25, 0)
    ran = run("calibrate", "--text-field", "html", "--pairs", "p.csv", "feed.jl")
    assert "25 more have this resemblance, but are pages of one site whose names differ" in ran.out
    with (folder / "p.csv").open(encoding="utf-8", newline="") as file:
        kinds = {(row["kind"], row["confirmed"]) for row in csv.DictReader(file)}
    assert ("near-duplicate", "True") not in kinds
    (report,) = calibrated(run, "--no-same-title", "--text-field", "html", "feed.jl")["presets"]
    assert (report["named_apart_pairs"], report["near_duplicate_pairs"]) == (0, 25)


@pytest.mark.thorough
def test_what_is_proposed_fits_the_indexes_that_are_there(run, pages, folder):
    """A k that their tables serve is taken; else it is said what comes first."""
    directory = folder / ".scrapy" / "simhash" / "spiders" / "my news"
    scheme = Scheme.preset("wide")

    def proposed(*options):
        ran = run("calibrate", *options, pages)
        assert (ran.code, ran.err) == (0, "")
        k = int(re.search("^SIMHASH_MAX_DISTANCE = ([0-9]+)$", ran.out, re.MULTILINE)[1])
        return k, ran.out

    free = calibrated(run, pages)["presets"][0]
    low = free["best_from"]
    plans = [TablePlan(256, blocks) for blocks in range(1, 40)]
    enough = next(plan for plan in plans if plan.expected_recall(low) >= 0.95)
    too_few = next(plan for plan in reversed(plans) if plan.expected_recall(low) < 0.95)
    for made_for, plan in ((low, enough), (1, too_few)):
        with open_index(index_url(directory), scheme, max_distance=made_for, plan=plan):
            pass
        k, out = proposed()
        if made_for == low:
            assert low <= k < free["max_distance"]
            assert "and the tables of your indexes support no larger one" in out
            assert "rebuild" not in out
            with open_index(index_url(directory), scheme, max_distance=k):
                pass
            with (
                pytest.raises(PlanError),
                open_index(index_url(directory), scheme, max_distance=k + 1),
            ):
                pass
        else:
            assert k == free["max_distance"]
            (command,) = re.findall("^scrapy simhash (rebuild .*)$", out, re.MULTILINE)
            assert out.index(command) < out.index("SIMHASH_PRESET")
            assert "its tables do not support this k" in out
            # After that, a crawl takes them.
            assert run(*shlex.split(command)).code == 0
            with open_index(index_url(directory), scheme, max_distance=k):
                pass
            assert "rebuild" not in proposed()[1]
        shutil.rmtree(directory)
    with open_index(index_url(directory), Scheme.preset("classic")):
        pass
    out = proposed()[1]
    assert "it has another scheme; the rebuild needs stored texts (SIMHASH_KEEP_TEXT)" in out
    assert "--preset wide --max-distance" in out


def test_a_dict_as_preset_is_proposed_as_it_is(folder, pages, capsys):
    preset = {"preset": "classic", "bits": 128, "max_distance": 12}
    settings = Settings({"SIMHASH_PRESET": preset, "SIMHASH_DIR": str(folder / "indexes")})
    with open_index(index_url(folder / "indexes" / "shared"), Scheme.preset("classic")):
        pass
    assert main(["calibrate", "--json", pages], settings=settings) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["settings"]["SIMHASH_PRESET"] == preset
    (command,) = report["rebuild_first"]
    words = shlex.split(command)
    assert choose_preset(words[words.index("--preset") + 1])[1].scheme.bits == 128
    assert main(["calibrate", pages], settings=settings) == 0
    assert f"SIMHASH_PRESET = {preset!r}\n" in capsys.readouterr().out


def test_what_a_crawl_would_skip(run, pages, folder):
    written(folder, page(FERRY.split(".")[0]), "pages/short.html")
    written(folder, page(CHINESE * 9), "pages/chinese.html")
    arguments = ("--preset", "wide", "--preset", "ascii-mt19937", pages)
    wide, ascii_only = calibrated(run, *arguments)["presets"]
    assert wide["skipped"] == {"few_tokens": 1}
    assert ascii_only["skipped"]["unsupported_text"] == 1
    ran = run("calibrate", "--min-tokens", "5", pages)
    assert "pages       67 with a fingerprint" in ran.out.splitlines()
    ran = run("calibrate", *arguments)
    assert "skipped     1 few_tokens" in ran.out.splitlines()


def test_pairs_to_look_at(run, pages, folder):
    # Half of one and half of another, in ever other shares.
    for share in range(200, 1400, 100):
        mixed = page(TEXTS[1][:share] + TEXTS[2][share:])
        written(folder, mixed, f"pages/mixed\n{share}.html")
    ran = run("calibrate", "--pairs", "look.csv", "--preset", "classic", pages)
    assert (ran.code, ran.err) == (0, "")
    with (folder / "look.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert list(rows[0]) == [
        *("preset", "kind", "distance", "similarity", "resemblance", "content_resemblance"),
        *("confirmed", "a", "b"),
    ]
    assert {row["kind"] for row in rows} <= {"near-duplicate", "between", "different"}
    assert all(0 <= float(row["similarity"]) <= 1 for row in rows)
    assert all("\n" not in row["a"] + row["b"] for row in rows)
    assert any("mixed\\n" in row["b"] for row in rows)
    assert all(row["a"].startswith("pages/") for row in rows)


def test_selectors_and_extractor(run, pages):
    report = calibrated(run, "--select", "nav", "--min-tokens", "1", pages)
    # All pages have one menu.
    assert report["presets"][0]["near_duplicate_pairs"] == 65 * 32
    assert report["presets"][0]["max_distance"] is None
    ran = run("calibrate", "--select", "nav", "--min-tokens", "1", pages)
    assert "No k can be chosen: the sample has 0 different pairs, and 100 are needed." in ran.out
    assert "SIMHASH" not in ran.out


def test_a_threshold(run, pages):
    report = calibrated(run, "--threshold", "1", pages)
    assert report["presets"][0]["near_duplicate_pairs"] == 0
    assert report["presets"][0]["basis"] is None
    ran = run("calibrate", "--threshold", "1", pages)
    assert "No k can be chosen: the sample has no near-duplicate pairs" in ran.out


def test_an_index(run, index):
    ran = run("calibrate", "--json", index)
    assert (ran.code, ran.err) == (0, "")
    (report,) = json.loads(ran.out)["indexes"]
    log = list(near_duplicate_records(index))
    entries = list(entry_records(index))
    assert report["representatives"] == report["sampled"] == len(entries)
    similar = [line for line in log if not line["confirmed"]]
    log = [line for line in log if line["confirmed"]]
    assert (report["near_duplicates"], report["similar"]) == (len(log), len(similar))
    assert report["distances"]["near_duplicates"] == [
        sum(line["distance"] == distance for line in log) for distance in range(257)
    ]
    apart = report["distances"]["representatives"]
    assert sum(apart) == len(entries) * (len(entries) - 1) // 2
    assert report["nearest_representatives"] == next(d for d, count in enumerate(apart) if count)
    k = report["max_distance"]
    late_from = k + 1 - round((k + 1) / 4)
    late = sum(line["distance"] >= late_from for line in log) / len(log)
    assert report["late_share"] == pytest.approx(late)
    ran = run("calibrate", index)
    assert (ran.code, ran.err) == (0, "")
    assert f"{len(log):,} near-duplicates in the log, and {len(similar):,} similar" in ran.out
    assert "To choose a k, give pages." in ran.out
    assert "SIMHASH_MAX_DISTANCE" not in ran.out
    ran = run("calibrate", "--sample", "10", index, index)
    assert ran.out.count(f"{len(entries):,} representatives, a sample of 10") == 2


def test_an_empty_index(run, folder):
    with open_index(index_url(folder / "index"), Scheme.preset("classic")):
        pass
    ran = run("calibrate", "index")
    assert (ran.code, ran.err) == (0, "")
    assert "0 representatives" in ran.out


def damage(index):
    for file in index.glob("*/*"):
        if file.suffix in (".ldb", ".log", ".sst"):
            file.write_bytes(b"\xff" * 100)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda index: (index / FILE_NAME).write_text("{"), "manifest"),
        (
            lambda index: (index / FILE_NAME).write_text(
                (index / FILE_NAME)
                .read_text()
                .replace('"format_version": 4', '"format_version": 9')
            ),
            "format",
        ),
        (lambda index: (index / FILE_NAME).write_text('{"name": "my app"}'), "index"),
        (damage, "repair"),
    ],
)
def test_an_index_that_cannot_be_used(run, index, spoil, told):
    spoil(index)
    ran = run("calibrate", index)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert told in ran.err


def test_an_index_that_is_open_elsewhere(run_process, index):
    with open_index(index_url(index)):
        ran = run_process(*MODULE, "calibrate", index)
    assert (ran.code, ran.out) == (1, "")
    assert "another process" in ran.err


def test_a_site_has_manifests_too(run, pages, folder):
    written(folder, '{"name": "my app"}', f"pages/{FILE_NAME}")
    ran = run("calibrate", pages)
    assert ran.code == 0
    assert "left out    1 no field 'text'" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["none"], 1, "none: no such file"),
        ([""], 1, "the file name is empty"),
        (["empty"], 1, "no page could be read"),
        (["empty.txt"], 1, "no page could be read"),
        (["binary"], 1, "binary"),
        ([".scrapy/simhash"], 1, "holds indexes: name the directory of one"),
        (["pages", "--pairs", "pages"], 1, "is a folder"),
        (["pages", "--pairs", "none/p.csv"], 1, "there is no folder none"),
        (["pages", "--pairs", "/proc/none.csv"], 1, "cannot be written"),
        ([], 2, "required"),
        (["pages", ".scrapy/simhash/spiders/site"], 2, "give pages or indexes, not both"),
        (["--pairs", "p.csv", ".scrapy/simhash/spiders/site"], 2, "texts of an index are not read"),
        (["--preset", "broad", "pages"], 2, "there is no preset"),
        (["--remove", "p[", "pages"], 2, "neither CSS nor XPath"),
        (["--sample", "1", "pages"], 2, "from 2 to 50000"),
        (["--threshold", "0.1", "pages"], 2, "from 0.2 to 1"),
        (["--threshold", "nan", "pages"], 2, "from 0.2 to 1"),
        (["--threshold", "x", "pages"], 2, "invalid"),
    ],
)
@pytest.mark.usefixtures("pages", "index")
def test_what_cannot_be_calibrated(run, folder, arguments, code, told):
    (folder / "empty").mkdir()
    written(folder, "", "empty.txt")
    written(folder, b"\0\1\2", "binary")
    ran = run("calibrate", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err


def test_broken_and_huge_pages(run, pages, folder):
    written(folder, "<html>" + "<div>" * 3000 + FERRY, "pages/deep.html")
    written(folder, page(" ".join(TEXTS * 10)), "pages/huge.html")
    ran = run("calibrate", "--max-bytes", "20000", pages)
    assert ran.code == 0
    assert "left out    1 longer than 20,000 bytes" in ran.out
    report = calibrated(run, pages)["presets"][0]
    assert report["fingerprints"] == 66


def test_the_settings_of_a_project(run_process, pages):
    ran = run_process(
        *SCRAPY, "calibrate", "--json", pages, "-s", "SIMHASH_PRESET=classic",
        "-s", "SIMHASH_MAX_DISTANCE=5", "-s", "SIMHASH_MIN_TOKENS=5000",
    )  # fmt: skip
    assert ran.code == 0
    (report,) = json.loads(ran.out)["presets"]
    assert (report["preset"], report["now"]["max_distance"]) == ("classic", 5)
    assert report["skipped"] == {"few_tokens": 65}


def test_ctrl_c_while_it_reads(folder):
    os.mkfifo(folder / "pipe")
    process = start(*MODULE, "calibrate", "pipe", in_folder=folder)
    try:
        # It has opened the pipe, and waits.
        with (folder / "pipe").open("wb"):
            process.send_signal(signal.SIGINT)
            ran = finish(process)
    finally:
        process.kill()
        process.communicate()
    assert ran == (130, "", "interrupted\n")
