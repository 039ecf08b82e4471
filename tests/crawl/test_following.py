"""Which pages lead on to another one, and which requests of their copies pass."""

import pytest
from scrapy import Request

from scrapy_simhash.crawl import copies as copies_module
from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.copies import Copies
from scrapy_simhash.crawl.given import Remembered
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS, Action, Policy
from scrapy_simhash.verdict import Verdict


def own(response):
    """Parse a page."""


def other(response):
    """Parse another page."""


@pytest.fixture
def copies():
    return Copies(Arguments(), Policy())


def page(key="a", representative=None, reason=None):
    kind = "new" if representative is None else "near-duplicate"
    verdict = Verdict(kind=kind, key=key, bits=64, representative=representative)
    action = PASS if representative is None else Action(follow=False)
    return PageState(key, verdict, action, Request(f"https://x.test/{key}", own), reason=reason)


def request(callback=own, path="0", **given):
    return Request(f"https://x.test/{path}", callback, **given)


def give(copies, state, *requests):
    copies.begins(state)
    for number, given in enumerate(requests):
        one = given if isinstance(given, Request) else request(given, f"{number}")
        copies.gave_request(state, one, "<h1>Blue shoe</h1> external")
        state.kept_requests.append(one)
        state.given.outputs += 1
    _, passing = copies.rest(state)
    copies.ended(state, failed=False)
    return passing


def leads_on(copies, key="a", **given):
    return "requests" in copies.may_give(key, request(), None, **given)


def passing(copies, copy, *paths):
    """Return the paths of the requests of a copy that pass."""
    requests = [request(path=path) for path in paths]
    return [one.url.removeprefix("https://x.test/") for one in give(copies, copy, *requests)]


@pytest.mark.parametrize(
    ("callbacks", "expected"),
    [
        ([], False),
        ([own], True),
        ([other], True),
        ([other, own, other], True),
        ([own, other, own], True),
        ([own, own, own], False),
        ([other, other], True),
        ([other, other, other], True),
        ([own, own, own, other], True),
    ],
)
def test_a_page_with_one_or_two_requests_or_with_some_for_another_callback_leads_on(
    copies, callbacks, expected
):
    give(copies, page(), *callbacks)
    assert leads_on(copies) == expected


def test_a_page_whose_item_was_turned_into_a_request_may_give_all(copies):
    state = page()
    give(copies, state)
    state.given.items_lead_on = True
    assert copies.may_give("a", request(), None) == {"all"}
    copies = Copies(Arguments(), Policy(follow=False))
    give(copies, state)
    assert not copies.may_give("a", request(), None)


def test_requests_that_the_representative_has_not_given_pass(copies):
    links = [f"p/{number}" for number in range(5)]
    give(copies, page(), *(request(path=path) for path in [*links, "list?page=3"]))
    copy = page("list?page=3", "a")
    assert passing(copies, copy, *links, "list?page=4") == ["list?page=4"]
    assert copy.withheld == 5
    assert passing(copies, page("b", "a"), "p/7", "p/2", "q/2", "p/1") == ["p/7", "q/2"]
    posted = request(path="p/1", method="POST", body=b"page=2")
    again = request(path="p/1", dont_filter=True)
    of_other = request(other, "p/1")
    outputs = map(request, [own] * 3, links)
    assert give(copies, page("c", "a"), *outputs, posted, again, of_other) == [
        posted,
        again,
        of_other,
    ]


@pytest.mark.parametrize(
    "paths", [["person?id={0}"], ["api/info?of=4711", "price?of=4711"], ["v/4711/a", "v/4711/b"]]
)
def test_numbers_tell_links_apart(copies, paths):
    paths = [path.format(number) for path in paths for number in range(3)]
    given = (path.replace("4711", "1").replace("?id=", "?id=1") for path in [*paths, "b", "c"])
    give(copies, page(), *(request(path=path) for path in given))
    paths = list(dict.fromkeys(paths))
    assert passing(copies, page("b", "a"), *paths, "b") == paths


@pytest.mark.parametrize(
    "mirrored",
    [
        ["mirror/p/{0}", "mirror/list?page=3"],
        ["p/{0}?sid={0}{0}", "list?page=3&sid=4711"],
        ["p/{0}.html", "list.html?page=3"],
        ["p/{0}", "list?page=3", "print?of=list&sort=name"],
    ],
)
def test_other_urls_of_the_same_links_do_not_pass(copies, mirrored):
    links = ["p/{0}", "list?page=3", "print"]
    give(copies, page(), *(request(path=path.format(n)) for path in links for n in range(5)))
    paths = dict.fromkeys(path.format(number) for path in mirrored for number in range(5))
    assert passing(copies, page("list?page=2&of=list&sort=name", "a"), *paths) == []


def test_one_or_two_requests_pass(copies):
    give(copies, page(), own, other, other)
    assert passing(copies, page("b", "a"), "0", "1") == ["0", "1"]
    give(copies, page("c"), own)
    assert len(give(copies, page("d", "c"), other, own, other)) == 3


def test_few_requests_pass_if_it_is_unknown_what_the_representative_gave(copies):
    assert passing(copies, page("b", "a"), "0", "1", "2") == []
    given = [request(path="1"), request(other, "2"), request(other, "3")]
    assert give(copies, page("b", "a"), *given) == given[:1]
    assert leads_on(copies)
    assert not leads_on(Copies(Arguments(), Policy(incremental=True)))
    at_work = page("e")
    copies.begins(at_work)
    assert not leads_on(copies, "e", is_pending=True)
    assert leads_on(copies, "e")
    copies.ended(at_work, failed=True)
    assert leads_on(copies, "e", is_pending=True)
    give(copies, page("c"), own, own, own)
    waits_not = Copies(Arguments(), Policy(follow=False))
    assert passing(waits_not, page("d", "c"), "7", "8") == []


def test_a_crawl_that_was_killed_has_forgotten_its_pages_in_an_incremental_crawl_too():
    assert leads_on(Copies(Arguments(), Policy(incremental=True), Remembered()))


def test_of_the_forgotten_pages_of_a_crawl_those_lead_on_whose_callback_has_led_on(monkeypatch):
    monkeypatch.setattr(copies_module, "_REMEMBERED_PAGES", 2)
    for memory in ({}, {"before_pause": Remembered()}):
        copies = Copies(Arguments(), Policy(), **memory)
        for key in "abc":
            give(copies, page(key))
        assert not any(leads_on(copies, key) for key in "abc")
        give(copies, page("d"), own)
        for key in "efg":
            give(copies, page(key))
        assert [key for key in "abcdefg" if leads_on(copies, key)] == ["a", "b", "c", "d", "e"]


def test_a_request_that_hands_on_what_the_page_says_does_not_pass(copies):
    shoe = {"item": [{"name": "Blue shoe"}]}
    give(copies, page(), request(other, meta=shoe), request(other, meta={"is": "external"}))
    copy = page("b", "a")
    reviews, more = request(other, "2", meta=shoe), request(other, "3", meta={"is": "external"})
    assert give(copies, copy, reviews, more) == [more]
    assert copy.withheld == 1
    assert give(copies, page("c", "a"), request(other, "4", meta={"item": "Blue shirt"}))
    give(copies, page("d"), request(own, meta=shoe))
    assert give(copies, page("e", "d"), request(own, "5", meta=shoe))
