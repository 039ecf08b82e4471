"""Which pages lead on to another one, and which requests of their copies pass."""

import pytest
from scrapy import Request

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
    state.in_chain = representative is not None
    for name, value in given.items():
        setattr(state, name, value)
    return state


def request(callback, number=0, **given):
    return Request(f"https://x.test/{number}", callback, **given)


def give(following, state, *callbacks):
    """Return which requests of a callback pass."""
    for number, callback in enumerate(callbacks):
        one = callback if isinstance(callback, Request) else request(callback, number)
        following.given(state, one, "<h1>Blue shoe</h1> external")
        state.kept_requests.append(one)
    return following.passing(state)


@pytest.mark.parametrize(
    ("first", "callbacks", "passing"),
    [
        ([own, other, other], [own], [0]),
        ([own, other, other], [other], [0]),
        ([own, other, other], [other, own, other], [1]),
        ([own, other, other], [own, other, own], [0, 2]),
        ([own, other, other], [own, own, own], [0, 1]),
        ([own, other, other], [other, other], [0, 1]),
        ([own, other, other], [other, other, other], []),
        ([own], [other, own, other], [0, 1, 2]),
    ],
)
def test_the_request_for_the_next_page_passes(following, first, callbacks, passing):
    give(following, page(), *first)
    passed = give(following, page("b", "a"), *callbacks)
    assert [one.url for one in passed] == [f"https://x.test/{number}" for number in passing]


def test_a_request_that_hands_on_what_the_page_says_does_not_pass(following):
    shoe = {"item": [{"name": "Blue shoe"}]}
    give(following, page(), request(other, meta=shoe), request(other, meta={"is": "external"}))
    copy = page("b", "a")
    reviews, more = request(other, 2, meta=shoe), request(other, 3, meta={"is": "external"})
    assert give(following, copy, reviews, more) == [more]
    assert copy.withheld == 1
    assert give(following, page("c", "a"), request(other, 4, meta={"item": "Blue shirt"}))
    give(following, page("d"), request(own, meta=shoe))
    assert give(following, page("e", "d"), request(own, 5, meta=shoe))
