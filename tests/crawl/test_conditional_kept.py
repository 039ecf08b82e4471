"""SIMHASH_CONDITIONAL: what the index keeps for it, and which requests stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.index import index_url, open_index
from scrapy_simhash.index.validators import decode_validators
from scrapy_simhash.maintenance.changes import changes
from scrapy_simhash.maintenance.check import check
from scrapy_simhash.maintenance.remove import expire, remove
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page
from tests.crawl.test_conditional import ON, PAST
from tests.crawl.test_history import DAY_S, make_older

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough


def index_of(directory: Path) -> Path:
    return directory / "simhash" / "spiders" / "pages"


def kept(directory: Path) -> dict[str, tuple[str, str]]:
    """Return path → (ETag, Last-Modified) that the index keeps."""
    with open_index(index_url(index_of(directory))) as index:
        return {
            "/" + key.rpartition("/")[2]: decode_validators(row)[1:]
            for key, row in index.side_rows("validators")
        }


def test_what_is_kept_and_that_it_is_seen_again(site, tmp_path):
    urls = [
        site.put("/mill", page("mill"), etag='"m1"'),
        site.put("/bees", page("bees"), etag='"b1"', last_modified=PAST),
    ]
    index = index_of(tmp_path)
    run(tmp_path, Crawl(requests=urls, settings=ON))
    assert kept(tmp_path) == {"/mill": ('"m1"', ""), "/bees": ('"b1"', PAST)}
    make_older(index, 3 * DAY_S)
    with open_index(index_url(index)) as opened:
        before = opened.entry(urls[0])
    site.put("/bees", page("bees"))
    [again] = run(tmp_path, Crawl(requests=urls, settings=ON))
    assert again.stat("conditional/not_modified") == 1
    # The server names no validators of bees any more.
    assert kept(tmp_path) == {"/mill": ('"m1"', "")}
    with open_index(index_url(index)) as opened:
        after = opened.entry(urls[0])
    assert after.last_seen_s >= before.last_seen_s + 3 * DAY_S
    assert (
        after._replace(last_sequence=before.last_sequence, last_seen_s=before.last_seen_s) == before
    )
    assert changes(index, after.last_seen_s - DAY_S) == []
    assert check(index).problems == []
    # Who removes a page gets it again, whole; who expires others keeps its validators.
    expire(index, after.last_seen_s - DAY_S)
    assert kept(tmp_path) == {"/mill": ('"m1"', "")}
    remove(index, urls[:1])
    assert kept(tmp_path) == {}
    [last] = run(tmp_path, Crawl(requests=urls, settings=ON))
    assert last.seen() == ["/mill"]


def test_requests_that_stay_as_they_are(site, tmp_path):
    site.not_modified.clear()
    url = site.put("/mill", page("mill"), etag='"m1"')
    moved = site.put("/moved", page("bees"), etag='"m1"')
    run(tmp_path, Crawl(requests=[url], settings=ON))
    others = [
        {"url": url, "headers": {"If-None-Match": '"other"'}},
        {"url": url, "headers": {"Range": "bytes=0-"}, "dont_filter": True},
        {"url": url, "method": "POST", "dont_filter": True},
        {"url": url, "method": "HEAD", "dont_filter": True},
        {"url": url, "meta": {"dont_simhash": True}, "dont_filter": True},
        {"url": url, "meta": {"simhash_conditional": False}, "dont_filter": True},
        {"url": url, "meta": {"simhash_key": "mine"}, "dont_filter": True},
    ]
    [result] = run(tmp_path, Crawl(requests=others, settings=ON))
    assert result.stat("conditional/sent") == 0
    assert site.not_modified == []
    # A redirection does not take the conditions to another page.
    site.put("/mill", "", status=302, location="/moved", etag='"m2"')
    [result] = run(tmp_path, Crawl(requests=[url], settings=ON))
    assert result.stat("conditional/sent") == 1
    assert (site.not_modified, result.seen()) == ([], ["/moved"])
    assert moved.endswith("/moved")


def test_pages_whose_callbacks_run_are_downloaded(site, tmp_path):
    """Unless their requests say that they are not needed."""
    site.not_modified.clear()
    urls = [
        site.put("/list", page("mill"), etag='"l1"'),
        site.put("/bees", page("bees"), etag='"b1"'),
    ]
    marked = [urls[0], {"url": urls[1], "meta": {"simhash_conditional": True}}]
    follow, tag = ON | {"SIMHASH_FOLLOW": True}, ON | {"SIMHASH_ACTION": "tag"}
    _, *again = run(
        tmp_path,
        Crawl(requests=urls, settings=follow),
        Crawl(requests=urls, settings=follow),
        Crawl(requests=urls, settings=tag),
        Crawl(requests=marked, settings=follow),
        Crawl(requests=marked, settings=tag),
    )
    assert [result.stat("conditional/sent") for result in again] == [0, 0, 1, 1]
    assert site.not_modified == ["/bees", "/bees"]
    assert [result.stat("dropped/unchanged") for result in again] == [0, 0, 1, 1]
    assert "/list" in again[2].seen()


def test_the_http_cache_is_left_alone(site, tmp_path):
    site.not_modified.clear()
    urls = [site.put("/mill", page("mill"), etag='"m1"')]
    caching = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
    }
    _, without, filled, cached = run(
        tmp_path,
        *(Crawl(requests=urls, settings=ON), Crawl(requests=urls, settings=ON)),
        *(Crawl(requests=urls, settings=ON | caching), Crawl(requests=urls, settings=ON | caching)),
    )
    assert without.stat("conditional/not_modified") == 1
    assert filled.stat("conditional/sent") == cached.stat("conditional/sent") == 0
    assert filled.lines("WARNING", "SIMHASH_CONDITIONAL has no effect")
    # That 304 is the cache's own: it makes a page of it.
    assert site.not_modified == ["/mill", "/mill"]
    assert cached.stats["httpcache/revalidate"] == 1
    assert (cached.stat("unchanged"), cached.stat("skipped/status")) == (1, 0)


def test_damaged_validators(site, tmp_path):
    url = site.put("/mill", page("mill"), etag='"m1"')
    index = index_of(tmp_path)
    run(tmp_path, Crawl(requests=[url], settings=ON))
    for row in (b"", b"[]", b'["x","",""]', b'[9,"\\u0000",""]', b"\xff"):
        with open_index(index_url(index)) as opened:
            opened.change_side_row("validators", url, lambda _, row=row: row)
        [result] = run(tmp_path, Crawl(requests=[url], settings=ON))
        assert result.stat("conditional/sent") == 0
        assert result.stat("unchanged") == 1
        assert kept(tmp_path) == {"/mill": ('"m1"', "")}
