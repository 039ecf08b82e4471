"""The key of a page: its URL, its request's fingerprint, or the key in its meta."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_simhash.crawl.identity import Identity
from tests.crawl.harness import Crawl, run_named
from tests.crawl.pages import put_articles


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
        "same url": [mill, {"url": mill, **again}, {"url": f"{mill}#part", **again}],
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


def test_the_same_url_again_is_unchanged_and_passes(results):
    result = results["same url"]
    verdicts = [(e["verdict"]["kind"], e["verdict"]["distance"], e["flags"]) for e in result.events]
    assert verdicts == [("new", None, []), *[("unchanged", 0, [])] * 2]
    assert (result.stat("unchanged"), result.stat("index/size")) == (2, 1)


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
