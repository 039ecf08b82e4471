"""axe-core finds nothing serious in the report, light and dark, whatever is open in it."""

import pytest

from tests.report.samples import small_report

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
