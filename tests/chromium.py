"""The Chromium of the system, for tests and pictures of pages."""

import os
import shutil
from contextlib import contextmanager


def browser_path():
    """Chromium of the system; Playwright's own is another download."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def chromium():
    """A headless browser, which is closed at the end."""
    from playwright.sync_api import sync_playwright

    # Chromium's sandbox does not work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
