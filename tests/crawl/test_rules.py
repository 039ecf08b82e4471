"""Which responses are judged: retried and redirected ones, and those of the same bytes."""

import os
import re
from pathlib import Path

import pytest

from tests.crawl.harness import crawled
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.site import HTML, Answer, html

pytestmark = pytest.mark.thorough

BUSY = Answer(b"<p>Come again.</p>", 503, HTML)
CALLS = "SIMHASH_TEST_CALLS"


def again(url, **more):
    return {"url": url, "dont_filter": True, "errback": True, **more}


def test_a_retried_page_is_judged_once_by_its_last_answer(site, tmp_path):
    retried = site.put_turns("/retried", BUSY, BUSY, html(page("mill")))
    copy = site.put("/retried-copy", page("mill", copy=1))
    down = site.put_turns("/down", BUSY)
    settings = {"RETRY_ENABLED": True, "RETRY_TIMES": 2}
    requests = [again(url) for url in (retried, down, copy)]
    result = crawled(tmp_path, requests, settings)
    assert (site.hit("/retried"), site.hit("/down")) == (3, 3)
    assert result.event("/retried")["verdict"]["kind"] == "new"
    assert result.event("/retried-copy", "errback")["verdict"]["representative"] == retried
    assert result.event("/down", "errback")["verdict"] is None
    # Responses that were retried are not judged; the last one is.
    assert (result.stat("checked"), result.stat("skipped/status")) == (2, 1)
    assert result.stat("extraction/readability") == 2
    assert result.stats["retry/count"] == 4


def test_redirected_pages_are_judged_once_under_the_url_where_they_end(site, tmp_path):
    target, copy = put_articles(site, "/target bees", "/target-copy bees 1")
    for path, status, to in (
        ("/moved", 301, "/target"),
        ("/moved-too", 308, "/target"),
        ("/far", 302, "/moved"),
    ):
        site.put(path, page("kite"), status=status, location=to)
    refresh = '<meta http-equiv="refresh" content="0; url=/target">'
    site.put("/refreshed", page("ice", head=refresh))
    # The redirecting responses have texts, too, but no callback got them.
    other = put_articles(site, "/kite kite", "/ice ice")
    paths = ("/moved", "/moved-too", "/far", "/refreshed", "/target")
    requests = [*(again(site.url(path)) for path in paths), again(copy), *other]
    result = crawled(tmp_path, requests)
    assert [(event["path"], event["verdict"]["kind"]) for event in result.events] == [
        ("/target", "new"),
        *[("/target", "unchanged")] * 4,
        ("/target-copy", "near-duplicate"),
        ("/kite", "new"),
        ("/ice", "new"),
    ]
    assert result.events[5]["verdict"]["representative"] == target
    assert (result.stat("checked"), result.stat("dropped")) == (8, 1)
    assert not [name for name in result.simhash_stats() if name.startswith("skipped/")]


def counted(html):
    """Return the text; an extractor that records its pages."""
    name = re.search("<title>(.*?)</title>", html)
    with Path(os.environ[CALLS]).open("a", encoding="utf-8") as file:
        file.write(f"{name[1] if name else ''}\n")
    return re.sub("<[^>]*>", " ", html)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_same_bytes_are_extracted_once(site, tmp_path, monkeypatch, workers):
    calls = tmp_path / "calls"
    monkeypatch.setenv(CALLS, str(calls))
    few = "<title>few</title><p>Too few words.</p>"
    bodies = {"/one": page("tram"), "/two": page("tram"), "/few": few, "/few-too": few}
    requests = [again(site.put(path, body)) for path, body in bodies.items()]
    windows = "text/html; charset=windows-1252"
    requests += [again(site.put("/header", page("tram"), content_type=windows))]
    settings = {"SIMHASH_EXTRACTOR": f"{__name__}.counted", "SIMHASH_WORKERS": workers}
    result = crawled(tmp_path, requests, settings)
    # The warm-up page of workers has no title.
    asked = [name for name in calls.read_text(encoding="utf-8").splitlines() if name]
    assert asked == [ARTICLES["tram"][0], "few", ARTICLES["tram"][0]]
    assert result.stat("exact_duplicate") == 2
    two = result.event("/two", "errback")["verdict"]
    assert (two["distance"], two["representative"]) == (0, site.url("/one"))
