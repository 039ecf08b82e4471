"""Which pages lead on to another one, and which requests of their copies pass."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.chains import Chains
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.policy import PASS
from scrapy_simhash.verdict import Verdict


def own(response):
    """Parse a page."""


def other(response):
    """Parse another page."""


@pytest.fixture
def chains():
    return Chains(Arguments())


def page(key="a", representative=None):
    kind = "new" if representative is None else "near-duplicate"
    verdict = Verdict(kind=kind, key=key, bits=64, representative=representative)
    state = PageState(key, verdict, PASS, Request(f"https://x.test/{key}", own))
    state.in_chain = representative is not None
    return state


def request(callback, number=0, **given):
    return Request(f"https://x.test/{number}", callback, **given)


def give(chains, state, *callbacks):
    """Return which requests of a callback pass, in order, the kept one last."""
    passed = []
    for number, callback in enumerate(callbacks):
        one = callback if isinstance(callback, Request) else request(callback, number)
        chains.given(state, one)
        if chains.lets_pass(state, one):
            passed.append(one)
    kept = chains.kept(state)
    return passed + ([] if kept is None else [kept])


@pytest.mark.parametrize(
    ("callbacks", "leads_on"),
    [
        ([], False),
        ([own], True),
        ([other], True),
        ([other, own, other], True),
        ([own, own], False),
        ([other, other], False),
    ],
)
def test_a_page_with_one_request_or_one_for_its_callback_leads_on(chains, callbacks, leads_on):
    give(chains, page(), *callbacks)
    assert chains.leads_on("a") == leads_on


@pytest.mark.parametrize(
    ("callbacks", "passing"),
    [
        ([own], [0]),
        ([other], [0]),
        ([other, own, other], [1]),
        ([own, own], [0]),  # the first has left already
        ([other, other], []),
    ],
)
def test_the_request_for_the_next_page_passes(chains, callbacks, passing):
    give(chains, page(), own)
    passed = give(chains, page("b", "a"), *callbacks)
    assert [one.url for one in passed] == [f"https://x.test/{number}" for number in passing]


def test_a_request_with_the_values_of_the_representatives_does_not_pass(chains):
    give(chains, page(), request(other, cb_kwargs={"name": "shoe"}))
    assert not give(chains, page("b", "a"), request(other, 2, cb_kwargs={"name": "shoe"}))
    assert give(chains, page("c", "a"), request(other, 3, cb_kwargs={"name": "shirt"}))


def test_without_a_chain_nothing_passes(chains):
    copy = page("b", "a")
    copy.in_chain = False
    assert not give(chains, copy, own)
