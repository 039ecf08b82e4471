from __future__ import annotations

import dataclasses
import itertools
from typing import get_args

import pytest

from scrapy_simhash.index import Observation
from scrapy_simhash.policy import PASS, Action, Policy, PolicyAction, outcome_of
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


def test_the_table_is_whole():
    assert set(SEEN) == set(itertools.product(get_args(PolicyAction), [False, True]))
    assert set(KINDS) == {"new", "near-duplicate", "unchanged", "changed", "error-page", "skipped"}


def test_near_duplicates_are_dropped_unless_something_else_is_asked_for():
    assert Policy() == Policy(action="drop", follow=False, incremental=False)
    assert Action() == PASS == ALL


PROVISIONAL = Observation("near-duplicate", "https://a.example/", 0, "b", 0, 0, provisional=True)
IN_ORDER = {
    "canonical": {"preferred": True},
    "flood": {"flood": True},
    "method": {"method": "POST"},
    "rescheduled": {"requested_again": True},
    "held_too_many": {"no_retry": "held_too_many"},
}


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("kind", ["near-duplicate", "unchanged", "new"])
@pytest.mark.parametrize("action", ["drop", "tag"])
def test_the_first_reason_to_keep_a_page_counts(action, kind, incremental):
    policy = Policy(action=action, incremental=incremental)
    verdict = Verdict(kind=kind, key="https://a.example/", bits=64, observation=PROVISIONAL)
    applicable = {"rescheduled", "held_too_many"} if action == "tag" else set(IN_ORDER)
    if kind == "near-duplicate":  # even if requested again, it may be dropped again
        applicable.discard("rescheduled")
    for first in range(len(IN_ORDER) + 1):
        some = dict(list(IN_ORDER.items())[first:])
        context = {name: value for one in some.values() for name, value in one.items()}
        reason = next((name for name in some if name in applicable), None)
        if not policy.seen(verdict):
            reason = None
        action_, why = policy.decide(verdict, **context)
        assert why == reason
        assert (action_ == PASS) == (reason is not None or not policy.seen(verdict))


def test_a_copy_of_a_confirmed_page_needs_no_retry():
    observation = dataclasses.replace(PROVISIONAL, provisional=False)
    verdict = Verdict(kind="near-duplicate", key="a", bits=64, observation=observation)
    action = SEEN["drop", False]
    assert Policy().decide(verdict, no_retry="no_page") == (action, None)


@pytest.mark.parametrize("value", [Policy(), PASS])
def test_policies_and_actions_are_frozen(value):
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)


@pytest.mark.parametrize(
    ("kind", "similar_to", "action", "outcome"),
    [
        ("near-duplicate", None, SEEN["drop", False], "dropped"),
        ("near-duplicate", None, SEEN["drop", True], "followed"),
        ("near-duplicate", None, SEEN["tag", False], "tagged"),
        ("near-duplicate", None, PASS, "tagged"),
        ("unchanged", None, SEEN["drop", False], "dropped"),
        ("new", None, PASS, None),
        ("new", "https://a.example/similar", PASS, "passed"),
        ("changed", "https://a.example/similar", PASS, "passed"),
        ("skipped", None, PASS, None),
    ],
)
def test_what_is_done_has_a_name(kind, similar_to, action, outcome):
    verdict = Verdict(kind=kind, key="https://a.example/", bits=64, similar_to=similar_to)
    assert outcome_of(verdict, action) == outcome
