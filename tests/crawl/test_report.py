"""SIMHASH_REPORT and SIMHASH_KEEP_TEXT: the report of a crawl."""

import json
import re
from pathlib import Path

import pytest
from lxml import html

from scrapy_simhash.index import open_index
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles


@pytest.fixture(scope="module")
def pages(site):
    put_articles(site, "/mill mill", "/mill-copy mill 1", "/bees bees", "/failing tram")
    site.put("/short", "<p>Too short.")
    return site


SECRET = "s3cr3t-0f-a-session"
PATHS = ["/mill", "/mill-copy", "/bees", "/failing", "/short"]


@pytest.fixture(scope="module")
def results(pages, module_path):
    private = [
        pages.put(f"/private?n={number}&PHPSESSID={SECRET}{number}", page("mill", copy=number))
        for number in range(3)
    ]

    def crawl(name, **settings):
        return Crawl(
            [pages.url(path) for path in PATHS],
            {"SIMHASH_DIR": str(module_path / name), "CONCURRENT_REQUESTS": 1} | settings,
            arguments={"failing": ["/failing"]},
        )

    crawls = {
        "texts": crawl(
            "texts",
            SIMHASH_KEEP_TEXT=True,
            SIMHASH_REPORT=str(module_path / "%(name)s-%(time)s.html"),
        ),
        "bounded": crawl("bounded", SIMHASH_KEEP_TEXT=100),
        # In the directory that crawls are started in.
        "none": crawl("none", SIMHASH_REPORT="none.html"),
        "full": crawl("full", SIMHASH_REPORT="/dev/full"),
        "private": Crawl(
            private, {"SIMHASH_DEBUG": True, "SIMHASH_REPORT": str(module_path / "private.html")}
        ),
    }
    return run_named(module_path, crawls)


def texts_of(module_path, name):
    directory = module_path / name / "spiders" / name
    with open_index(directory) as index:
        texts = index.texts
        return {key.rpartition("/")[2]: texts.get(key) for key in texts.keys()}  # noqa: SIM118


def test_texts_of_pages_that_were_handled_are_kept(results, module_path):
    kept = texts_of(module_path, "texts")
    assert set(kept) == {"mill", "mill-copy", "bees"}
    assert len(kept["bees"].text) > 200
    assert "<" not in kept["bees"].text
    assert kept["bees"].title


def test_texts_are_bounded_and_not_kept_unasked(results, module_path):
    assert texts_of(module_path, "bounded") == {}
    assert results["bounded"].stats["simhash/texts_not_kept"] == 3
    assert texts_of(module_path, "none") == {}


def test_the_report_of_a_crawl(results, module_path):
    [path] = module_path.glob("texts-*.html")
    assert re.fullmatch(r"texts-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.html", path.name)
    root = html.parse(path).getroot()
    scripts = {script.get("id"): script.text for script in root.iter("script")}
    data = json.loads(scripts["data"])
    assert [key.rpartition("/")[2] for key in data["pages"]["key"]] == ["mill", "mill-copy"]
    assert len(json.loads(scripts["texts"])) == 2
    shown = " ".join(root.find(".//main").text_content().split())
    assert "Spider texts, " in shown
    assert "closed: finished" in shown
    assert "4 pages were judged" in shown
    assert "These counts cover this run only, since 20" in shown
    assert "simhash/near_duplicate1" in shown
    without = html.parse(module_path / "none.html").getroot()
    assert json.loads(without.get_element_by_id("texts").text) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_report_that_cannot_be_written_is_an_error_in_the_log(results, module_path):
    result = results["full"]
    assert result.stats["simhash/errors/report"] == 1
    assert "the report /dev/full was not written: [Errno 28] No space left" in result.log
    directory = module_path / "full" / "spiders" / "full"
    assert f"`scrapy simhash report --index {directory} /dev/full`" in result.log


def test_secrets_of_urls_stand_neither_in_the_report_nor_in_the_log(results, module_path):
    result, path = results["private"], module_path / "private.html"
    assert result.stat("near_duplicate") == 2
    assert SECRET not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    ours = [line for line in result.log.splitlines() if "simhash" in line]
    assert any("PHPSESSID=…" in line for line in ours)
    assert not [line for line in ours if SECRET in line]
