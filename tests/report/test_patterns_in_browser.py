"""From patterns to their clusters."""

import pytest

from scrapy_simhash.url_patterns import url_pattern
from tests.report.samples import small_report
from tests.report.test_page_in_browser import clusters_of

pytestmark = pytest.mark.thorough


def shown(watched):
    return {row[0].split("\n")[0] for row in watched.rows()}


def test_a_pattern_shows_the_clusters_that_have_such_a_page(opened):
    report = small_report()
    watched = opened(report)
    clusters = clusters_of(report)
    counts = set()
    for number, row in enumerate(report["patterns"]):
        watched.page.locator("button[data-pattern]").nth(number).click()
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
