"""Which pages lead on to another one, and which requests of their copies pass."""

from __future__ import annotations

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
        following.given(state, one)
        state.kept_requests.append(one)
    return following.passing(state)


@pytest.mark.parametrize(
    ("callbacks", "leads_on"),
    [
        ([], False),
        ([own], True),
        ([other], True),
        ([other, own, other], True),
        ([own, other, own], True),
        ([own, own, own], False),
        ([other, other], False),
    ],
)
def test_a_page_with_one_request_or_two_for_its_callback_leads_on(following, callbacks, leads_on):
    give(following, page(), *callbacks)
    assert following.leads_on("a") == leads_on


@pytest.mark.parametrize(
    ("callbacks", "passing"),
    [
        ([own], [0]),
        ([other], [0]),
        ([other, own, other], [1]),
        ([own, other, own], [0, 2]),
        ([own, own, own], [0, 1]),
        ([other, other], []),
    ],
)
def test_the_request_for_the_next_page_passes(following, callbacks, passing):
    give(following, page(), own, other, other)
    passed = give(following, page("b", "a"), *callbacks)
    assert [one.url for one in passed] == [f"https://x.test/{number}" for number in passing]


def test_all_requests_pass_if_the_representative_gave_fewer(following):
    give(following, page(), own)
    assert len(give(following, page("b", "a"), other, own, other)) == 3
    give(following, page("c"), own, other)
    assert len(give(following, page("d", "c"), other, own, other)) == 1
