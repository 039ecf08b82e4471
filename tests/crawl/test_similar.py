"""Pages of one template: within k bits of each other, but not confirmed as copies."""

import pytest

from scrapy_simhash.maintenance.sources import opened_index
from scrapy_simhash.url_patterns import MIN_PAGES
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, page

NAMES = (
    "anchor basin candle drum easel funnel goblet hammer inkwell jug kettle lantern mirror needle "
    "oar pulley quill rudder saddle thimble urn"
).split()
TITLE = ARTICLES["mill"][0]
TAG = {"SIMHASH_ACTION": "tag"}
NAMED = {"kind": "simhash_kind", "similar_to": "simhash_similar_to"}
COPIES = {"SIMHASH_SAME_TITLE": False}


def product(name, number):
    return page("mill", copy=number).replace(TITLE, f"{name.title()} of oak")


@pytest.fixture(scope="module")
def urls(site):
    return [site.put(f"/p/{number}", product(name, number)) for number, name in enumerate(NAMES)]


@pytest.fixture(scope="module")
def results(urls, site, module_path):
    copy = site.put("/p/copy", product(NAMES[0], 99))
    crawls = {
        "drop": Crawl([*urls, copy]),
        "tag": Crawl([*urls[:4], copy], TAG),
        "named": Crawl([*urls[:4], copy], {"SIMHASH_ITEM_TAGS": NAMED}),
        "debug": Crawl(urls[:3], {"SIMHASH_DEBUG": True}),
        "same-title": Crawl(urls, COPIES),
    }
    return run_named(module_path, crawls)


def test_similar_pages_pass_and_say_what_they_are_like(results, urls):
    result = results["drop"]
    assert len(result.seen()) == len(urls)
    assert (result.stat("new"), result.stat("similar")) == (len(urls), len(urls) - 1)
    assert result.event("/p/0")["verdict"]["similar_to"] is None
    for number in range(1, len(urls)):
        verdict = result.event(f"/p/{number}")["verdict"]
        assert (verdict["kind"], verdict["representative"]) == ("new", None)
        assert verdict["similar_to"] in urls[:number]
        assert verdict["similarity"] > 0.8
        assert verdict["distance"] <= 48
        assert verdict["reason"].startswith("no copy, because their names differ: ")
        assert f'names "{NAMES[number].title()} of oak" and "' in verdict["reason"]
        assert result.event(f"/p/{number}")["flags"] == []


def test_copies_of_similar_pages_are_dropped(results):
    assert "/p/copy" not in results["drop"].seen()
    assert results["drop"].stat("dropped") == 1


def test_in_drop_mode_all_items_are_tagged_if_tags_are_named(results):
    original, *similar = results["named"].items
    assert (original["simhash_kind"], len(similar)) == ("new", 3)
    for item in similar:
        assert item["simhash_kind"] == "new"
        assert "/p/" in item["simhash_similar_to"]


def test_in_tag_mode_all_have_tags_and_only_what_is_like_another_says_so(results):
    original, *similar, copy = results["tag"].items
    assert (original["simhash_kind"], original["simhash_distance"]) == ("new", None)
    assert not {"simhash_similar_to", "simhash_similarity"} & set(original)
    assert all("simhash_similar_to" in item for item in similar)
    assert copy["simhash_kind"] == "near-duplicate"
    assert copy["simhash_similarity"] > 0.8
    assert "simhash_similar_to" not in copy


def test_debug_logs_similar_pages(results, urls):
    lines = results["debug"].lines("INFO", "simhash: similar page")
    assert len(lines) == 2
    assert f"similar page {urls[1]} to {urls[0]} at distance " in lines[0]
    assert " %" in lines[0].partition("similarity ")[2]
    assert "no copy, because their names differ: " in lines[0]
    assert "SIMHASH_SAME_TITLE = False reverses this" in lines[0]
    assert not results["drop"].lines("similar page ")


def test_the_log_says_what_was_done(results, urls, site, module_path):
    directory = module_path / "simhash" / "spiders" / "drop"

    def line_of(key, directory=directory):
        with opened_index(directory) as index:
            [line] = [line for line in index.near_duplicates() if line.key == key]
        return line

    line = line_of(urls[1])
    assert (line.confirmed, line.action, line.representative) == (False, "passed", urls[0])
    line = line_of(site.url("/p/copy"))
    assert (line.confirmed, line.action) == (True, "dropped")
    line = line_of(site.url("/p/copy"), module_path / "simhash" / "spiders" / "tag")
    assert (line.confirmed, line.action) == (True, "tagged")


def test_a_part_of_a_site_whose_pages_are_dropped_is_a_warning(results, site, module_path):
    name = "same-title"
    assert len(NAMES) >= MIN_PAGES
    pattern = site.url("/p/*").partition("://")[2]
    [line] = results[name].lines("WARNING", "copies of")
    dropped = (
        f"{len(NAMES) - 1} of {len(NAMES)} pages like {pattern} were dropped as copies of each"
    )
    assert dropped in line
    directory = module_path / "simhash" / "spiders" / name
    assert (
        f"`scrapy simhash index clusters --index {directory} --host {pattern.split('/')[0]}`"
        in line
    )
    assert "if they are different pages, name in SIMHASH_DISTINCT_BY what tells" in line
    assert not results["drop"].lines("WARNING", "copies of")
