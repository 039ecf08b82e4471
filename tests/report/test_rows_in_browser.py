"""What the rows of clusters say: titles, what was searched for, all open, on a narrow screen."""

import copy

import pytest

from tests.report.samples import small_report

pytestmark = pytest.mark.thorough


def title_of_row(watched):
    """The title of the one cluster that is shown, and what is said of it."""
    return watched.page.locator("tr.cluster .row-title > *").all_inner_texts()


def test_titles_are_shown_beneath_urls_and_found(opened):
    report = copy.deepcopy(small_report())
    pages = report["pages"]
    page = next(page for page, of in enumerate(pages["representative"]) if of != page)
    pages["title"][page] = len(report["titles"])
    report["titles"].append("Not <b>found</b>: 没有找到")
    watched = opened(report)
    watched.page.locator("#search").fill("FOUND</b>: 没有")
    [row] = watched.rows()
    of = pages["representative"][page]
    assert row[0].startswith(pages["key"][of])
    watched.page.locator("button.open").first.click()
    titles = watched.page.locator("tr.member .row-title").all_inner_texts()
    assert "Not <b>found</b>: 没有找到" in titles
    own = report["titles"][pages["title"][of]]
    assert own not in titles
    # How many pages have the representative's.
    members = [one for one, other in enumerate(pages["representative"]) if other == of]
    same = sum(report["titles"][pages["title"][one]] == own for one in members)
    assert same < len(members)
    assert title_of_row(watched) == [own, f"\u00b7 {same} of {len(members)} pages"]
