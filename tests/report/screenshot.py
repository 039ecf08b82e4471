"""Draws docs/report-*.png anew, of an invented crawl: python -m tests.report.screenshot

Needs Playwright for Python and a Chromium of the system.
"""

import argparse
import tempfile
from pathlib import Path

from tests.chromium import chromium
from tests.report.browser import written
from tests.report.samples import small_report

DOCS = Path(__file__).parents[2] / "docs"
WIDTH, HEIGHT = 1200, 1120


def draw(folder):
    """The overview and the clusters, light and dark, and two pages side by side."""
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        path = written(Path(directory) / "report.html", small_report())
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(path.as_uri())
            if scheme == "light":
                page.screenshot(path=folder / "report-overview.png")
            page.locator("button.open").nth(2).click()
            page.evaluate("() => document.getElementById('clusters').scrollIntoView()")
            page.screenshot(path=folder / f"report-{scheme}.png")
            if scheme == "dark":
                page.locator("button.compare").nth(2).click()
                page.wait_for_function(
                    "() => document.getElementById('compared').textContent.includes('in both')"
                )
                page.screenshot(path=folder / "report-comparison.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draws the report of an invented crawl.")
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS)
    folder = parser.parse_args().folder
    draw(folder)
    for picture in sorted(folder.glob("report-*.png")):
        print(f"{picture}: {picture.stat().st_size:,} bytes")
