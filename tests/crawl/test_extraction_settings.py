"""Settings for the extraction of texts."""

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, put_articles

NOTICE = (
    "This shop is closed for the day. Orders that reach us after noon are packed on the next "
    "working day, and the parcel leaves with the evening van. Write to the counter if a box "
    "arrives open or wet."
)


def boxed(article, sidebar):
    """A page on which a list of other articles' sentences is longer than the article."""
    _, text = ARTICLES[article]
    _, other = ARTICLES[sidebar]
    return (
        f"<html><body><div class='story'><p>{text}</p></div>"
        f"<div class='latest'><p>{other}</p><p>{other}</p></div></body></html>"
    )


@pytest.fixture(scope="module")
def results(site, module_path):
    notice = "<html><body><div class='article'><p>{}</p></div></body></html>"
    site.put("/notice", notice.format(NOTICE))
    site.put("/notice-copy", notice.format(NOTICE.replace("noon", "one")))
    site.put("/first", boxed("mill", "bees"))
    site.put("/second", boxed("mill", "paper"))
    site.put("/other", boxed("tram", "bees"))
    notices = [site.url(path) for path in ("/notice", "/notice-copy")]
    boxes = [site.url(path) for path in ("/first", "/second", "/other")]
    story = {"SIMHASH_CONTENT_SELECT": [".story"]}
    crawls = {
        "short": Crawl(notices),
        "selected": Crawl(boxes, story),
        "command line": Crawl(boxes, {"SIMHASH_CONTENT_SELECT": ".story, .none"}),
        "removed": Crawl(
            boxes,
            {"SIMHASH_CONTENT_REMOVE": ["//div[@class='latest']"], "SIMHASH_EXTRACTOR": "text"},
        ),
        "import path": Crawl(boxes, {"SIMHASH_EXTRACTOR": "tests.crawl.components.story_of"}),
        "raising": Crawl(boxes, {"SIMHASH_EXTRACTOR": "tests.crawl.components.no_story"}),
        "bytes": Crawl(boxes, {"SIMHASH_EXTRACTOR": "tests.crawl.components.story_in_bytes"}),
        "exiting": Crawl(boxes, {"SIMHASH_EXTRACTOR": "tests.crawl.components.no_way_out"}),
    }
    return run_named(module_path, crawls)


def test_copies_of_short_texts_are_dropped_as_others_are(results):
    result = results["short"]
    assert result.seen() == ["/notice"]
    assert result.stat("dropped") == 1


@pytest.mark.parametrize("name", ["selected", "command line", "removed", "import path"])
def test_people_who_know_their_site_say_what_is_content(results, name):
    result = results[name]
    assert not result.lines("ERROR")
    assert result.seen() == ["/first", "/other"]
    assert result.stat("near_duplicate") == 1


def test_the_way_of_extraction_is_counted(results):
    assert results["selected"].stat("extraction/selected") == 3
    assert results["removed"].stat("extraction/text") == 3
    assert results["import path"].stat("extraction/tests.crawl.components.story_of") == 3


@pytest.mark.parametrize(
    ("name", "counted", "said"),
    [
        ("raising", ["errors/extraction", "skipped/extraction_error"], "extraction failed for"),
        ("bytes", ["skipped/extraction_error"], "it returned bytes, not a string"),
        ("exiting", ["errors/fingerprint"], "fingerprint failed for"),
    ],
)
def test_an_extractor_that_gives_no_text_is_counted_and_its_pages_pass(
    results, name, counted, said
):
    result = results[name]
    assert (result.finish_reason, result.seen()) == ("finished", ["/first", "/second", "/other"])
    assert [result.stat(stat) for stat in counted] == [3] * len(counted)
    assert len(result.lines("WARNING", said)) == 1


BY_PRESET = ("wide", "classic", "ascii-mt19937", "lyq")


@pytest.fixture(scope="module")
def by_preset(site, module_path):
    requests = put_articles(site, "/mill mill", "/mill-again mill", "/tea 茶园")
    crawls = {name: Crawl(requests, {"SIMHASH_PRESET": name}) for name in BY_PRESET}
    return run_named(module_path, crawls)


@pytest.mark.parametrize("name", BY_PRESET[:2])
def test_presets_with_tables_drive_a_crawl(by_preset, name):
    result = by_preset[name]
    assert result.error is None
    assert result.seen() == ["/mill", "/tea"]
    assert result.stat("near_duplicate") == 1


def test_pages_that_a_preset_cannot_take_are_skipped(by_preset):
    assert by_preset["ascii-mt19937"].stat("skipped/unsupported_text") == 1


def test_a_preset_without_tables_is_refused_by_name(by_preset):
    error = by_preset["lyq"].error
    assert error is not None
    assert error["message"].startswith("SIMHASH_PRESET = 'lyq': has no tables")
