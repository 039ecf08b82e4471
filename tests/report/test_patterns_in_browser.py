"""From patterns, and pairs of patterns, to their clusters."""

from collections import Counter

import pytest

from scrapy_simhash.url_patterns import url_pattern
from tests.report.samples import leader, small_report
from tests.report.test_page_in_browser import clusters_of
from tests.report.test_regrouping_in_browser import fingerprints_of

pytestmark = pytest.mark.thorough


def shown(watched):
    return {row[0].split("\n")[0] for row in watched.rows()}


def test_a_pattern_shows_the_clusters_that_have_such_a_page(opened):
    report = small_report()
    watched = opened(report)
    clusters = clusters_of(report)
    counts = set()
    for number, row in enumerate(report["patterns"]):
        watched.page.locator("button[data-only=pattern]").nth(number).click()
        expected = {
            name
            for name, keys in clusters.items()
            if row["pattern"] in map(url_pattern, [name, *keys])
        }
        assert shown(watched) == expected
        counts.add(len(expected))
        said = watched.page.locator("#shown").inner_text()
        assert said.startswith(f"{len(expected)} of {len(clusters)} clusters with pages like ")
        assert row["pattern"] in said
    assert len(counts) > 2
    assert 0 not in counts
    # The way back has the focus, and leads to where one came from.
    assert watched.page.evaluate("document.activeElement.id") == "only-back"
    assert row["pattern"] in watched.page.locator("#only-back").inner_text()
    watched.page.keyboard.press("Enter")
    assert shown(watched) == set(clusters)
    assert watched.page.evaluate("document.activeElement.textContent") == row["pattern"]
    assert not watched.page.locator("#only-back").is_visible()
    watched.assert_quiet()


def test_a_pair_shows_the_clusters_in_which_both_meet(opened):
    report = small_report()
    watched = opened(report)
    clusters = clusters_of(report)
    found = set()
    watched.page.locator("button[data-shows=pair]").click()
    for number, row in enumerate(report["pairs"]):
        watched.page.locator("button[data-only=pair]").nth(number).click()
        expected = {
            name
            for name, keys in clusters.items()
            if Counter(row["patterns"]) <= Counter(map(url_pattern, [name, *keys]))
        }
        assert shown(watched) == expected
        found |= expected
        # What the clusters say makes up the row.
        such = watched.page.locator(".mark:text-matches('such$')").all_inner_texts()
        assert sum(int(said.split()[0]) for said in such) == row["near_duplicates"]
        said = watched.page.locator("#shown").inner_text()
        assert all(pattern in said for pattern in row["patterns"])
    assert found == set(clusters)
    watched.assert_quiet()


def test_a_pattern_and_what_is_typed_are_both_asked_for(opened):
    report = small_report()
    watched = opened(report)
    page = watched.page
    page.locator("button[data-only=host]").nth(1).click()
    assert page.locator("#host").input_value() == report["hosts"][1]["host"]
    page.locator("button[data-only=pattern]").nth(1).click()
    # A pattern takes the place of a host, and the search goes on within.
    assert page.locator("#host").input_value() == ""
    of_pattern = shown(watched)
    page.locator("#search").fill("storm")
    assert shown(watched) == {name for name in of_pattern if "storm" in name}
    page.locator("#host").fill("mirror.")
    assert "pages like" not in page.locator("#shown").inner_text()
    watched.assert_quiet()


@pytest.mark.parametrize("k", [24, 8])
def test_what_a_smaller_k_leaves_of_a_pair(opened, k):
    report = small_report()
    watched = opened(report)
    watched.page.locator("button[data-only=pair]").first.click()
    watched.regroup(k)
    keys, components = report["pages"]["key"], report["pages"]["component"]
    representative, _ = leader(fingerprints_of(report), components, k)
    wanted = Counter(report["pairs"][0]["patterns"])
    patterns = {}
    for page, of in enumerate(representative):
        patterns.setdefault(keys[of], Counter())[url_pattern(keys[page])] += 1
    expected = {name for name, found in patterns.items() if wanted <= found}
    assert shown(watched) == expected
    assert len(expected) > 1
