import dataclasses
from typing import get_args

import pytest

from scrapy_simhash.index import Observation
from scrapy_simhash.index.base import Earlier
from scrapy_simhash.policy import (
    PASS,
    STAND_IN_REASONS,
    Action,
    Circumstances,
    Policy,
    PolicyAction,
    stands_in,
)
from scrapy_simhash.verdict import Verdict, VerdictKind

KINDS = get_args(VerdictKind)
ALL = Action(call=True, items=True, follow=True)
# What becomes of content that was seen: (action, follow) → callback, items, links.
SEEN = {
    ("drop", False): Action(call=False, items=False, follow=False),
    ("drop", True): Action(call=True, items=False, follow=True),
    ("tag", False): Action(call=True, items=True, follow=False),
    ("tag", True): Action(call=True, items=True, follow=True),
}
COUNTS_AS_SEEN = {("near-duplicate", False), ("near-duplicate", True), ("unchanged", True)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("action", get_args(PolicyAction))
@pytest.mark.parametrize("similar_to", [None, "https://a.example/similar"])
def test_the_whole_table(action, follow, incremental, kind, similar_to):
    policy = Policy(action=action, follow=follow, incremental=incremental)
    verdict = Verdict(kind=kind, key="https://a.example/", bits=64, similar_to=similar_to)
    seen = (kind, incremental) in COUNTS_AS_SEEN
    assert policy.seen(verdict) is seen, "similar to another page or not"
    assert policy.decide(verdict) == (SEEN[action, follow] if seen else ALL, None)


@pytest.mark.parametrize("action", get_args(PolicyAction))
@pytest.mark.parametrize(
    ("follow", "follow_unchanged", "is_start", "followed"),
    [
        (False, True, False, True),
        (False, False, False, False),
        (False, False, True, True),
        (False, None, False, False),
        (True, None, False, True),
    ],
)
def test_links_of_unchanged_pages(action, follow, follow_unchanged, is_start, followed):
    policy = Policy(
        action=action, follow=follow, incremental=True, follow_unchanged=follow_unchanged
    )
    around = Circumstances(is_start=is_start)
    for kind, expected in (("unchanged", followed), ("near-duplicate", follow)):
        verdict = Verdict(kind=kind, key="https://a.example/", bits=64)
        assert policy.decide(verdict, around) == (SEEN[action, expected], None)


PROVISIONAL = Observation("near-duplicate", "https://a.example/", 0, "b", 0, 0, provisional=True)
IN_ORDER = {
    "canonical": {"preferred": True},
    "method": {"method": "POST"},
    "asked_again": {"asked_again": True},
    "refused": {"refused": True},
    "rescheduled": {"rescheduled": True},
    "request": {"request_has_changed": True},
    "password": {"has_password": lambda: True},
    "flood": {"is_flood": True},
    "held_too_many": {"no_retry": "held_too_many"},
}
# These matter only if items would not pass.
HIDING = {"canonical", "method", "password", "flood"}


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("kind", ["near-duplicate", "unchanged", "new"])
@pytest.mark.parametrize("action", ["drop", "tag"])
def test_the_first_reason_to_keep_a_page_counts(action, kind, incremental):
    policy = Policy(action=action, incremental=incremental)
    verdict = Verdict(kind=kind, key="https://a.example/", bits=64, observation=PROVISIONAL)
    applicable = set(IN_ORDER) - (HIDING if action == "tag" else set())
    if kind == "near-duplicate":  # even if requested again, it may be dropped again
        applicable.discard("rescheduled")
    for first in range(len(IN_ORDER) + 1):
        some = dict(list(IN_ORDER.items())[first:])
        context = {name: value for one in some.values() for name, value in one.items()}
        reason = next((name for name in some if name in applicable), None)
        if not policy.seen(verdict):
            reason = None
        action_, why = policy.decide(verdict, Circumstances(**context))
        assert why == reason
        assert (action_ == PASS) == (reason is not None or not policy.seen(verdict))


def test_a_copy_of_a_confirmed_page_needs_no_retry():
    observation = dataclasses.replace(PROVISIONAL, provisional=False)
    verdict = Verdict(kind="near-duplicate", key="a", bits=64, observation=observation)
    action = SEEN["drop", False]
    assert Policy().decide(verdict, Circumstances(no_retry="no_page")) == (action, None)


def copy_of(**earlier):
    observation = dataclasses.replace(PROVISIONAL, provisional=False, earlier=Earlier(**earlier))
    return Verdict(kind="near-duplicate", key="a", bits=64, observation=observation)


@pytest.mark.parametrize(
    ("earlier", "around", "decision"),
    [
        ({}, {}, (SEEN["drop", False], None)),
        ({"same_request": False}, {}, (PASS, "request")),
        ({"nearer": True}, {}, (SEEN["drop", False], None)),
        ({"nearer": True}, {"depth_limited": True}, (PASS, "depth")),
        # A crawl that gives no items from pages may do its work in callbacks.
        ({"gave_items": False}, {}, (SEEN["drop", False], None)),
        ({"gave_items": False}, {"gives_items": True}, (Action(follow=False), "no_items")),
        ({"gave_items": False}, {"asked_again": True}, (PASS, "asked_again")),
        ({}, {"has_foreign": True}, (Action(follow=False), "values")),
        ({}, {"call_needed": True}, (Action(items=False, follow=False), None)),
        ({"gave_items": False}, {"call_needed": True}, (Action(follow=False), "no_items")),
    ],
)
def test_what_earlier_copies_have_done(earlier, around, decision):
    assert Policy().decide(copy_of(**earlier), Circumstances(**around)) == decision
    # Where links are followed, the callback runs, and its items pass.
    assert Policy(follow=True).decide(copy_of(gave_items=False)) == (PASS, "no_items")


@pytest.mark.parametrize("reason", STAND_IN_REASONS)
def test_a_copy_may_take_the_place_of_a_page_without_items(reason):
    assert stands_in(copy_of(gave_items=False), reason)
    assert not stands_in(copy_of(), reason)
    assert not stands_in(copy_of(gave_items=False), None)
