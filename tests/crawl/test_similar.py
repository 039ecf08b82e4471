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
DIFFER = "no copy, because their names differ: "


@pytest.fixture(scope="module")
def urls(site):
    """Return the URLs of a product page for each name, and of a copy of the first."""
    return [
        site.put(
            path,
            page("mill", copy=number).replace(ARTICLES["mill"][0], f"{name.title()} of oak"),
        )
        for path, name, number in (
            *((f"/p/{number}", name, number) for number, name in enumerate(NAMES)),
            ("/p/copy", NAMES[0], 99),
        )
    ]


@pytest.fixture(scope="module")
def results(urls, module_path):
    few = [*urls[:4], urls[-1]]
    tags = {"kind": "simhash_kind", "similar_to": "simhash_similar_to"}
    crawls = {
        "drop": Crawl(urls),
        "tag": Crawl(few, {"SIMHASH_ACTION": "tag"}),
        "named": Crawl(few, {"SIMHASH_ITEM_TAGS": tags}),
        "debug": Crawl(urls[:3], {"SIMHASH_DEBUG": True}),
        "same-title": Crawl(urls[:-1], {"SIMHASH_SAME_TITLE": False}),
    }
    return run_named(module_path, crawls)


def test_similar_pages_pass_and_say_what_they_are_like_and_their_copies_are_dropped(results, urls):
    result, count = results["drop"], len(NAMES)
    assert result.seen() == [f"/p/{number}" for number in range(count)]
    assert (result.stat("new"), result.stat("similar")) == (count, count - 1)
    assert result.stat("dropped") == 1
    assert result.event("/p/0")["verdict"]["similar_to"] is None
    for number in range(1, count):
        event = result.event(f"/p/{number}")
        verdict = event["verdict"]
        assert (verdict["kind"], verdict["representative"], event["flags"]) == ("new", None, [])
        assert verdict["similar_to"] in urls[:number]
        assert verdict["similarity"] > 0.8
        assert verdict["distance"] <= 48
        assert verdict["reason"].startswith(DIFFER)
        assert f'names "{NAMES[number].title()} of oak" and "' in verdict["reason"]


def test_tags_of_items_say_what_their_page_is_like(results):
    original, *similar, copy = results["tag"].items
    assert (original["simhash_kind"], original["simhash_distance"]) == ("new", None)
    assert not {"simhash_similar_to", "simhash_similarity"} & set(original)
    assert all("simhash_similar_to" in item for item in similar)
    assert copy["simhash_kind"] == "near-duplicate"
    assert copy["simhash_similarity"] > 0.8
    assert "simhash_similar_to" not in copy
    # In drop mode, too, if tags are named.
    original, *similar = results["named"].items
    assert [item["simhash_kind"] for item in (original, *similar)] == ["new"] * 4
    assert all("/p/" in item["simhash_similar_to"] for item in similar)


def test_debug_logs_similar_pages(results, urls):
    line, _ = results["debug"].lines("INFO", "simhash: similar page")
    assert f"similar page {urls[1]} to {urls[0]} at distance " in line
    assert " %" in line.partition("similarity ")[2]
    assert DIFFER in line
    assert "SIMHASH_SAME_TITLE = False reverses this" in line
    assert not results["drop"].lines("similar page ")


def test_the_log_says_what_was_done(results, urls, module_path):
    for name, key, expected in (
        ("drop", urls[1], (False, "passed", urls[0])),
        ("drop", urls[-1], (True, "dropped", urls[0])),
        ("tag", urls[-1], (True, "tagged", urls[0])),
    ):
        with opened_index(module_path / "simhash" / "spiders" / name) as index:
            [line] = [line for line in index.near_duplicates() if line.key == key]
        assert (line.confirmed, line.action, line.representative) == expected


def test_a_part_of_a_site_whose_pages_are_dropped_is_a_warning(results, site, module_path):
    assert len(NAMES) >= MIN_PAGES
    pattern = site.url("/p/*").partition("://")[2]
    [line] = results["same-title"].lines("WARNING", "copies of")
    dropped = (
        f"{len(NAMES) - 1} of {len(NAMES)} pages like {pattern} were dropped as copies of each"
    )
    directory = module_path / "simhash" / "spiders" / "same-title"
    command = f"index clusters --index {directory} --host {pattern.split('/')[0]}"
    for part in (dropped, f"`scrapy simhash {command}`", "name in SIMHASH_DISTINCT_BY what tells"):
        assert part in line
    assert not results["drop"].lines("WARNING", "copies of")
