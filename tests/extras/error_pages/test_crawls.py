"""SIMHASH_ERROR_PAGES: error pages with status 200, and the requests that find them."""

import re

import pytest

from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import page
from tests.crawl.site import Answer, Site, serving

HTML = {"Content-Type": "text/html; charset=utf-8"}
ON = {"SIMHASH_ERROR_PAGES": "tag", "CONCURRENT_REQUESTS": 4}
ARTICLES = ("mill", "bees", "paper", "tram", "ice")
SORRY = (
    "<html><head><title>Nincs meg | Kikötő</title></head><body><nav>Hírek Sport Idő</nav>"
    "<h1>Nincs meg</h1><p>A keresett oldal ({path}) nem található, talán elköltözött.</p></body></html>"
)


class SorrySite(Site):
    def __init__(self, address):
        super().__init__(address)
        self.missing = Answer(b"", 404, HTML)
        self.wall = None
        self.robots = b""

    def answer(self, path):
        if path == "/robots.txt":
            return Answer(self.robots, 200, {"Content-Type": "text/plain"})
        known = super().answer(path)
        if self.wall is not None and path.startswith("/wall/"):
            return self.wall
        if known.status != 404:
            return known
        body = self.missing.body.replace(b"{path}", path.encode())
        return Answer(body, self.missing.status, self.missing.headers)

    def asked(self):
        """Return the paths that nothing links to: those of random names."""
        return [path for path in self.hits if re.search(r"[a-z]{14}|\d{9}", path)]


@pytest.fixture
def site():
    with serving(SorrySite) as served:
        yield served


def requests(site, *gone):
    urls = [site.put(f"/articles/{name}.html", page(name)) for name in ARTICLES]
    urls += [site.url(path) for path in gone]
    return [{"url": url, "errback": True} for url in urls]


def error_pages(result):
    return {event["path"] for event in result.events if "error-page" in event["flags"]}


GONE = ("/articles/gone.html", "/articles/lost-for-ever.html", "/shop/17")


def test_error_pages_are_tagged(site, tmp_path):
    site.missing = Answer(SORRY.encode(), 200, HTML)
    settings = ON | {"SIMHASH_ITEM_TAGS": {"kind": "simhash_kind"}}
    result = crawled(tmp_path, requests(site, *GONE), settings)
    assert error_pages(result) == set(GONE)
    assert len(site.asked()) == result.stat("probes/sent") == 1
    [asked] = site.asked()
    verdict = result.event("/shop/17")["verdict"]
    assert (verdict["kind"], verdict["reason"]) == ("error-page", site.url(asked))
    tagged = [item for item in result.items if item.get("simhash_kind") == "error-page"]
    assert len(tagged) == len(GONE)
    host = site.url("").removeprefix("http://")
    assert result.stat("error_page") == result.stat(f"error_page/{host}") == len(GONE)
    assert result.stat("tagged/error_page") == len(GONE)
    assert (result.stat("new"), result.stat("index/size")) == (5, 5)
    assert result.stat("checked") == 8
    assert result.stat("skipped/few_tokens") == 0
    assert result.stats["item_scraped_count"] == 8, "no item of the answer itself"
    assert len(result.lines("is an error page with status 200", asked)) == 1
    assert result.lines("8 pages judged", "3 error pages")


@pytest.mark.thorough
class TestThorough:
    def test_error_pages_are_dropped(self, site, tmp_path):
        site.missing = Answer(SORRY.encode(), 200, HTML)
        settings = ON | {"SIMHASH_ERROR_PAGES": "drop"}
        result = crawled(tmp_path, requests(site, *GONE), settings)
        assert set(result.seen("errback")) == set(GONE)
        assert len(result.seen()) == len(ARTICLES)
        assert result.stat("dropped/error_page") == result.stat("dropped") == len(GONE)
        assert result.event("/shop/17", "errback")["judged"]["kind"] == "error-page"

    @pytest.mark.parametrize("status", [404, 410])
    def test_a_site_that_says_so_by_its_status_has_no_error_pages(self, site, tmp_path, status):
        site.missing = Answer(SORRY.encode(), status, HTML)
        result = crawled(tmp_path, requests(site, *GONE), ON)
        assert result.stat("error_page") == 0
        assert result.stat("probes/error_status") == result.stat("probes/sent") == 1
        assert result.stat("skipped/status") == len(GONE)

    def test_nothing_is_asked_where_robots_txt_forbids_it(self, site, tmp_path):
        site.missing = Answer(SORRY.encode(), 200, HTML)
        allowed = "".join(f"Allow: /articles/{name}.html\n" for name in ARTICLES)
        site.robots = f"User-agent: *\n{allowed}Disallow: /\n".encode()
        settings = ON | {"ROBOTSTXT_OBEY": True}
        result = crawled(tmp_path, requests(site), settings)
        assert site.asked() == []
        assert (result.stat("probes/refused"), result.stat("new")) == (1, len(ARTICLES))

    def test_a_probe_that_fails_is_counted_and_pages_pass(self, site, tmp_path):
        settings = ON | {"DOWNLOADER_MIDDLEWARES": {f"{__name__}.BrokenMiddleware": 100}}
        result = crawled(tmp_path, requests(site), settings, arguments={"at_once": True})
        assert (result.stat("probes/failed"), result.stat("new")) == (1, len(ARTICLES))
        assert result.lines("WARNING", "probing", "probes/failed")
        assert not result.lines("Traceback")

    @pytest.mark.parametrize("target", ["/", "/sorry.html"])
    def test_a_redirect_for_all_missing_pages(self, site, tmp_path, target):
        home = site.put("/", page("clock"))
        site.put("/sorry.html", page("kite"))
        site.missing = Answer(b"", 302, HTML | {"Location": target})
        # Scrapy asks for the target of several redirects once, but for this.
        gone = [{"url": site.url(path), "dont_filter": True} for path in GONE]
        wanted = [{"url": home}, *requests(site), *gone]
        result = crawled(tmp_path, wanted, ON)
        assert result.stat("error_page") == len(GONE)
        assert result.stat("probes/sent") == 1
        assert result.event("/articles/mill.html")["verdict"]["kind"] == "new"

    def test_a_site_that_ignores_what_is_asked_has_no_error_pages(self, site, tmp_path):
        """Its first page is the answer, too."""
        site.missing = Answer(page("mill").encode(), 200, HTML)
        wanted = requests(site, "/articles/mill-by-another-name.html")
        result = crawled(tmp_path, wanted, ON)
        assert (result.stat("error_page"), result.stat("probes/ambiguous")) == (0, 1)
        assert (result.stat("new"), result.stat("near_duplicate")) == (len(ARTICLES), 1)

    def test_a_wall_is_asked_about_once_five_pages_have_its_text(self, site, tmp_path):
        """The first answer has status 404; all pages of a folder have one text."""
        site.missing = Answer(b"gone", 404, HTML)
        site.wall = Answer(WALL.encode(), 200, HTML)
        wall = [f"/wall/{name}" for name in "abcdefgh"]
        result = crawled(tmp_path, requests(site, *wall), ON)
        assert error_pages(result) == set(wall[4:])
        assert result.stat("probes/sent") == len(site.asked()) == 2

    def test_copies_of_a_page_are_no_wall(self, site, tmp_path):
        """The text is asked about, and the site says 404."""
        site.missing = Answer(b"gone", 404, HTML)
        copies = [f"/copies/{name}" for name in "abcdefgh"]
        for path in copies:
            site.put(path, page("kite"))
        result = crawled(tmp_path, requests(site, *copies), ON)
        assert (result.stat("probes/sent"), result.stat("error_page")) == (2, 0)
        assert result.stat("near_duplicate") == len(copies) - 1

    def test_it_works_with_workers_and_with_every_index(self, site, tmp_path, every_index):
        site.missing = Answer(SORRY.encode(), 200, HTML)
        result = crawled(tmp_path, requests(site, *GONE), ON | {"SIMHASH_WORKERS": 1})
        assert error_pages(result) == set(GONE)
        assert result.stat("index/size") == len(ARTICLES)

    @pytest.mark.parametrize("process", ["AsyncCrawlerProcess", "CrawlerProcess"])
    def test_pages_that_arrive_at_once_wait_for_one_answer(self, site, tmp_path, process):
        site.missing = Answer(SORRY.encode(), 200, HTML)
        gone = [f"/gone/{name}" for name in "abcdefghij"]
        crawl = Crawl(requests(site, *gone), ON, arguments={"at_once": True})
        select = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
        reactor = select if process == "CrawlerProcess" else {}
        [result] = run(tmp_path, crawl, process=process, process_settings=reactor)
        # If an error page came first, its text is asked about when five have it.
        assert result.stat("probes/sent") == len(site.asked()) <= 2
        assert len(error_pages(result)) >= len(gone) - 4
        assert result.stat("new") >= len(ARTICLES)

    def test_without_the_setting_nothing_is_asked(self, site, tmp_path):
        site.missing = Answer(SORRY.encode(), 200, HTML)
        result = crawled(tmp_path, requests(site, *GONE))
        assert site.asked() == []
        assert result.stat("error_page") == 0


class BrokenMiddleware:
    def process_request(self, request):
        if re.search(r"[a-z]{14}", request.url):
            raise ConnectionError("no such host")


WALL = (
    "<html><head><title>Egy pillanat</title></head><body><h1>Egy pillanat</h1>"
    "<p>Mielőtt továbbmegy, fogadja el a feltételeket.</p></body></html>"
)
