"""The report as a person uses it: clusters, filters, order, keys, paper; and nothing else runs."""

import copy
import random
import re
from statistics import median

import pytest

from scrapy_simhash.report.page import render
from scrapy_simhash.url_patterns import url_pattern
from tests.report.browser import HOSTILE, Watched
from tests.report.samples import BITS, hostile_report, reported, small_report

pytestmark = pytest.mark.thorough


def clusters_of(report):
    """(key of the representative, keys of its near-duplicates) as the report's data says it."""
    pages, members = report["pages"], {}
    for page, of in enumerate(pages["representative"]):
        if of != page:
            members.setdefault(of, []).append(page)
    return {pages["key"][of]: [pages["key"][page] for page in some] for of, some in members.items()}


def shown(watched):
    return {row[0].split("\n")[0] for row in watched.rows()}


def test_it_opens_with_its_clusters_largest_first(opened):
    watched, clusters = opened(small_report()), clusters_of(small_report())
    rows = watched.rows()
    assert len(rows) == len(clusters)
    assert shown(watched) == set(clusters)
    sizes = [int(row[1].replace(",", "")) for row in rows]
    assert sizes == sorted(map(len, clusters.values()), reverse=True)
    assert watched.page.locator("#shown").inner_text().startswith(f"{len(clusters)} clusters with")
    assert watched.page.title() == "harbour: near-duplicates"
    watched.assert_quiet()


@pytest.mark.parametrize(
    ("column", "place", "key", "first"),
    [
        ("key", 0, lambda text: text.split("\n")[0], "ascending"),
        ("size", 1, lambda text: int(text.replace(",", "")), "descending"),
        ("distance", 2, lambda text: int(text.split("–")[-1]), "descending"),
        ("seen", 4, str, "descending"),
    ],
)
def test_it_sorts_either_way(opened, column, place, key, first):
    watched = opened(small_report())
    header = watched.page.locator(f"[data-sorts={column}]")
    if column == "size":
        # It is sorted by this at first.
        watched.page.locator("[data-sorts=seen] button").click()
    for direction in (first, "ascending" if first == "descending" else "descending"):
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == direction
        values = [key(row[place]) for row in watched.rows()]
        assert values == sorted(values, reverse=direction == "descending")
        assert len(set(values)) > 5
    assert watched.page.locator("[aria-sort]").count() == 1


def test_search_shows_whole_clusters_of_which_any_page_matches(opened):
    watched = opened(small_report())
    watched.page.locator("#search").fill("PRINT=1")
    expected = {
        name
        for name, members in clusters_of(small_report()).items()
        if any("print=1" in key for key in [name, *members])
    }
    rows = watched.rows()
    assert {row[0].split("\n")[0] for row in rows} == expected
    clusters = clusters_of(small_report())
    assert 0 < len(expected) < len(clusters)
    sizes = {row[0].split("\n")[0]: int(row[1]) for row in rows}
    assert sizes == {name: len(clusters[name]) for name in expected}
    # Letter by letter, and back, as by a fresh search.
    watched.page.locator("#search").press("End")
    watched.page.locator("#search").press("Backspace")
    watched.page.locator("#search").press_sequentially("1")
    assert watched.rows() == rows
    watched.page.locator("#search").fill("no such page")
    assert "No cluster matches" in watched.page.locator("#cluster-table").inner_text()
    watched.page.locator("#clear").click()
    assert len(watched.rows()) == len(clusters)
    watched.page.locator("#least").fill("5")
    assert shown(watched) == {name for name, members in clusters.items() if len(members) >= 5}
    watched.assert_quiet()


def test_a_cluster_opens_by_keyboard_with_its_pages_farthest_first(opened):
    watched = opened(small_report())
    page = watched.page
    opener = page.locator("button.open").nth(1)
    opener.focus()
    page.keyboard.press("Enter")
    assert opener.get_attribute("aria-expanded") == "true"
    head_key = watched.rows()[1][0].split("\n")[0]
    members = page.locator("tbody.opened tr.member")
    assert set(members.locator("th").all_inner_texts()) == set(
        clusters_of(small_report())[head_key]
    )
    apart = [int(text) for text in members.locator("td:nth-child(4)").all_inner_texts()]
    assert apart == sorted(apart, reverse=True)
    assert len(set(apart)) > 1
    page.locator("#member-order").select_option("nearest")
    nearest = [int(text) for text in members.locator("td:nth-child(4)").all_inner_texts()]
    assert nearest == sorted(apart)
    opener.focus()
    page.keyboard.press("Space")
    assert opener.get_attribute("aria-expanded") == "false"
    assert members.count() == 0


def test_many_clusters_come_in_pages(opened):
    prints = [random.Random(n // 2).getrandbits(BITS) for n in range(500)]
    pages = [(n, f"https://a.example/{n // 2}/{n % 2}", prints[n], "", None) for n in range(500)]
    watched = opened(reported(pages))
    page = watched.page
    assert len(watched.rows()) == 100
    assert "1 to 100" in page.locator("#shown").inner_text()
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    page.locator("#next").click()
    assert len(watched.rows()) == 50
    assert page.locator("#next").is_disabled()
    assert "201 to 250" in page.locator("#shown").inner_text()
    page.locator("#page").fill("99")
    page.locator("#page").press("Enter")
    assert page.locator("#page").input_value() == "3"
    page.locator("#first").click()
    assert page.locator("#page").input_value() == "1"


def test_without_script_it_says_so_and_shows_the_rest(opened):
    page = opened(small_report(), java_script_enabled=False).page
    assert page.locator("noscript .notice").is_visible()
    assert page.locator("#waste").get_by_text("syndicate.example/wire/*", exact=True).is_visible()
    assert not page.locator("#cluster-table").is_visible()
    # Nothing leads to what is not there, or does nothing.
    for dead in ("nav a[href='#clusters']", "a.skip", "button.more"):
        assert not page.locator(dead).first.is_visible(), dead
    assert page.locator("nav a[href='#waste']").is_visible()
    assert opened(small_report()).page.locator("noscript .notice").count() == 0


@pytest.mark.parametrize("width", [360, 800])
def test_narrow_screens_scroll_only_downwards(opened, width):
    page = opened(small_report(), width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = page.locator("tr.cluster").evaluate_all("rows => rows.map(r => r.offsetHeight)")
    titles = page.locator("tr.cluster .row-title").evaluate_all(
        "all => all.map(t => t.offsetHeight)"
    )
    # A line of small letters below the address, which takes two or three.
    assert 0 < median(titles) < 20
    assert median(heights) - median(titles) < 80


def test_what_hostile_text_says_does_not_happen(opened):
    watched = opened(hostile_report())
    page = watched.page
    page.get_by_role("button", name="Pages of the cluster").click()
    page.locator("#search").fill("<script>")
    page.locator("#clear").click()
    page.locator("button.compare").first.click()
    page.wait_for_function(
        "() => document.getElementById('compared').textContent.includes('in both')"
    )
    compared = page.locator("#texts-compared").inner_text()
    assert "<script>window.taken = true</script>" in compared
    assert "\\u202egpj.exe \\x07\\x00" in compared
    for number in range(2, 7):
        page.locator("#choose-right").select_option(str(number))
    page.locator("#close").click()
    assert page.evaluate("window.taken") is None
    names = page.locator("tr th[scope=row] a").evaluate_all("links => links.map(link => link.href)")
    assert all(name.startswith(("http://", "https://")) for name in names)
    shown = page.locator("body").inner_text()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert page.locator("main script, main img, main style, main b").count() == 0
    watched.assert_quiet()


def test_the_policy_stops_what_an_error_in_the_template_would_let_through(
    opened, tmp_path, browser
):
    path = tmp_path / "broken.html"
    broken = render(small_report()).replace("<main>", "<main>" + HOSTILE.replace("\x00", ""))
    path.write_text(broken, encoding="utf-8")
    watched = Watched(browser, path)
    assert watched.page.evaluate("window.taken") is None
    assert len(watched.rows()) > 5
    assert any("Content Security Policy" in complaint for complaint in watched.complaints)
    with pytest.raises(Exception, match="TrustedHTML"):
        watched.page.evaluate("document.querySelector('main').innerHTML = '<b>x</b>'")
    watched.context.close()


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
    assert watched.page.locator("tr.cluster .row-title > *").all_inner_texts() == [
        own,
        f"\u00b7 {same} of {len(members)} pages",
    ]


sync_playwright = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
)
GRAVE = ("serious", "critical")


def grave(page):
    found = sync_playwright.Axe().run(page).response
    assert len(found["passes"]) > 15
    return [
        (problem["id"], [node["html"][:200] for node in problem["nodes"]][:3])
        for problem in found["violations"]
        if problem["impact"] in GRAVE
    ]


DARK = pytest.param("dark", marks=pytest.mark.thorough)
NARROW = pytest.param(400, marks=pytest.mark.thorough)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", DARK])
def test_the_page_with_everything_open(opened, scheme):
    page = opened(small_report(), scheme=scheme).page
    assert grave(page) == []
    for summary in page.locator("summary").all():
        summary.click()
    page.locator("button.open").nth(1).click()
    page.locator("#search").fill("print")
    page.locator("button[data-shows=similar]").click()
    assert grave(page) == []
    page.locator("#search").fill("no such page")
    assert grave(page) == []


@pytest.mark.parametrize("scheme", ["light", DARK])
@pytest.mark.parametrize("width", [NARROW, 1280])
def test_the_comparison(opened, scheme, width):
    page = opened(small_report(), scheme=scheme, width=width).page
    page.locator("button.open").nth(1).click()
    page.locator("button.compare").nth(5).click()
    page.wait_for_function(
        "() => document.getElementById('compared').textContent.includes('in both')"
    )
    page.locator("#difference-after").click()
    assert grave(page) == []
