"""Which responses are judged, and under which key: retries, redirects, caches, cookies, repeated
pages and pages of the same bytes.
"""

import os
import re
from pathlib import Path

import pytest

from tests.crawl.harness import crawled
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.site import HTML, Answer, Handler, html, serving
from tests.crawl.spiders import PagesSpider

pytestmark = pytest.mark.thorough

BUSY = Answer(b"<p>Come again.</p>", 503, HTML)
FAILS = "This visit of the page fails."
CALLS = "SIMHASH_TEST_CALLS"


class CookieHandler(Handler):
    def _respond(self):
        cookie = self.headers.get("Cookie")
        self.path += f" {cookie}" if cookie else ""
        super()._respond()

    do_GET = do_POST = _respond  # noqa: N815 - their names there


@pytest.fixture(scope="module")
def site():
    with serving(handler=CookieHandler) as served:
        yield served


class VisitsSpider(PagesSpider):
    """Fails in its callback if the page says so."""

    def outputs(self, response):
        if FAILS.encode() in response.body:
            self.note(response, "failed")
            raise RuntimeError("this visit fails")
        return super().outputs(response)


VISITS = f"{__name__}.VisitsSpider"


def again(url, **more):
    return {"url": url, "dont_filter": True, "errback": True, **more}


def kinds(result):
    return [event["verdict"]["kind"] for event in result.events]


# Retries, redirects, caches.


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


# Other content under the same URL.


def by_cookie(site, path, **contents):
    """Return requests for a page that depends on a cookie, one for each content."""
    for visitor, content in contents.items():
        site.put(f"{path} visitor={visitor}", content)
    return [again(site.url(path), cookies={"visitor": visitor}) for visitor in contents]


def test_pages_that_depend_on_a_cookie_pass_whether_they_differ_much_or_little(site, tmp_path):
    requests = by_cookie(
        site,
        "/home",
        nobody=page("mill"),
        somebody=page("mill", copy=1),
        editor=page("bees"),
        reader=page("bees", copy=1),
    )
    result = crawled(tmp_path, [*requests, requests[0]])
    assert kinds(result) == ["new", "unchanged", "changed", "unchanged", "changed"]
    assert result.seen() == ["/home"] * 5
    assert len(result.items) == 5
    assert result.stat("index/size") == 1


def test_a_page_that_became_a_copy_of_another_is_its_near_duplicate(site, tmp_path):
    story = site.put("/story", page("mill"))
    cell = site.put_turns("/cell", *map(html, (page("bees"), page("mill", copy=1), page("bees"))))
    result = crawled(tmp_path, [story, *[again(cell)] * 3])
    assert kinds(result) == ["new", "new", "near-duplicate", "unchanged"]
    assert result.event("/cell", "errback")["verdict"]["representative"] == story


def test_a_copy_of_another_page_for_another_visitor_passes_and_is_stored(site, tmp_path):
    story = site.put("/story", page("mill"))
    first, second = by_cookie(site, "/cell", one=page("bees"), two=page("mill", copy=1))
    result = crawled(tmp_path, [story, first, second, first])
    assert kinds(result) == ["new", "new", "near-duplicate", "changed"]
    assert result.seen() == ["/story", "/cell", "/cell", "/cell"]
    assert result.stat("kept/request") == 1
    assert len(result.items) == 4


@pytest.mark.parametrize("incremental", [False, True])
def test_a_page_that_is_asked_for_again_gives_items_unless_incremental(site, tmp_path, incremental):
    url = site.put("/again", page("clock", links=["/linked-again"]))
    site.put("/linked-again", page("ice"))
    settings = {"SIMHASH_INCREMENTAL": incremental}
    result = crawled(tmp_path, [again(url)] * 3, settings)
    visits = [event["what"] for event in result.events if event["path"] == "/again"]
    assert visits == ["callback"] * 3
    assert [item["url"] for item in result.items].count(url) == (1 if incremental else 3)
    assert result.stat("unchanged") == 2
    assert result.stat("followed/unchanged") == (2 if incremental else 0)
    assert result.stat("dropped") == 0


@pytest.mark.parametrize("fails", [True, False])
def test_a_changed_page_is_replaced_once_its_callback_has_gone_well(site, tmp_path, fails):
    changed = page("bees", append=FAILS if fails else "")
    news = site.put_turns("/news", html(page("mill")), html(changed))
    copies = put_articles(site, "/old-copy mill 1", "/new-copy bees 1")
    requests = [again(url) for url in (news, news, *copies)]
    result = crawled(tmp_path, requests, spider=VISITS)
    assert kinds(result)[:2] == ["new", "changed"]
    assert result.events[1]["what"] == ("failed" if fails else "callback")
    told = {event["path"]: event["verdict"] for event in result.events[2:]}
    stays, gone = ("/old-copy", "/new-copy") if fails else ("/new-copy", "/old-copy")
    assert (told[stays]["kind"], told[stays]["representative"]) == ("near-duplicate", news)
    assert told[gone]["kind"] == "new"
    assert result.stat("index/size") == 2
    assert result.stat("discarded") == int(fails)


# The same bytes.


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
