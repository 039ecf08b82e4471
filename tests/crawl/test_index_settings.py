"""Settings of the index: its directory, its tables, and when it is synced."""

import json

import pytest

from tests.crawl.harness import Crawl, run
from tests.crawl.pages import put_articles
from tests.index.backends import DATABASE_KINDS


@pytest.fixture
def urls(site):
    return put_articles(site, "/mill mill", "/copy mill")


def manifest(tmp_path):
    [path] = (tmp_path / "simhash" / "spiders").glob("*/manifest.json")
    return json.loads(path.read_text())


def crawl(urls, **settings):
    return Crawl(urls, settings, name="settings")


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_copies_are_found_on_both_databases(urls, tmp_path, kind):
    settings = {"SIMHASH_INDEX": kind, "CONCURRENT_REQUESTS": 1}
    first, second = run(tmp_path, crawl(urls, **settings), crawl(urls, **settings))
    assert first.seen() == second.seen() == ["/mill"]
    assert first.stat("near_duplicate") == 1
    assert second.event("/mill")["verdict"]["kind"] == "unchanged"
    assert manifest(tmp_path)["database"] == kind
