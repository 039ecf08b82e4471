"""Copies beyond SIMHASH_CLUSTER_LIMIT are tagged and no longer dropped, with one warning."""

import pytest

from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import ARTICLES, page
from tests.crawl.site import html

LIMIT, PAGES = 3, 8
SETTINGS = {
    "ban": {"SIMHASH_CLUSTER_LIMIT": LIMIT},
    "default": {},
    "tag": {"SIMHASH_CLUSTER_LIMIT": LIMIT, "SIMHASH_ACTION": "tag"},
    "follow": {"SIMHASH_CLUSTER_LIMIT": LIMIT, "SIMHASH_FOLLOW": True},
}


@pytest.fixture(scope="module")
def results(site, module_path):
    banned = [site.put(f"/{number}", page("ice", copy=number)) for number in range(PAGES)]
    requests = {
        # A second cluster, in turns with the first.
        "mixed": [
            site.put(f"/mixed/{number}", page(("mill", "bees")[number % 2], copy=number))
            for number in range(2 * LIMIT + 2)
        ],
        # The ban comes after a while and goes away again.
        "while": [
            site.put_turns(f"/while/{number}", html(page("ice" if 1 < number < 7 else name)))
            for number, name in enumerate([*ARTICLES][:PAGES])
        ],
        "again": [banned[0], *[{"url": banned[1], "dont_filter": True}] * (2 * LIMIT)],
    }
    crawls = {name: Crawl(banned, changes) for name, changes in SETTINGS.items()}
    crawls |= {name: Crawl(urls, SETTINGS["ban"]) for name, urls in requests.items()}
    return run_named(module_path, crawls)


def numbers(result):
    return [int(path.rpartition("/")[2]) for path in result.seen()]


@pytest.mark.parametrize(
    ("name", "seen", "kept", "items"),
    [
        ("ban", [0, *range(LIMIT + 1, PAGES)], PAGES - 1 - LIMIT, PAGES - LIMIT),
        ("default", [0], 0, 1),
        ("tag", [*range(PAGES)], 0, PAGES),
        ("follow", [*range(PAGES)], PAGES - 1 - LIMIT, PAGES - LIMIT),
        ("mixed", [0, 1], 0, 2),
        # 2 is the first ban page, 3 to 5 are dropped as its copies, 6 passes.
        ("while", [0, 1, 2, 6, 7], 1, 5),
    ],
)
def test_after_the_limit_copies_pass(results, name, seen, kept, items):
    result = results[name]
    assert numbers(result) == seen
    assert result.stat("kept/flood") == kept
    assert len(result.items) == items


def test_one_warning_names_the_pages_and_the_setting(results, site):
    for name in ("ban", "tag", "follow"):
        [line] = results[name].lines("WARNING", f"more than {LIMIT} pages", "SIMHASH_CLUSTER_LIMIT")
        assert site.url("/0") in line
        assert site.url(f"/{LIMIT + 1}") in line
    assert not results["default"].lines("WARNING", "more than")


def test_copies_that_pass_for_another_reason_are_no_flood(results):
    result = results["again"]
    assert (result.stat("dropped"), result.stat("kept/flood")) == (1, 0)
    assert result.stat("kept/asked_again") == 2 * LIMIT - 1
