"""Draws docs/passages.png anew, from an invented article: python -m tests.extras.passages.screenshot

Needs Playwright for Python and a Chromium of the system; `--dark` and a path draw another.
"""

import argparse
import tempfile
from pathlib import Path

from scrapy_simhash.extras.passages.page import render_page
from tests.chromium import chromium
from tests.extras.passages.article import article

PICTURE = Path(__file__).parents[3] / "docs" / "passages.png"
WIDTH = 1000


def draw(picture, *, dark=False, width=WIDTH, rows=2):
    """The page down to so many rows of its text; None for all of it."""
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        path = Path(directory) / "page.html"
        path.write_text(render_page(*article()), encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 1000}, color_scheme="dark" if dark else "light"
        )
        page.goto(path.as_uri())
        page.locator(".notes details").first.evaluate("details => { details.open = true }")
        clip = None
        if rows:
            box = page.locator(".row").nth(rows - 1).bounding_box()
            clip = {"x": 0, "y": 0, "width": width, "height": box["y"] + box["height"] + 10}
        page.screenshot(path=picture, full_page=True, clip=clip)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draws the page of an invented article.")
    parser.add_argument("picture", nargs="?", type=Path, default=PICTURE)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--all", action="store_true", help="the whole page, not its beginning")
    parser.add_argument("--width", type=int, default=WIDTH)
    options = parser.parse_args()
    draw(
        options.picture,
        dark=options.dark,
        width=options.width,
        rows=None if options.all else 2,
    )
    print(f"{options.picture}: {options.picture.stat().st_size:,} bytes")
