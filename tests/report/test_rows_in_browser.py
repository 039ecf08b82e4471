"""What the rows of clusters say: titles, what was searched for, all open, on a narrow screen."""

import copy

import pytest

from tests.report.browser import PIXEL
from tests.report.samples import columns, compressed, head, large_report, small_report
from tests.report.test_page_in_browser import clusters_of

pytestmark = pytest.mark.thorough


def title_of_row(watched):
    """The title of the one cluster that is shown, and what is said of it."""
    return watched.page.locator("tr.cluster .row-title > *").all_inner_texts()


def test_titles_are_shown_beneath_urls_and_found(opened):
    report = copy.deepcopy(small_report())
    pages = report["pages"]
    page = next(page for page, of in enumerate(pages["representative"]) if of != page)
    report["titles"][pages["text"][page]] = "Not <b>found</b>: 没有找到"
    watched = opened(report)
    watched.page.locator("#search").fill("FOUND</b>: 没有")
    [row] = watched.rows()
    of = pages["representative"][page]
    assert row[0].startswith(pages["key"][of])
    watched.page.locator("button.open").first.click()
    titles = watched.page.locator("tr.member .row-title").all_inner_texts()
    assert "Not <b>found</b>: 没有找到" in titles
    own = report["titles"][pages["text"][of]]
    assert own not in titles
    # How many pages have the representative's.
    members = [one for one, other in enumerate(pages["representative"]) if other == of]
    same = sum(report["titles"][pages["text"][one]] == own for one in members)
    assert same < len(members)
    assert title_of_row(watched) == [own, f"\u00b7 {same} of {len(members)} pages"]


def test_a_title_that_all_pages_have_and_one_that_is_not_known(opened):
    report = copy.deepcopy(small_report())
    pages = report["pages"]
    one, other = list(dict.fromkeys(pages["representative"]))[:2]
    for page, of in enumerate(pages["representative"]):
        if of == one:
            report["titles"][pages["text"][page]] = "Ferry times"
    pages["text"][other] = -1
    third = next(
        of
        for of in pages["representative"]
        if of not in {one, other} and pages["representative"].count(of) == 4
    )
    last = max(page for page, of in enumerate(pages["representative"]) if of == third)
    pages["text"][last] = -1
    watched = opened(report)
    watched.page.locator("#search").fill(pages["key"][one])
    members = pages["representative"].count(one)
    assert title_of_row(watched) == ["Ferry times", f"\u00b7 all {members} pages"]
    watched.page.locator("#search").fill(pages["key"][other])
    assert watched.page.locator("tr.cluster .row-title").count() == 0
    # Of a page whose text is not in the file, nobody knows.
    watched.page.locator("#search").fill(pages["key"][third])
    assert title_of_row(watched)[1] == "\u00b7 3 of 3 pages with a text here"


def test_a_row_says_how_many_of_its_near_duplicates_were_found(opened):
    watched = opened(small_report())
    watched.page.locator("#search").fill("sessionid=1")
    clusters = clusters_of(small_report())
    rows = watched.page.locator("tr.cluster").all()
    assert len(rows) > 3
    for row in rows:
        name = row.locator("th bdi").first.inner_text()
        count = sum("sessionid=1" in key for key in clusters[name])
        said = f"found in {count} near-duplicate" + "s" * (count != 1)
        assert row.locator(".mark.found").inner_text() == said
    # Nothing where the representative alone has it.
    name = next(name for name, keys in clusters.items() if not any(name in key for key in keys))
    watched.page.locator("#search").fill(name)
    assert watched.page.locator(".mark.found").count() == 0
    assert watched.page.locator("tr.cluster").count() == 1


def test_all_clusters_of_a_page_open_and_close(opened):
    watched = opened(small_report())
    page = watched.page
    button = page.locator("#open-all")
    opened_rows = page.locator("tbody.opened")
    count = len(watched.rows())
    button.click()
    assert (button.inner_text(), opened_rows.count()) == ("Close all", count)
    # One that is closed by hand leaves some to be opened.
    page.locator("button.open").first.click()
    assert (button.inner_text(), opened_rows.count()) == ("Open all", count - 1)
    button.click()
    button.click()
    assert (button.inner_text(), opened_rows.count()) == ("Open all", 0)
    page.locator("#search").fill("no such page")
    assert button.is_disabled()
    watched.assert_quiet()


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_nothing_is_wider_than_the_screen(opened, width):
    watched = opened(small_report(), width=width)
    page = watched.page
    page.locator("button.open").nth(1).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator(".scrolled").evaluate("box => box.scrollWidth - box.clientWidth")
    assert wide <= PIXEL
    # What opens, what it is called, how many, how far.
    heads = page.locator("#cluster-table thead th").evaluate_all(
        "heads => heads.filter(head => head.getClientRects().length).length"
    )
    assert heads == 4
    page.locator("button.compare").first.click()
    page.wait_for_function(
        "() => document.getElementById('compared').textContent.includes('in both')"
    )
    box = page.locator("#comparison").evaluate("box => box.scrollWidth - box.clientWidth")
    assert box <= PIXEL
    assert page.locator("#close").is_visible()


def test_rows_of_one_long_name_do_not_break_the_page(opened):
    key = "https://a.example/" + "x" * 900
    watched = opened(head(columns([(key, 1, 1, 0, -1), (f"{key}?y", 1, 2, 0, -1)], [0, 0], [])))
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 1280


LONG_TITLE = "The ferry does not sail tonight and nobody knows when it will " * 4


@pytest.mark.parametrize("width", [1024, 1280, 1920])
def test_long_titles_make_no_table_wider_than_the_screen(opened, width):
    urls = ("https://a.example/1", "https://a.example/2")
    pages = [(url, 1, number + 1, 0, number) for number, url in enumerate(urls)]
    texts = [compressed(LONG_TITLE, "A text."), compressed(LONG_TITLE + "again", "A text.")]
    watched = opened(head(columns(pages, [0, 0], texts)), width=width)
    page = watched.page
    page.locator("button.open").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    column = page.locator("tr.cluster th").bounding_box()
    assert column["width"] > width / 3
    # The title is cut where its column ends; how many have it is not.
    title, count = (box.bounding_box() for box in page.locator("tr.cluster .row-title > *").all())
    assert title["x"] + title["width"] < count["x"] + PIXEL
    assert count["x"] + count["width"] <= column["x"] + column["width"] + PIXEL
    assert page.locator("button.compare").is_visible()


def test_a_title_from_right_to_left_leaves_the_count_as_it_is(opened):
    pages = [(f"https://a.example/{n}", 1, n + 1, 0, n) for n in range(3)]
    texts = [
        compressed("\u05e9\u05dc\u05d5\u05dd" if n else "\u05d0\u05d1", f"{n}") for n in range(3)
    ]
    watched = opened(head(columns(pages, [0, 0, 0], texts)))
    title, count = watched.page.locator("tr.cluster .row-title > *").all()
    assert title.evaluate("part => part.localName") == "bdi"
    assert count.inner_text() == "\u00b7 1 of 3 pages"
    assert title.bounding_box()["x"] < count.bounding_box()["x"]


def test_all_that_open_together_are_bounded(opened):
    watched = opened(large_report())
    page = watched.page
    page.locator("#open-all").click()
    assert page.locator("tbody.opened").count() == 100
    # The largest has hundreds; each shows some, and leads to the rest.
    assert 1_000 < page.locator("tr.member").count() <= 2_100
    page.locator("button.further-members").first.click()
    assert 1_000 < page.locator("tr.member").count() <= 2_200
    page.locator("#search").fill("article-")
    assert page.locator("tr.member").count() <= 2_100
    # One alone shows a hundred.
    page.locator("#open-all").click()
    page.locator("button.open").first.click()
    assert page.locator("tr.member").count() == 101


def test_a_cluster_that_is_not_listed_whole_is_one_all_the_same(opened):
    report = copy.deepcopy(small_report())
    keys, of = report["pages"]["key"], report["pages"]["representative"]
    largest = max(set(of), key=of.count)
    listed = of.count(largest) - 1
    report["sizes"] = {largest: 2_000}
    report["cluster_limit"] = 500
    report["left_out"] = {"clusters": 0, "shortened": 1, "near_duplicates": 1_884, "texts": 0}
    watched = opened(report)
    page = watched.page
    page.locator("#flood").select_option("some")
    [row] = watched.rows()
    assert row[0].startswith(keys[largest])
    assert row[1] == f"{listed} of 2,000"
    assert "1,884 more are not listed" in page.locator("#regrouped").inner_text()
    # Of a smaller k, only what is listed can be known.
    watched.regroup(30)
    page.locator("#flood").select_option("any")
    assert all(" of " not in row[1] for row in watched.rows())
    watched.assert_quiet()
