"""A browser for the tests of a file, and reports opened in it."""

import pytest

from tests.chromium import browser_path, chromium
from tests.report.browser import Watched, written


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright", reason="no Playwright for Python: pip install playwright")
    if browser_path() is None:
        pytest.skip("no browser: apt-get install chromium")
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser, tmp_path):
    contexts = []

    def open_report(report, **options):
        watched = Watched(browser, written(tmp_path / "report.html", report), **options)
        contexts.append(watched.context)
        return watched

    yield open_report
    for context in contexts:
        context.close()
