from __future__ import annotations

import dataclasses
import itertools
from typing import get_args

import pytest

from scrapy_simhash.policy import PASS, Action, Policy, PolicyAction
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
@pytest.mark.parametrize("drop_weak", [False, True])
@pytest.mark.parametrize("weak", [False, True])
def test_the_whole_table(action, follow, drop_weak, incremental, kind, weak):  # noqa: PLR0917
    policy = Policy(action=action, follow=follow, drop_weak=drop_weak, incremental=incremental)
    verdict = Verdict(kind=kind, key="https://a.example/", bits=64, weak=weak)
    seen = (kind, incremental) in COUNTS_AS_SEEN
    assert policy.seen(verdict) is seen, "weak or not"
    acted_upon = seen and (drop_weak or not weak)
    assert policy.decide(verdict) == (SEEN[action, follow] if acted_upon else ALL)


def test_the_table_is_whole():
    assert set(SEEN) == set(itertools.product(get_args(PolicyAction), [False, True]))
    assert set(KINDS) == {"new", "near-duplicate", "unchanged", "changed", "skipped"}


def test_near_duplicates_are_dropped_unless_something_else_is_asked_for():
    assert Policy() == Policy(action="drop", follow=False, drop_weak=False, incremental=False)
    assert Action() == PASS == ALL


@pytest.mark.parametrize("value", [Policy(), PASS])
def test_policies_and_actions_are_frozen(value):
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)
