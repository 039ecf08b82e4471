"""The key of a page: its URL, its request's fingerprint, or the key in its meta; and SIMHASH_SCOPE."""

import pytest
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_simhash.crawl.identity import Identity
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles


@pytest.fixture(scope="module")
def results(site, module_path):
    first, second, mill, bees, search = put_articles(
        site, "/mill?session=1 mill 1", "/mill?session=2 mill 2", "/mill mill", "/bees bees",
        "/search tram",
    )  # fmt: skip
    again, failing = {"dont_filter": True}, {"errback": True}
    key = {"meta": {"simhash_key": "the mill"}}
    post = {"url": search, "method": "POST"}
    crawls = {
        "own key": [
            {"url": first, **key},
            {"url": second, **key},
            {"url": mill, **failing},
            {"url": bees, **key},
        ],
        "post": [
            {**post, "body": "q=1"},
            {**post, "body": "q=2", **failing},
            {**post, "body": "q=1", **again},
            {"url": search, **failing},
        ],
    }
    return run_named(module_path, {name: Crawl(requests) for name, requests in crawls.items()})


def test_a_key_of_its_own_names_a_page(results):
    result = results["own key"]
    assert [(e["path"], (e.get("verdict") or e["judged"])["kind"]) for e in result.events] == [
        ("/mill?session=1", "new"),
        ("/mill?session=2", "unchanged"),
        ("/mill", "near-duplicate"),
        ("/bees", "changed"),
        # Requested again, because the page that it was a copy of has other content now.
        ("/mill", "new"),
    ]
    assert result.stat("changed") == 1
    assert result.event("/mill", "errback")["judged"]["representative"] == "the mill"


def test_posts_are_known_by_method_url_and_body(results, site):
    result, post = results["post"], ("callback", "POST")
    assert [(e["what"], e["method"]) for e in result.events] == [*[post] * 3, ("errback", "GET")]
    *posts, get = result.events
    kinds = [event["verdict"]["kind"] for event in posts]
    assert kinds == ["new", "near-duplicate", "unchanged"]
    # Answers to forms resemble each other: only answers to GET are dropped.
    assert posts[1]["flags"] == ["near-duplicate"]
    assert (result.stat("kept/method"), result.stat("dropped")) == (1, 1)
    assert get["judged"]["key"] == site.url("/search")
    key = get["judged"]["representative"]
    assert key.startswith(f"POST {site.url('/search')} ")
    assert posts[1]["verdict"]["representative"] == key


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_routes_of_an_app_are_keys_of_their_own_and_anchors_are_not(method):
    identity = Identity(fingerprint, "all")
    urls = [f"https://app.example/{end}" for end in ("", "#/a", "#/b", "#!/b", "#top", "#")]
    keys = [identity.key(Request(url, method=method)) for url in urls]
    assert len(set(keys)) == 4
    assert keys[0] == keys[4] == keys[5]


SCOPES = ("all", "domain", "host")
# Through a proxy on loopback a crawl visits any host.
NEWS, WWW = "http://news.example.co.uk", "http://www.example.co.uk"
MIRROR = "http://mirror.co.uk"


def identity(scope):
    return Identity(lambda request: request.body + b"\xab", scope)


def counts(scope, one, other):
    """Return True if `other` may be the representative of `one`."""
    among = identity(scope).scope_filter(one)
    return among is None or among(other)


@pytest.mark.parametrize(
    ("one", "other", "host", "domain"),
    [
        ("http://example.com/a", "https://EXAMPLE.com:8443/b?c", True, True),
        ("http://a.example.co.uk/", "http://b.example.co.uk/", False, True),
        ("http://example.co.uk/", "http://other.co.uk/", False, False),
        ("http://127.0.0.1:80/", "http://127.0.0.1:8080/", True, True),
        # Keys of requests with a body, of items, and from the meta.
        ("POST http://example.com/ 0aff", "http://example.com/", True, True),
        ("PUT http://a.example.com/ 0aff", "POST http://b.example.com/ 0aff", False, True),
        ("http://example.com/ item 3 00ff", "http://example.com/other item 0 00ff", True, True),
        ("the mill http://example.com/", "http://example.com/mill", True, True),
        # Keys without a URL form one scope.
        ("crawl 00ff item 0 00ff", "crawl 00ff item 1 00ff", True, True),
        ("http://[", "http://example.com/", False, False),
        ("http://[", "http://[::1", True, True),
    ],
)
def test_a_page_counts_within_its_host_or_domain(one, other, host, domain):
    for first, second in ((one, other), (other, one)):
        assert counts("all", first, second)
        assert counts("host", first, second) is host
        assert counts("domain", first, second) is domain
    assert all(counts(scope, key, key) for scope in SCOPES for key in (one, other))


def test_a_key_that_was_given_stays_as_it_is_where_nothing_depends_on_the_host():
    request = Request("http://a/x", meta={"simhash_key": "my key"})
    assert identity("all").key(request) == "my key"
    named = Request("http://a/x", meta={"simhash_key": "http://b/y"})
    assert {identity(scope).key(named) for scope in SCOPES} == {"http://b/y"}
    for scope in ("host", "domain"):
        assert identity(scope).key(request) == "my key http://a/"


@pytest.fixture(scope="module")
def scoped(site, module_path):
    for number, host in enumerate((NEWS, WWW, MIRROR)):
        site.put(f"{host}/tram", page("tram", copy=3 * number))
        site.put(f"{host}/copy", page("tram", copy=3 * number + 1))
    proxied = {"meta": {"proxy": site.url("")}, "errback": True}
    urls = [f"{NEWS}/tram", f"{NEWS}/copy", f"{WWW}/tram", f"{MIRROR}/tram", f"{MIRROR}/copy"]
    crawls = {
        scope: Crawl([{"url": url, **proxied} for url in urls], {"SIMHASH_SCOPE": scope})
        for scope in SCOPES
    }
    return run_named(module_path, crawls)


REPRESENTATIVES = {
    "all": [None, *[f"{NEWS}/tram"] * 4],
    "domain": [None, f"{NEWS}/tram", f"{NEWS}/tram", None, f"{MIRROR}/tram"],
    "host": [None, f"{NEWS}/tram", None, None, f"{MIRROR}/tram"],
}


@pytest.mark.parametrize("scope", SCOPES)
def test_representatives_are_in_scope(scoped, scope):
    result = scoped[scope]
    verdicts = [event["verdict"] for event in result.events]
    assert [verdict["representative"] for verdict in verdicts] == REPRESENTATIVES[scope]
    kept = REPRESENTATIVES[scope].count(None)
    assert (result.stat("new"), result.stat("near_duplicate")) == (kept, 5 - kept)
    assert result.stat("index/size") == kept
    assert len(result.seen()) == kept
