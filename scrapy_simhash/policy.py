"""Decide what to do with a page or item from its verdict. Pure functions, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from scrapy_simhash.verdict import Verdict

PolicyAction = Literal["drop", "tag"]
Outcome = Literal["dropped", "followed", "tagged", "passed"]


@dataclass(frozen=True)
class Action:
    """What to do with a page.

    :param call: run the callback.
    :param items: pass its items on to the pipelines.
    :param follow: pass its requests on to the scheduler.
    """

    call: bool = True
    items: bool = True
    follow: bool = True


PASS = Action()


def outcome_of(verdict: Verdict, action: Action) -> Outcome | None:
    """Return the outcome under which a page is counted.

    A page with seen content is ``dropped``, ``followed`` (only for its links) or ``tagged``. A page
    that is only similar to another is ``passed``. Return None for any other page.
    """
    if verdict.kind not in ("near-duplicate", "unchanged"):
        return "passed" if verdict.similar_to is not None else None
    if action.items:
        return "tagged"
    return "followed" if action.call else "dropped"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A mapping from verdicts to actions. A page that is only similar to another passes.

    :param action: ``drop`` hides seen content from the spider, ``tag`` marks it.
    :param follow: follow the links on pages with seen content. To follow the links of a dropped
        page, its callback must run; its items are dropped instead.
    :param incremental: count content of earlier crawls as seen, so that unchanged pages are
        treated like near-duplicates.
    """

    action: PolicyAction = "drop"
    follow: bool = False
    incremental: bool = False

    def seen(self, verdict: Verdict) -> bool:
        """Return True if the content counts as seen."""
        return verdict.kind == "near-duplicate" or (
            self.incremental and verdict.kind == "unchanged"
        )

    def decide(self, verdict: Verdict) -> Action:
        """Return the action for a verdict."""
        if not self.seen(verdict):
            return PASS
        if self.action == "tag":
            return Action(call=True, items=True, follow=self.follow)
        return Action(call=self.follow, items=False, follow=self.follow)
