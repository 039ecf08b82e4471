"""``calibrate``: settings for the pages in files and folders."""

import ast
import json

import pytest
from scrapy.settings import Settings

from scrapy_simhash.commands.main import main
from tests.calibration.pages import articles, page, write_pages

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


def test_a_folder_of_pages(run, pages):
    ran = run("calibrate", pages)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split() for line in lines[:7]] == [
        *(["read", "65"], ["pages", "65"], ["near_duplicate_pairs", "25"]),
        *(["edited_copies", "0"], ["near_duplicates", "25"], ["kept_apart", "0"]),
        ["wrong_pairs", f"{65 * 32 - 25:,}"],
    ]
    settings = dict(line.split(" = ") for line in lines[-3:])
    assert {name: ast.literal_eval(value) for name, value in settings.items()} == {
        "SIMHASH_PRESET": "wide",
        "SIMHASH_MAX_DISTANCE": 52,
        "SIMHASH_MIN_RESEMBLANCE": 0.6,
    }
    (row,) = [line.split() for line in lines if line.split()[:1] == ["52"]]
    report = calibrated(run, pages)
    assert row[5:7] == [f"{report['recall'][60][52]:.3f}", "0*"]
    assert ran.out.count("*") == 2


def test_a_sample_of_json_lines(run, folder):
    lines = (
        json.dumps({"url": f"https://a.example/{n}", "body": page(text) if n % 2 else text})
        for n, text in enumerate(TEXTS)
    )
    written(folder, "\n".join([*lines, "no JSON"]), "feed.jl")
    ran = run("calibrate", "--text-field", "body", "--sample", "30", "feed.jl")
    lines = ran.out.splitlines()
    shown = [line.split() for line in lines]
    assert shown[:2] == [["read", "65"], ["pages", "30"]]
    assert "  not a JSON object  1" in lines
    assert ["edited_copies", "200"] in shown
    ran = run("calibrate", "feed.jl")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == (
        "error: no page could be read from feed.jl (no field 'text'; not a JSON object): give HTML, "
        "or JSON lines with the text in --text-field"
    )


def test_options_and_settings_are_those_of_a_crawl(run, pages, folder):
    written(folder, page(FERRY.split(".")[0]), "pages/short.html")
    written(folder, page(CHINESE * 9), "pages/chinese.html")
    assert calibrated(run, pages)["left_out"] == {"few_tokens": 1}
    assert calibrated(run, "-s", "SIMHASH_MIN_TOKENS=5", pages)["pages"] == 67
    report = calibrated(run, "-s", "SIMHASH_PRESET=ascii-mt19937", pages)
    assert report["left_out"]["unsupported_text"] == 1
    # All pages have one menu.
    ran = run("calibrate", "-s", "SIMHASH_CONTENT_SELECT=nav", "-s", "SIMHASH_MIN_TOKENS=1", pages)
    assert "Nothing can be chosen" in ran.out
    assert "SIMHASH" not in ran.out


def test_a_dict_as_preset_is_proposed_as_it_is(pages, capsys):
    preset = {"preset": "classic", "bits": 128, "max_distance": 12}
    assert main(["calibrate", pages], settings=Settings({"SIMHASH_PRESET": preset})) == 0
    assert f"SIMHASH_PRESET = {preset!r}\n" in capsys.readouterr().out
