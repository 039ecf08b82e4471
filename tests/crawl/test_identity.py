"""The key of a page: its URL, its request's fingerprint, or the key in its meta."""

import pytest
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_simhash.crawl.identity import Identity
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import page, put_articles

TAG = {"SIMHASH_ACTION": "tag"}


@pytest.fixture(scope="module")
def results(site, module_path):
    put_articles(site, "/mill?session=1 mill 1", "/mill?session=2 mill 2", "/mill mill")
    put_articles(site, "/bees bees", "/paper paper", "/search tram", "/tram tram")
    site.put("/chain-1", page("ice", links=["/chain-2"]))
    site.put("/chain-2", page("ice", copy=1, links=["/chain-3"]))
    site.put("/chain-3", page("clock", links=["/chain.json", "/chain-gone"]))
    site.put("/chain.json", "{}", content_type="application/json")
    again = {"dont_filter": True}
    url = site.url
    key = {"simhash_key": "the mill"}
    crawls = {
        "same url": Crawl(
            [url("/mill"), {"url": url("/mill"), **again}, {"url": url("/mill#part"), **again}]
        ),
        "own key": Crawl(
            [
                {"url": url("/mill?session=1"), "meta": key},
                {"url": url("/mill?session=2"), "meta": key},
                {"url": url("/mill"), "errback": True},
                {"url": url("/bees"), "meta": key},
            ]
        ),
        "post": Crawl(
            [
                {"url": url("/search"), "method": "POST", "body": "q=1"},
                {"url": url("/search"), "method": "POST", "body": "q=2", "errback": True},
                {"url": url("/search"), "method": "POST", "body": "q=1", **again},
                {"url": url("/search"), "errback": True},
            ]
        ),
        "copied meta": Crawl([url("/chain-1")], TAG, arguments={"copies_meta": True}),
    }
    return run_named(module_path, crawls)


def test_the_same_url_again_is_unchanged_and_passes(results):
    result = results["same url"]
    assert [event["verdict"]["kind"] for event in result.events] == ["new"] + ["unchanged"] * 2
    assert [event["verdict"]["distance"] for event in result.events] == [None, 0, 0]
    assert all(event["flags"] == [] for event in result.events)
    assert (result.stat("unchanged"), result.stat("index/size")) == (2, 1)


def test_a_key_of_its_own_names_a_page(results):
    result = results["own key"]
    kinds = [
        (event["path"], (event.get("verdict") or event["judged"])["kind"])
        for event in result.events
    ]
    assert kinds == [
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
    result = results["post"]
    assert [(e["what"], e["method"]) for e in result.events] == [
        ("callback", "POST"),
        ("callback", "POST"),
        ("callback", "POST"),
        ("errback", "GET"),
    ]
    first, other_body, same_body, get = result.events
    assert first["verdict"]["kind"] == "new"
    # Answers to forms resemble each other: only answers to GET are dropped.
    assert other_body["verdict"]["kind"] == "near-duplicate"
    assert other_body["flags"] == ["near-duplicate"]
    assert (result.stat("kept/method"), result.stat("dropped")) == (1, 1)
    assert same_body["verdict"]["kind"] == "unchanged"
    assert get["judged"]["key"] == site.url("/search")
    key = get["judged"]["representative"]
    assert key.startswith(f"POST {site.url('/search')} ")
    assert other_body["verdict"]["representative"] == key


def test_meta_that_a_spider_copies_leaks_no_verdict(results, site):
    result = results["copied meta"]
    assert result.event("/chain-1")["verdict"]["kind"] == "new"
    assert result.event("/chain-2")["verdict"]["representative"] == site.url("/chain-1")
    third = result.event("/chain-3")
    assert (third["verdict"]["kind"], third["verdict"]["representative"]) == ("new", None)
    assert third["flags"] == []
    assert result.event("/chain.json")["verdict"] is None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_routes_of_an_app_are_keys_of_their_own_and_anchors_are_not(method):
    identity = Identity(fingerprint, "all")
    urls = [f"https://app.example/{end}" for end in ("", "#/a", "#/b", "#!/b", "#top", "#")]
    keys = [identity.key(Request(url, method=method)) for url in urls]
    assert len(set(keys)) == 4
    assert keys[0] == keys[4] == keys[5]
