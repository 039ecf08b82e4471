"""Settings for the extraction of texts, and for schemes."""

import json

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.scheme import Scheme
from tests.crawl.harness import Crawl, crawled, run_named
from tests.crawl.pages import ARTICLES, put_articles

COMPONENTS = "tests.crawl.components"
# Crawl → its settings and how pages are extracted.
FITTING = {
    "selected": ({"SIMHASH_CONTENT_SELECT": [".story"]}, "selected"),
    "command line": ({"SIMHASH_CONTENT_SELECT": ".story, .none"}, "selected"),
    "removed": (
        {"SIMHASH_CONTENT_REMOVE": ["//div[@class='latest']"], "SIMHASH_EXTRACTOR": "text"},
        "text",
    ),
    "import path": ({"SIMHASH_EXTRACTOR": f"{COMPONENTS}.story_of"}, f"{COMPONENTS}.story_of"),
}
# Extractor that gives no text → what is counted, and the warning.
FAILING = {
    "no_story": (["errors/extraction", "skipped/extraction_error"], "extraction failed for"),
    "story_in_bytes": (["skipped/extraction_error"], "it returned bytes, not a string"),
    "no_way_out": (["errors/fingerprint"], "fingerprint failed for"),
}
PRESETS = ("wide", "classic", "ascii-mt19937", "lyq")


def boxed(article, sidebar):
    """Return a page on which the sentences of another article are longer than the article."""
    text, other = ARTICLES[article][1], ARTICLES[sidebar][1]
    return (
        f"<html><body><div class='story'><p>{text}</p></div>"
        f"<div class='latest'><p>{other}</p><p>{other}</p></div></body></html>"
    )


@pytest.fixture(scope="module")
def results(site, module_path):
    boxes = [
        site.put(path, boxed(*articles))
        for path, *articles in (
            ("/first", "mill", "bees"),
            ("/second", "mill", "paper"),
            ("/other", "tram", "bees"),
        )
    ]
    articles = put_articles(site, "/mill mill", "/mill-again mill", "/tea 茶园")
    crawls = {
        **{name: Crawl(boxes, settings) for name, (settings, _) in FITTING.items()},
        **{name: Crawl(boxes, {"SIMHASH_EXTRACTOR": f"{COMPONENTS}.{name}"}) for name in FAILING},
        **{name: Crawl(articles, {"SIMHASH_PRESET": name}) for name in PRESETS},
    }
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", FITTING)
def test_people_who_know_their_site_say_what_is_content(results, name):
    result = results[name]
    assert not result.lines("ERROR")
    assert result.seen() == ["/first", "/other"]
    assert result.stat("near_duplicate") == 1
    assert result.stat(f"extraction/{FITTING[name][1]}") == 3


@pytest.mark.parametrize("name", FAILING)
def test_an_extractor_that_gives_no_text_is_counted_and_its_pages_pass(results, name):
    result, (counted, said) = results[name], FAILING[name]
    assert (result.finish_reason, result.seen()) == ("finished", ["/first", "/second", "/other"])
    assert [result.stat(stat) for stat in counted] == [3] * len(counted)
    assert len(result.lines("WARNING", said)) == 1


def test_presets_with_tables_drive_a_crawl_and_others_are_refused_by_name(results):
    for name in PRESETS[:2]:
        assert (results[name].error, results[name].seen()) == (None, ["/mill", "/tea"])
        assert results[name].stat("near_duplicate") == 1
    # A page that a preset cannot take is skipped.
    assert results["ascii-mt19937"].stat("skipped/unsupported_text") == 1
    assert results["lyq"].error["message"].startswith("SIMHASH_PRESET = 'lyq': has no tables")


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.thorough), 1])
def test_workers_and_the_index_get_the_scheme_of_a_file(site, tmp_path, workers):
    own = Scheme(bits=64, parts=("title", "first-sentences", "longest-sentences"), top=30)
    toml = tmp_path / "own.toml"
    toml.write_text(f'preset = "classic"\nparts = {json.dumps(own.parts)}\ntop = 30\n', "utf-8")
    result = crawled(
        tmp_path,
        put_articles(site, "/a ice", "/b clock", "/a-copy ice"),
        {"SIMHASH_PRESET": str(toml), "SIMHASH_WORKERS": workers, "SIMHASH_ACTION": "tag"},
    )
    assert (result.error, result.stat("checked"), result.stat("near_duplicate")) == (None, 3, 1)
    assert result.lines("scheme " + own.id)
    manifest = tmp_path / "simhash" / "spiders" / "pages" / "manifest.json"
    assert Scheme(**json.loads(manifest.read_text("utf-8"))["scheme"]) == own


def test_fields_may_have_weights(tmp_path):
    fields = {"SIMHASH_ITEM_FIELDS": {"name": 0.01, "text": 1}, "SIMHASH_DIR": str(tmp_path)}
    settings = SimhashSettings(Settings(fields), "pages")
    assert settings.item_scheme.field_weights == (("name", 0.01), ("text", 1.0))
    assert settings.item_fields == ("name", "text")
