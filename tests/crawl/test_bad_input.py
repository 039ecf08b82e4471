"""Whatever a server sends, and whatever becomes of workers, the crawl goes on."""

import pytest

from scrapy_simhash.crawl.fingerprinting import MAX_TIMEOUTS, SlowHosts
from scrapy_simhash.crawl.fingerprinting import PAGES as PASSING
from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import ARTICLES, page, put_articles
from tests.crawl.test_callbacks import REACTORS
from tests.crawl.worker_extractors import OBEDIENT, page_with

MAX_BYTES = 1_000_000
WORDS = ARTICLES["mill"][1].encode()
# Path → (body, content type): one of each kind, as far as a crawl can tell. `extraction` has more odd
# pages, and `documents` more encodings. All but the first three have different texts.
PAGES = {
    "no-text": (b"<html><body><article></article></body></html>", "text/html"),
    "five-words": (b"<html><body><p>Five words are not enough.</p></body></html>", "text/html"),
    "only-images": (b"<html><body>" + b"<img src='a.png' alt=''>" * 200 + b"</body></html>", None),
    "not-html-at-all": (bytes(range(256)) * 100, "text/html"),
    "truncated": (page("bees").encode()[:1100], "text/html; charset=utf-8"),
    "cut-within-a-character": (page("茶园").encode()[:801], "text/html; charset=utf-8"),
    "deep-unclosed": (page("ice").encode() + b"<b><font><i>" * 50_000, "text/html"),
    "unknown-charset": (page("tram").encode(), "text/html; charset=klingon"),
    "undeclared-gbk": (page("石桥").encode("gb18030"), "text/html"),
    "nul": (page("mill").replace(" ", "\0 \0").encode(), "text/html; charset=utf-8"),
    # Scrapy uses any codec that a server names, and this one decodes lone surrogates.
    "lone-surrogates": (
        b"<html><body><p>" + b" word\\ud800 ".join(WORDS.split()[::3]) + b"</p></body></html>",
        "text/html; charset=unicode-escape",
    ),
}
SKIPPED = {
    "no-text": "no_text",
    "five-words": "few_tokens",
    "only-images": "no_text",
}


@pytest.fixture(scope="module")
def requests(site):
    for path, (body, content_type) in PAGES.items():
        site.put(f"/{path}", body, content_type=content_type)
    site.put("/huge", page("bees").encode() + b"<p>words and words</p>" * (MAX_BYTES // 22))
    put_articles(site, "/first tram 1", "/last tram 2")
    paths = ["/first", *(f"/{path}" for path in PAGES), "/huge", "/last"]
    return [{"url": site.url(path), "callback": "parse_nothing"} for path in paths]


SETTINGS = {"SIMHASH_ACTION": "tag", "SIMHASH_MAX_BYTES": MAX_BYTES, "SIMHASH_WORKERS": 0}


@pytest.fixture(scope="module")
def result(requests, module_path):
    return crawled(module_path, requests, SETTINGS)


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2, None])
def test_verdicts_do_not_depend_on_workers(requests, tmp_path, workers):
    crawls = [Crawl(requests, SETTINGS | {"SIMHASH_WORKERS": number}) for number in (0, workers)]
    expected, found = (run(tmp_path / f"{at}", crawl)[0] for at, crawl in enumerate(crawls))
    assert (found.events, found.items) == (expected.events, expected.items)
    assert found.simhash_stats() == expected.simhash_stats()


def test_the_crawl_reaches_its_end_and_nothing_raises(result):
    assert (result.error, result.finish_reason) == (None, "finished")
    assert result.event("/last")["verdict"]["kind"] == "near-duplicate"
    assert not result.lines("Traceback")
    assert not result.lines("ERROR")
    assert "spider_exceptions/count" not in result.stats
    assert not [name for name in result.simhash_stats() if name.startswith("errors/")]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_reaches_its_callback(result, path):
    event = result.event(f"/{path}")
    assert event["verdict"] is not None
    if path in SKIPPED:
        assert event["verdict"] == {"kind": "skipped", "reason": SKIPPED[path]}


def test_pages_above_the_limit_are_counted_and_not_extracted(result):
    assert result.stat("skipped/too_large") == 1
    assert result.event("/huge")["verdict"] is None


def test_readable_pages_are_judged_whatever_is_wrong_with_them(result):
    for path in ("truncated", "deep-unclosed", "unknown-charset", "undeclared-gbk", "nul"):
        assert result.event(f"/{path}")["verdict"]["kind"] in ("new", "near-duplicate"), path
    assert result.event("/lone-surrogates")["verdict"]["kind"] == "new"


def test_a_page_that_cannot_be_decoded_passes(site, tmp_path):
    # A codec of Python that is not for text. Scrapy itself fails with it elsewhere.
    url = site.put("/base64", page("bees"), content_type="text/html; charset=base64")
    result = crawled(
        tmp_path, [{"url": url, "callback": "parse_nothing"}], {"METAREFRESH_ENABLED": False}
    )
    assert result.event("/base64")["verdict"] is None
    assert result.stat("errors/fingerprint") == 1
    assert len(result.lines("WARNING", "fingerprint failed for", url)) == 1
    assert not result.lines("Traceback")


def test_the_limits_can_be_set(site, tmp_path):
    body = site.url("/five-words")
    site.put("/five-words", *PAGES["five-words"][:1])
    size = len(PAGES["five-words"][0])
    crawls = [
        Crawl([body], settings, name=name)
        for name, settings in {
            "five": {"SIMHASH_MIN_TOKENS": 5},
            "six": {"SIMHASH_MIN_TOKENS": "6"},
            "fits": {"SIMHASH_MAX_BYTES": size},
            "too large": {"SIMHASH_MAX_BYTES": size - 1},
        }.items()
    ]
    five, six, fits, too_large = run(tmp_path, *crawls)
    assert five.stat("new") == 1
    assert six.stat("skipped/few_tokens") == 1
    assert fits.stat("skipped/few_tokens") == 1
    assert too_large.stat("skipped/too_large") == 1


def test_pages_of_a_host_pass_unjudged_after_several_time_outs():
    hosts = SlowHosts()
    for _ in range(MAX_TIMEOUTS):
        assert not hosts.passes("slow.test")
        hosts.add("slow.test", timed_out=True)
    passes = [hosts.passes("slow.test") for _ in range(PASSING + 2)]
    assert passes == [True] * PASSING + [False] * 2
    assert not hosts.passes("fast.test")


OBEYING = {"SIMHASH_WORKERS": 1, "SIMHASH_EXTRACTOR": OBEDIENT}
TIMEOUT_MS = 2000


@pytest.mark.thorough
@pytest.mark.parametrize("reactor", ["asyncio", "select", "none"])
def test_pages_that_hang_or_kill_pass_are_told_in_a_line_each_and_the_crawl_goes_on(
    site, tmp_path, reactor
):
    orders = {"/sleep": "sleep", "/kill": "kill", "/leave": "leave now", "/fail": "fail here"}
    paths = "/0 /kill /1 /sleep /2 /leave /3 /4 /fail /5 /6 /7".split()
    urls = [
        site.put(path, page_with(orders.get(path, ""), number=number))
        for number, path in enumerate(paths)
    ]
    settings = OBEYING | {"SIMHASH_WORKERS": 2, "SIMHASH_TIMEOUT_MS": TIMEOUT_MS}
    crawl = Crawl(urls, settings, arguments={"at_once": True})
    [result] = run(tmp_path, crawl, **REACTORS[reactor])
    assert result.finish_reason == "finished"
    verdicts = {event["path"]: event["verdict"] for event in result.events}
    assert len(result.items) == len(result.events) == len(verdicts) == 12
    assert [verdicts[f"/{number}"]["kind"] for number in range(8)] == ["new"] * 8
    reasons = {"/sleep": "timeout", "/kill": "worker_died", "/fail": "extraction_error"}
    assert {path: verdicts[path] for path in reasons} == {
        path: {"kind": "skipped", "reason": reason} for path, reason in reasons.items()
    }
    assert verdicts["/leave"] is None
    counts = ("skipped/timeout", "skipped/worker_died", "errors/fingerprint", "errors/extraction")
    assert [result.stat(name) for name in counts] == [1] * 4
    assert result.stat("workers_replaced") == 3
    assert result.stat("checked") == result.stat("index/size") == 8
    assert len(result.lines("WARNING", "SystemExit: now", "The crawl goes on")) == 1
    assert len(result.lines("WARNING", "LookupError: here")) == 1
    assert not result.lines("Traceback")
    assert not result.lines("ERROR")


@pytest.mark.thorough
def test_what_was_not_the_pages_fault_is_tried_again(site, tmp_path):
    """A page with the bytes of a skipped page is fingerprinted again."""
    body = page_with(f"die 2 {tmp_path}")
    paths = ("/died", "/lived", "/remembered")
    result = crawled(
        tmp_path, [{"url": site.put(path, body), "errback": True} for path in paths], OBEYING
    )
    verdicts = [event["verdict"] for event in result.events]
    assert verdicts[0] == {"kind": "skipped", "reason": "worker_died"}
    assert [verdict["kind"] for verdict in verdicts[1:]] == ["new", "near-duplicate"]
    assert result.stat("exact_duplicate") == 1
    assert result.stat("workers_replaced") == 2
