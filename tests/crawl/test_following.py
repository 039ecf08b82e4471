"""Which pages lead on to another one, and which requests of their copies pass."""

import pytest
from scrapy import Request

from scrapy_simhash.crawl import following as following_module
from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.following import Following
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS
from scrapy_simhash.verdict import Verdict


def own(response):
    """Parse a page."""


def other(response):
    """Parse another page."""


@pytest.fixture
def following():
    return Following(Arguments())


def page(key="a", representative=None, **given):
    kind = "new" if representative is None else "near-duplicate"
    verdict = Verdict(kind=kind, key=key, bits=64, representative=representative)
    state = PageState(key, verdict, PASS, Request(f"https://x.test/{key}", own))
    state.may_lead_on = representative is not None
    for name, value in given.items():
        setattr(state, name, value)
    return state


def request(callback=own, path="0", **given):
    return Request(f"https://x.test/{path}", callback, **given)


def give(following, state, *requests):
    for number, given in enumerate(requests):
        one = given if isinstance(given, Request) else request(given, f"{number}")
        following.given(state, one, "<h1>Blue shoe</h1> external")
        state.kept_requests.append(one)
        state.outputs += 1
    following.ended(state)
    return following.passing(state)


def passing(following, copy, *paths):
    """Return the paths of the requests of a copy that pass."""
    requests = [request(path=path) for path in paths]
    return [one.url.removeprefix("https://x.test/") for one in give(following, copy, *requests)]


@pytest.mark.parametrize(
    ("callbacks", "leads_on"),
    [
        ([], False),
        ([own], True),
        ([other], True),
        ([other, own, other], True),
        ([own, other, own], True),
        ([own, own, own], False),
        ([other, other], True),
        ([other, other, other], False),
    ],
)
def test_a_page_with_few_requests_or_few_for_its_callback_leads_on(following, callbacks, leads_on):
    give(following, page(), *callbacks)
    assert following.leads_on("a") == leads_on
    assert following.is_barren("a") == (not callbacks)


def test_requests_that_the_representative_has_not_given_pass(following):
    links = [f"p/{number}" for number in range(5)]
    give(following, page(), *(request(path=path) for path in [*links, "list?page=3"]))
    copy = page("list?page=3", "a")
    assert passing(following, copy, *links, "list?page=4") == ["list?page=4"]
    assert copy.withheld == 5
    assert passing(following, page("b", "a"), "p/7", "p/2", "q/2", "p/1") == ["p/7", "q/2"]
    posted = request(path="p/1", method="POST", body=b"page=2")
    again = request(path="p/1", dont_filter=True)
    of_other = request(other, "p/1")
    outputs = map(request, [own] * 3, links)
    assert give(following, page("c", "a"), *outputs, posted, again, of_other) == [
        posted,
        again,
        of_other,
    ]


@pytest.mark.parametrize(
    "paths", [["person?id={0}"], ["api/info?of=4711", "price?of=4711"], ["v/4711/a", "v/4711/b"]]
)
def test_numbers_tell_links_apart(following, paths):
    paths = [path.format(number) for path in paths for number in range(3)]
    given = (path.replace("4711", "1").replace("?id=", "?id=1") for path in [*paths, "b", "c"])
    give(following, page(), *(request(path=path) for path in given))
    paths = list(dict.fromkeys(paths))
    assert passing(following, page("b", "a"), *paths, "b") == paths


@pytest.mark.parametrize(
    "copies",
    [
        ["mirror/p/{0}", "mirror/list?page=3"],
        ["p/{0}?sid={0}{0}", "list?page=3&sid=4711"],
        ["p/{0}.html", "list.html?page=3"],
        ["p/{0}", "list?page=3", "print?of=list&sort=name"],
    ],
)
def test_other_urls_of_the_same_links_do_not_pass(following, copies):
    links = ["p/{0}", "list?page=3", "print"]
    give(following, page(), *(request(path=path.format(n)) for path in links for n in range(5)))
    paths = dict.fromkeys(path.format(number) for path in copies for number in range(5))
    assert passing(following, page("list?page=2&of=list&sort=name", "a"), *paths) == []


def test_one_or_two_requests_pass(following):
    give(following, page(), own, other, other)
    assert passing(following, page("b", "a"), "0", "1") == ["0", "1"]
    give(following, page("c"), own)
    assert len(give(following, page("d", "c"), other, own, other)) == 3


def test_few_requests_pass_if_it_is_unknown_what_the_representative_gave(following):
    assert passing(following, page("b", "a"), "0", "1", "2") == []
    given = [request(path="1"), request(other, "2"), request(other, "3")]
    assert give(following, page("b", "a"), *given) == given[:1]
    assert following.leads_on("a")
    assert not following.leads_on("a", at_work=True)
    assert not following.is_barren("a")
    assert not Following(Arguments(), incremental=True).leads_on("a")
    resumed = Following(Arguments(), resumed=True, incremental=True)
    assert resumed.leads_on("a")
    assert resumed.is_barren("a")
    give(following, page("c"), own, own, own)
    assert passing(following, page("d", "c", may_lead_on=False), "7", "8", "9") == []
    assert passing(following, page("d", "c", may_follow=True), "0", "1", "2") == ["0", "1", "2"]


def test_of_the_forgotten_pages_of_a_crawl_those_lead_on_that_have_led_on(monkeypatch):
    monkeypatch.setattr(following_module, "_REMEMBERED_PAGES", 2)
    for memory in ({}, {"resumed": True}):
        following = Following(Arguments(), **memory)
        give(following, page("a"), own)
        for key in "bcde":
            give(following, page(key), own, own, own)
        assert [key for key in "abcde" if following.leads_on(key)] == ["a"]


def test_a_request_that_hands_on_what_the_page_says_does_not_pass(following):
    shoe = {"item": [{"name": "Blue shoe"}]}
    give(following, page(), request(other, meta=shoe), request(other, meta={"is": "external"}))
    copy = page("b", "a")
    reviews, more = request(other, "2", meta=shoe), request(other, "3", meta={"is": "external"})
    assert give(following, copy, reviews, more) == [more]
    assert copy.withheld == 1
    assert give(following, page("c", "a"), request(other, "4", meta={"item": "Blue shirt"}))
    give(following, page("d"), request(own, meta=shoe))
    assert give(following, page("e", "d"), request(own, "5", meta=shoe))
