"""Policy: verdict → action. Pure; tagging, dropping and following are separate choices."""

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

    :param call: the callback runs.
    :param items: its items go on to the pipelines.
    :param follow: its requests go on to the scheduler.
    """

    call: bool = True
    items: bool = True
    follow: bool = True


PASS = Action()


def outcome_of(verdict: Verdict, action: Action) -> Outcome | None:
    """Return what is done with a page whose content was seen (``dropped``, ``followed`` for its
    links alone, or ``tagged``) or is similar to another page's (``passed``); None for others.
    """
    if verdict.kind not in ("near-duplicate", "unchanged"):
        return "passed" if verdict.similar_to is not None else None
    if action.items:
        return "tagged"
    return "followed" if action.call else "dropped"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Maps verdicts to actions. A page that is only similar to another passes as a new one does.

    :param action: ``drop`` keeps content that was seen from the spider, ``tag`` marks it.
    :param follow: whether links on a page whose content was seen are followed. To follow links
        of dropped pages the callback must run; its items are then dropped instead.
    :param incremental: content of earlier crawls counts as seen: unchanged pages are treated as
        near-duplicates are.
    """

    action: PolicyAction = "drop"
    follow: bool = False
    incremental: bool = False

    def seen(self, verdict: Verdict) -> bool:
        """Return True if the content of a page counts as seen."""
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
